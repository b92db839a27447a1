package statement_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"recon/examples/ingester/statement"
)

// fuzzed reads data in both ways and holds what must be true of every file that is taken.
func fuzzed(t *testing.T, data []byte) {
	for _, opts := range []statement.Options{
		{Entity: "E", Currency: "EUR"},
		{Level: statement.DetailLevel, Intraday: true, AcceptUnbalanced: true, Currency: "EUR"},
	} {
		f, err := statement.Read("fuzz", bytes.NewReader(data), opts)
		if err != nil {
			continue
		}
		size := 0
		for _, r := range f.Records {
			size += len(r.Value)
			code := verdict(r)
			nameless := f.Format == "csv" && code == "NO_IDENTITY" // a row without a date and an id
			if (r.Raw || nameless) != (r.SourceHash == "") || r.Raw != !json.Valid(r.Value) {
				t.Fatalf("raw %v with hash %q: %q", r.Raw, r.SourceHash, r.Value)
			}
			if code == "NO_IDENTITY" && !nameless || !r.Raw && code == "UNDECODABLE" {
				t.Fatalf("%s: %s", code, r.Value)
			}
		}
		// A record has at most its line, twice a text of 140 characters, and the fixed members; entities repeat per record.
		if limit := 64*len(data) + 4096*(len(f.Records)+1); size > limit {
			t.Fatalf("%d bytes became %d", len(data), size)
		}
		if !opts.AcceptUnbalanced && len(f.Failed()) > 0 {
			t.Fatalf("does not foot and was taken: %v", f.Failed()[0])
		}
	}
}

func FuzzCamt(f *testing.F) {
	f.Add([]byte(embedded(f, "camt053.xml")))
	f.Add([]byte(camt(bal("OPBD", "CRDT", "1"), bal("CLBD", "CRDT", "6"), ntry("CRDT", "5.00", "A"))))
	f.Add([]byte(camt054(ntry("CRDT", "5.00", "A"))))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzed(t, data) })
}

func FuzzMT940(f *testing.F) {
	f.Add([]byte(embedded(f, "mt940.sta")))
	f.Add([]byte(mt940("C261126EUR10,00", "C261127EUR15,00", ":61:2611271127C5,00NTRFREF", ":86:M\xFCller")))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzed(t, data) })
}

func FuzzACH(f *testing.F) {
	f.Add([]byte(embedded(f, "payroll.ach")))
	f.Add([]byte(strings.ReplaceAll(embedded(f, "payroll.ach"), "\n", "")))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzed(t, data) })
}

func FuzzBAI2(f *testing.F) {
	f.Add([]byte(embedded(f, "bai2.txt")))
	f.Add([]byte(bai2("010,500,,", 600, 3, "16,142,100,D,2,0,60,1,40,R,,text/")))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzed(t, data) })
}

func FuzzCSV(f *testing.F) {
	f.Add([]byte(embedded(f, "card.csv")))
	f.Add([]byte("trxID;amount;type;transactionTime\nA;5.00;DEBIT;2026-11-27T10:00:00Z\n"))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzed(t, data) })
}
