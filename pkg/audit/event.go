package audit

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// The types of events.
const (
	EventPosted           = "ledger_post_committed"
	EventSuppressed       = "duplicate_suppressed"
	EventRetry            = "retry_scheduled"
	EventDead             = "dead_lettered"
	EventReinjected       = "replay_reinjected"
	EventReplaySuppressed = "replay_suppressed"
	EventReplayRefused    = "replay_refused"
	EventQuarantined      = "quarantined"
	EventJournalPosted    = "journal_posted"
	EventReleased         = "released"
	EventResolved         = "resolved"
	EventAcknowledged     = "acknowledged"
	EventApprovalGranted  = "approval_granted"
	EventApprovalRefused  = "approval_refused"
	EventPayloadViewed    = "payload_viewed"
	EventLettersExported  = "letters_exported"
	EventAccessDenied     = "access_denied"
	EventConfigLoaded     = "config_loaded"
	EventCalendarLoaded   = "calendar_loaded"
	EventTopicsApplied    = "topics_applied"
	EventDedupRebuilt     = "dedup_rebuilt"
	EventOutageStarted    = "outage_started"
	EventOutageEnded      = "outage_ended"
	EventDLQOverflow      = "dlq_overflow"
)

// Event is one thing that happened, to one record or to the service. Empty fields are left out of the trail.
type Event struct {
	EventID       string // readers fold repeats by it; Entry.Add fills it for events of a record
	Type          string
	At            time.Time            // UTC, kept in milliseconds
	Root          envelope.Coordinates // zero: the event is about no record
	Generation    int
	Attempt       int // attempts made, this one included
	MessageID     string
	TraceID       string
	SourceHash    string
	MatchDecision string
	Entity        string
	Currency      string
	Amount        string // decimal text as CanonicalAmount gives it; empty: unreadable
	Code          string // error code
	Failure       string // failure code
	Stage         string
	Due           time.Time // of retry_scheduled
	Actor         string
	RunID         string
	Detail        string
}

// ID is the deterministic id of an event about a record: of root, generation and type, for retry_scheduled also of the
// attempt, so that whoever repeats the event after a crash gives it the same one.
func (e *Event) ID() string {
	attempt := -1
	if e.Type == EventRetry {
		attempt = e.Attempt
	}
	return envelope.EventID(e.Root, e.Generation, e.Type, attempt)
}

// money is what the event says of the amount.
func (e *Event) money() Money { return MoneyOf(e.Currency, e.Amount) }

// The longest texts, in bytes: an entry must fit a record whatever a feed or a person wrote.
const (
	maxText    = 256
	maxDetail  = 1024
	maxEvent   = 32 << 10 // an event with every text at its limit and every byte escaped stays below
	usualEvent = 512      // what a posting takes, rounded up
)

// append writes e as JSON: members in a fixed order, empty ones left out. It is written by hand, since an entry holds
// hundreds of events and stands between the outcome and the mark.
func (e *Event) append(b []byte) []byte {
	b = append(b, `{"event_id":`...)
	b = quote(b, e.EventID, maxText)
	b = append(b, `,"type":`...)
	b = quote(b, e.Type, maxText)
	b = append(b, `,"at":`...)
	b = appendTime(b, e.At)
	if !e.Root.IsZero() {
		b = append(b, `,"root":"`...)
		b = e.Root.AppendText(b)
		b = append(b, `","generation":`...)
		b = strconv.AppendInt(b, int64(e.Generation), 10)
		b = append(b, `,"attempt":`...)
		b = strconv.AppendInt(b, int64(e.Attempt), 10)
	}
	b = member(b, `,"message_id":`, e.MessageID, maxText)
	b = member(b, `,"trace_id":`, e.TraceID, maxText)
	b = member(b, `,"source_hash":`, e.SourceHash, maxText)
	b = member(b, `,"match_decision":`, e.MatchDecision, maxText)
	b = member(b, `,"entity":`, e.Entity, maxText)
	b = member(b, `,"currency":`, e.Currency, maxText)
	b = member(b, `,"amount":`, e.Amount, maxText)
	b = member(b, `,"code":`, e.Code, maxText)
	b = member(b, `,"failure":`, e.Failure, maxText)
	b = member(b, `,"stage":`, e.Stage, maxText)
	if !e.Due.IsZero() {
		b = append(b, `,"due":`...)
		b = appendTime(b, e.Due)
	}
	b = member(b, `,"actor":`, e.Actor, maxText)
	b = member(b, `,"run_id":`, e.RunID, maxText)
	b = member(b, `,"detail":`, e.Detail, maxDetail)
	return append(b, '}')
}

// member appends name and s, unless s is empty.
func member(b []byte, name, s string, limit int) []byte {
	if s == "" {
		return b
	}
	b = append(b, name...)
	return quote(b, s, limit)
}

// quote appends s as a JSON text of at most limit bytes before escaping.
func quote(b []byte, s string, limit int) []byte {
	if len(s) > limit {
		s = fault.Truncate(s, limit)
	}
	b, _ = jsontext.AppendQuote(b, s) // its error says that invalid UTF-8 was replaced: a text for people stays readable
	return b
}

// appendTime appends t, quoted, in the form of envelope.FormatTime.
func appendTime(b []byte, t time.Time) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	if year < 0 || year > 9999 {
		return append(append(append(b, '"'), envelope.FormatTime(t)...), '"')
	}
	hour, minute, second := t.Clock()
	b = append(b, '"')
	b = digits(b, year, 4)
	b = digits(append(b, '-'), int(month), 2)
	b = digits(append(b, '-'), day, 2)
	b = digits(append(b, 'T'), hour, 2)
	b = digits(append(b, ':'), minute, 2)
	b = digits(append(b, ':'), second, 2)
	b = digits(append(b, '.'), t.Nanosecond()/1e6, 3)
	return append(b, 'Z', '"')
}

// digits appends n with width digits.
func digits(b []byte, n, width int) []byte {
	b = append(b, "0000"[:width]...)
	for i := len(b) - 1; n > 0; i-- {
		b[i] = byte('0' + n%10)
		n /= 10
	}
	return b
}
