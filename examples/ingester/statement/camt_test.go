package statement_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"recon/examples/ingester/statement"
)

// camt builds a camt.053 of one statement; body stands between the account and its end.
func camt(body ...string) string {
	return `<?xml version="1.0" encoding="UTF-8"?><Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><GrpHdr><MsgId>M</MsgId></GrpHdr>` +
		`<Stmt><Id>S-1</Id><CreDtTm>2026-11-27T18:00:00+01:00</CreDtTm><Acct><Id><IBAN>DE07370400440532013700</IBAN></Id><Ccy>EUR</Ccy></Acct>` +
		strings.Join(body, "") + `</Stmt></BkToCstmrStmt></Document>`
}

// camt054 is the same as a notification, under another id.
func camt054(body ...string) string {
	return strings.NewReplacer("camt.053.001", "camt.054.001", "BkToCstmrStmt", "BkToCstmrDbtCdtNtfctn", "Stmt>", "Ntfctn>", "S-1", "N-77").Replace(camt(body...))
}

func bal(kind, sign, amount string) string {
	return fmt.Sprintf(`<Bal><Tp><CdOrPrtry><Cd>%s</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">%s</Amt><CdtDbtInd>%s</CdtDbtInd><Dt><Dt>2026-11-27</Dt></Dt></Bal>`, kind, amount, sign)
}

// ntry is a booked entry; more follows its booking date.
func ntry(sign, amount, ref string, more ...string) string {
	return ntrySts("<Sts><Cd>BOOK</Cd></Sts>", sign, amount, ref, more...)
}

func ntrySts(status, sign, amount, ref string, more ...string) string {
	if ref != "" {
		ref = "<AcctSvcrRef>" + ref + "</AcctSvcrRef>"
	}
	return fmt.Sprintf(`<Ntry><Amt Ccy="EUR">%s</Amt><CdtDbtInd>%s</CdtDbtInd>%s<BookgDt><Dt>2026-11-27</Dt></BookgDt>%s%s</Ntry>`,
		amount, sign, status, ref, strings.Join(more, ""))
}

func tx(amount, more string) string {
	return `<TxDtls>` + more + `<Amt Ccy="EUR">` + amount + `</Amt></TxDtls>`
}

func TestCamtDirectionIsTheIndicatorAlsoInAReversal(t *testing.T) {
	f := mustRead(t, camt(bal("OPBD", "DBIT", "10.00"), bal("CLBD", "DBIT", "18.00"),
		ntry("CRDT", "1.00", "A"), ntry("DBIT", "2.00", "B"),
		ntry("CRDT", "3.00", "C", "<RvslInd>true</RvslInd>"), ntry("DBIT", "10.00", "D", "<RvslInd>1</RvslInd>"),
		ntry("DBIT", "0.00", "E", "<RvslInd>false</RvslInd>")), statement.Options{})
	wantColumn(t, f, "amount", "1.00 -2.00 3.00 -10.00 0.00")
	wantColumn(t, f, "reversal", "- - true true -")
}

func TestCamtOnlyBookedEntriesCount(t *testing.T) {
	for _, status := range []string{"<Sts>PDNG</Sts>", "<Sts><Cd>PDNG</Cd></Sts>", "<Sts>INFO</Sts>", "<Sts><Cd>FUTR</Cd></Sts>", ""} {
		f := mustRead(t, camt(bal("OPBD", "CRDT", "1.00"), bal("CLBD", "CRDT", "3.00"),
			ntrySts("<Sts>BOOK</Sts>", "CRDT", "2.00", "A"), ntrySts(status, "CRDT", "7.00", "B")), statement.Options{})
		if len(f.Records) != 1 || f.Skipped != 1 {
			t.Errorf("%s: got %d records and %d skipped, want 1 and 1", status, len(f.Records), f.Skipped)
		}
	}
}

func TestCamtFootsFromTheRightBalances(t *testing.T) {
	e := ntry("CRDT", "5.00", "A")
	for _, row := range []struct {
		name string
		body []string
		says string // empty: it foots
	}{
		{"OPBD to CLBD", []string{bal("OPBD", "CRDT", "1.00"), bal("CLBD", "CRDT", "6.00"), e}, ""},
		{"PRCD to CLBD", []string{bal("PRCD", "CRDT", "1.00"), bal("CLBD", "CRDT", "6.00"), e}, ""},
		{"OPBD before PRCD", []string{bal("PRCD", "CRDT", "9.00"), bal("OPBD", "CRDT", "1.00"), bal("CLBD", "CRDT", "6.00"), e}, ""},
		{"available ones do not count", []string{bal("OPAV", "CRDT", "9.00"), bal("OPBD", "CRDT", "1.00"), bal("CLAV", "CRDT", "9.00"), bal("FWAV", "CRDT", "9.00"), bal("CLBD", "CRDT", "6.00"), e}, ""},
		{"a page in the middle", []string{bal("ITBD", "CRDT", "1.00"), bal("ITBD", "CRDT", "6.00"), e}, ""},
		{"the last page", []string{bal("ITBD", "CRDT", "1.00"), bal("CLBD", "CRDT", "6.00"), e}, ""},
		{"through zero", []string{bal("OPBD", "DBIT", "1.00"), bal("CLBD", "CRDT", "4.00"), e}, ""},
		{"more decimals", []string{bal("OPBD", "CRDT", "1.0"), bal("CLBD", "CRDT", "6.000"), e}, ""},
		{"a cent off", []string{bal("OPBD", "CRDT", "1.00"), bal("CLBD", "CRDT", "6.01"), e}, "stated as 6.01 EUR, the records give 6.00 EUR"},
		{"wrong side", []string{bal("OPBD", "CRDT", "1.00"), bal("CLBD", "DBIT", "6.00"), e}, "stated as -6.00 EUR, the records give 6.00 EUR"},
		{"no opening", []string{bal("CLBD", "CRDT", "6.00"), e}, "the opening balance is nothing"},
		{"no closing", []string{bal("OPBD", "CRDT", "6.00"), e}, "stated as nothing"},
		{"one interim balance alone", []string{bal("ITBD", "CRDT", "6.00"), e}, "stated as nothing"},
		{"opening unreadable", []string{bal("OPBD", "CRDT", "1,00"), bal("CLBD", "CRDT", "6.00"), e}, "the opening balance is unreadable"},
		{"closing unreadable", []string{bal("OPBD", "CRDT", "1.00"), bal("CLBD", "?", "6.00"), e}, "stated as unreadable"},
		{"an entry unreadable", []string{bal("OPBD", "CRDT", "1.00"), bal("CLBD", "CRDT", "1.00"), ntry("CRDT", "-0.00", "A")}, "without 1 that are unreadable"},
		{"an entry of another currency", []string{bal("OPBD", "CRDT", "1.00"), bal("CLBD", "CRDT", "6.00"), strings.Replace(e, "EUR", "USD", 1)}, "the records give 1.00 EUR without 1 that are unreadable or of another currency"},
		{"an entry without a currency is of the account's", []string{bal("OPBD", "CRDT", "1.00"), bal("CLBD", "CRDT", "6.00"), strings.Replace(e, ` Ccy="EUR"`, "", 1)}, ""},
		{"the balance in the account's currency counts", []string{strings.ReplaceAll(bal("OPBD", "CRDT", "9.00"), "EUR", "USD"), bal("OPBD", "CRDT", "1.00"), bal("CLBD", "CRDT", "6.00"), e}, ""},
		{"no balance at all", []string{e}, "stated as nothing"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.says == "" {
				mustRead(t, camt(row.body...), statement.Options{})
				return
			}
			wantUnbalanced(t, refused(t, camt(row.body...), statement.Options{}), row.says)
			f := mustRead(t, camt(row.body...), statement.Options{AcceptUnbalanced: true})
			if len(f.Records) != 1 || len(f.Failed()) != 1 {
				t.Errorf("accepted: got %d records and %d failed checks", len(f.Records), len(f.Failed()))
			}
		})
	}
}

func TestCamtSummaryIsHeldAgainstAllEntries(t *testing.T) {
	body := []string{bal("OPBD", "CRDT", "1.00"), bal("CLBD", "CRDT", "4.00"), ntry("CRDT", "5.00", "A"), ntry("DBIT", "2.00", "B")}
	for _, row := range []struct{ summary, says string }{
		{`<TtlNtries><NbOfNtries>02</NbOfNtries><Sum>7.000</Sum></TtlNtries>`, ""},
		{`<TtlNtries><NbOfNtries>3</NbOfNtries></TtlNtries>`, "number of entries is stated as 3, the records give 2"},
		{`<TtlNtries><Sum>7.01</Sum></TtlNtries>`, "sum of entries is stated as 7.01, the records give 7"},
		{`<TtlCdtNtries><Sum>2</Sum></TtlCdtNtries>`, "sum of credit entries is stated as 2, the records give 5"},
		{`<TtlDbtNtries><NbOfNtries>x</NbOfNtries></TtlDbtNtries>`, "number of debit entries is stated as unreadable"},
	} {
		text := camt(append(slices.Clone(body), "<TxsSummry>"+row.summary+"</TxsSummry>")...)
		if row.says == "" {
			mustRead(t, text, statement.Options{})
			continue
		}
		wantUnbalanced(t, refused(t, text, statement.Options{}), row.says)
	}
}

// A charge of 0.00 is a debit as its indicator says: the figure has no sign to tell by.
func TestCamtSummaryCountsZeroOnTheSideOfItsIndicator(t *testing.T) {
	mustRead(t, camt(bal("OPBD", "CRDT", "1.00"), bal("CLBD", "CRDT", "6.00"), ntry("CRDT", "5.00", "A"), ntry("DBIT", "0.00", "B"),
		`<TxsSummry><TtlCdtNtries><NbOfNtries>1</NbOfNtries><Sum>5</Sum></TtlCdtNtries>`+
			`<TtlDbtNtries><NbOfNtries>1</NbOfNtries><Sum>0.00</Sum></TtlDbtNtries></TxsSummry>`), statement.Options{})
}

func TestCamt054NeedsIntradayAndHasTheIdentityOfTheCamt053(t *testing.T) {
	booked := ntry("CRDT", "5.00", "REF-1", `<ValDt><Dt>2026-11-28</Dt></ValDt>`)
	again := ntry("CRDT", "5.00", "REF-1")
	if err := refused(t, camt054(booked), statement.Options{}); !errors.Is(err, statement.ErrIntraday) {
		t.Fatalf("got %v, want ErrIntraday", err)
	}
	intraday := hashes(t, mustRead(t, camt054(again, booked), statement.Options{Intraday: true}))
	day := hashes(t, mustRead(t, camt(bal("OPBD", "CRDT", "1.00"), bal("CLBD", "CRDT", "18.00"), ntry("CRDT", "7.00", "REF-0"), booked, again), statement.Options{}))
	if !slices.Equal(intraday, day[1:]) {
		t.Errorf("announced and booked differ:\n%v\n%v", intraday, day[1:])
	}
	for _, entry := range []string{ntry("CRDT", "5.00", ""), ntry("CRDT", "5.00", "NONREF"), strings.ReplaceAll(booked, "BookgDt", "Xx")} {
		wantText(t, refused(t, camt054(entry), statement.Options{Intraday: true}), "entry 1 has no AcctSvcrRef or no booking date")
	}
	wantText(t, refused(t, strings.ReplaceAll(camt(booked), "</BkToCstmrStmt>", "</BkToCstmrStmt><BkToCstmrDbtCdtNtfctn/>"),
		statement.Options{Intraday: true, AcceptUnbalanced: true}), "give them apart")
}

func TestCamtWithoutReferenceIsKnownByStatementAndContent(t *testing.T) {
	opts := statement.Options{AcceptUnbalanced: true}
	plain := camt(ntry("CRDT", "5.00", "NOTPROVIDED"), ntry("CRDT", "5.00", ""))
	base := hashes(t, mustRead(t, plain, opts))
	for name, changed := range map[string]string{
		"statement id":   strings.ReplaceAll(plain, "S-1", "S-2"),
		"statement date": strings.ReplaceAll(plain, "2026-11-27T18", "2027-11-27T18"),
		"page":           strings.ReplaceAll(plain, "<Acct>", "<StmtPgntn><PgNb>2</PgNb></StmtPgntn><Acct>"),
		"message page":   strings.ReplaceAll(plain, "</MsgId>", "</MsgId><MsgPgntn><PgNb>2</PgNb></MsgPgntn>"),
		"text":           strings.ReplaceAll(plain, "</Ntry>", "<AddtlNtryInf>x</AddtlNtryInf></Ntry>"),
	} {
		if other := hashes(t, mustRead(t, changed, opts)); slices.Contains(base, other[0]) {
			t.Errorf("another %s gives the same hash", name)
		}
	}
	withRef := camt(ntry("CRDT", "5.00", "R"))
	if a, b := mustRead(t, withRef, opts), mustRead(t, strings.ReplaceAll(withRef, "S-1", "MONTH-11"), opts); a.Records[0].SourceHash != b.Records[0].SourceHash {
		t.Error("a monthly statement would post the daily one's entries again")
	}
}

func TestCamtSingleDetailLendsItsReference(t *testing.T) {
	f := mustRead(t, camt(ntry("CRDT", "5.00", "", `<NtryDtls><TxDtls><Refs><AcctSvcrRef>D-1</AcctSvcrRef><EndToEndId>E-1</EndToEndId></Refs></TxDtls></NtryDtls>`),
		ntry("CRDT", "5.00", "", `<NtryDtls><TxDtls><Refs><EndToEndId>E-2</EndToEndId></Refs></TxDtls></NtryDtls>`)), statement.Options{AcceptUnbalanced: true})
	wantColumn(t, f, "reference", "D-1 E-2")
}

func TestCamtLevelIsEntryOrDetailNeverBoth(t *testing.T) {
	batch := ntry("DBIT", "6.00", "A", `<NtryDtls>`+tx("1.00", "")+tx("2.00", ``)+`</NtryDtls><NtryDtls>`+tx("3.00", "")+`</NtryDtls>`)
	single := ntry("CRDT", "4.00", "B", `<NtryDtls><TxDtls><Refs><EndToEndId>E</EndToEndId></Refs></TxDtls></NtryDtls>`)
	foreign := ntry("DBIT", "9.00", "C", `<NtryDtls><TxDtls><Amt Ccy="USD">10.00</Amt></TxDtls></NtryDtls>`)
	bare := ntry("DBIT", "1.00", "D")
	text := camt(bal("OPBD", "CRDT", "12.00"), bal("CLBD", "CRDT", "0"), batch, single, foreign, bare)
	entry, detail := mustRead(t, text, statement.Options{Level: "entry"}), mustRead(t, text, statement.Options{Level: "detail"})
	wantColumn(t, entry, "amount", "-6.00 4.00 -9.00 -1.00")
	wantColumn(t, detail, "amount", "-1.00 -2.00 -3.00 4.00 -9.00 -1.00")
	if got := len(hashes(t, detail)); got != 6 {
		t.Errorf("got %d detail hashes", got)
	}
	if a, b := statement.Totals(entry)[0].String(), statement.Totals(detail)[0].String(); a != b {
		t.Errorf("levels differ in money: %s and %s", a, b)
	}
	for name, details := range map[string]string{
		"a cent off":     tx("1.00", "") + tx("5.01", ""),
		"without amount": tx("6.00", "") + `<TxDtls/>`,
		"other currency": tx("1.00", "") + `<TxDtls><Amt Ccy="USD">5.00</Amt></TxDtls>`,
		"other side":     tx("1.00", "") + tx("5.00", "<CdtDbtInd>CRDT</CdtDbtInd>"),
	} {
		text := camt(bal("OPBD", "CRDT", "6.00"), bal("CLBD", "CRDT", "0"), ntry("DBIT", "6.00", "A", `<NtryDtls>`+details+`</NtryDtls>`))
		mustRead(t, text, statement.Options{})
		t.Run(name, func(t *testing.T) {
			wantUnbalanced(t, refused(t, text, statement.Options{Level: "detail"}), "statement 1 entry 1: its amount is stated as -6.00 EUR")
		})
	}
}

func TestCamtDatesTravelAsTheBankWroteThem(t *testing.T) {
	for _, row := range []struct{ xml, want, verdict string }{
		{"<Dt>2026-11-27</Dt>", "2026-11-27", "ok"},
		{"<Dt>2026-11-27+01:00</Dt>", "2026-11-27", "ok"},
		{"<DtTm>2026-11-27T23:59:59+01:00</DtTm>", "2026-11-27", "ok"}, // the bank's day, not the day in UTC
		{"<DtTm>2026-11-27T00:30:00+01:00</DtTm>", "2026-11-27", "ok"},
		{"<Dt>2026-02-30</Dt>", "2026-02-30", "SCHEMA_INVALID"},
		{"<Dt>27.11.2026</Dt>", "27.11.2026", "SCHEMA_INVALID"},
	} {
		f := mustRead(t, camt(bal("OPBD", "CRDT", "0"), bal("CLBD", "CRDT", "5"),
			ntry("CRDT", "5.00", "A", "<ValDt>"+row.xml+"</ValDt>")), statement.Options{})
		wantColumn(t, f, "value_date", row.want)
		if got := verdict(f.Records[0]); got != row.verdict {
			t.Errorf("%s: got %s, want %s", row.xml, got, row.verdict)
		}
	}
}

func TestCamtEntryWithoutADirectionGoesRaw(t *testing.T) {
	text := camt(bal("OPBD", "CRDT", "0"), bal("CLBD", "CRDT", "0"), ntry("SOME", "5.00", "A"))
	wantUnbalanced(t, refused(t, text, statement.Options{}), "without 1 that are unreadable")
	f := mustRead(t, text, statement.Options{AcceptUnbalanced: true})
	r := f.Records[0]
	if !r.Raw || string(r.Value) != ntry("SOME", "5.00", "A") || r.Key != "DE07370400440532013700" || verdict(r) != "UNDECODABLE" {
		t.Errorf("got %+v", r)
	}
}

func TestCamtFlawsThatNoFlagAccepts(t *testing.T) {
	entry := ntry("CRDT", "5.00", "A")
	one := camt(bal("OPBD", "CRDT", "1"), bal("CLBD", "CRDT", "6"), entry)
	inner := one[strings.Index(one, "<Stmt>"):strings.Index(one, "</BkToCstmrStmt>")]
	for _, row := range []struct{ name, text, says string }{
		{"no account", strings.ReplaceAll(one, "IBAN>", "Xx>"), "statement 1: it names no account: give --entity"},
		{"no statement", `<Document><BkToCstmrStmt></BkToCstmrStmt></Document>`, "holds no statement"},
		{"breaks off", one[:len(one)-60], "line 1: XML syntax error"},
		{"twice the same", strings.Replace(one, inner, inner+inner, 1), "statement 2 repeats statement 1 byte for byte"},
		{"charset", strings.Replace(one, "UTF-8", "EBCDIC", 1), "EBCDIC is not read here"},
		{"invalid UTF-8", strings.Replace(one, "S-1", "S-\xFC", 1), "invalid UTF-8"},
	} {
		t.Run(row.name, func(t *testing.T) {
			wantText(t, refused(t, row.text, statement.Options{AcceptUnbalanced: true}), row.says)
		})
	}
	mustRead(t, strings.ReplaceAll(one, "IBAN>", "Xx>"), statement.Options{Entity: "E"})
}

func TestCamtLatin1IsReadAsDeclared(t *testing.T) {
	text := strings.Replace(camt(bal("OPBD", "CRDT", "1"), bal("CLBD", "CRDT", "6"), ntry("CRDT", "5.00", "A", "<AddtlNtryInf>M\xFCller</AddtlNtryInf>")), "UTF-8", "ISO-8859-1", 1)
	wantColumn(t, mustRead(t, text, statement.Options{}), "description", "Müller")
}

func TestCamtOtherAccountIDAndEnvelopeAreFound(t *testing.T) {
	text := strings.ReplaceAll(camt(bal("OPBD", "CRDT", "1"), bal("CLBD", "CRDT", "6"), ntry("CRDT", "05.00", "A")), "<IBAN>DE07370400440532013700</IBAN>", "<Othr><Id> 4711 </Id></Othr>")
	text = strings.NewReplacer("<Document", "<m:Biz xmlns:m='x'><AppHdr><GrpHdr/><Stmt/></AppHdr><Document", "</Document>", "</Document></m:Biz>").Replace(text)
	f := mustRead(t, text, statement.Options{})
	wantColumn(t, f, "ledger_entity", "4711")
	wantColumn(t, f, "amount", "5.00")
}
