package main

import (
	"recon/examples/ingester/statement"
	"recon/pkg/fault"
)

// sample is one bank file and what must become of it.
type sample struct {
	path    string // below the folder of samples
	opts    statement.Options
	records int
	checks  int // control figures of the file, each of which must hold; 0: it has none, or some do not hold
	dead    map[fault.Code]int
	// refused are runs of the ingester before the good one: each ends with exit 2, sends nothing and names these words.
	refused []refusal
	facts   func(*seen) []fact // what single payments of it must have come to; nil: nothing more than the sums
}

// refusal is a run of the ingester that must send nothing.
type refusal struct {
	opts  statement.Options
	spoil func([]byte) ([]byte, bool) // what is done to a copy of the file first; false: it cannot be done
	what  string                      // what was done
	says  []string
}

// samples are the bank files, in the order in which they arrive, with what is known of each: counts of statements,
// records and control figures are the files' own.
var samples = []sample{
	{path: "moov-ach/201805101354.ach", records: 5000, checks: 26, facts: achFacts},
	{path: "wolph-mt940/sepa_mt9401.sta", records: 97, checks: 26, facts: reversedCredits},
	{path: "wolph-mt940/with_binary_character.sta", records: 4, checks: 2},
	{
		path: "wolph-mt940/february_30.sta", records: 1, checks: 1,
		dead: map[fault.Code]int{fault.SchemaInvalid: 1}, facts: thirtiethOfFebruary,
	},
	{path: "iso20022js/abn_amro_camt053_v2.xml", records: 13, checks: 1, facts: footsFromPreviousClose},
	{
		path: "genkgo-camt/camt053.v2.five.decimals.xml", records: 1, opts: statement.Options{AcceptUnbalanced: true},
		refused: []refusal{{says: []string{"does not foot and is refused whole", "27.05 EUR", "27.00 EUR"}}},
	},
	{
		path: "genkgo-camt/camt053.v8.xml", records: 1, opts: statement.Options{AcceptUnbalanced: true},
		refused: []refusal{{says: []string{"does not foot and is refused whole", "-27.00 SEK", "27.00 EUR"}}},
	},
	{
		path: "genkgo-camt/camt054.v8.xml", records: 1, opts: statement.Options{Intraday: true},
		refused: []refusal{{says: []string{"camt.054", "--intraday"}}},
		dead:    map[fault.Code]int{fault.CurrencyUnmapped: 1},
	},
	{
		path: "moov-bai2/sample3.txt", records: 26, checks: 45, facts: trailersHold,
		refused: []refusal{
			{spoil: raise("49"), what: "with an account's control total (49) one higher", says: []string{"control total (49)", "refused whole"}},
			{spoil: raise("98"), what: "with the group's control total (98) one higher", says: []string{"control total (98)", "refused whole"}},
			{spoil: raise("99"), what: "with the file's control total (99) one higher", says: []string{"control total (99)", "refused whole"}},
		},
	},
	{path: "mini-reconciliation/statement_bank_A.csv", records: 6, opts: csv("BANK-A"), facts: equalWithdrawals},
	{path: "mini-reconciliation/statement_bank_B.csv", records: 3, opts: csv("BANK-B")},
	{path: "mini-reconciliation/system_transactions.csv", records: 9, opts: csv("BOOKS"), facts: equalWithdrawals},
}

// csv are the options of a CSV, which names neither account nor currency.
func csv(entity string) statement.Options {
	return statement.Options{Entity: entity, Currency: "USD"}
}

// others are no bank files: the ingester says so in one sentence.
var others = []string{
	"moov-rtp20022/pacs008.xml", "iso20022js/sepa_pain001_v3_multiple_pmtinf.xml", "ofxparse/bank_medium.ofx",
	"ofxparse/decimal_error.ofx", "stripe-mock/fixtures3.json", "currency-codes/codes-all.csv",
}

// mapped are the currencies that the ledger knows at the start; later is the one that it learns when the first round is over.
var mapped = []string{"EUR", "USD"}

const later = "SEK"

// flagsOf are the ingester's flags for these options.
func flagsOf(o statement.Options) []string {
	var args []string
	if o.Entity != "" {
		args = append(args, "--entity="+o.Entity)
	}
	if o.Currency != "" {
		args = append(args, "--currency="+o.Currency)
	}
	if o.Intraday {
		args = append(args, "--intraday")
	}
	if o.AcceptUnbalanced {
		args = append(args, "--accept-unbalanced")
	}
	return args
}
