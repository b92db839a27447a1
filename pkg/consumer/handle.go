package consumer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"recon/pkg/dedup"
	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// queue sends a claimed record towards its handler: a first attempt behind those of its key, a retried one at once.
func (l *loop) queue(d *delivery) {
	d.step = stepLane
	if d.retry.Attempt > 0 || d.part.tier || d.key == nil || l.e.cfg.Order == OrderNone || l.lanes.offer(d.lane(), d) {
		l.toStart = append(l.toStart, d)
	}
}

// lane is the key under which first attempts of d's assignment start in order.
func (d *delivery) lane() laneKey { return laneKey{d.slot.assignment, string(d.key)} }

// inLane tells whether d occupies its lane while it is handled.
func (l *loop) inLane(d *delivery) bool {
	return d.retry.Attempt == 0 && !d.part.tier && d.key != nil && l.e.cfg.Order == OrderKey
}

// start hands records to the pool while there is room among the running and the unsettled.
func (l *loop) start() {
	l.write()
	n := 0
	for n < len(l.toStart) && l.running < l.e.cfg.Concurrency && l.unsettled < l.e.cfg.MaxUnsettled {
		d := l.toStart[n]
		n++
		if d.part.gone {
			l.leaveLane(d)
			l.drop(d)
			continue
		}
		if d.part.refused > 0 {
			d.part.starts = append(d.part.starts, d)
			continue
		}
		if d.lost { // while it waited for its key: whoever has the claim now decides
			l.leaveLane(d)
			l.again(d)
			continue
		}
		d.step = stepHandle
		l.hold(d)
		l.running++
		l.starting = append(l.starting, d)
	}
	clear(l.toStart[:n])
	if l.toStart = l.toStart[n:]; len(l.toStart) == 0 {
		l.toStart = nil
	}
	l.pool.push(l.starting)
	l.starting = l.starting[:0]
}

// leaveLane frees d's key, and sends on the next of it.
func (l *loop) leaveLane(d *delivery) {
	if !l.inLane(d) {
		return
	}
	if next, ok := l.lanes.done(d.lane()); ok {
		l.toStart = append(l.toStart, next)
	}
}

// handle makes one attempt, on a goroutine of the pool.
func (e *Engine) handle(d *delivery) {
	d.began = time.Now()
	d.err = e.attempt(d)
	d.took = time.Since(d.began)
	if d.err != nil && !isPosted(d.err) && d.part.ctx.Err() == nil {
		d.route = e.routed(d, time.Now())
	}
}

// attempt checks today's limit and the period, then calls the handler under its deadline. A panic is an error.
func (e *Engine) attempt(d *delivery) (err error) {
	if err := d.part.ctx.Err(); err != nil {
		return err
	}
	defer func() {
		if r := recover(); r != nil {
			err = fault.New(fault.HandlerPanic, "handler panicked: %v", r)
		}
	}()
	if rt, spent := e.router.spent(d, d.began); spent {
		d.route = rt
		return errSpent
	}
	if e.cfg.Periods != nil {
		if err := e.cfg.Periods.Check(d.msg, d.began); err != nil {
			return fault.At(fault.StagePeriod, err)
		}
	}
	ctx, cancel := context.WithTimeout(d.part.ctx, e.cfg.HandlerTimeout)
	defer cancel()
	if err = e.handler.Handle(ctx, lent(d.msg)); err == nil {
		return nil
	}
	v := fault.Of(err) // an error that panics when it is read, a nil one of a type, does so here
	if p, ok := errors.AsType[*envelope.AlreadyPosted](err); ok {
		return named(p, err)
	}
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil && !v.Known {
		err = fault.Wrap(fault.DependencyTimeout, fmt.Errorf("attempt ended at its limit of %s: %w", e.cfg.HandlerTimeout, err))
	}
	return err
}

// lent is m for a handler: whatever one writes into it, claim, copy and letter are made of what came.
func lent(m *envelope.Message) *envelope.Message {
	own := *m
	own.Key, own.Value, own.Headers, _ = copied(m.Key, m.Value, m.Headers)
	return &own
}

// named refuses a posting that nothing can be settled with: the store would refuse it, and every other outcome of its
// batch with it.
func named(p *envelope.AlreadyPosted, err error) error {
	if p == nil {
		return fault.New(fault.Unclassified, "handler names a posting that stands in the way, and the posting is nil")
	}
	want := dedup.Value{State: dedup.Posted, Root: p.Root, Generation: p.Generation, Digest: p.Digest, Time: p.At}
	got, wrong := dedup.ParseValue(want.String())
	if wrong != nil || got.Root != want.Root || got.Generation != want.Generation || got.Digest != want.Digest || want.Digest == "" {
		return fault.New(fault.Unclassified, "handler names posting %.80q with root %.300q, generation %d, digest %.80q, time %s: want them as the dedup store holds them",
			p.ID, p.Root, p.Generation, p.Digest, p.At)
	}
	return err
}

// errSpent stands for a record whose limit was reached before its attempt; its route is made already.
var errSpent = errors.New("attempts exhausted under the present configuration")

// routed judges the error of an attempt.
func (e *Engine) routed(d *delivery, now time.Time) *route {
	if errors.Is(d.err, errSpent) {
		return d.route
	}
	return e.router.route(d, d.err, now, rand.Float64())
}

// handled follows an attempt's result: to the store when it posted, to tier or letter when it failed.
func (l *loop) handled(d *delivery) {
	l.running--
	l.leaveLane(d)
	var posted *envelope.AlreadyPosted
	switch {
	case d.part.gone, d.err != nil && d.part.ctx.Err() != nil:
		l.drop(d)
	case d.lost:
		l.again(d)
	case d.err == nil:
		l.settleAs(d, endPosted)
	case errors.As(d.err, &posted):
		l.stands(d, posted)
	default:
		l.send(d)
	}
}

// again asks anew for a claim that somebody else took meanwhile: whatever this attempt found, the store's answer decides.
func (l *loop) again(d *delivery) {
	d.lost, d.err, d.route = false, nil, nil
	l.claimed.remove(d)
	if d.counted {
		d.counted = false
		l.unsettled--
		d.part.inHand--
	}
	if d.part.ending() {
		l.drop(d)
		return
	}
	l.toClaim = append(l.toClaim, d)
}

// stands follows a posting that stands in the way: one's own, a twin's, or that of another transaction.
func (l *loop) stands(d *delivery, p *envelope.AlreadyPosted) {
	switch {
	case p.Root == d.retry.Root:
		l.settleAs(d, endPosted)
	case p.Digest == d.msg.Digest:
		l.settleAs(d, endSuppressed)
	default:
		d.err = fault.At(fault.StagePost, conflict(d, p.Root, p.Digest))
		d.route = l.e.routed(d, l.now)
		l.send(d)
	}
}

// conflict is the error of two transactions under one hash.
func conflict(d *delivery, root envelope.Coordinates, digest string) error {
	return fault.New(fault.IdentityConflict, "source_hash belongs to %s with digest %s, this record has %s", root, digest, d.claim.Digest)
}

func isPosted(err error) bool {
	var p *envelope.AlreadyPosted
	return errors.As(err, &p)
}
