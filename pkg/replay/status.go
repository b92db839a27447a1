package replay

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"recon/pkg/audit"
	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// Totals are sums per currency: gross debit and gross credit apart. An amount counts once per source_hash, however many
// letters carry it; an amount that cannot be read is counted as such.
type Totals struct {
	Currencies map[string]audit.Total
	Unreadable int

	counted map[transaction]bool
}

// transaction is what makes two letters one amount. Two amounts under one hash are two transactions.
type transaction struct{ hash, currency, amount string }

// Add takes the amount of c into the totals.
func (t *Totals) Add(c *Case) { t.add(c.Facts) }

func (t *Totals) add(f envelope.Facts) {
	m := audit.MoneyOf(f.Currency, f.Amount)
	if !m.Readable {
		t.Unreadable++
		return
	}
	if f.SourceHash != "" {
		k := transaction{f.SourceHash, f.Currency, f.Amount}
		if t.counted[k] {
			return
		}
		if t.counted == nil {
			t.counted = make(map[transaction]bool)
		}
		t.counted[k] = true
	}
	if t.Currencies == nil {
		t.Currencies = make(map[string]audit.Total)
	}
	t.Currencies[m.Currency] = t.Currencies[m.Currency].Plus(m)
}

// TotalsOf adds up letters.
func TotalsOf(cases iter.Seq[*Case]) Totals {
	var t Totals
	for c := range cases {
		t.Add(c)
	}
	return t
}

// Overview is where all letters stand, at one look.
type Overview struct {
	Letters    int // different ones
	Repeats    int // further copies of them
	ByStatus   map[Status]int
	Unreadable int // records of the topics that could not be decoded
	Orphans    int // dispositions whose letter was not read

	Codes  map[fault.Failure]int // of the open letters
	Open   Totals
	Oldest time.Time // dead_lettered_at of the oldest open letter; zero: none is open

	InFlight       Totals
	OldestInFlight time.Time // since when the oldest one is in flight; zero: none is

	Conflicts []Conflict
	Gaps      []string
}

// Overview counts and adds up what the fold knows.
func (f *Fold) Overview() Overview {
	o := Overview{
		ByStatus: make(map[Status]int), Codes: make(map[fault.Failure]int),
		Unreadable: len(f.unread), Conflicts: f.Conflicts(), Gaps: f.Gaps(),
	}
	for _, c := range f.cases {
		if !c.known {
			o.Orphans += len(c.Steps)
		}
	}
	for c := range f.All() {
		o.Letters++
		o.Repeats += len(c.Copies) - 1
		s := c.Status()
		o.ByStatus[s]++
		switch s {
		case Open:
			o.Codes[c.FailureCode]++
			o.Open.Add(c)
			o.Oldest = earlier(o.Oldest, c.DeadLettered)
		case InFlight:
			since, _ := c.Reinjected()
			o.InFlight.Add(c)
			o.OldestInFlight = earlier(o.OldestInFlight, since)
		}
	}
	return o
}

// earlier is the earlier of two times, the zero time being none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// Conflict is a contradiction in what the topics say of a letter. None of them changes what a letter's status is; each
// is for a person to look at.
type Conflict struct {
	EnvelopeID string
	Root       envelope.Coordinates
	What       string
}

// Conflicts lists them by root and letter: two terminal states on one letter, a root that posted although a person
// settled it, a root that is settled although a later letter of it is open, and copies of a letter that differ.
func (f *Fold) Conflicts() []Conflict {
	var cs []Conflict
	for _, c := range f.cases {
		if states := c.terminals(); len(states) > 1 {
			cs = append(cs, Conflict{c.EnvelopeID, c.Root, fmt.Sprintf("has %d terminal states, %s counts: %s", len(states), states[0], join(states))})
		}
		if c.differs {
			cs = append(cs, Conflict{c.EnvelopeID, c.Root, "its copies in the DLQ disagree about the original"})
		}
		ended := c.line.terminal()
		if c.known && c.Status() == Open && ended != "" {
			cs = append(cs, Conflict{c.EnvelopeID, c.Root, fmt.Sprintf("is open although its root is %s", ended)})
		}
		if own := c.terminal(); ended == envelope.Confirmed && byHand(own) {
			cs = append(cs, Conflict{c.EnvelopeID, c.Root, fmt.Sprintf("is %s although its root has posted", own)})
		}
	}
	slices.SortFunc(cs, func(a, b Conflict) int {
		if d := a.Root.Compare(b.Root); d != 0 {
			return d
		}
		return strings.Compare(a.EnvelopeID+a.What, b.EnvelopeID+b.What)
	})
	return cs
}

// byHand tells whether a person put the letter into state s.
func byHand(s envelope.State) bool {
	return s == envelope.Resolved || s == envelope.Quarantined || s == envelope.JournalPosted
}

func join(states []envelope.State) string {
	words := make([]string, len(states))
	for i, s := range states {
		words[i] = string(s)
	}
	return strings.Join(words, ", ")
}
