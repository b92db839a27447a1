package consumer

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/fault"
)

// write routes what no handler stands before: records that cannot be read, and those whose claim was not granted.
func (l *loop) write() {
	n := 0
	for n < len(l.toWrite) && l.unsettled < l.e.cfg.MaxUnsettled {
		d := l.toWrite[n]
		n++
		if d.part.gone {
			l.drop(d)
			continue
		}
		if d.part.refused > 0 {
			d.part.letters = append(d.part.letters, d)
			continue
		}
		l.hold(d)
		d.route = l.e.router.route(d, d.err, l.now, rand.Float64())
		l.send(d)
	}
	clear(l.toWrite[:n])
	if l.toWrite = l.toWrite[n:]; len(l.toWrite) == 0 {
		l.toWrite = nil
	}
}

// send writes d's copy or letter. Its outcome comes back as written; until then nothing is settled.
func (l *loop) send(d *delivery) {
	d.step = stepWrite
	if !d.route.verdict.Known && d.writes == 0 {
		l.e.observe(Event{Kind: Unclassified, At: l.now, Record: d.at, Root: d.retry.Root, Message: d.msg, Stage: d.route.verdict.Stage, Err: d.err})
	}
	rec, err := l.fit(d)
	if err != nil {
		l.written(written{d, err})
		return
	}
	l.e.produce(d.part.ctx, rec, func(err error) {
		l.inbox.leave(func(m *mail) { m.written = append(m.written, written{d, err}) })
	})
}

// fit makes the record to write, in a form that its topic takes: a copy that is too large becomes a letter, a letter
// that is too large the compact one.
func (l *loop) fit(d *delivery) (*kgo.Record, error) {
	rec, err := d.route.record(d)
	if err != nil {
		return nil, err
	}
	limit := l.e.limit(rec.Topic)
	if size := sizeOf(rec); d.route.ending == endWaiting && size > limit {
		d.route = l.e.router.tooLarge(d, size, limit, l.now)
		if rec, err = d.route.record(d); err != nil {
			return nil, err
		}
		limit = l.e.limit(rec.Topic)
	}
	if sizeOf(rec) <= limit {
		return rec, nil
	}
	d.route.letter = d.route.letter.Compact()
	if rec, err = d.route.record(d); err != nil {
		return nil, err
	}
	if sizeOf(rec) > limit {
		rec.Key = nil // the key alone can be as large as a record
	}
	if size := sizeOf(rec); size > limit {
		return nil, fmt.Errorf("compact letter of %d bytes exceeds max.message.bytes=%d of %s", size, limit, rec.Topic)
	}
	return rec, nil
}

// produce writes one record within the write's own limit of time. done gets nil when the broker has acknowledged it;
// any error means that nobody knows.
func (e *Engine) produce(ctx context.Context, rec *kgo.Record, done func(error)) {
	ctx, cancel := context.WithTimeout(ctx, e.cfg.ProduceTimeout)
	e.producer.Produce(ctx, rec, func(_ *kgo.Record, err error) {
		cancel()
		done(err)
	})
}

// written follows the broker's answer: to the store, or to another try. The partition stands still behind a write
// that failed, the others go on.
func (l *loop) written(w written) {
	d := w.d
	if d.part.gone {
		l.drop(d)
		return
	}
	if w.err != nil {
		d.writes++
		l.park(d)
		ev := Event{Kind: WriteRefused, At: l.now, Record: d.at, Root: d.retry.Root, Message: d.msg, Count: d.writes, Err: w.err}
		if ev.Topic = l.e.cfg.Topics.Dispositions(); d.step == stepWrite {
			ev.Topic, ev.Code = d.route.topic, d.route.verdict.Code
		}
		l.e.observe(ev)
		l.after(d.writes, func() { l.rewrite(d) })
		return
	}
	d.writes = 0
	l.unpark(d)
	switch {
	case d.step == stepReport:
		l.finish(d, d.ending)
	case !d.claimable(), d.route.verdict.Code == fault.DuplicateInFlight:
		l.finish(d, d.route.ending) // claimed nothing, settles nothing
	default:
		l.settleAs(d, d.route.ending)
	}
}

// rewrite tries a write again that failed. A copy whose wait went by meanwhile goes to the tier that fits what is left.
func (l *loop) rewrite(d *delivery) {
	switch {
	case d.part.gone:
		l.drop(d)
	case d.step == stepReport:
		l.report(d, d.ending)
	default:
		if d.route.ending == endWaiting {
			l.e.router.later(d.route, l.now)
		}
		l.send(d)
	}
}

// sizeOf bounds the size of a record in a batch of its own: key, value and headers with their length prefixes, and the
// batch's frame (61 bytes in version 2, KIP-98) with room to spare.
func sizeOf(r *kgo.Record) int {
	n := 61 + 64 + len(r.Key) + len(r.Value)
	for _, h := range r.Headers {
		n += 10 + len(h.Key) + len(h.Value)
	}
	return n
}
