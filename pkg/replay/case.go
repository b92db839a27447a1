package replay

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// Case is one dead letter with everything that was decided about it. It keeps a summary; the original is read again
// where the letter lies. A Case belongs to its Fold: read it, never change it, and not while the Fold reads on.
type Case struct {
	EnvelopeID string
	Root       envelope.Coordinates
	Generation int
	Parent     string                 // envelope id of the letter that was replayed; empty in generation 0
	Copies     []envelope.Coordinates // where the letter lies in the DLQ, sorted; the summary is of the first written
	At         envelope.Coordinates   // the copy that the summary is of
	Origin     envelope.Coordinates   // where the record lay on main in this generation

	FailureCode  fault.Failure
	FailureClass fault.Class
	ErrorCode    fault.Code
	Stage        fault.Stage
	Fingerprint  string
	Detail       string // at most 200 bytes of error_detail
	Attempts     int

	envelope.Facts
	SourceSystem string
	ValueSHA256  string
	Omitted      bool // the original's bytes are not in the letter but on main alone
	Sealed       bool

	FirstSeen    time.Time
	DeadLettered time.Time

	Steps []Step // sorted by time

	size    int  // of the original's key and value, in bytes
	known   bool // the letter itself was read, not only dispositions of it
	differs bool // copies of this letter disagree about its original
	line    *lineage
}

// Step is one disposition of a letter, in short.
type Step struct {
	EventID   string
	State     envelope.State
	At        time.Time
	Code      fault.Failure
	RunID     string // empty: the consumer wrote it
	PlanID    string
	ReplayID  string
	Actor     string
	RootCause string
	Outcome   string
	Lifts     string
	Ticket    string
	Note      string
}

// lineage is all letters of one root, sorted by generation.
type lineage struct {
	cases []*Case
}

// Status is where a letter stands, as far as the topics tell.
type Status string

// The statuses. A letter with a terminal state has that state as its status.
const (
	Open         Status = "open"
	InFlight     Status = "in_flight"  // its original is on main again, and nothing has ended it yet
	Replaced     Status = "replaced"   // its replay failed again: the child letter stands for it
	Unrecorded   Status = "unrecorded" // its root posted or was suppressed; what is missing is its own disposition
	Confirmed    Status = Status(envelope.Confirmed)
	Suppressed   Status = Status(envelope.Suppressed)
	InQuarantine Status = Status(envelope.Quarantined)
	Journaled    Status = Status(envelope.JournalPosted)
	Resolved     Status = Status(envelope.Resolved)
)

// Statuses lists them all, the ones that need work first.
func Statuses() []Status {
	return []Status{Open, InFlight, Unrecorded, InQuarantine, Journaled, Resolved, Suppressed, Confirmed, Replaced}
}

// Status follows from the letter's dispositions, its children and the other letters of its root.
func (c *Case) Status() Status {
	if s := c.terminal(); s != "" {
		return Status(s)
	}
	if c.hasChild() {
		return Replaced
	}
	if ended := c.line.terminal(); ended == envelope.Confirmed || ended == envelope.Suppressed {
		return Unrecorded
	}
	if _, ok := c.last(envelope.Reinjected); ok {
		return InFlight
	}
	return Open
}

// Replayable tells whether a run may take the letter up: it is open, or lacks the disposition that its root's end gives.
func (c *Case) Replayable() bool {
	s := c.Status()
	return s == Open || s == Unrecorded
}

// Reinjected is when its original came back to main, and whether it has.
func (c *Case) Reinjected() (time.Time, bool) {
	s, ok := c.last(envelope.Reinjected)
	return s.At, ok
}

// RootCause is the latest one that a person or a run named; empty without one.
func (c *Case) RootCause() string {
	for _, s := range slices.Backward(c.Steps) {
		if s.RootCause != "" {
			return s.RootCause
		}
	}
	return ""
}

// Said is the latest state that leaves the letter open, `acknowledged`, `refused` or `released`; empty without one.
func (c *Case) Said() envelope.State {
	for _, s := range slices.Backward(c.Steps) {
		if !envelope.Terminal(s.State) && s.State != envelope.Reinjected {
			return s.State
		}
	}
	return ""
}

// terminals lists the letter's different terminal states that stand, the winning one first. A journal stands in its
// quarantine's place, and a quarantine that was lifted counts nowhere.
func (c *Case) terminals() []envelope.State {
	var states []envelope.State
	for _, s := range c.Steps {
		if envelope.Terminal(s.State) && !c.lifted(s) && !slices.Contains(states, s.State) {
			states = append(states, s.State)
		}
	}
	if slices.Contains(states, envelope.JournalPosted) {
		states = slices.DeleteFunc(states, func(s envelope.State) bool { return s == envelope.Quarantined })
	}
	slices.SortFunc(states, func(a, b envelope.State) int {
		return cmp.Compare(envelope.Precedence(b), envelope.Precedence(a))
	})
	return states
}

func (c *Case) terminal() envelope.State {
	if states := c.terminals(); len(states) > 0 {
		return states[0]
	}
	return ""
}

func (c *Case) lifted(s Step) bool {
	return s.State == envelope.Quarantined && slices.ContainsFunc(c.Steps, func(other Step) bool {
		return other.State == envelope.Released && other.Lifts == s.EventID
	})
}

func (c *Case) last(state envelope.State) (Step, bool) {
	for _, s := range slices.Backward(c.Steps) {
		if s.State == state {
			return s, true
		}
	}
	return Step{}, false
}

// hasChild: a letter of a later generation says that this one's replay failed again.
func (c *Case) hasChild() bool {
	return slices.ContainsFunc(c.line.cases, func(other *Case) bool { return other.known && other.Generation > c.Generation })
}

// terminal is the winning terminal state of all letters of the root.
func (l *lineage) terminal() envelope.State {
	var best envelope.State
	for _, c := range l.cases {
		if s := c.terminal(); envelope.Precedence(s) > envelope.Precedence(best) {
			best = s
		}
	}
	return best
}

// compareCases is the order of lists, plans and runs: ledger entity, first seen, root, generation.
func compareCases(a, b *Case) int {
	return cmp.Or(
		strings.Compare(a.LedgerEntity, b.LedgerEntity), a.FirstSeen.Compare(b.FirstSeen),
		a.Root.Compare(b.Root), cmp.Compare(a.Generation, b.Generation),
	)
}

// compareSteps orders steps by time; the rest makes the order, and the choice between repeats, depend on nothing else.
func compareSteps(a, b Step) int {
	return cmp.Or(
		a.At.Compare(b.At), strings.Compare(string(a.State), string(b.State)), strings.Compare(a.EventID, b.EventID),
		strings.Compare(string(a.Code), string(b.Code)), strings.Compare(a.RunID, b.RunID), strings.Compare(a.PlanID, b.PlanID),
		strings.Compare(a.ReplayID, b.ReplayID), strings.Compare(a.Actor, b.Actor), strings.Compare(a.RootCause, b.RootCause),
		strings.Compare(a.Outcome, b.Outcome), strings.Compare(a.Lifts, b.Lifts), strings.Compare(a.Ticket, b.Ticket),
		strings.Compare(a.Note, b.Note),
	)
}
