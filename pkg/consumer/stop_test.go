package consumer_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"recon/pkg/consumer"
	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/topics"
)

// Pitfalls L2, L6: an attempt cut off by a stop is abandoned: nothing counted, written or marked, and it comes again.
func TestAttemptCutOffByAStopIsAbandonedAndComesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		w.ledger.script = func(ctx context.Context, _ *envelope.Message) error { return wait(ctx, time.Hour) }
		m := w.start([]func(*consumer.Config){func(c *consumer.Config) { c.HandlerTimeout = 2 * time.Hour }})
		w.send(message(1))
		w.until(time.Minute, "the handler", func() bool { return w.ledger.tries("hash-000001") == 1 })
		began := time.Now()
		m.end(t)
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("stop took %s, want the grace of 5 s and no more", took)
		}
		if got := w.count(consumer.Abandoned); got != 1 {
			t.Errorf("%d abandoned, want 1", got)
		}
		if n := len(w.letters()) + w.count(consumer.RetryScheduled); n != 0 {
			t.Errorf("%d letters and copies of an abandoned attempt", n)
		}
		w.ledger.setScript(nil)
		m = w.start(nil)
		w.until(2*time.Minute, "the posting", func() bool { return w.ledger.posted() == 1 })
		m.end(t)
		if made := w.ledger.calls()[1].made; made != 0 {
			t.Errorf("the second run says %d attempts made, want 0: an abandoned one does not count", made)
		}
	})
}

func TestStopLetsWhatIsInHandEndAndCommitsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		w.ledger.script = func(ctx context.Context, _ *envelope.Message) error { return wait(ctx, 3*time.Second) }
		m := w.start(nil)
		w.send(message(1), message(2), message(3))
		w.until(time.Minute, "all in hand", func() bool { return len(w.ledger.calls()) == 3 })
		m.end(t)
		if got, lag := w.ledger.posted(), w.lag(); got != 3 || lag != 0 {
			t.Errorf("%d posted, lag %d, want 3 and 0", got, lag)
		}
	})
}

// Pitfall S12: a stop does not wait for what waits; and the due time outlives it.
func TestStopDuringALongWaitIsQuickAndTheDueTimeStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, topics.Ladder{2 * time.Second, 6 * time.Hour})
		w.ledger.script = func(_ context.Context, m *envelope.Message) error {
			if m.Attempt == 0 {
				return fault.New(fault.RateNotPublished, "no rate EUR/USD")
			}
			return nil
		}
		m := w.start([]func(*consumer.Config){fixed(fault.RateNotPublished, 4, 5*time.Hour)})
		w.send(message(1))
		w.until(time.Minute, "the wait", func() bool { return w.count(consumer.RetryScheduled) == 1 })
		due := w.of(consumer.RetryScheduled)[0].Due
		time.Sleep(time.Minute)
		began := time.Now()
		m.end(t)
		if took := time.Since(began); took > time.Second {
			t.Errorf("stop during a wait of 5 h took %s", took)
		}
		time.Sleep(time.Hour)
		m = w.start(nil)
		w.until(6*time.Hour, "the posting", func() bool { return w.ledger.posted() == 1 })
		m.end(t)
		if ran := w.ledger.calls()[1].at; ran.Before(due) || ran.After(due.Add(time.Second)) {
			t.Errorf("ran at %s, want at its due time %s", ran, due)
		}
	})
}

// Pitfalls L7, L11, L12, S4, A6: a second member takes over in the middle; nothing is lost, posted twice or counted anew.
func TestMembersComeAndGoAndEveryRecordIsPostedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		w.ledger.blind = true
		w.ledger.script = func(ctx context.Context, m *envelope.Message) error {
			if m.Attempt == 0 && m.Root.Offset%3 == 0 {
				return fault.New(fault.LockContention, "lock is held")
			}
			return wait(ctx, 200*time.Millisecond)
		}
		one := w.start(nil)
		sent := 0
		more := func(n int) {
			for range n {
				w.send(message(sent))
				sent++
			}
		}
		more(200)
		two := w.start([]func(*consumer.Config){func(c *consumer.Config) { c.Instance = "two" }})
		more(200)
		time.Sleep(4 * time.Second)
		one.end(t)
		more(200)
		three := w.start([]func(*consumer.Config){func(c *consumer.Config) { c.Instance = "three" }})
		more(200)
		w.until(10*time.Minute, "all", func() bool { return w.ledger.posted() == sent })
		w.until(time.Minute, "lag 0", func() bool { return w.lag() == 0 })
		two.end(t)
		three.end(t)
		for hash, n := range w.ledger.inserts {
			if n != 1 {
				t.Errorf("%s inserted %d times into a ledger that does not look", hash, n)
			}
		}
		if w.count(consumer.Revoked) == 0 {
			t.Error("no partition was ever revoked: the test did not test")
		}
		if n := len(w.letters()); n != 0 {
			t.Errorf("%d letters, want none", n)
		}
	})
}

// Pitfalls L10, M3, PITFALLS F3, F4: a member that the group has thrown out marks nothing, and loses no record.
func TestMemberCutOffFromTheBrokerMarksNothingAfterItsLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		w.ledger.script = func(ctx context.Context, _ *envelope.Message) error { return wait(ctx, 2*time.Second) }
		one := w.start(nil)
		for i := range 300 {
			w.send(message(i))
		}
		w.until(time.Minute, "some postings", func() bool { return w.ledger.posted() > 20 })
		one.link.Cut()
		two := w.start([]func(*consumer.Config){func(c *consumer.Config) { c.Instance = "two" }})
		w.until(10*time.Minute, "the other member's work", func() bool { return w.ledger.posted() == 300 })
		one.link.Mend()
		time.Sleep(time.Minute)
		for i := 300; i < 400; i++ {
			w.send(message(i))
		}
		w.until(10*time.Minute, "all", func() bool { return w.ledger.posted() == 400 })
		w.until(5*time.Minute, "lag 0", func() bool { return w.lag() == 0 })
		one.end(t)
		two.end(t)
		if got := w.lag(); got != 0 {
			t.Errorf("lag %d after all have stopped: somebody rewound", got)
		}
	})
}

// A handler that takes longer than the lease keeps its claim: it is renewed at a third.
func TestLongHandlerKeepsItsClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		w.ledger.script = func(ctx context.Context, _ *envelope.Message) error { return wait(ctx, 10*time.Minute) }
		long := func(c *consumer.Config) { c.HandlerTimeout, c.Lease = time.Hour, 30*time.Second }
		m := w.start([]func(*consumer.Config){long})
		first := message(1)
		w.send(first)
		w.until(time.Minute, "the handler", func() bool { return w.ledger.tries("hash-000001") == 1 })
		time.Sleep(9 * time.Minute)
		v, ok, err := w.store.Get(t.Context(), "hash-000001")
		if err != nil || !ok || v.State != "claimed" {
			t.Errorf("after 9 minutes the store says %v %v %v, want claimed", v.State, ok, err)
		}
		w.until(5*time.Minute, "the posting", func() bool { return w.ledger.posted() == 1 })
		m.end(t)
		if got := w.ledger.tries("hash-000001"); got != 1 {
			t.Errorf("%d attempts, want 1", got)
		}
	})
}

// A handler at its limit of time is a dependency that did not answer, not poison.
func TestAttemptAtItsTimeLimitIsATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		w.ledger.script = func(ctx context.Context, m *envelope.Message) error {
			if m.Attempt == 0 {
				return wait(ctx, time.Hour)
			}
			return nil
		}
		m := w.start([]func(*consumer.Config){func(c *consumer.Config) { c.HandlerTimeout = 10 * time.Second }})
		w.send(message(1))
		w.until(time.Minute, "the retry", func() bool { return w.count(consumer.RetryScheduled) == 1 })
		if code := w.of(consumer.RetryScheduled)[0].Code; code != fault.DependencyTimeout {
			t.Errorf("code %s, want DEPENDENCY_TIMEOUT", code)
		}
		w.until(time.Minute, "the posting", func() bool { return w.ledger.posted() == 1 })
		m.end(t)
	})
}
