package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"recon/pkg/fault"
)

// Ending is what a run did with a letter.
type Ending uint8

// The endings, as the last line of a run has them.
const (
	EndUntouched   Ending = iota // not begun
	EndReinjected                // its original is on main, and its disposition written
	EndSuppressed                // nothing to bring back: the hash has posted, by another root or by its own
	EndQuarantined               // waits for a manual journal
	EndRefused                   // a gate said not now
	EndFailed                    // cut off by an error: what is missing, the same plan completes
)

var endingNames = [...]string{"untouched", "reinjected", "suppressed", "quarantined", "refused", "failed"}

// String gives the word of the last line.
func (e Ending) String() string { return endingNames[e] }

// Result is what became of one letter.
type Result struct {
	Case    *Case
	Ending  Ending
	Code    fault.Failure // why refused or suppressed
	Fact    string
	Err     error // of EndFailed
	Own     bool  // with EndSuppressed: it was the letter's own root that had posted
	Again   bool  // with EndReinjected: an earlier run had taken it and was cut off
	Earlier bool  // an earlier run of the plan did it
}

// Report is what a run came to. Its counts are over the whole plan: what an earlier run of the same plan has done is
// counted again, and said so.
type Report struct {
	PlanID, RunID  string
	Started, Ended time.Time
	Results        []Result // in the order of the plan

	waited bool // somebody waited for confirmations
}

// Count is how many letters ended so.
func (r *Report) Count(of Ending) int {
	n := 0
	for i := range r.Results {
		if r.Results[i].Ending == of {
			n++
		}
	}
	return n
}

// Earlier is how many letters an earlier run of the plan had done.
func (r *Report) Earlier() int {
	n := 0
	for i := range r.Results {
		if r.Results[i].Earlier {
			n++
		}
	}
	return n
}

// Totals are the sums of the letters that ended so; without an argument those of all.
func (r *Report) Totals(of ...Ending) Totals {
	var t Totals
	for i := range r.Results {
		if len(of) == 0 || slices.Contains(of, r.Results[i].Ending) {
			t.Add(r.Results[i].Case)
		}
	}
	return t
}

// After is what became of the letters that went back, as far as the topics told when somebody last looked.
type After struct {
	Confirmed   int // posted
	Suppressed  int // another root had posted it meanwhile
	Again       int // failed again: a new letter is in the DLQ
	Settled     int // a person settled it meanwhile
	Unconfirmed []*Case
}

// After looks at the letters that the report counts as reinjected.
func (r *Report) After() After {
	var a After
	for i := range r.Results {
		if r.Results[i].Ending != EndReinjected {
			continue
		}
		c := r.Results[i].Case
		s := c.Status()
		if s == Unrecorded {
			s = Status(c.line.terminal())
		}
		switch s {
		case Confirmed:
			a.Confirmed++
		case Suppressed:
			a.Suppressed++
		case Replaced:
			a.Again++
		case Open, InFlight:
			a.Unconfirmed = append(a.Unconfirmed, c)
		default:
			a.Settled++
		}
	}
	return a
}

// Wait reads on until nothing that went back is open or in flight any more, or until ctx ends. At ctx's deadline it
// returns what the report comes to then: After names what is not confirmed. Where ctx was cancelled it is ErrInterrupted.
// f is the fold that the run was given.
func (r *Runner) Wait(ctx context.Context, f *Fold, report *Report) error {
	report.waited = true
	err := f.Follow(ctx, r.cfg.Options, r.cfg.Topics, func() bool { return len(report.After().Unconfirmed) == 0 })
	switch {
	case err == nil || errors.Is(err, context.DeadlineExceeded):
		return report.Err()
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %d letters are not confirmed yet", ErrInterrupted, len(report.After().Unconfirmed))
	default:
		return err
	}
}

// Line is the last line of a run.
func (r *Report) Line() string {
	return fmt.Sprintf("selected %d = reinjected %d + suppressed %d + quarantined %d + refused %d + failed %d + untouched %d",
		len(r.Results), r.Count(EndReinjected), r.Count(EndSuppressed), r.Count(EndQuarantined), r.Count(EndRefused),
		r.Count(EndFailed), r.Count(EndUntouched))
}

// Err is ErrIncomplete where letters were refused, failed or left untouched, or, after waiting, are not confirmed.
func (r *Report) Err() error {
	if n := r.Count(EndRefused) + r.Count(EndFailed) + r.Count(EndUntouched); n > 0 {
		return fmt.Errorf("%w: %d of %d were refused, failed or left untouched", ErrIncomplete, n, len(r.Results))
	}
	if a := r.After(); r.waited && a.Again+len(a.Unconfirmed) > 0 {
		return fmt.Errorf("%w: of those that went back %d failed again and %d are not confirmed yet", ErrIncomplete, a.Again, len(a.Unconfirmed))
	}
	return nil
}
