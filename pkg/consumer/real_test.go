package consumer_test

import (
	"context"
	"testing"
	"time"

	"recon/pkg/consumer"
	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/topics"
)

// The promises of the fast suite once more, on a real broker, under both group protocols.
func TestRealBrokerEveryRecordHasOneOutcome(t *testing.T) {
	for _, protocol := range []consumer.Protocol{consumer.ProtocolClassic, consumer.ProtocolConsumer} {
		t.Run(string(protocol), func(t *testing.T) {
			w := newRealWorld(t, topics.Ladder{200 * time.Millisecond, time.Second})
			w.ledger.script = func(_ context.Context, m *envelope.Message) error {
				switch {
				case m.Root.Offset%100 == 7:
					return fault.New(fault.CurrencyUnmapped, "no mapping")
				case m.Root.Offset%10 == 3 && m.Attempt < 2:
					return fault.New(fault.LockContention, "lock is held")
				}
				return nil
			}
			setup := func(c *consumer.Config) { c.Protocol = protocol; c.SessionTimeout = 6 * time.Second }
			m := w.start([]func(*consumer.Config){setup})
			const n = 1500
			w.send(messages(0, n)...)
			w.until(time.Minute, "every record's outcome", func() bool {
				return w.count(consumer.Posted)+w.count(consumer.DeadLettered) == n
			})
			w.until(time.Minute, "lag 0", func() bool { return w.lag() == 0 })
			m.end(t)
			if got, want := len(w.letters()), n/100; got != want {
				t.Errorf("%d letters, want %d", got, want)
			}
			if got, want := w.ledger.posted(), n-n/100; got != want {
				t.Errorf("%d posted, want %d", got, want)
			}
			for i, retry := range w.of(consumer.RetryScheduled) {
				for _, a := range w.ledger.calls() {
					if a.root == retry.Root && a.made == retry.Attempt && a.at.Before(retry.Due) {
						t.Fatalf("retry %d of %s ran %s early", i, a.root, retry.Due.Sub(a.at))
					}
				}
			}
		})
	}
}

// Pitfalls L11, L13, S13: members come and go on the real broker.
func TestRealRebalanceLosesNothingAndPostsNothingTwice(t *testing.T) {
	w := newRealWorld(t, topics.Ladder{200 * time.Millisecond, time.Second})
	w.ledger.blind = true
	w.ledger.script = func(ctx context.Context, m *envelope.Message) error {
		if m.Attempt == 0 && m.Root.Offset%3 == 0 {
			return fault.New(fault.LockContention, "lock is held")
		}
		return wait(ctx, 2*time.Millisecond)
	}
	named := func(name string) []func(*consumer.Config) {
		return []func(*consumer.Config){func(c *consumer.Config) { c.Instance, c.SessionTimeout = name, 6*time.Second }}
	}
	one := w.start(named("one"))
	sent := 0
	more := func() {
		w.send(messages(sent, sent+600)...)
		sent += 600
	}
	more()
	two := w.start(named("two"))
	more()
	three := w.start(named("three"))
	more()
	one.end(t)
	more()
	w.until(time.Minute, "all", func() bool { return w.ledger.posted() == sent })
	w.until(time.Minute, "lag 0", func() bool { return w.lag() == 0 })
	two.end(t)
	three.end(t)
	for hash, n := range w.ledger.inserts {
		if n != 1 {
			t.Errorf("%s inserted %d times into a ledger that does not look", hash, n)
		}
	}
}
