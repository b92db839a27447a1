package statement_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"recon/examples/ingester/statement"
)

// achEntry is one generated entry: amounts in cents, negative for debits.
type achEntry struct {
	cents   int64
	routing int
	trace   int
	addenda int
}

// achControl sums up what a control record states.
type achControl struct {
	count         int
	hash          int
	debit, credit int64
}

func (c *achControl) add(e achEntry) {
	c.count += 1 + e.addenda
	c.hash = (c.hash + e.routing) % 10_000_000_000
	if e.cents < 0 {
		c.debit -= e.cents
	} else {
		c.credit += e.cents
	}
}

// ach writes batches as a NACHA file, by the positions of the published tables.
func ach(batches [][]achEntry) string {
	lines := []string{fmt.Sprintf("101 111111118 1111111182611271830A094101%-23s%-23s%8s", "BANK", "COMPANY", "")}
	var file achControl
	for i, batch := range batches {
		lines = append(lines, fmt.Sprintf("5200%-16s%-20s%-10sPPD%-10s261130261130   1%08d%07d", "COMPANY", "", "1987654321", "PAY", 11111111, i+1))
		var c achControl
		for _, e := range batch {
			code, cents := "22", e.cents
			if cents < 0 {
				code, cents = "27", -cents
			}
			mark := min(e.addenda, 1)
			lines = append(lines, fmt.Sprintf("6%s%08d0%-17s%010d%-15s%-22s  %d%08d%07d", code, e.routing, "4711", cents, "ID", "NAME", mark, 11111111, e.trace))
			for n := range e.addenda {
				lines = append(lines, fmt.Sprintf("705%-80s%04d%07d", "text", n+1, e.trace))
			}
			c.add(e)
			file.add(e)
		}
		lines = append(lines, fmt.Sprintf("8200%06d%010d%012d%012d%-10s%25s%08d%07d", c.count, c.hash, c.debit, c.credit, "1987654321", "", 11111111, i+1))
	}
	blocks := (len(lines) + 1 + 9) / 10
	lines = append(lines, fmt.Sprintf("9%06d%06d%08d%010d%012d%012d%39s", len(batches), blocks, file.count, file.hash, file.debit, file.credit, ""))
	for len(lines)%10 > 0 {
		lines = append(lines, strings.Repeat("9", 94))
	}
	return strings.Join(lines, "\n") + "\n"
}

var achBatches = rapid.SliceOfN(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) achEntry {
	return achEntry{
		cents:   rapid.Int64Range(-9_999_999_999, 9_999_999_999).Draw(t, "cents"),
		routing: rapid.IntRange(0, 99_999_999).Draw(t, "routing"),
		trace:   rapid.IntRange(1, 3).Draw(t, "trace"), // repeats, as the numbers of two batches do
		addenda: rapid.IntRange(0, 2).Draw(t, "addenda"),
	}
}), 0, 6), 0, 4)

func TestWhatAnACHOriginatorWritesIsWhatIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		batches := achBatches.Draw(t, "batches")
		f, err := statement.Read("ach", strings.NewReader(ach(batches)), statement.Options{})
		if err != nil {
			t.Fatalf("%v\n%s", err, ach(batches))
		}
		var seen []string
		i := 0
		for _, e := range slices.Concat(batches...) {
			r := f.Records[i]
			if r.Raw || !r.Amount.Equal(decimal.New(e.cents, -2)) || slices.Contains(seen, r.SourceHash) || verdict(r) != "ok" {
				t.Fatalf("entry %+v became %s (%s)", e, r.Value, verdict(r))
			}
			seen = append(seen, r.SourceHash)
			i++
		}
		if i != len(f.Records) {
			t.Fatalf("got %d records, want %d", len(f.Records), i)
		}
	})
}

func TestAnACHEntryLostOnTheWayIsNoticed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		batches := achBatches.Filter(func(b [][]achEntry) bool { return len(slices.Concat(b...)) > 0 }).Draw(t, "batches")
		lines := strings.SplitAfter(ach(batches), "\n")
		var entries []int
		for i, l := range lines {
			if strings.HasPrefix(l, "6") {
				entries = append(entries, i)
			}
		}
		at := rapid.SampledFrom(entries).Draw(t, "at")
		text := strings.Join(slices.Delete(lines, at, at+1), "")
		if _, err := statement.Read("ach", strings.NewReader(text), statement.Options{}); err == nil {
			t.Fatalf("foots:\n%s", text)
		}
	})
}

// TestAReorderedStatementKeepsItsHashes: a bank that lists the same day in another order brings no new transaction.
func TestAReorderedStatementKeepsItsHashes(t *testing.T) {
	for name, write := range map[string]func(book) string{"camt": book.camt, "mt940": book.mt940, "bai2": book.bai2, "csv": book.csv} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				b := books.Draw(t, "book")
				shuffled := book{b.opening, rapid.Permutation(b.all).Draw(t, "order")}
				var sets [2][]string
				for i, text := range []string{write(b), write(shuffled)} {
					f, err := statement.Read(name, strings.NewReader(text), statement.Options{Entity: "E", Currency: "EUR"})
					if err != nil {
						t.Fatal(err)
					}
					for _, r := range f.Records {
						sets[i] = append(sets[i], r.SourceHash)
					}
					slices.Sort(sets[i])
				}
				if !slices.Equal(sets[0], sets[1]) {
					t.Fatalf("another order gives other hashes:\n%s\n%s", write(b), write(shuffled))
				}
			})
		})
	}
}

func BenchmarkReadACH(b *testing.B) {
	text := sample(b, "moov-ach/201805101354.ach")
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := statement.Read("ach", strings.NewReader(text), statement.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
