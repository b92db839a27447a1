package consumer

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/audit"
	"recon/pkg/dedup"
	"recon/pkg/envelope"
)

// Journal is where outcomes are told before their offsets are marked. nil means acknowledged; after an error the same
// entries are handed in again. One call at a time.
type Journal interface {
	Append(ctx context.Context, entries ...audit.Entry) error
}

// proof is what one call to the journal covers: finished stretches, each of one partition.
type proof struct {
	parts     []*partition
	stretches []stretch
	told      bool // acknowledged; false: the work is over
}

// entryRecords is how many records one audit entry covers at most: it keeps an entry of 500-byte events well below a
// topic's usual limit of 1 MiB.
const entryRecords = 500

// prove takes the finished heads of all windows and has them told to the journal, one call at a time. Only what it
// has acknowledged is marked.
func (l *loop) prove() {
	if l.proofOut {
		return
	}
	var p *proof
	for _, part := range l.parts {
		for !part.gone {
			r, ok := part.window.take(entryRecords)
			if !ok {
				break
			}
			if p == nil {
				p = &proof{}
			}
			p.parts = append(p.parts, part)
			p.stretches = append(p.stretches, r)
		}
	}
	if p == nil {
		return
	}
	l.proofOut = true
	if l.e.journal == nil {
		p.told = true
		l.proven(p)
		return
	}
	l.proofs <- p
}

// journalist tells proofs to the journal until proofs is closed. If a stretch cannot be told, nothing moves: it is
// told again until it is acknowledged or the work ends.
func (l *loop) journalist() {
	e, ctx := l.e, l.work
	for p := range l.proofs {
		entries := make([]audit.Entry, 0, len(p.parts))
		for i, part := range p.parts {
			entries = append(entries, evidenceOf(part, p.stretches[i]))
		}
		for n := 0; !p.told; n++ {
			err := e.journal.Append(ctx, entries...)
			if err == nil {
				p.told = true
				break
			}
			if ctx.Err() != nil {
				break
			}
			e.observe(Event{Kind: WriteRefused, At: time.Now(), Topic: e.cfg.Topics.Audit(), Count: n + 1, Err: err})
			if !sleep(ctx, pause(n)) {
				break
			}
		}
		l.inbox.leave(func(m *mail) { m.proven = append(m.proven, p) })
	}
}

// proven marks what the journal has acknowledged. The marks are committed by the client, at its interval and at every
// end of an assignment.
func (l *loop) proven(p *proof) {
	l.proofOut = false
	if !p.told {
		return
	}
	heads := make(map[string]map[int32]kgo.EpochOffset)
	for i, part := range p.parts {
		if part.gone {
			continue // its offsets are somebody else's
		}
		head, ok := part.window.prove(p.stretches[i])
		if !ok {
			continue
		}
		if heads[part.topic] == nil {
			heads[part.topic] = make(map[int32]kgo.EpochOffset)
		}
		heads[part.topic][part.partition] = head
	}
	if len(heads) > 0 {
		l.e.client.MarkCommitOffsets(heads)
	}
}

// evidenceOf is the evidence of one stretch.
func evidenceOf(part *partition, r stretch) audit.Entry {
	en := audit.Entry{Topic: part.topic, Partition: part.partition, From: r.from, To: r.to}
	for _, o := range r.outcomes {
		en.Add(o.ending.String(), o.event())
	}
	return en
}

// event is what the trail tells of an outcome. A record whose outcome was known already tells that outcome's event
// again, under the same id; one that a person has settled, and a control record, tell nothing.
func (o outcome) event() audit.Event {
	d := o.d
	if d == nil {
		return audit.Event{}
	}
	ev := audit.Event{At: d.ended.UTC(), Root: d.retry.Root, Generation: d.retry.Generation, Attempt: d.retry.Attempt + 1}
	if d.msg != nil {
		f := d.msg.Facts()
		ev.MessageID, ev.TraceID, ev.SourceHash, ev.MatchDecision = f.MessageID, f.TraceID, f.SourceHash, f.MatchDecision
		ev.Entity, ev.Currency, ev.Amount = f.LedgerEntity, f.Currency, f.Amount
	}
	if ev.MessageID == "" {
		ev.MessageID = envelope.MessageID(d.retry.Root)
	}
	switch o.ending {
	case endRepeated:
		if d.stored.Generation == d.retry.Generation && d.stored.Attempt > d.retry.Attempt+1 {
			// A later attempt exists, made from a copy: this record's own outcome was that copy. The later one's record tells
			// the rest.
			ev.Type = audit.EventRetry
			return ev
		}
		ev.Type, ev.Generation, ev.Attempt = eventTypes[implied(d.stored)], d.stored.Generation, d.stored.Attempt
		return ev
	case endWaiting, endDead:
		v := d.route.verdict
		ev.Attempt, ev.Due, ev.Detail = d.route.retry.Attempt, d.route.retry.Due, v.Detail
		ev.Code, ev.Failure, ev.Stage = string(v.Code), string(d.route.failure), string(v.Stage)
	}
	ev.Type = eventTypes[o.ending]
	return ev
}

// eventTypes are the events that endings are told as; those that are not here are counted only.
var eventTypes = map[ending]string{
	endPosted: audit.EventPosted, endSuppressed: audit.EventSuppressed, endWaiting: audit.EventRetry, endDead: audit.EventDead,
}

// implied is the ending that a stored value stands for.
func implied(v dedup.Value) ending {
	switch v.State {
	case dedup.Posted:
		return endPosted
	case dedup.Waiting:
		return endWaiting
	case dedup.Dead:
		return endDead
	default:
		return endRepeated
	}
}
