package replay_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"recon/pkg/audit"
	"recon/pkg/dedup"
	"recon/pkg/envelope"
	"recon/pkg/replay"
)

// Pitfalls R2, R17: two runs at once, one goes and the other is told who holds the lease; no letter comes back twice.
func TestTwoRunsAtOnceOneHoldsTheLease(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.dead(w.letter(0, "ACME"), w.letter(1, "ACME"))
		p := w.plan()
		var second error
		w.run(p, replay.ExitDone, func(c *replay.Config) {
			c.Concurrency = 1
			c.Observe = func(replay.Event) {
				if second == nil {
					_, second = w.runner(func(c *replay.Config) { c.Owner = "other" }).Run(t.Context(), nil, p)
				}
			}
		})
		var held *dedup.LeaseHeldError
		if replay.ExitOf(second) != replay.ExitLease || !errors.As(second, &held) || held.Owner != "test" {
			t.Errorf("the second run got %v, want that `test` holds the lease", second)
		}
		if got := len(w.all(w.names.Main())); got != 2 {
			t.Errorf("%d records on main, want 2", got)
		}
		if lease, err := w.store.AcquireLease(t.Context(), "next"); err != nil {
			t.Errorf("after the run the lease is not free: %v", err)
		} else if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Pitfall R37: a run that loses its lease stops with its counts, and touches nothing that it had not begun.
func TestRunThatLosesItsLeaseStops(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.deadOf(20, 1)
		p := w.plan()
		lost := &leaseless{Store: w.store}
		report, err := w.runner(func(c *replay.Config) {
			c.Store, c.Concurrency, c.Rate = lost, 1, 1
			c.Observe = func(e replay.Event) {
				if e.Done == 5 {
					lost.lose()
				}
			}
		}).Run(t.Context(), nil, p)
		if !errors.Is(err, dedup.ErrLeaseLost) || replay.ExitOf(err) != replay.ExitStopped {
			t.Fatalf("the run ended with %v, want that its lease is lost, exit 5", err)
		}
		if got := report.Count(replay.EndReinjected); got < 5 || got > 6 || report.Count(replay.EndReinjected)+report.Count(replay.EndUntouched) != 20 {
			t.Errorf("%s, want it to stop after the fifth letter", report.Line())
		}
		time.Sleep(time.Minute) // the lease that nobody gave back ends by itself
		w.run(p, replay.ExitDone)
		checkComplete(t, w, 20)
	})
}

// leaseless is a store whose lease can be lost: another owner takes it away.
type leaseless struct {
	dedup.Store
	cancel context.CancelCauseFunc
	before func() // a reservation
}

func (s *leaseless) Reserve(ctx context.Context, r dedup.Reservation) (dedup.ReserveAnswer, error) {
	if s.before != nil {
		s.before()
	}
	return s.Store.Reserve(context.WithoutCancel(ctx), r)
}

func (s *leaseless) AcquireLease(ctx context.Context, owner string) (*dedup.Lease, error) {
	ctx, s.cancel = context.WithCancelCause(ctx)
	return s.Store.AcquireLease(ctx, owner)
}

func (s *leaseless) lose() { s.cancel(dedup.ErrLeaseLost) }

// A letter that is in hand when the lease goes is cut off: somebody else may be at it by now.
func TestLetterInHandIsCutOffWhenTheLeaseGoes(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.deadOf(1, 1)
		p := w.plan()
		lost := &leaseless{Store: w.store}
		lost.before = lost.lose
		report, err := w.runner(func(c *replay.Config) { c.Store = lost }).Run(t.Context(), nil, p)
		if !errors.Is(err, dedup.ErrLeaseLost) || report.Count(replay.EndFailed) != 1 || len(w.all(w.names.Main())) != 0 {
			t.Errorf("%s and %v, want the letter cut off and nothing on main", report.Line(), err)
		}
	})
}

// The first interrupt finishes what is in hand, prints counts, and the same plan goes on.
func TestInterruptedRunFinishesWhatIsInHandAndContinues(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.deadOf(30, 3)
		p := w.plan()
		ctx, interrupt := context.WithCancel(t.Context())
		defer interrupt()
		report, err := w.runner(func(c *replay.Config) {
			c.Rate = 10
			c.Observe = func(e replay.Event) {
				if e.Done == 7 {
					interrupt()
				}
			}
		}).Run(ctx, nil, p)
		if replay.ExitOf(err) != replay.ExitInterrupted {
			t.Fatalf("ended with %v, want exit 6", err)
		}
		done := report.Count(replay.EndReinjected)
		if done < 7 || done > 10 || report.Count(replay.EndFailed) != 0 || report.Count(replay.EndUntouched) != 30-done {
			t.Errorf("%s, want about 7 done, none failed, the rest untouched", report.Line())
		}
		next := w.run(p, replay.ExitDone)
		if next.Count(replay.EndReinjected) != 30 || next.Earlier() != done {
			t.Errorf("%s of which %d earlier, want 30 and %d", next.Line(), next.Earlier(), done)
		}
		checkComplete(t, w, 30)
	})
}

// checkComplete wants n letters, each brought back as exactly one root and generation that a consumer accepts once, and
// no state told twice but for the given ones.
func checkComplete(t *testing.T, w *world, n int, but ...envelope.State) {
	t.Helper()
	ids, states := map[string]int{}, map[string]int{}
	for _, d := range w.dispositions() {
		if !slices.Contains(but, d.State) {
			states[d.EnvelopeID+" "+string(d.State)]++
		}
	}
	for key, count := range states {
		if count != 1 {
			t.Errorf("%s is told by %d different events, want 1", key, count)
		}
	}
	for _, r := range w.all(w.names.Main()) {
		_, ours := envelope.SplitHeaders(r.Headers)
		said, _ := envelope.ParseRetry(ours)
		ids[said.Envelope]++
	}
	if len(ids) != n {
		t.Errorf("%d letters came back, want %d", len(ids), n)
	}
	w.consume(nil)
	for id, count := range w.taken {
		if count != 1 {
			t.Errorf("of generation %s %d records were accepted, want 1", id, count)
		}
	}
	if len(w.taken) != n {
		t.Errorf("%d generations were accepted, want %d", len(w.taken), n)
	}
	if got := w.statuses(); got[replay.Confirmed] != n || len(got) != 1 {
		t.Errorf("letters stand at %v, want all %d confirmed", got, n)
	}
	if got := w.journal.types(); got[audit.EventReinjected] != n {
		t.Errorf("events %v, want %d of %s", got, n, audit.EventReinjected)
	}
}
