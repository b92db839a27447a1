package dedup_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"recon/pkg/dedup"
)

func acquire(t testing.TB, s dedup.Replays, owner string) *dedup.Lease {
	t.Helper()
	l, err := s.AcquireLease(t.Context(), owner)
	if err != nil {
		t.Fatalf("acquire the lease for %s: %v", owner, err)
	}
	return l
}

func release(t testing.TB, l *dedup.Lease) {
	t.Helper()
	if err := l.Release(context.Background()); err != nil {
		t.Errorf("release: %v", err)
	}
}

// Pitfall R2: two replayers at once; the second is told who holds the lease.
func secondRunIsRefused(t *testing.T, r rig) {
	before := time.Now().Add(-time.Second)
	l := acquire(t, r.open(t), "alice on host 1")
	_, err := r.open(t).AcquireLease(t.Context(), "bob")
	var held *dedup.LeaseHeldError
	if !errors.Is(err, dedup.ErrLeaseHeld) || !errors.As(err, &held) {
		t.Fatalf("second run: got %v, want ErrLeaseHeld", err)
	}
	if held.Owner != "alice on host 1" || held.Since.Before(before) || held.Since.After(time.Now()) {
		t.Errorf("held by %q since %s", held.Owner, held.Since)
	}
	if !strings.Contains(err.Error(), "alice on host 1") {
		t.Errorf("%q does not name the holder", err)
	}
	release(t, l)
	release(t, l)
	if err := context.Cause(l.Context()); !errors.Is(err, context.Canceled) {
		t.Errorf("after the release its context says %v", err)
	}
	release(t, acquire(t, r.open(t), "bob"))
}

// Pitfall R37: a long run keeps its lease.
func leaseIsRenewed(t *testing.T, r rig) {
	s := r.open(t)
	l := acquire(t, s, "alice")
	defer release(t, l)
	end := time.NewTimer(runLease * 5 / 4)
	tick := time.NewTicker(runLease / 20)
	defer tick.Stop()
	for {
		select {
		case <-l.Context().Done():
			t.Fatalf("the lease ended: %v", context.Cause(l.Context()))
		case <-tick.C:
			if _, err := s.AcquireLease(t.Context(), "bob"); !errors.Is(err, dedup.ErrLeaseHeld) {
				t.Fatalf("while it is held: got %v, want ErrLeaseHeld", err)
			}
		case <-end.C:
			return
		}
	}
}

// A lease that another run has taken stops this run, and its release leaves the other's alone.
func lostLease(t *testing.T, r rig) {
	s := r.open(t)
	l := acquire(t, s, "alice")
	r.setLease(t, "another-token 2026-03-31T22:15:04.007Z bob")
	eventually(t, "the run to be stopped", func() bool { return l.Context().Err() != nil })
	if err := context.Cause(l.Context()); !errors.Is(err, dedup.ErrLeaseLost) {
		t.Errorf("the context ended by %v, want ErrLeaseLost", err)
	}
	release(t, l)
	_, err := s.AcquireLease(t.Context(), "carol")
	var held *dedup.LeaseHeldError
	if !errors.As(err, &held) || held.Owner != "bob" {
		t.Errorf("after the release: got %v, want bob to hold it", err)
	}
}

// Released between the last renewal and the next: another's lease is not given back by us.
func TestReleaseGivesBackOnlyItsOwnLease(t *testing.T) {
	r := memoryRig(t)
	s := r.open(t)
	l := acquire(t, s, "alice")
	r.setLease(t, "another-token 2026-03-31T22:15:04.007Z bob")
	release(t, l)
	if _, err := s.AcquireLease(t.Context(), "carol"); !errors.Is(err, dedup.ErrLeaseHeld) {
		t.Errorf("got %v, want ErrLeaseHeld", err)
	}
}

func TestLeaseLastsAsLongAsItsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := openMemory(t, dedup.Options{})
		l := acquire(t, m, "alice")
		time.Sleep(6 * time.Hour)
		if err := l.Context().Err(); err != nil {
			t.Errorf("after six hours: %v", context.Cause(l.Context()))
		}
		if _, err := m.AcquireLease(t.Context(), "bob"); !errors.Is(err, dedup.ErrLeaseHeld) {
			t.Errorf("after six hours: got %v, want ErrLeaseHeld", err)
		}
		release(t, l)
	})
}

func TestLeaseOfAForgetfulStoreEndsBeforeItsLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := openMemory(t, dedup.Options{RunLease: runLease})
		taken := time.Now()
		l := acquire(t, m, "alice")
		synctest.Wait()
		m.Forget() // no renewal gets an answer from now on
		<-l.Context().Done()
		if took := time.Since(taken); took >= runLease || took < runLease*3/4 {
			t.Errorf("stopped after %s, the lease lives %s", took, runLease)
		}
		if err := context.Cause(l.Context()); !errors.Is(err, dedup.ErrLeaseLost) {
			t.Errorf("the context ended by %v, want ErrLeaseLost", err)
		}
		release(t, l)
	})
}

// Work in hand needs the lease after the command was interrupted.
func TestInterruptKeepsTheLeaseUntilItsRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := openMemory(t, dedup.Options{RunLease: runLease})
		ctx, interrupt := context.WithCancel(t.Context())
		l, err := m.AcquireLease(ctx, "alice")
		if err != nil {
			t.Fatal(err)
		}
		interrupt()
		<-l.Context().Done()
		time.Sleep(10 * runLease)
		if _, err := m.AcquireLease(t.Context(), "bob"); !errors.Is(err, dedup.ErrLeaseHeld) {
			t.Errorf("after the interrupt: got %v, want ErrLeaseHeld", err)
		}
		release(t, l)
		release(t, acquire(t, m, "bob"))
	})
}

// A run that died without release leaves its lease to end by itself.
func TestLeaseOfADeadRunEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := openMemory(t, dedup.Options{RunLease: runLease})
		m.SetLease("token 2026-03-31T22:15:04.007Z dead-run", runLease)
		time.Sleep(runLease - time.Millisecond)
		if _, err := m.AcquireLease(t.Context(), "bob"); !errors.Is(err, dedup.ErrLeaseHeld) {
			t.Errorf("before its end: got %v, want ErrLeaseHeld", err)
		}
		time.Sleep(time.Millisecond)
		release(t, acquire(t, m, "bob"))
	})
}
