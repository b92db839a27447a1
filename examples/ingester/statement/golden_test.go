package statement_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"recon/examples/ingester/statement"
)

var update = flag.Bool("update", false, "write the golden files of statement anew")

// A changed byte here is a new identity for records that are already posted: it needs a version 2 of source_hash, never
// an updated golden file alone.
func TestWireFormIsKeptPerFormat(t *testing.T) {
	for name := range everyFile {
		f := mustRead(t, embedded(t, name), statement.Options{Entity: "NORDWIND-DE"})
		var b strings.Builder
		for _, r := range f.Records {
			b.Write(r.Value)
			b.WriteByte('\n')
		}
		for _, total := range statement.Totals(f) {
			b.WriteString("# " + total.String() + "\n")
		}
		path := filepath.Join("testdata", "golden", name+".jsonl")
		if *update {
			if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if b.String() != string(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, b.String(), want)
		}
	}
}
