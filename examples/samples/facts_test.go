package main

import (
	"fmt"
	"strings"
	"testing"

	"recon/examples/ingester/statement"
	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/ledger"
)

// postings gives every record of f a posting of its own, as a ledger that took all of them would.
func postings(f *statement.File) map[string]ledger.Posting {
	all := make(map[string]ledger.Posting)
	for i, r := range f.Records {
		m, _ := envelope.Decode(r.Value, nil)
		all[r.SourceHash] = ledger.Posting{
			SourceHash: r.SourceHash, Root: envelope.Coordinates{Topic: "m", Offset: int64(i)},
			Currency: r.Currency, Amount: r.Amount, Digest: m.Digest,
		}
	}
	return all
}

// hold tells whether every fact holds, and joins their sentences.
func hold(facts []fact) (bool, string) {
	all, texts := true, make([]string, 0, len(facts))
	for _, f := range facts {
		all = all && f.holds
		texts = append(texts, f.text)
	}
	return all, strings.Join(texts, "; ")
}

func TestReversedCreditsMustBePostedAsDebits(t *testing.T) {
	t.Parallel()
	// The embedded statement has one such line; a second one makes it the pair that is expected.
	text := strings.NewReplacer(":62F:C261127EUR7230,00", "", ":64:C261127EUR7230,00", "").Replace(content(t, "mt940.sta"))
	text = strings.Replace(text, "\n\n\n-}", "\n:61:2611271127RCR120,00NRTINONREF//NW2711100005\n:62F:C261127EUR7110,00\n-}", 1)
	f, err := statement.Read("mt940.sta", strings.NewReader(text), statement.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &seen{file: f, content: []byte(text), postings: postings(f)}
	if ok, text := hold(reversedCredits(s)); !ok {
		t.Errorf("got %q, want it to hold", text)
	}
	for hash, p := range s.postings {
		if p.Amount.Equal(dec("-120")) {
			p.Amount = p.Amount.Neg()
			s.postings[hash] = p
			break
		}
	}
	if ok, text := hold(reversedCredits(s)); ok {
		t.Errorf("a credit: %q holds", text)
	}
	if ok, text := hold(reversedCredits(&seen{file: f, content: []byte(text)})); ok {
		t.Errorf("nothing posted: %q holds", text)
	}
}

func TestTwoEqualWithdrawalsMustBothPost(t *testing.T) {
	t.Parallel()
	const rows = "id,amount,date\nA1,-75.00,2026-11-27\nA2,-75.00,2026-11-27\nA3,-75.01,2026-11-27\n"
	f, err := statement.Read("two.csv", strings.NewReader(rows), csv("BANK-A"))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name  string
		spoil func(map[string]ledger.Posting)
		want  bool
	}{
		{"both", func(map[string]ledger.Posting) {}, true},
		{"the second suppressed", func(ps map[string]ledger.Posting) { delete(ps, f.Records[1].SourceHash) }, false},
		{"one record for both", func(ps map[string]ledger.Posting) {
			p := ps[f.Records[1].SourceHash]
			p.Root = ps[f.Records[0].SourceHash].Root
			ps[f.Records[1].SourceHash] = p
		}, false},
	} {
		ps := postings(f)
		row.spoil(ps)
		if ok, text := hold(equalWithdrawals(&seen{file: f, postings: ps})); ok != row.want {
			t.Errorf("%s: got %v (%s), want %v", row.name, ok, text, row.want)
		}
	}
}

func TestEveryEntryOfTheACHFileMustPost(t *testing.T) {
	t.Parallel()
	f := &statement.File{}
	for i := range 5000 {
		f.Records = append(f.Records, statement.Record{SourceHash: fmt.Sprintf("hash-%05d", i), Currency: "USD", Amount: dec("1000"), Readable: true})
	}
	ps := postings(f)
	if ok, text := hold(achFacts(&seen{file: f, postings: ps, outcome: &outcome{}})); !ok {
		t.Errorf("got %q, want it to hold", text)
	}
	if ok, _ := hold(achFacts(&seen{file: f, postings: ps, outcome: &outcome{suppressed: of("1")}})); ok {
		t.Error("it holds with one suppressed")
	}
	delete(ps, f.Records[17].SourceHash)
	if ok, _ := hold(achFacts(&seen{file: f, postings: ps, outcome: &outcome{}})); ok {
		t.Error("it holds with 4,999 postings")
	}
}

func TestThe30thOfFebruaryMustBeALetterWithItsAmount(t *testing.T) {
	t.Parallel()
	letter := func() *envelope.Letter {
		return &envelope.Letter{
			FailureCode: fault.FailedPoison, ErrorCode: fault.SchemaInvalid, Message: envelope.Facts{Currency: "EUR", Amount: "-6"},
			Original: envelope.Original{Value: []byte(`{"value_date":"2016-02-30"}`)},
		}
	}
	other, amountless, repaired := letter(), letter(), letter()
	other.ErrorCode, amountless.Message.Amount, repaired.Original.Value = fault.Undecodable, "", []byte(`{"value_date":"2016-03-01"}`)
	for _, row := range []struct {
		name    string
		letters []*envelope.Letter
		want    bool
	}{
		{"as it must be", []*envelope.Letter{letter()}, true},
		{"none", nil, false},
		{"two", []*envelope.Letter{letter(), letter()}, false},
		{"another code", []*envelope.Letter{other}, false},
		{"no amount", []*envelope.Letter{amountless}, false},
		{"a date that was repaired", []*envelope.Letter{repaired}, false},
	} {
		if ok, _ := hold(thirtiethOfFebruary(&seen{letters: row.letters})); ok != row.want {
			t.Errorf("%s: got %v, want %v", row.name, ok, row.want)
		}
	}
}

func TestTheStatementMustFootFromItsPreviousClose(t *testing.T) {
	t.Parallel()
	check := statement.Check{What: "closing balance (after PRCD 1000.01 EUR)", Stated: "100.01 EUR", Found: "100.01 EUR"}
	opening, fails := check, check
	opening.What, fails.Found = "closing balance (after OPBD 1000.01 EUR)", "100.02 EUR"
	for _, row := range []struct {
		checks []statement.Check
		want   bool
	}{{[]statement.Check{check}, true}, {nil, false}, {[]statement.Check{opening}, false}, {[]statement.Check{fails}, false}} {
		if ok, _ := hold(footsFromPreviousClose(&seen{file: &statement.File{Checks: row.checks}})); ok != row.want {
			t.Errorf("%v: got %v, want %v", row.checks, ok, row.want)
		}
	}
}

func TestAllTrailersMustBeChecked(t *testing.T) {
	t.Parallel()
	trailers := func(n49, n98, n99 int) *seen {
		f := &statement.File{}
		for code, n := range map[string]int{"49": n49, "98": n98, "99": n99} {
			for range n {
				f.Checks = append(f.Checks, statement.Check{What: "control total (" + code + ")", Stated: "1", Found: "1"})
			}
		}
		return &seen{file: f}
	}
	failing := trailers(15, 1, 1)
	failing.file.Checks[0].Found = "2"
	for _, row := range []struct {
		name string
		s    *seen
		want bool
	}{
		{"all", trailers(15, 1, 1), true},
		{"an account less", trailers(14, 1, 1), false},
		{"no group", trailers(15, 0, 1), false},
		{"no file", trailers(15, 1, 0), false},
		{"one fails", failing, false},
	} {
		if ok, text := hold(trailersHold(row.s)); ok != row.want {
			t.Errorf("%s: got %v (%s), want %v", row.name, ok, text, row.want)
		}
	}
}

// What a spoiled copy is refused for is the trailer that was spoiled, and nothing else was changed.
func TestARaisedControlTotalIsWhatTheReaderNames(t *testing.T) {
	t.Parallel()
	text := content(t, "bai2.txt")
	for code, stated := range map[string]string{"49": "1487501", "98": "1494501", "99": "1494501"} {
		spoiled, ok := raise(code)([]byte(text))
		if !ok || len(spoiled) != len(text) {
			t.Errorf("%s: not spoiled, or by more than a digit", code)
		}
		_, err := statement.Read("bai2.txt", strings.NewReader(string(spoiled)), statement.Options{})
		if err == nil || !strings.Contains(err.Error(), "control total ("+code+") is stated as "+stated) {
			t.Errorf("%s: got %v", code, err)
		}
	}
	if _, ok := raise("49")([]byte("no trailer here")); ok {
		t.Error("a file without a trailer was spoiled")
	}
}
