package main

import (
	"strings"
	"testing"

	"recon/examples/ingester/statement"
	"recon/pkg/audit"
	"recon/pkg/fault"
)

func TestAFileIsShownWithItsFiguresInColumns(t *testing.T) {
	t.Parallel()
	f := three()
	f.Records[0].Amount = dec("1234567.89")
	f.Checks[0] = statement.Check{What: "closing balance (after 60F 10.00 EUR)", Stated: "1234569.89 EUR", Found: "1234569.89 EUR"}
	o := &outcome{records: 3, posted: of("1234567.89", "-7.50"), dead: of("-0.50"), codes: map[fault.Code]int{fault.SchemaInvalid: 1}}
	o.dead.add(audit.Money{})
	var b strings.Builder
	v := &view{out: &b}
	v.columns()
	v.file(&sample{path: "bank/three.sta", opts: statement.Options{AcceptUnbalanced: true}}, f, o)
	want := strings.Join([]string{
		"                                                     records              debit             credit                net",
		"bank/three.sta: mt940, 1 of 1 control figures hold, --accept-unbalanced",
		"  posted                                       EUR         2               7.50       1,234,567.89       1,234,560.39",
		"  suppressed                                               0",
		"  dead letters: 1 SCHEMA_INVALID               EUR         1               0.50               0.00              -0.50",
		"    of no readable amount                                  1",
		"  the file's records                           EUR         3               8.00       1,234,567.89       1,234,559.89",
		"  the balances move by                         EUR                                                       1,234,559.89",
		"",
	}, "\n")
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTheTotalsOfAControlRecordStandBelowTheirSums(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	v := &view{out: &b}
	v.file(&sample{path: "x.ach"}, &statement.File{Format: "ach", Checks: []statement.Check{
		{Where: "file", What: "total debit", Stated: "1.00 USD", Found: "1.00 USD"},
		{Where: "file", What: "total credit", Stated: "2.00 USD", Found: "2.00 USD"},
	}}, &outcome{})
	want := "  control record: total debit                  USD                         1.00\n" +
		"  control record: total credit                 USD                                            2.00\n"
	if got := b.String(); !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s\nwant at the end\n%s", got, want)
	}
}

func TestOnlyWhatDoesNotHoldIsALineOfItsOwn(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	v := &view{out: &b}
	v.holds(true, "this one does")
	v.holds(false, "%d of %d", 1, 2)
	v.none("a file", nil)
	v.none("b file", []string{"a cent 100% short", "a letter more"})
	v.fact(fact{"both post", true})
	v.fact(fact{"100% post", false})
	want := "NOT AS EXPECTED: 1 of 2\nNOT AS EXPECTED: b file: a cent 100% short\nNOT AS EXPECTED: b file: a letter more\n" +
		"  as it must be: both post\nNOT AS EXPECTED: 100% post\n"
	if got := b.String(); got != want || v.held != 3 || v.wrong != 4 {
		t.Errorf("%d hold, %d do not, and got\n%s\nwant 3, 4 and\n%s", v.held, v.wrong, got, want)
	}
}

func TestMoneyHasTheDecimalsOfItsCurrency(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ currency, amount, want string }{
		{"EUR", "0", "0.00"},
		{"EUR", "-6", "-6.00"},
		{"EUR", "1000", "1,000.00"},
		{"EUR", "-100", "-100.00"},
		{"EUR", "-123456.7", "-123,456.70"},
		{"JPY", "2700", "2,700"},
		{"TND", "1.5", "1.500"},
		{"EUR", "27.055", "27.055"},
		{"EUR", "12345678901234567890.01", "12,345,678,901,234,567,890.01"},
	} {
		if got := money(row.currency, dec(row.amount)); got != row.want {
			t.Errorf("%s %s: got %s, want %s", row.currency, row.amount, got, row.want)
		}
	}
}
