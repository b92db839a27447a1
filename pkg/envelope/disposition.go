package envelope

import (
	"time"

	"recon/pkg/fault"
)

// DispositionVersion is the version that Encode writes and DecodeDisposition reads.
const DispositionVersion = 1

// Outcomes of `resolved` (CONTRACT 6).
const (
	OutcomeDuplicate       = "duplicate"
	OutcomeSuperseded      = "superseded"
	OutcomeInvalidAtSource = "invalid_at_source"
	OutcomePostedManually  = "posted_manually"
	OutcomeBelowTolerance  = "below_tolerance"
)

// Disposition is one change of a letter's state. Empty texts and zero times are null on the wire.
type Disposition struct {
	EventID       string // by ID where empty
	EnvelopeID    string
	Root          Coordinates
	Generation    int
	State         State
	Code          fault.Failure // why: required for refused, REPLAY_DUPLICATE for suppressed
	SourceHash    string
	TraceID       string
	MatchDecision string
	Entity        string
	Currency      string
	Amount        string // decimal text as CanonicalAmount gives it; empty: unreadable
	RunID         string
	ReplayID      string
	PlanID        string
	Actor         string
	Reason        string
	RootCause     string
	Outcome       string // of resolved
	Period        string
	Note          string
	Ticket        string
	JournalRef    string
	SupersededBy  string
	Lifts         string    // event id of the quarantine that `released` takes back
	Evidence      *Evidence // the posting that stands in the way, nil without one
	ConfigDigest  string
	At            time.Time // UTC, kept in milliseconds
}

// Evidence names a posting.
type Evidence struct {
	PostingID string
	PostedAt  time.Time
	Root      Coordinates
}

// ID is the event id that belongs to d: the replay id is its last part where d carries one, else the run id.
func (d *Disposition) ID() string {
	last := d.ReplayID
	if last == "" {
		last = d.RunID
	}
	return DispositionID(d.EnvelopeID, d.State, last)
}
