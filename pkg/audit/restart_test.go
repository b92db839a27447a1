package audit_test

import (
	"testing"

	"recon/pkg/audit"
)

// Pitfall R94: a restart during which two processes of one instance live. Each has a chain of its own, so neither
// breaks the other's; both name the same predecessor, and the next one names one of them.
func TestTwoProcessesOfOneInstanceBreakNoChain(t *testing.T) {
	var p topic
	begin := func(before audit.Head) *audit.Chain {
		t.Helper()
		cfg := config()
		cfg.Predecessor = before
		c, err := audit.Open(t.Context(), cfg, &p)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	head := func(c *audit.Chain) audit.Head {
		t.Helper()
		for _, s := range trail(p.stored...).Chains {
			if s.ID == c.ID() {
				return s.Head
			}
		}
		t.Fatalf("chain %s is not there", c.ID())
		return audit.Head{}
	}
	first := begin(audit.Head{})
	seen := head(first)
	old, young := begin(seen), begin(seen)
	for i := range int64(10) {
		for _, c := range []*audit.Chain{old, young} {
			if err := c.Append(t.Context(), entry(i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	begin(head(young))
	got := trail(p.stored...)
	if !got.Intact() || len(got.Chains) != 4 {
		t.Errorf("got %+v, want four intact chains", got)
	}
}

// An event told by two processes, or twice by one, is one event: readers fold by its id, and the books by its content.
func TestOverlappingEntriesCountOnce(t *testing.T) {
	var p topic
	a, b := open(t, &p), open(t, &p)
	wide := audit.Entry{Topic: "recon.main", From: 0, To: 3}
	for i := range int64(3) {
		wide.Add(audit.OutcomePosted, posting(i, "10.00"))
	}
	if err := a.Append(t.Context(), wide); err != nil { // and a crash before the mark
		t.Fatal(err)
	}
	if err := b.Append(t.Context(), entry(0), entry(1)); err != nil { // the next owner tells part of it again
		t.Fatal(err)
	}
	books := audit.NewBooks("recon.main", false)
	for i := range int64(3) {
		books.Ingested(audit.Arrival{At: at(0, i), SourceHash: posting(i, "").SourceHash, Money: audit.MoneyOf("EUR", "10.00")})
	}
	for _, v := range p.stored {
		r, err := audit.Decode(v)
		if err != nil {
			t.Fatal(err)
		}
		if r.Entry == nil {
			continue
		}
		for _, e := range r.Entry.Events {
			books.Event(e)
		}
	}
	r := books.Result()
	if !r.Closes() || r.By[audit.AsPosted]["EUR"].Count != 3 || !r.By[audit.AsPosted]["EUR"].Credit.Equal(dec("30")) {
		t.Error(text(r))
	}
}
