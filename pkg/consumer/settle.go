package consumer

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/dedup"
	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// settleAs notes d's outcome for the store. Its copy or letter is acknowledged by now, or the ledger has it: never the
// other way round, for a kill between the two would lose the record.
func (l *loop) settleAs(d *delivery, end ending) {
	d.step, d.ending = stepSettle, end
	l.toSettle = append(l.toSettle, d)
}

// settle sends outcomes to the store in batches, at most batchesOut of them at once.
func (l *loop) settle() {
	for l.settlesOut < batchesOut && len(l.toSettle) > 0 {
		n := min(len(l.toSettle), settleBatchSize)
		b := &settleBatch{ds: make([]*delivery, 0, n), settlements: make([]dedup.Settlement, 0, n)}
		for _, d := range l.toSettle[:n] {
			if d.part.gone {
				l.drop(d)
				continue
			}
			b.ds = append(b.ds, d)
			b.settlements = append(b.settlements, d.settlement())
		}
		clear(l.toSettle[:n])
		if l.toSettle = l.toSettle[n:]; len(l.toSettle) == 0 {
			l.toSettle = nil
		}
		if len(b.ds) > 0 {
			l.settlesOut++
			l.settles <- b
		}
	}
}

// settlement is what the store is told: posted by this record or by the owner that the ledger named, waiting, or dead.
func (d *delivery) settlement() dedup.Settlement {
	s := dedup.Settlement{Claim: d.claim, State: dedup.Posted}
	switch d.ending {
	case endWaiting:
		s.State, s.Due = dedup.Waiting, d.route.retry.Due
	case endDead:
		s.State = dedup.Dead
	default:
		var owner *envelope.AlreadyPosted
		if errors.As(d.err, &owner) {
			s.Owner = owner
		}
	}
	return s
}

// settler carries outcomes to the store until settles is closed. While the store is away nothing is settled and
// nothing is marked.
func (l *loop) settler() {
	for b := range l.settles {
		err := l.e.insist(l.work, func(ctx context.Context) error { return l.e.store.Settle(ctx, b.settlements) })
		if err != nil {
			b.settlements = nil // the work is over
		}
		l.inbox.leave(func(m *mail) { m.settled = append(m.settled, b) })
	}
}

// settled follows the store's acknowledgement: a replay's letter is told its end, everything else is done.
func (l *loop) settled(b *settleBatch) {
	l.settlesOut--
	for _, d := range b.ds {
		if b.settlements == nil || d.part.gone {
			l.drop(d)
			continue
		}
		l.report(d, d.ending)
	}
}

// report writes the disposition that ends a replayed letter: confirmed where its record posted, suppressed where a
// twin had. A record that is no replay has none, and is done.
func (l *loop) report(d *delivery, end ending) {
	d.ending = end
	disp := d.disposition()
	if disp == nil {
		l.finish(d, end)
		return
	}
	d.step = stepReport
	disp.ConfigDigest, disp.At, disp.Actor = l.e.cfg.ConfigDigest, l.now.UTC(), l.e.cfg.Service
	value, err := disp.Encode()
	if err != nil {
		l.written(written{d, err})
		return
	}
	rec := &kgo.Record{Topic: l.e.cfg.Topics.Dispositions(), Key: []byte(disp.EnvelopeID), Value: value}
	l.e.produce(d.part.ctx, rec, func(err error) {
		l.inbox.leave(func(m *mail) { m.written = append(m.written, written{d, err}) })
	})
}

// disposition is the end of the letter that d replays, nil where d is no replay or did not end one. A record that the
// store knew as posted confirms the letter of the arriving record.
func (d *delivery) disposition() *envelope.Disposition {
	if d.retry.Envelope == "" || d.msg == nil {
		return nil
	}
	state, code := envelope.Confirmed, fault.Failure("")
	switch {
	case d.ending == endSuppressed:
		state, code = envelope.Suppressed, fault.FailedReplayDuplicate
	case d.ending == endPosted, d.ending == endRepeated && d.stored.State == dedup.Posted:
	default:
		return nil
	}
	f := d.msg.Facts()
	disp := &envelope.Disposition{
		EnvelopeID: d.retry.Envelope, Root: d.retry.Root, Generation: d.retry.Generation - 1, State: state, Code: code,
		SourceHash: f.SourceHash, TraceID: f.TraceID, MatchDecision: f.MatchDecision, Entity: f.LedgerEntity,
		Currency: f.Currency, Amount: f.Amount, ReplayID: d.retry.Replay,
	}
	var owner *envelope.AlreadyPosted
	switch {
	case errors.As(d.err, &owner):
		disp.Evidence = &envelope.Evidence{PostingID: owner.ID, PostedAt: owner.At, Root: owner.Root}
	case d.stored.State == dedup.Posted:
		disp.Evidence = &envelope.Evidence{PostedAt: d.stored.Time, Root: d.stored.Root}
	}
	return disp
}
