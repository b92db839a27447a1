package statement_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"recon/examples/ingester/statement"
	"recon/pkg/envelope"
	"recon/pkg/fault"
)

func codeOf(_ *envelope.Message, err error) string { return string(fault.Of(err).Code) }

var everyFile = map[string]string{
	"camt053.xml": "camt.053", "mt940.sta": "mt940", "card.csv": "csv", "payroll.ach": "ach", "bai2.txt": "bai2",
}

func TestFormatIsKnownByContentWhateverTheName(t *testing.T) {
	for name, want := range everyFile {
		for _, called := range []string{name, "statement.pdf", "x"} {
			f, err := statement.Read(called, strings.NewReader(embedded(t, name)), statement.Options{Entity: "E"})
			if err != nil || f.Format != want || f.Name != called {
				t.Errorf("%s named %s: got %+v, %v, want format %s", name, called, f, err, want)
			}
		}
		if f := mustRead(t, "\uFEFF"+embedded(t, name), statement.Options{Entity: "E"}); f.Format != want {
			t.Errorf("%s with a byte order mark: got %s", name, f.Format)
		}
	}
}

func TestWindowsLineEndsChangeNoRecord(t *testing.T) {
	for name := range everyFile {
		unix := mustRead(t, embedded(t, name), statement.Options{Entity: "E"})
		dos := mustRead(t, strings.ReplaceAll(embedded(t, name), "\n", "\r\n"), statement.Options{Entity: "E"})
		for i, r := range unix.Records {
			if string(dos.Records[i].Value) != string(r.Value) {
				t.Errorf("%s record %d: got %s, want %s", name, i+1, dos.Records[i].Value, r.Value)
			}
		}
	}
}

func TestWhatIsNoBankFileIsSaidInOneSentence(t *testing.T) {
	for _, row := range []struct{ name, text, says string }{
		{"empty", "", "it is empty"},
		{"blanks", " \n\n", "it is empty"},
		{"prose", "Dear Sir,\nplease find enclosed", "no CSV header"},
		{"json object", `{"source_hash":"x"}`, "looks like JSON"},
		{"json array", `[1]`, "looks like JSON"},
		{"pdf", "%PDF-1.7\n\x00\x01", "bytes that no text has"},
		{"utf-16", "\xFF\xFE<\x00", "UTF-16"},
		{"latin-1", "Datum;Betr\xE4ge\n", "not UTF-8"},
		{"csv of something else", "country,currency\nDE,EUR\n", "a date and an amount"},
		{"csv with two amounts", "date,amount,amount\n", "a date and an amount"},
		{"pain.001", `<?xml version="1.0"?><Document><CstmrCdtTrfInitn/></Document>`, "no camt.053 or camt.054"},
		{"camt.052", `<Document><BkToCstmrAcctRpt></BkToCstmrAcctRpt></Document>`, "camt.052"},
		{"broken xml", `<OFX><CURDEF></OFX>`, "breaks off before any statement"},
		{"camt.053 that breaks off", `<Document><BkToCstmrStmt`, "breaks off before any statement"},
	} {
		err := refused(t, row.text, statement.Options{Entity: "E", Currency: "EUR"})
		if _, ok := errors.AsType[*statement.NotBankFileError](err); !ok {
			t.Errorf("%s: got %T, want *NotBankFileError", row.name, err)
		}
		wantText(t, err, row.says, "file is no bank file", "BAI2")
	}
}

func TestOptionsReportEveryMistakeAtOnce(t *testing.T) {
	err := statement.Options{Level: "both", MatchDecision: "perhaps", Currency: "eur", Entity: strings.Repeat("ü", 65)}.Validate()
	if err == nil || strings.Count(err.Error(), "\n") != 3 {
		t.Errorf("got %v, want four mistakes", err)
	}
	if err := (statement.Options{Entity: strings.Repeat("ü", 64), Currency: "EUR"}).Validate(); err != nil {
		t.Errorf("64 characters: got %v", err)
	}
	wantText(t, refused(t, embedded(t, "mt940.sta"), statement.Options{Level: "x"}), "level")
}

func TestEntityOverridesTheAccountEverywhere(t *testing.T) {
	for name := range everyFile {
		own := mustRead(t, embedded(t, name), statement.Options{Entity: "ACME"})
		for _, r := range own.Records {
			if r.Key != "ACME" || !r.Raw && field(t, r, "ledger_entity") != "ACME" {
				t.Errorf("%s: key %s of %s, want ACME", name, r.Key, r.Value)
			}
		}
	}
	wantColumn(t, mustRead(t, embedded(t, "mt940.sta"), statement.Options{}), "ledger_entity",
		strings.TrimSpace(strings.Repeat("37040044/0532013701 ", 4)))
	wantColumn(t, mustRead(t, embedded(t, "payroll.ach"), statement.Options{}), "ledger_entity",
		"400188201 77120045 400199007 400199007")
	wantColumn(t, mustRead(t, embedded(t, "bai2.txt"), statement.Options{}), "ledger_entity",
		"400188300 400188300 400188300 400188301 400188301")
	wantColumn(t, mustRead(t, embedded(t, "camt053.xml"), statement.Options{}), "ledger_entity",
		strings.TrimSpace(strings.Repeat("DE07370400440532013700 ", 5)))
}

func TestEntityIsNoPartOfTheIdentityWhereTheFileNamesAnAccount(t *testing.T) {
	// Read once under a wrong entity, a file must meet its own hashes again (as IDENTITY_CONFLICT), not post twice.
	for name := range everyFile {
		if name == "card.csv" {
			continue
		}
		one := hashes(t, mustRead(t, embedded(t, name), statement.Options{}))
		other := hashes(t, mustRead(t, embedded(t, name), statement.Options{Entity: "ACME"}))
		if !slices.Equal(one, other) {
			t.Errorf("%s: the hashes depend on --entity", name)
		}
	}
}

func TestMatchDecisionIsUnmatchedUnlessGiven(t *testing.T) {
	wantColumn(t, mustRead(t, embedded(t, "mt940.sta"), statement.Options{}), "match_decision", "UNMATCHED UNMATCHED UNMATCHED UNMATCHED")
	f := mustRead(t, embedded(t, "mt940.sta"), statement.Options{MatchDecision: "PARTIAL"})
	wantColumn(t, f, "match_decision", "PARTIAL PARTIAL PARTIAL PARTIAL")
	if !slices.Equal(hashes(t, f), hashes(t, mustRead(t, embedded(t, "mt940.sta"), statement.Options{}))) {
		t.Error("the match decision changes the hash")
	}
}

func TestASecondReadingGivesTheSameBytes(t *testing.T) {
	for name := range everyFile {
		a := mustRead(t, embedded(t, name), statement.Options{Entity: "E"})
		b := mustRead(t, embedded(t, name), statement.Options{Entity: "E"})
		for i := range a.Records {
			if string(a.Records[i].Value) != string(b.Records[i].Value) {
				t.Errorf("%s record %d differs at the second reading", name, i+1)
			}
		}
	}
}

func TestWhatDecodingSaysOfEachRecordOfTheDemo(t *testing.T) {
	for name, want := range map[string]string{
		"camt053.xml": "ok ok AMOUNT_INVALID ok ok",
		"mt940.sta":   "ok ok ok ok",
		"card.csv":    "ok AMOUNT_INVALID ok ok ok ok UNDECODABLE ok ok",
		"payroll.ach": "ok ok ok ok",
		"bai2.txt":    "ok ok ok ok ok",
	} {
		var got []string
		for _, r := range mustRead(t, embedded(t, name), statement.Options{Entity: "NORDWIND-DE"}).Records {
			got = append(got, verdict(r))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	var feed []string
	for line := range strings.Lines(embedded(t, "feed.jsonl")) {
		feed = append(feed, verdict(statement.Record{Value: []byte(strings.TrimSpace(line))}))
	}
	if got := strings.Join(feed, " "); got != "ok ok NO_IDENTITY" {
		t.Errorf("feed.jsonl: got %s", got)
	}
}

func TestTotalsAreExactAndPerCurrency(t *testing.T) {
	f := mustRead(t, embedded(t, "card.csv"), statement.Options{Entity: "E"})
	var got []string
	for _, total := range statement.Totals(f, f) {
		got = append(got, total.String())
	}
	want := []string{
		"EUR debit 174.80 credit 0.60 net -174.20 and 2 unreadable", // 0.10 + 0.20 twice: no float would say so
		"SEK debit 0.00 credit 620.00 net 620.00",
		"USD debit 178.00 credit 0.00 net -178.00",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAFileThatIsTooLargeIsRefused(t *testing.T) {
	defer statement.LimitFiles(1 << 20)()
	_, err := statement.Read("huge", endless{}, statement.Options{})
	if err == nil || !strings.Contains(err.Error(), "huge is larger than 1 MiB") {
		t.Errorf("got %v", err)
	}
}

// endless is a file without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestTotalsShowAtLeastTheCurrencysDecimals(t *testing.T) {
	for _, row := range []struct{ currency, amounts, want string }{
		{"EUR", "5 -2.5", "EUR debit 2.50 credit 5.00 net 2.50"},
		{"JPY", "500 -200", "JPY debit 200 credit 500 net 300"},
		{"KWD", "1.5", "KWD debit 0.000 credit 1.500 net 1.500"},
		{"EUR", "0.001", "EUR debit 0.00 credit 0.001 net 0.001"},
		{"USD", "123456789012345678.99 0.01", "USD debit 0.00 credit 123456789012345679.00 net 123456789012345679.00"},
		{"XAU", "2", "XAU debit 0 credit 2 net 2"},
		{"EUR", "x 0.00", "EUR debit 0.00 credit 0.00 net 0.00 and 1 unreadable"},
	} {
		text := "date,amount,currency\n"
		for amount := range strings.FieldsSeq(row.amounts) {
			text += "2026-11-27," + amount + "," + row.currency + "\n"
		}
		got := statement.Totals(mustRead(t, text, statement.Options{Entity: "E"}))
		if len(got) != 1 || got[0].String() != row.want {
			t.Errorf("%s %s: got %v, want %s", row.currency, row.amounts, got, row.want)
		}
	}
}

func TestTextsAreCutWhereTheyGetLong(t *testing.T) {
	f := mustRead(t, "date,amount,text\n2026-11-27,5.00,"+strings.Repeat("ü", 500)+"\n", statement.Options{Entity: "E", Currency: "EUR"})
	if got := field(t, f.Records[0], "description"); got != strings.Repeat("ü", 140) {
		t.Errorf("got %d bytes", len(got))
	}
}

func TestAnAccountThatIsTooLongIsALetterAndNoSilence(t *testing.T) {
	text := strings.Replace(embedded(t, "mt940.sta"), "37040044/0532013701", strings.Repeat("9", 65), 1)
	for _, r := range mustRead(t, text, statement.Options{}).Records {
		if got := verdict(r); got != "SCHEMA_INVALID" {
			t.Errorf("got %s", got)
		}
	}
}

func TestAReaderThatFailsIsNamed(t *testing.T) {
	_, err := statement.Read("statement.xml", broken{}, statement.Options{})
	if !errors.Is(err, errDisk) || !strings.HasPrefix(err.Error(), "statement.xml: ") {
		t.Errorf("got %v", err)
	}
}

var errDisk = errors.New("disk gone")

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errDisk }
