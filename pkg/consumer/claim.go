package consumer

import (
	"context"
	"errors"
	"time"

	"recon/pkg/dedup"
	"recon/pkg/fault"
)

// claim asks the store for what is ready, in batches, at most batchesOut of them at once; and renews what is held.
func (l *loop) claim() {
	l.renew()
	for l.claimsOut < batchesOut && len(l.toClaim) > 0 {
		n := min(len(l.toClaim), claimBatchSize)
		b := &claimBatch{seq: l.claimSeq, ds: make([]*delivery, 0, n), claims: make([]dedup.Claim, 0, n)}
		for _, d := range l.toClaim[:n] {
			if d.part.gone {
				l.drop(d)
				continue
			}
			d.step = stepClaim
			b.ds = append(b.ds, d)
			b.claims = append(b.claims, d.claim)
		}
		clear(l.toClaim[:n])
		if l.toClaim = l.toClaim[n:]; len(l.toClaim) == 0 {
			l.toClaim = nil
		}
		if len(b.ds) == 0 {
			continue
		}
		l.claimSeq++
		l.claimsOut++
		l.claims <- b
	}
}

// renew asks again for claims that are held for a third of their lease, so that a long handler keeps its own.
func (l *loop) renew() {
	for l.claimsOut < batchesOut {
		oldest := l.claimed.oldest
		if oldest == nil || l.now.Sub(oldest.claimed) < l.e.cfg.Lease/3 {
			return
		}
		b := &claimBatch{seq: l.claimSeq, renewal: true}
		for d := oldest; d != nil && len(b.ds) < claimBatchSize && l.now.Sub(d.claimed) >= l.e.cfg.Lease/3; d = d.newer {
			b.ds = append(b.ds, d)
			b.claims = append(b.claims, d.claim)
		}
		for _, d := range b.ds {
			l.claimed.renewed(d, l.now)
		}
		l.claimSeq++
		l.claimsOut++
		l.claims <- b
	}
}

// claimer carries claim batches to the store and their answers to the loop, until claims is closed. A store that does
// not answer is asked again: nothing is known until it does, and no attempt is spent.
func (l *loop) claimer() {
	e := l.e
	for b := range l.claims {
		err := e.insist(l.work, func(ctx context.Context) (err error) {
			b.answers, err = e.store.Claim(ctx, e.cfg.Lease, b.claims)
			return err
		})
		if err != nil {
			b.answers = nil // the work is over
		}
		l.inbox.leave(func(m *mail) { m.claims = append(m.claims, b) })
	}
}

// insist calls the store until it answers or ctx ends. A store that has lost its memory ends the engine: whoever went
// on would post twice.
func (e *Engine) insist(ctx context.Context, ask func(context.Context) error) error {
	for n := 0; ; n++ {
		err := ask(ctx)
		switch {
		case err == nil:
			if n > 0 {
				e.storeAway.Store(nil)
				e.observe(Event{Kind: StoreBack, At: time.Now()})
			}
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !errors.Is(err, dedup.ErrUnavailable):
			e.fatal(err)
			return err
		}
		e.storeAway.Store(&err)
		if n == 0 {
			e.observe(Event{Kind: StoreAway, At: time.Now(), Err: err})
		}
		if !sleep(ctx, pause(n)) {
			return ctx.Err()
		}
	}
}

// answered applies batches in the order in which they were asked, so that two on the way at once cannot turn the
// order of a key.
func (l *loop) answered(b *claimBatch) {
	l.claimsOut--
	l.early[b.seq] = b
	for {
		next, ok := l.early[l.claimNext]
		if !ok {
			return
		}
		delete(l.early, l.claimNext)
		l.claimNext++
		for i, d := range next.ds {
			switch {
			case next.answers == nil && !next.renewal:
				l.drop(d)
			case next.answers == nil:
			case next.renewal:
				l.renewed(d, next.answers[i])
			default:
				l.judge(d, next.answers[i])
			}
		}
	}
}

// renewed notes a claim that is somebody else's by now. The handler may finish, but its result goes nowhere.
func (l *loop) renewed(d *delivery, a dedup.Answer) {
	if d.step == stepDone || a.Verdict == dedup.Fresh || a.Verdict == dedup.Resumed {
		return
	}
	if d.step <= stepHandle {
		d.lost = true
	}
}

// judge follows the store's answer: to the lane, to the end that the record had already, or to another way.
func (l *loop) judge(d *delivery, a dedup.Answer) {
	if d.part.ending() {
		l.drop(d)
		return
	}
	d.lost = false // of an earlier claim
	if d.claim.Replay != "" && !a.Trusted {
		l.e.observe(Event{Kind: Untrusted, At: l.now, Record: d.at, Root: d.retry.Root})
		d.untrust(l.now)
	}
	d.stored = a.Stored
	switch a.Verdict {
	case dedup.Fresh, dedup.Resumed:
		l.claimed.add(d, l.now)
		l.queue(d)
	case dedup.Repeated, dedup.Done:
		l.hold(d)
		l.report(d, endRepeated)
	case dedup.Closed:
		l.finish(d, endClosed)
	case dedup.Duplicate:
		l.hold(d)
		l.report(d, endSuppressed)
	case dedup.Busy:
		l.refuse(d, fault.New(fault.DuplicateInFlight, "source_hash is %s for %s", a.Stored.State, a.Stored.Root))
	case dedup.Conflict:
		l.refuse(d, conflict(d, a.Stored.Root, a.Stored.Digest))
	case dedup.SettledByHand:
		l.refuse(d, fault.New(fault.SettledManually, "source_hash was settled by hand for %s", a.Stored.Root))
	}
}

// refuse sends a record whose claim was not granted on to its tier or letter.
func (l *loop) refuse(d *delivery, err error) {
	d.began = l.now
	d.err = fault.At(fault.StageDedup, err)
	l.toWrite = append(l.toWrite, d)
}

// claimList are the deliveries that hold a claim, the one renewed longest ago first.
type claimList struct {
	oldest, newest *delivery
}

func (c *claimList) add(d *delivery, now time.Time) {
	d.claimed = now
	d.older, d.newer = c.newest, nil
	if c.newest != nil {
		c.newest.newer = d
	} else {
		c.oldest = d
	}
	c.newest = d
}

func (c *claimList) renewed(d *delivery, now time.Time) {
	c.remove(d)
	c.add(d, now)
}

// remove takes d out; one that is not in stays as it is.
func (c *claimList) remove(d *delivery) {
	if d.claimed.IsZero() {
		return
	}
	if d.older != nil {
		d.older.newer = d.newer
	} else {
		c.oldest = d.newer
	}
	if d.newer != nil {
		d.newer.older = d.older
	} else {
		c.newest = d.older
	}
	d.older, d.newer, d.claimed = nil, nil, time.Time{}
}

// sleep waits for d, or returns false when ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
