package consumer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// errExpelled ends a membership that the group has ended already. The client is not told before a rebalance, and the
// classic one then keeps its partitions and reads on, behind what was given up (franz-go 1.22.3): only a new client reads
// from the committed offsets again.
var errExpelled = errors.New("thrown out of the group")

// membership is one client's time in the group: from the first question to the broker until it has left.
func (e *Engine) membership(ctx context.Context) (err error) {
	l := e.loop.Load()
	defer l.stopWork()
	if err := e.open(ctx, l); err != nil {
		close(l.ended) // it never began: nobody need wait for it
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			return nil
		}
		return err
	}
	defer func() { err = e.leaveGroup(err) }()
	defer e.stopping.Store(true)

	intake, stopIntake := context.WithCancel(ctx)
	defer stopIntake()
	var polling, carrying, looping sync.WaitGroup
	done := make(chan struct{})
	looping.Go(func() { l.run(done) })
	for range batchesOut {
		carrying.Go(l.claimer)
		carrying.Go(l.settler)
	}
	carrying.Go(l.journalist)
	polling.Go(func() { e.poller(intake, l) })
	polling.Go(func() { e.keeper(intake) })

	select {
	case <-ctx.Done():
	case <-e.end.Load().ended:
	}
	e.stopping.Store(true)
	stopIntake()
	l.finishWork(e.cfg.Grace)
	polling.Wait()
	l.stopWork()
	stuck := l.pool.stop(closingTime)
	l.ask(func() { l.leaveAll(Revoked) })
	close(done)
	looping.Wait()
	close(l.claims)
	close(l.settles)
	close(l.proofs)
	carrying.Wait()
	return e.closing(stuck)
}

// finishWork lets what is in hand end, be settled and be marked, for the length of the grace.
func (l *loop) finishWork(grace time.Duration) {
	done := make(chan struct{})
	l.call(func() {
		all := make(map[string][]int32)
		for src := range l.parts {
			all = with(all, src)
		}
		l.drain(all, func() { close(done) })
	})
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// closing commits what is marked and ends the trail, while the broker still knows this member. It returns what ended the
// membership, with what could not be closed: errExpelled alone where another membership can follow.
func (e *Engine) closing(stuck int) error {
	ctx, cancel := context.WithTimeout(context.Background(), closingTime)
	defer cancel()
	cause := e.end.Load().cause()
	errs := []error{cause}
	if stuck > 0 {
		errs = append(errs, fmt.Errorf("%w: %d of them, %s after it; their records come again", ErrHandlerStuck, stuck, closingTime))
	}
	if e.assigned.Load() >= 0 && !errors.Is(cause, errExpelled) {
		if err := within(ctx, func() error { return e.client.CommitMarkedOffsets(ctx) }); err != nil {
			errs = append(errs, fmt.Errorf("last commit of group %s: %w; what it held is read again and recognised", e.cfg.Group, err))
		}
	}
	_ = e.tellCommitted(ctx) // the next start tells it again
	if err := e.closeJournal(ctx); err != nil && !errors.Is(cause, errExpelled) {
		errs = append(errs, err)
	}
	if len(errs) == 1 {
		return cause
	}
	return errors.Join(errs...)
}

// closeJournal writes the closing entry of the engine's own chain, again and again until ctx ends.
func (e *Engine) closeJournal(ctx context.Context) error {
	if e.chain == nil {
		return nil
	}
	for n := 0; ; n++ {
		err := e.chain.Close(ctx)
		if err == nil {
			return nil
		}
		e.observe(Event{Kind: WriteRefused, At: time.Now(), Topic: e.cfg.Topics.Audit(), Count: n + 1, Err: err})
		if !sleep(ctx, pause(n)) {
			return fmt.Errorf("closing entry of the audit chain: %w", err)
		}
	}
}

// closingTime bounds the last commit and the closing entry together, then the leaving of the group, and before them how
// long a handler may ignore the end of its context.
const closingTime = 10 * time.Second

// leaveGroup leaves the group and closes the client, and returns why the membership ended. It is bounded also where no
// broker answers, who then finds out when the session ends.
//
// A client that knows of its expulsion joins anew by itself, and neither leaving nor closing ends a join under way, which
// lasts as long as another member drains (franz-go 1.22.3). Only the end of the client's life does.
func (e *Engine) leaveGroup(why error) error {
	ctx, cancel := context.WithTimeout(context.Background(), closingTime)
	defer cancel()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		e.client.AllowRebalance()
		_ = e.client.LeaveGroupContext(ctx) // what it says is said by ctx too
		e.client.CloseAllowingRebalance()
	}()
	for range 2 {
		select {
		case <-closed:
			e.endLife()
			return why
		case <-time.After(closingTime):
			e.endLife()
		}
	}
	if errors.Is(why, errExpelled) {
		return fmt.Errorf("%w %s, and the old client did not close within %s: it may still hold partitions", why, e.cfg.Group, 2*closingTime)
	}
	return why
}

// within calls f and waits for it until ctx ends, whether f looks at ctx or not: behind a broker that hangs, the client's
// calls wait for the ones before them (franz-go 1.22.3).
func within(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
