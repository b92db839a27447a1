package audit

import (
	"encoding/hex"
	"maps"
	"slices"
	"strconv"

	"recon/pkg/envelope"
)

// Outcomes under which an entry counts the records of its range.
const (
	OutcomePosted     = "posted"
	OutcomeSuppressed = "suppressed"
	OutcomeWaiting    = "waiting" // on a tier
	OutcomeDead       = "dead"
	OutcomeRepeat     = "repeated" // the outcome was known already; it is told again with the same event id
	OutcomeClosed     = "closed"   // settled by a person: no event
	OutcomeSpilled    = "spilled"  // written anew to a tier, same attempt and due time
	OutcomeControl    = "control"  // a transaction's marker, no record
)

// Entry is one step of the trail: what became of a contiguous range of one source partition, or, without a topic, what
// the service or a person did. The zero value is empty and ready for Add.
// Its counts and totals describe this entry only: after a crash ranges overlap, so nothing is proved by adding entries
// up; readers fold the events by id.
type Entry struct {
	Topic     string
	Partition int32
	From, To  int64 // offsets of the source partition, To not included

	Counts     map[string]int   // records per outcome
	Totals     map[string]Total // per currency, over the records given to Add
	HashTotal  uint64           // sum of RootHash over the same records
	Unreadable int              // of them, those whose amount or currency cannot be read

	Events []Event
}

// Add takes one record of the range: its outcome, and the event that tells it. The amount counts once per call.
// An event without a type is counted and totalled, but not told; one without a root (a control record) is counted only.
func (e *Entry) Add(outcome string, ev Event) {
	if e.Counts == nil {
		e.Counts = make(map[string]int, 4)
	}
	e.Counts[outcome]++
	if !ev.Root.IsZero() {
		e.total(&ev)
	}
	e.Tell(ev)
}

// Tell adds an event without counting a record: a second event about a record, or one about the service.
func (e *Entry) Tell(ev Event) {
	if ev.Type == "" {
		return
	}
	if ev.EventID == "" && !ev.Root.IsZero() {
		ev.EventID = ev.ID()
	}
	e.Events = append(e.Events, ev)
}

func (e *Entry) total(ev *Event) {
	e.HashTotal += RootHash(ev.Root)
	m := ev.money()
	if !m.Readable {
		e.Unreadable++
		return
	}
	if e.Totals == nil {
		e.Totals = make(map[string]Total, 2)
	}
	e.Totals[m.Currency] = e.Totals[m.Currency].Plus(m)
}

// body is what a record says after its place in the chain: the members of head, then the events, comma-separated.
type body struct {
	kind         string
	head, events []byte
}

// bodies encodes e into one body, or into several whose facts and events take at most room bytes each. All parts name
// the range and their number, the last one alone carries counts and totals: who sees those has seen all events.
// Only an event that is larger than room on its own makes a larger body.
func (e *Entry) bodies(room int) []body {
	facts := e.appendFacts(nil)
	parts := e.split(room - len(facts))
	bs := make([]body, len(parts))
	for i, events := range parts {
		head := e.appendRange(make([]byte, 0, 128+len(facts)))
		if len(parts) > 1 {
			head = append(head, `,"part":`...)
			head = strconv.AppendInt(head, int64(i+1), 10)
			head = append(head, `,"parts":`...)
			head = strconv.AppendInt(head, int64(len(parts)), 10)
		}
		if i == len(parts)-1 {
			head = append(head, facts...)
		}
		bs[i] = body{kind: kindEntry, head: head, events: events}
	}
	return bs
}

// split encodes the events into runs of at most room bytes, at least one event each; without events into one empty run.
func (e *Entry) split(room int) [][]byte {
	var parts [][]byte
	part := make([]byte, 0, min(len(e.Events)*usualEvent, room+maxEvent))
	for i := range e.Events {
		before := len(part)
		if before > 0 {
			part = append(part, ',')
		}
		part = e.Events[i].append(part)
		if len(part) <= room || before == 0 {
			continue
		}
		parts = append(parts, part[:before:before])
		part = append(make([]byte, 0, room+maxEvent), part[before+1:]...)
	}
	return append(parts, part)
}

// appendRange appends the source range, nothing for an entry without one.
func (e *Entry) appendRange(b []byte) []byte {
	if e.Topic == "" {
		return b
	}
	b = member(b, `,"topic":`, e.Topic, maxText)
	b = append(b, `,"partition":`...)
	b = strconv.AppendInt(b, int64(e.Partition), 10)
	b = append(b, `,"from":`...)
	b = strconv.AppendInt(b, e.From, 10)
	b = append(b, `,"to":`...)
	return strconv.AppendInt(b, e.To, 10)
}

// appendFacts appends counts and totals, names sorted: the same entry always has the same bytes.
func (e *Entry) appendFacts(b []byte) []byte {
	b = append(b, `,"counts":{`...)
	for i, name := range slices.Sorted(maps.Keys(e.Counts)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(quote(b, name, maxText), ':')
		b = strconv.AppendInt(b, int64(e.Counts[name]), 10)
	}
	b = append(b, `},"totals":{`...)
	for i, currency := range slices.Sorted(maps.Keys(e.Totals)) {
		if i > 0 {
			b = append(b, ',')
		}
		t := e.Totals[currency]
		b = append(quote(b, currency, maxText), `:{"debit":"`...)
		b = append(b, envelope.CanonicalAmount(t.Debit)...)
		b = append(b, `","credit":"`...)
		b = append(b, envelope.CanonicalAmount(t.Credit)...)
		b = append(b, `","count":`...)
		b = append(strconv.AppendInt(b, int64(t.Count), 10), '}')
	}
	b = append(b, `},"hash_total":"`...)
	b = appendHash64(b, e.HashTotal)
	b = append(b, `","unreadable":`...)
	return strconv.AppendInt(b, int64(e.Unreadable), 10)
}

// appendHash64 appends h as 16 hex digits.
func appendHash64(b []byte, h uint64) []byte {
	var raw [8]byte
	for i := range raw {
		raw[i] = byte(h >> (56 - 8*i))
	}
	return hex.AppendEncode(b, raw[:])
}
