package consumer

import (
	"time"

	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// Kind is what an Event tells of.
type Kind string

// What an engine tells, for logs, metrics and people.
const (
	Posted         Kind = "posted"          // the ledger has the record
	Suppressed     Kind = "suppressed"      // another record of the same hash has posted
	RetryScheduled Kind = "retry_scheduled" // a copy waits on a tier
	DeadLettered   Kind = "dead_lettered"   // a letter is in the DLQ
	Repeated       Kind = "repeated"        // a record whose outcome was known already
	Closed         Kind = "closed"          // a record that a person has settled
	Abandoned      Kind = "abandoned"       // an attempt cut off by a stop or a rebalance: it counts for nothing
	Unclassified   Kind = "unclassified_exception"
	Untrusted      Kind = "untrusted_headers" // recon-* headers on main that nothing backs; they were dropped
	Malformed      Kind = "malformed_headers" // headers on a tier that could not be read; they were clamped
	Redelivered    Kind = "redelivered"       // an offset that this assignment has delivered before
	WriteRefused   Kind = "write_refused"     // a write to tier, DLQ or trail failed; it is tried again, its partition stands still
	StoreAway      Kind = "store_away"        // the dedup store does not answer; intake stands still
	StoreBack      Kind = "store_back"
	PollError      Kind = "poll_error"
	CommitRefused  Kind = "commit_refused" // the broker did not take a commit; the marks stay
	Expelled       Kind = "expelled"       // the group has thrown this member out: it joins anew and reads what it had not committed
	Assigned       Kind = "assigned"
	Revoked        Kind = "revoked"
	Lost           Kind = "lost"
)

// Event is one thing that happened. Fields that do not apply are zero.
type Event struct {
	Kind    Kind
	At      time.Time
	Record  envelope.Coordinates // the record, or the topic and partition
	Root    envelope.Coordinates
	Message *envelope.Message // nil where the record could not be decoded; not to be changed
	Attempt int               // of the attempt just made
	Code    fault.Code
	Failure fault.Failure
	Stage   fault.Stage
	Topic   string    // where a copy or letter went
	Letter  string    // envelope id
	Due     time.Time // of a copy
	Late    time.Duration
	Took    time.Duration // of the handler
	Count   int
	Err     error
}

// endKinds are the endings that are told; a control record's is not.
var endKinds = map[ending]Kind{
	endPosted: Posted, endSuppressed: Suppressed, endWaiting: RetryScheduled, endDead: DeadLettered, endRepeated: Repeated, endClosed: Closed,
}

// event tells how d ended.
func (d *delivery) event(now time.Time) Event {
	ev := Event{
		Kind: endKinds[d.ending], At: now, Record: d.at, Root: d.retry.Root, Message: d.msg, Attempt: d.retry.Attempt + 1, Took: d.took,
	}
	if !d.retry.Due.IsZero() && !d.began.IsZero() {
		ev.Late = d.began.Sub(d.retry.Due)
	}
	if d.ending == endWaiting || d.ending == endDead {
		r := d.route
		ev.Attempt, ev.Code, ev.Stage, ev.Failure = r.retry.Attempt, r.verdict.Code, r.verdict.Stage, r.failure
		ev.Topic, ev.Due, ev.Err = r.topic, r.retry.Due, d.err
		if r.letter != nil {
			ev.Letter = envelope.EnvelopeID(d.retry.Root, d.retry.Generation)
		}
	}
	return ev
}
