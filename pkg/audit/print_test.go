package audit_test

import (
	"errors"
	"strings"
	"testing"

	"recon/pkg/audit"
	"recon/pkg/envelope"
)

func TestCompletenessLineForAPerson(t *testing.T) {
	w := newWorld()
	for i, amount := range []string{"1234567.5", "-2.5", "-1000", "0.05"} {
		w.amount = amount
		root := at(0, int64(i))
		w.arrive(root, hashOf(root), "d")
		w.post(root, 0, hashOf(root), "d")
	}
	w.amount = "-7.25"
	lives[3].write(w, at(1, 1)) // dead
	w.amount = ""
	lives[3].write(w, at(1, 2))
	w.amount = "20"
	lives[2].write(w, at(1, 3)) // waiting
	yen := at(1, 4)
	w.arrivals = append(w.arrivals, func(b *audit.Books) {
		b.Ingested(audit.Arrival{At: yen, SourceHash: "y", Digest: "d", Money: audit.MoneyOf("JPY", "5000")})
	})
	w.say(yen, func(b *audit.Books) {
		b.Posted(audit.Posting{SourceHash: "y", Root: yen, Digest: "d", Money: audit.MoneyOf("JPY", "5000.000000000")})
	})
	var got strings.Builder
	if err := books(true, w.facts()).Result().Print(&got); err != nil {
		t.Fatal(err)
	}
	const want = `ingested 8 = posted 5 + suppressed 0 + waiting in tiers 1 + open dead letters 2 + quarantined 0 (awaiting journal 0 | journal posted 0) + resolved 0
EUR gross debit  1,009.75 = posted 1,002.50 + open dead letters 7.25
EUR gross credit 1,234,587.55 = posted 1,234,567.55 + waiting in tiers 20.00
JPY gross credit 5,000 = posted 5,000
unreadable amounts 1 = open dead letters 1
hash total HASH, accounted for HASH
completeness closes
`
	hash := strings.Fields(got.String()[strings.Index(got.String(), "hash total "):])[2]
	if g := strings.ReplaceAll(got.String(), strings.TrimSuffix(hash, ","), "HASH"); g != want {
		t.Errorf("got\n%s\nwant\n%s", g, want)
	}
}

func TestWhatDoesNotCloseSaysSo(t *testing.T) {
	w := newWorld()
	w.amount = "1.00"
	for i := range int64(25) {
		w.arrive(at(0, i), hashOf(at(0, i)), "d")
	}
	w.die(at(0, 3), 0, hashOf(at(0, 3)))
	w.dispose(at(0, 3), 0, envelope.Resolved, nil)
	w.dispose(at(0, 3), 0, envelope.Quarantined, nil)
	w.say(at(9, 9), func(b *audit.Books) { b.Suspect(at(9, 9), "cannot be read") })
	b := books(false, w.facts())
	var got strings.Builder
	if err := b.Result().Print(&got); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"ingested 25 = posted 0 ", "+ resolved 1 + MISSING 24\n",
		"EUR gross credit 25.00 = resolved 1.00 + missing 24.00\n",
		"postings were not counted in the ledger: what is posted is taken from the audit trail\n",
		"missing: recon.main/0@0 has no outcome\n", "missing: 4 more\n",
		"note: recon.main/0@3: letter ", "ALARM: recon.main/9@9: cannot be read\n",
		"completeness DOES NOT CLOSE\n",
	} {
		if !strings.Contains(got.String(), want) {
			t.Errorf("no %q in\n%s", want, got.String())
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errAway }

func TestPrintReturnsTheWritersError(t *testing.T) {
	if err := books(true, nil).Result().Print(broken{}); !errors.Is(err, errAway) {
		t.Errorf("got %v, want %v", err, errAway)
	}
}
