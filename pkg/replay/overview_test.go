package replay_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"recon/pkg/envelope"
	"recon/pkg/replay"
)

// Pitfall R45: of several copies the one written first speaks, and copies that disagree are reported.
func TestFirstCopySpeaksAndDifferingCopiesAreReported(t *testing.T) {
	first, second := letterOf(0, 0, 0), letterOf(0, 0, 5)
	second.AttemptCount = 9
	a, b := envelope.Coordinates{Topic: "recon.dlq", Offset: 1}, envelope.Coordinates{Topic: "recon.dlq", Offset: 7}
	f := foldOf(fact{at: b, letter: second}, fact{at: a, letter: first})
	c, _ := f.Case(first.EnvelopeID)
	if c.Attempts != 1 || c.At != a || len(c.Copies) != 2 {
		t.Errorf("attempts %d at %s with %d copies, want those of the first one", c.Attempts, c.At, len(c.Copies))
	}
	if got := f.Conflicts(); len(got) != 0 {
		t.Errorf("conflicts %v, want none", got)
	}
	second.Original.ValueSHA256 = strings.Repeat("0", 64)
	f.Letter(envelope.Coordinates{Topic: "recon.dlq", Offset: 8}, second)
	if got := f.Conflicts(); len(got) != 1 {
		t.Errorf("conflicts %v, want the copy that differs", got)
	}
}

// CONTRACT 9: an amount counts once per source_hash; two amounts under one hash are two transactions.
func TestOpenAmountCountsOncePerHash(t *testing.T) {
	twin := func(n int, amount string) *envelope.Letter {
		l := letterOf(n, 0, 0)
		l.Message.SourceHash, l.Message.Amount = "hash-twins", amount
		return l
	}
	blind := letterOf(4, 0, 0)
	blind.Message = envelope.Facts{}
	f := foldOf(fact{letter: twin(0, "10")}, fact{letter: twin(1, "10")}, fact{letter: twin(2, "-7.5")}, fact{letter: blind})
	o := f.Overview()
	eur := o.Open.Currencies["EUR"]
	if !eur.Credit.Equal(decimal.RequireFromString("10")) || !eur.Debit.Equal(decimal.RequireFromString("7.5")) || eur.Count != 2 || o.Open.Unreadable != 1 {
		t.Errorf("open %+v, unreadable %d; want credit 10, debit 7.5, one unreadable", eur, o.Open.Unreadable)
	}
	if !o.Oldest.Equal(twin(0, "1").DeadLetteredAt) {
		t.Errorf("oldest %s, want the first letter's", o.Oldest)
	}
}

func TestFoldKeepsNoPayload(t *testing.T) {
	l := letterOf(0, 0, 0)
	l.Original.Value = append(value(0, "ACME"), make([]byte, 1<<20)...)
	f := foldOf(fact{letter: l})
	c, _ := f.Case(l.EnvelopeID)
	if s := fmt.Sprintf("%+v", *c); len(s) > 4096 {
		t.Errorf("a case of %d bytes, want a summary", len(s))
	}
}

func BenchmarkFoldOfALetterAndItsDisposition(b *testing.B) {
	f := replay.NewFold()
	b.ReportAllocs()
	for n := range b.N {
		l := letterOf(n, 0, 0)
		f.Letter(l.Lineage.Root, l)
		f.Disposition(stateOf(l, envelope.Reinjected, "run-1"))
	}
}
