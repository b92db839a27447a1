package replay

import (
	"fmt"
	"time"

	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// PlanVersion is the version of plan files that is written and read.
const PlanVersion = 1

// ActionReplay is the only action that plans have so far.
const ActionReplay = "replay"

// Plan is a frozen decision: these letters, these answers of the gates, these sums, until then. Its id is a hash over
// all of it, so a plan that was changed is no plan any more.
type Plan struct {
	ID        string // 64 hex digits
	Action    string
	CreatedAt time.Time // UTC, milliseconds
	ExpiresAt time.Time // it does not begin after that
	Actor     string    // who made it, as claimed
	Reason    string
	RootCause string
	Ticket    string
	Selection string  // what was asked for, as flags
	Entries   []Entry // in the order of execution: ledger entity, first seen, root
	Totals    Totals  // of the letters that are to come back
}

// Entry is one letter of a plan, with what the gates said when it was made.
type Entry struct {
	EnvelopeID string
	Root       envelope.Coordinates
	Generation int
	Entity     string
	SourceHash string
	Currency   string
	Amount     string
	Outcome    Outcome
	Code       fault.Failure // of a refusal or suppression
	Fact       string
	Gates      []Named
}

// Count is how many letters have one of the given outcomes.
func (p *Plan) Count(of ...Outcome) int {
	n := 0
	for i := range p.Entries {
		for _, o := range of {
			if p.Entries[i].Outcome == o {
				n++
			}
		}
	}
	return n
}

// Left is how many letters of the plan no run of it has ended yet, as far as f has read. The errors are those with which
// a run would not begin.
func (p *Plan) Left(f *Fold) (int, error) {
	n := 0
	for i := range p.Entries {
		_, done, err := p.Entries[i].standing(p.ID, f)
		if err != nil {
			return 0, err
		}
		if !done {
			n++
		}
	}
	return n, nil
}

// newEntry freezes what the gates said of a letter.
func newEntry(c *Case, v verdict) Entry {
	return Entry{
		EnvelopeID: c.EnvelopeID, Root: c.Root, Generation: c.Generation, Entity: c.LedgerEntity, SourceHash: c.SourceHash,
		Currency: c.Currency, Amount: c.Amount, Outcome: v.outcome, Code: v.code, Fact: v.fact, Gates: v.gates,
	}
}

// standing tells what the topics say of an entry of plan id: that an earlier run of this plan has ended it; that there
// is something left to do; or, by an error, that something else than this plan has changed it.
func (e *Entry) standing(id string, f *Fold) (Result, bool, error) {
	c, ok := f.Case(e.EnvelopeID)
	if !ok {
		return Result{}, false, fmt.Errorf("%w: letter %s is not in the DLQ", ErrPlanChanged, e.EnvelopeID)
	}
	if c.Amount != e.Amount || c.Currency != e.Currency || c.SourceHash != e.SourceHash || c.Root != e.Root || c.LedgerEntity != e.Entity {
		return Result{}, false, fmt.Errorf("%w: letter %s is not the one that the plan describes", ErrPlanChanged, e.EnvelopeID)
	}
	done := Result{Case: c, Earlier: true}
	var other *Step
	for i := range c.Steps {
		s := &c.Steps[i]
		ending, ends := endings[s.State]
		switch {
		case s.PlanID == id && ends && done.Ending != EndReinjected: // what came of a replay, the status tells
			done.Ending, done.Code, done.Fact = ending, s.Code, s.Note
		case s.PlanID != id && s.byRun():
			other = s
		}
	}
	status := c.Status()
	switch {
	case status == Open && other == nil && done.Ending == EndRefused && done.Code == fault.FailedInFlightElsewhere && e.Outcome == Reinject:
		return Result{Case: c}, false, nil // what was in its way passes by itself: it is asked again, unless somebody else had it since
	case done.Ending != EndUntouched:
		return done, true, nil
	case status == Open, status == Unrecorded:
		return Result{Case: c}, false, nil
	case other != nil:
		return Result{}, false, fmt.Errorf("%w: letter %s is %s; it became %s at %s by run %s of %s", ErrPlanChanged,
			e.EnvelopeID, status, other.State, envelope.FormatTime(other.At), other.RunID, other.Actor)
	default:
		// No run says that it has touched it, and it is not open: one was cut off after its replay, and the consumer has
		// ended that by now. Evidence and disposition are still to be written.
		return Result{Case: c}, false, nil
	}
}

// byRun tells whether a run or a person took the letter out of the open set with this step. What has no run, the
// consumer wrote.
func (s *Step) byRun() bool {
	return s.RunID != "" && (s.State == envelope.Reinjected || envelope.Terminal(s.State)) || byHand(s.State)
}

// endings are the states by which a run ends its work on a letter.
var endings = map[envelope.State]Ending{
	envelope.Reinjected: EndReinjected, envelope.Confirmed: EndSuppressed, envelope.Suppressed: EndSuppressed,
	envelope.Refused: EndRefused, envelope.Quarantined: EndQuarantined,
}
