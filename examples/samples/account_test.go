package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"recon/examples/ingester/statement"
	"recon/pkg/audit"
	"recon/pkg/envelope"
	"recon/pkg/fault"
)

func dec(text string) decimal.Decimal { return decimal.RequireFromString(text) }

func eur(amount string) audit.Money { return audit.MoneyOf("EUR", amount) }

// of makes a group of amounts in EUR; "?" is an unreadable one.
func of(amounts ...string) group {
	var g group
	for _, a := range amounts {
		g.add(eur(a))
	}
	return g
}

// three is a statement of three records that foots: 2.00 credit, 7.50 and 0.50 debit.
func three() *statement.File {
	record := func(hash, amount string) statement.Record {
		return statement.Record{SourceHash: hash, Key: "A", Currency: "EUR", Amount: dec(amount), Readable: true}
	}
	return &statement.File{
		Name: "three.sta", Format: "mt940",
		Records: []statement.Record{record("h-1", "2.00"), record("h-2", "-7.50"), record("h-3", "-0.50")},
		Checks:  []statement.Check{{Where: "statement 1", What: "closing balance (after 60F 10.00 EUR)", Stated: "4.00 EUR", Found: "4.00 EUR"}},
	}
}

func TestAnOutcomeIsHeldAgainstCountsSumsAndControlFiguresToTheCent(t *testing.T) {
	t.Parallel()
	one := map[fault.Code]int{fault.SchemaInvalid: 1}
	s := &sample{path: "three.sta", records: 3, checks: 1, dead: one}
	good := func() *outcome {
		return &outcome{records: 3, posted: of("2.00", "-7.50"), dead: of("-0.50"), codes: map[fault.Code]int{fault.SchemaInvalid: 1}}
	}
	for _, row := range []struct {
		name   string
		spoil  func(*statement.File, *outcome)
		wants  want
		wrongs []string
	}{
		{name: "as expected"},
		{
			name:   "a cent less posted",
			spoil:  func(_ *statement.File, o *outcome) { o.posted = of("2.00", "-7.49") },
			wrongs: []string{"the file's records to 3 records, EUR debit 8.00 credit 2.00", "the balances move by: -6.00 EUR, but all outcomes come to -5.99"},
		},
		{
			name:   "two cents that cancel out",
			spoil:  func(_ *statement.File, o *outcome) { o.posted = of("2.01", "-7.51") },
			wrongs: []string{"EUR debit 8.01 credit 2.01"},
		},
		{
			name: "another currency",
			spoil: func(_ *statement.File, o *outcome) {
				o.dead = group{}
				o.dead.add(audit.MoneyOf("USD", "-0.50"))
			},
			wrongs: []string{"2 records, EUR debit 7.50", "1 records, USD debit 0.50", "the balances move by"},
		},
		{
			name: "suppressed in place of posted",
			spoil: func(_ *statement.File, o *outcome) {
				o.posted, o.suppressed = of("2.00"), of("-7.50")
			},
			wrongs: []string{"posted 1, want 2", "suppressed 1, want 0"},
		},
		{
			name:   "another code",
			spoil:  func(_ *statement.File, o *outcome) { o.codes = map[fault.Code]int{fault.Undecodable: 1} },
			wrongs: []string{"dead letters 1 UNDECODABLE, want 1 SCHEMA_INVALID"},
		},
		{
			name: "a letter more",
			spoil: func(_ *statement.File, o *outcome) {
				o.dead.add(audit.Money{})
				o.codes[fault.SchemaInvalid]++
			},
			wrongs: []string{"dead letters 2 SCHEMA_INVALID, want 1", "1 outcomes have no readable amount"},
		},
		{
			name:   "a record without an outcome",
			spoil:  func(_ *statement.File, o *outcome) { o.lost = []envelope.Coordinates{{Topic: "m", Offset: 7}} },
			wrongs: []string{"1 records have no outcome: [m/0@7]"},
		},
		{
			name:   "a record with two",
			spoil:  func(_ *statement.File, o *outcome) { o.doubled = []envelope.Coordinates{{Topic: "m", Offset: 7}} },
			wrongs: []string{"1 records have more than one outcome: [m/0@7]"},
		},
		{
			name:   "fewer on main",
			spoil:  func(_ *statement.File, o *outcome) { o.records = 2 },
			wrongs: []string{"2 records are on main, the file has 3"},
		},
		{
			name:   "a control figure that fails",
			spoil:  func(f *statement.File, _ *outcome) { f.Checks[0].Found = "5.00 EUR" },
			wrongs: []string{"0 of 1 control figures hold, want all of 1"},
		},
		{
			name:   "a figure that the records only seem to give",
			spoil:  func(f *statement.File, _ *outcome) { f.Checks[0].Stated, f.Checks[0].Found = "4.01 EUR", "4.01 EUR" },
			wrongs: []string{"the balances move by: -5.99 EUR, but all outcomes come to -6.00"},
		},
		{
			name:   "a control figure that cannot be read",
			spoil:  func(f *statement.File, _ *outcome) { f.Checks[0].What = "closing balance" },
			wrongs: []string{"is no amount with a currency"},
		},
		{
			name:   "fewer control figures",
			spoil:  func(f *statement.File, _ *outcome) { f.Checks = nil },
			wrongs: []string{"0 of 0 control figures hold, want all of 1"},
		},
		{
			name:   "a record more in the file",
			spoil:  func(f *statement.File, _ *outcome) { f.Records = append(f.Records, statement.Record{Raw: true}) },
			wrongs: []string{"4 records were read, want 3", "3 records are on main, the file has 4", "0 outcomes have no readable amount, 1 of the file's"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			file, o := three(), good()
			if row.spoil != nil {
				row.spoil(file, o)
			}
			got := judge(s, file, o, s.first())
			if len(got) != len(row.wrongs) {
				t.Fatalf("got %d findings %q, want %d", len(got), got, len(row.wrongs))
			}
			for i, words := range row.wrongs {
				if !strings.Contains(got[i], words) {
					t.Errorf("got %q, want it to say %q", got[i], words)
				}
			}
		})
	}
}

func TestASecondIngestionPostsNothingSuppressesAllThatPostedAndBringsEachLetterAgain(t *testing.T) {
	t.Parallel()
	one := map[fault.Code]int{fault.SchemaInvalid: 1}
	s := &sample{path: "three.sta", records: 3, checks: 1, dead: one}
	w := (&outcome{posted: of("2.00", "-7.50"), dead: of("-0.50"), codes: one}).again()
	for _, row := range []struct {
		name   string
		o      outcome
		wrongs []string
	}{
		{"as it must be", outcome{records: 3, suppressed: of("2.00", "-7.50"), dead: of("-0.50"), codes: one}, nil},
		{
			"posted again",
			outcome{records: 3, posted: of("2.00"), suppressed: of("-7.50"), dead: of("-0.50"), codes: one},
			[]string{"posted 1, want 0", "suppressed 1, want 2", "suppressed are 1 records, EUR debit 7.50 credit 0.00, but posted had 2 records"},
		},
		{
			"the letter is suppressed",
			outcome{records: 3, suppressed: of("2.00", "-7.50", "-0.50")},
			[]string{"suppressed 3, want 2", "dead letters none, want 1 SCHEMA_INVALID", "suppressed are 3 records"},
		},
		{
			"another one is suppressed",
			outcome{records: 3, suppressed: of("2.00", "-0.50"), dead: of("-7.50"), codes: one},
			[]string{"suppressed are 2 records, EUR debit 0.50 credit 2.00, but posted had 2 records, EUR debit 7.50 credit 2.00"},
		},
	} {
		got := judge(s, three(), &row.o, w)
		if !slices.EqualFunc(got, row.wrongs, strings.Contains) {
			t.Errorf("%s: got %q, want %q", row.name, got, row.wrongs)
		}
	}
}

// The figures of a control record and the balances of statements are the file's word, not sums of its records.
func TestControlFiguresAreTakenFromWhatTheFileStates(t *testing.T) {
	t.Parallel()
	foots := func(where, what, figure string) statement.Check {
		return statement.Check{Where: where, What: what, Stated: figure, Found: figure}
	}
	total := audit.Total{Debit: dec("3"), Credit: dec("10")}
	for _, row := range []struct {
		name   string
		checks []statement.Check
		want   []string // what, currency, stated, and what the total above is for it
	}{
		{"none", nil, nil},
		{"an ACH file, whose batches count in it", []statement.Check{
			foots("batch 1", "total credit", "4.00 USD"), foots("file", "entry hash", "7"),
			foots("file", "total debit", "3.00 USD"), foots("file", "total credit", "10.00 USD"),
		}, []string{"control record: total debit USD 3 3", "control record: total credit USD 10 10"}},
		{"two statements of one currency and one of another", []statement.Check{
			foots("statement 1", "closing balance (after OPBD 1000.01 EUR)", "100.01 EUR"),
			foots("statement 2", "closing balance (after PRCD -5.00 EUR)", "0.00 EUR"),
			foots("statement 3", "closing balance (after 60F 1.00 SEK)", "2.00 SEK"),
		}, []string{"the balances move by EUR -895 7", "the balances move by SEK 1 7"}},
		{"one that does not foot states nothing to rely on", []statement.Check{
			{Where: "statement 1", What: "closing balance (after OPBD 18.15 EUR)", Stated: "-27.00 SEK", Found: "27.00 EUR"},
		}, nil},
	} {
		cs, err := controls(&statement.File{Checks: row.checks})
		if err != nil {
			t.Errorf("%s: %v", row.name, err)
		}
		var got []string
		for _, c := range cs {
			got = append(got, strings.Join([]string{c.what, c.currency, c.stated.String(), c.of(total).String()}, " "))
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}

func TestTheRealReadersFiguresAreUnderstood(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"payroll.ach": 2, "mt940.sta": 1, "camt053.xml": 1, "bai2.txt": 0} {
		f := embedded(t, name)
		cs, err := controls(f)
		if err != nil || len(cs) != want {
			t.Errorf("%s: got %d figures and %v, want %d", name, len(cs), err, want)
		}
		o := &outcome{records: len(f.Records)}
		for _, r := range f.Records {
			o.posted.add(audit.Money{Currency: r.Currency, Amount: r.Amount, Readable: r.Readable})
		}
		if got := differences(f, o); len(got) != 0 {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

// embedded reads one of the bank files that are part of the project.
func embedded(t *testing.T, name string) *statement.File {
	t.Helper()
	f, err := statement.Read(name, strings.NewReader(content(t, name)), statement.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func content(t *testing.T, name string) string {
	t.Helper()
	b, err := statement.Testdata.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
