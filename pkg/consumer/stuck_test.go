package consumer_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"recon/pkg/consumer"
	"recon/pkg/dedup"
	"recon/pkg/envelope"
)

func TestEngineThatStopsIsNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		w.ledger.script = func(ctx context.Context, _ *envelope.Message) error { return wait(ctx, 3*time.Second) }
		m := w.start(nil)
		w.assigned()
		w.send(message(1))
		w.until(time.Minute, "the handler", func() bool { return len(w.ledger.calls()) == 1 })
		m.stop()
		time.Sleep(time.Second)
		if len(m.Ready()) == 0 {
			t.Error("ready while it stops")
		}
		<-m.done
		if len(m.Ready()) == 0 {
			t.Error("ready after its end")
		}
	})
}

// Pitfall S14: a handler that ignores its context holds up the end of the process for a bounded time only.
func TestHandlerThatIgnoresItsContextDoesNotHoldTheStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		release := make(chan struct{})
		w.ledger.script = func(context.Context, *envelope.Message) error { <-release; return nil }
		m := w.start(nil)
		w.send(message(1))
		w.until(time.Minute, "the handler", func() bool { return len(w.ledger.calls()) == 1 })
		m.stop()
		select {
		case <-m.done:
		case <-time.After(10 * time.Minute):
			t.Error("the stop still waits after 10 minutes")
		}
		close(release)
		<-m.done
		if !errors.Is(m.err, consumer.ErrHandlerStuck) {
			t.Errorf("Run returned %v, want ErrHandlerStuck", m.err)
		}
	})
}

// forgetful answers nothing while away, to whatever is asked.
type forgetful struct {
	dedup.Store
	away atomic.Bool
}

func (s *forgetful) Claim(ctx context.Context, lease time.Duration, batch []dedup.Claim) ([]dedup.Answer, error) {
	if s.away.Load() {
		return nil, errAway
	}
	return s.Store.Claim(ctx, lease, batch)
}

func (s *forgetful) Open(ctx context.Context, committed, fromStart bool) error {
	if s.away.Load() {
		return errAway
	}
	return s.Store.Open(ctx, committed, fromStart)
}

func (s *forgetful) MarkCommitted(ctx context.Context) error {
	if s.away.Load() {
		return errAway
	}
	return s.Store.MarkCommitted(ctx)
}

// Whether the store was told before that the group has committed or not: the next start tells it again.
func TestStopWhileTheStoreIsAwayIsClean(t *testing.T) {
	for name, told := range map[string]time.Duration{"told": time.Minute, "not told": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, short)
				store := &forgetful{Store: w.store}
				w.store = store
				m := w.start(nil)
				w.send(messages(0, 3)...)
				w.until(time.Minute, "lag 0", func() bool { return w.ledger.posted() == 3 && w.lag() == 0 })
				time.Sleep(told)
				store.away.Store(true)
				m.end(t)
				if n := w.lag(); n != 0 {
					t.Errorf("%d records not committed", n)
				}
			})
		})
	}
}

func TestStopBehindAHungBrokerIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		m := w.start(nil)
		w.send(messages(0, 10)...)
		w.until(time.Minute, "posted", func() bool { return w.ledger.posted() == 10 })
		m.link.Freeze()
		time.Sleep(time.Second)
		began := time.Now()
		m.stop()
		<-m.done
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("the stop took %s", took)
		}
		m.link.Thaw()
		time.Sleep(5 * time.Minute) // what the client still waited for ends
	})
}
