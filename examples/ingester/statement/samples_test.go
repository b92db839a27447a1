package statement_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"recon/examples/ingester/statement"
)

// The facts below are of real files that others made; they are listed with their origins beside the files.

func TestRealACHPostsFiveThousandAndEqualsItsControlTotals(t *testing.T) {
	f := mustRead(t, sample(t, "moov-ach/201805101354.ach"), statement.Options{})
	if got := len(hashes(t, f)); got != 5000 {
		t.Errorf("got %d hashes, want 5000", got)
	}
	totals := statement.Totals(f)
	if got := fmt.Sprint(totals); got != "[USD debit 0.00 credit 5000000.00 net 5000000.00]" {
		t.Errorf("got %s", got)
	}
	if n := len(f.Checks); n != 4*5+6 {
		t.Errorf("got %d control figures, want 26", n)
	}
	for _, r := range f.Records {
		if r.Raw || r.Key != "81967038518" || verdict(r) != "ok" {
			t.Fatalf("got %+v", r)
		}
	}
}

func TestRealMT940StatementsAllFoot(t *testing.T) {
	for _, row := range []struct {
		file                string
		statements, records int
		total               string
	}{
		{"sepa_mt9401.sta", 26, 97, "[EUR debit 14457610.84 credit 5188474.94 net -9269135.90]"},
		{"with_binary_character.sta", 2, 4, "[EUR debit 193282.05 credit 14215.30 net -179066.75]"},
		{"february_30.sta", 1, 1, "[EUR debit 6.00 credit 0.00 net -6.00]"},
	} {
		f := mustRead(t, sample(t, "wolph-mt940/"+row.file), statement.Options{})
		if len(f.Checks) != row.statements || len(hashes(t, f)) != row.records || fmt.Sprint(statement.Totals(f)) != row.total {
			t.Errorf("%s: got %d statements, %d records, %v", row.file, len(f.Checks), len(f.Records), statement.Totals(f))
		}
	}
}

func TestRealMT940ReversedCreditsAreDebits(t *testing.T) {
	f := mustRead(t, sample(t, "wolph-mt940/sepa_mt9401.sta"), statement.Options{})
	var got []string
	for _, r := range f.Records {
		if field(t, r, "reversal") == "true" {
			got = append(got, field(t, r, "amount"))
		}
	}
	if want := []string{"-204.88", "-204.88"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestReal30FebruaryGoesAsJSONWithThatDate(t *testing.T) {
	r := mustRead(t, sample(t, "wolph-mt940/february_30.sta"), statement.Options{}).Records[0]
	if r.Raw || field(t, r, "value_date") != "2016-02-30" || field(t, r, "amount") != "-6.00" || verdict(r) != "SCHEMA_INVALID" {
		t.Errorf("got %s, %s", r.Value, verdict(r))
	}
}

func TestRealCamt053FootsFromThePreviousClose(t *testing.T) {
	text := sample(t, "iso20022js/abn_amro_camt053_v2.xml")
	f := mustRead(t, text, statement.Options{})
	if got := fmt.Sprint(statement.Totals(f)); len(f.Records) != 13 || got != "[EUR debit 928.00 credit 28.00 net -900.00]" {
		t.Errorf("got %d records, %s", len(f.Records), got)
	}
	hashes(t, f) // two of its entries of 7.00 share reference, date and amount
	if !strings.Contains(f.Checks[0].What, "PRCD 1000.01 EUR") {
		t.Errorf("got %v", f.Checks[0])
	}
	wantColumn(t, f, "reversal", "- - - - - - - - - - - true true")
	for _, r := range f.Records {
		if verdict(r) != "ok" { // 01.00 is an amount of its, too
			t.Errorf("%s: %s", r.Value, verdict(r))
		}
	}
	detail := mustRead(t, text, statement.Options{Level: "detail"})
	if got := fmt.Sprint(statement.Totals(detail)); len(hashes(t, detail)) != 29 || got != fmt.Sprint(statement.Totals(f)) {
		t.Errorf("details: got %d records, %s", len(detail.Records), got)
	}
}

func TestRealCamt053ThatDoNotFootAreRefusedWithBothFigures(t *testing.T) {
	for file, figures := range map[string][]string{
		"camt053.v2.five.decimals.xml": {"27.05 EUR", "27.00 EUR"},
		"camt053.v8.xml":               {"-27.00 SEK", "27.00 EUR"},
	} {
		text := sample(t, "genkgo-camt/"+file)
		wantUnbalanced(t, refused(t, text, statement.Options{}), figures...)
		f := mustRead(t, text, statement.Options{AcceptUnbalanced: true})
		if got := fmt.Sprint(statement.Totals(f)); got != "[EUR debit 0.00 credit 8.85 net 8.85]" || verdict(f.Records[0]) != "ok" {
			t.Errorf("%s: got %s, %s", file, got, verdict(f.Records[0]))
		}
	}
}

func TestRealCamt054IsRefusedWithoutIntraday(t *testing.T) {
	text := sample(t, "genkgo-camt/camt054.v8.xml")
	if err := refused(t, text, statement.Options{}); !errors.Is(err, statement.ErrIntraday) {
		t.Errorf("got %v", err)
	}
	wantColumn(t, mustRead(t, text, statement.Options{Intraday: true}), "amount", "-200000")
	wantUnbalanced(t, refused(t, text, statement.Options{Intraday: true, Level: "detail"}), "-200000.00 SEK")
}

func TestRealBAI2ChecksItsTrailers(t *testing.T) {
	f := mustRead(t, sample(t, "moov-bai2/sample3.txt"), statement.Options{})
	if got := fmt.Sprint(statement.Totals(f)); len(hashes(t, f)) != 26 || got != "[USD debit 594.18 credit 397.13 net -197.05]" {
		t.Errorf("got %d records, %s", len(f.Records), got)
	}
	trailers := 0
	for _, c := range f.Checks {
		if strings.Contains(c.What, "control total (49)") {
			trailers++
		}
	}
	if trailers != 15 {
		t.Errorf("got %d accounts, want 15", trailers)
	}
	wantUnbalanced(t, refused(t, strings.Replace(sample(t, "moov-bai2/sample3.txt"), "27500", "27501", 1), statement.Options{}), "control total (49)")
}

func TestRealCSVKeepsTwoEqualWithdrawalsApart(t *testing.T) {
	f := mustRead(t, sample(t, "mini-reconciliation/statement_bank_A.csv"), statement.Options{Entity: "BANK-A", Currency: "USD"})
	wantColumn(t, f, "amount", "-150.00 200.50 -75.00 -75.00 -125.00 50.00")
	if got := len(hashes(t, f)); got != 6 {
		t.Errorf("got %d hashes", got)
	}
	ledger := mustRead(t, sample(t, "mini-reconciliation/system_transactions.csv"), statement.Options{Entity: "BOOKS", Currency: "USD"})
	wantColumn(t, ledger, "amount", "-150.00 200.50 -75.00 -75.00 500.00 -120.25 300.00 -1000.00 -25.00")
}

func TestRealFilesOfOtherKindsAreNoBankFiles(t *testing.T) {
	for _, name := range []string{"moov-rtp20022/pacs008.xml", "iso20022js/sepa_pain001_v3_multiple_pmtinf.xml", "ofxparse/bank_medium.ofx", "ofxparse/decimal_error.ofx", "stripe-mock/fixtures3.json", "currency-codes/codes-all.csv"} {
		err := refused(t, sample(t, name), statement.Options{Entity: "E", Currency: "EUR", Intraday: true, AcceptUnbalanced: true})
		if _, ok := errors.AsType[*statement.NotBankFileError](err); !ok {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestRealFilesReadTwiceGiveTheSameHashes(t *testing.T) {
	for _, name := range []string{"moov-ach/201805101354.ach", "wolph-mt940/sepa_mt9401.sta", "iso20022js/abn_amro_camt053_v2.xml", "moov-bai2/sample3.txt"} {
		text := sample(t, name)
		if !slices.Equal(hashes(t, mustRead(t, text, statement.Options{})), hashes(t, mustRead(t, text, statement.Options{}))) {
			t.Errorf("%s: the second reading differs", name)
		}
	}
}
