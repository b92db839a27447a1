package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/audit"
	"recon/pkg/consumer"
	"recon/pkg/dedup"
	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// faulty stands before a store: while fail holds an error, nothing else is answered.
type faulty struct {
	dedup.Store
	fail atomic.Pointer[error]
}

func (f *faulty) Claim(ctx context.Context, lease time.Duration, batch []dedup.Claim) ([]dedup.Answer, error) {
	if err := f.fail.Load(); err != nil {
		return nil, *err
	}
	return f.Store.Claim(ctx, lease, batch)
}

func (f *faulty) Settle(ctx context.Context, batch []dedup.Settlement) error {
	if err := f.fail.Load(); err != nil {
		return *err
	}
	return f.Store.Settle(ctx, batch)
}

func TestStoreAwayStopsIntakeAndNothingIsLostOrSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		store := &faulty{Store: w.store}
		w.store = store
		m := w.start(nil)
		w.send(message(1))
		w.until(time.Minute, "a posting", func() bool { return w.ledger.posted() == 1 })
		away := fmt.Errorf("dial: %w", dedup.ErrUnavailable)
		store.fail.Store(&away)
		for i := 2; i < 50; i++ {
			w.send(message(i))
		}
		time.Sleep(time.Hour)
		if why := strings.Join(m.Ready(), " "); !strings.Contains(why, "dedup store") {
			t.Errorf("ready says %q, want the dedup store named", why)
		}
		if n := w.ledger.posted(); n != 1 {
			t.Errorf("%d posted while the store was away", n)
		}
		store.fail.Store(nil)
		w.until(time.Minute, "all", func() bool { return w.ledger.posted() == 49 })
		w.until(time.Minute, "lag 0", func() bool { return w.lag() == 0 })
		if why := m.Ready(); len(why) != 0 {
			t.Errorf("ready says %q after the store came back", why)
		}
		m.end(t)
		if n := len(w.letters()) + w.count(consumer.RetryScheduled); n != 0 {
			t.Errorf("%d letters and copies because the store was away", n)
		}
		for _, a := range w.ledger.calls() {
			if a.made != 0 {
				t.Errorf("%s: an attempt was spent on the store's absence", a.hash)
			}
		}
	})
}

func TestStoreThatLostItsMemoryEndsTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		store := &faulty{Store: w.store}
		w.store = store
		m := w.start(nil)
		w.until(time.Minute, "assignment", func() bool { return w.count(consumer.Assigned) > 0 })
		lost := fmt.Errorf("claim: %w", dedup.ErrMemoryLost)
		store.fail.Store(&lost)
		w.send(message(1), message(2))
		<-m.done
		if !errors.Is(m.err, dedup.ErrMemoryLost) {
			t.Errorf("Run returned %v, want ErrMemoryLost", m.err)
		}
		if n := len(w.ledger.calls()); n != 0 {
			t.Errorf("%d attempts after the loss, want none", n)
		}
		if got := w.committed(); got != 0 {
			t.Errorf("%d records committed, want none: both are still to be read", got)
		}
	})
}

// refusing stands before the broker: the first n writes to a topic fail, after having been written where applied is set.
type refusing struct {
	consumer.Producer
	topic   string
	left    *atomic.Int64
	applied bool
}

func (p refusing) Produce(ctx context.Context, r *kgo.Record, done func(*kgo.Record, error)) {
	if !strings.HasPrefix(r.Topic, p.topic) || p.left.Add(-1) < 0 {
		p.Producer.Produce(ctx, r, done)
		return
	}
	if p.applied {
		p.Producer.Produce(ctx, r, func(r *kgo.Record, _ error) { done(r, context.DeadlineExceeded) })
		return
	}
	go done(r, context.DeadlineExceeded)
}

// Pitfalls L1, L3, L5, S8, R21, R23: a write that fails holds its partition, skips nothing and is made again; one that
// was applied all the same is recognised.
func TestFailedWriteHoldsThePartitionUntilItIsAcknowledged(t *testing.T) {
	for _, topic := range []string{"recon.retry.", "recon.dlq", "recon.audit"} {
		for _, applied := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s applied=%v", topic, applied), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, short)
					w.ledger.script = func(_ context.Context, m *envelope.Message) error {
						switch {
						case m.SourceHash == "hash-000001" && m.Attempt == 0:
							return fault.New(fault.LockContention, "lock is held")
						case m.SourceHash == "hash-000002":
							return fault.New(fault.CurrencyUnmapped, "no mapping")
						}
						return nil
					}
					left := new(atomic.Int64)
					stand := consumer.WithProducer(func(p consumer.Producer) consumer.Producer {
						return refusing{p, topic, left, applied}
					})
					m := w.start(nil, stand)
					w.until(time.Minute, "assignment", func() bool { return w.count(consumer.Assigned) > 0 })
					left.Store(5)
					for i := range 30 {
						r := message(i)
						r.Partition = 1
						w.send(r)
					}
					w.until(10*time.Minute, "29 postings", func() bool { return w.ledger.posted() == 29 })
					w.until(10*time.Minute, "lag 0", func() bool { return w.lag() == 0 })
					m.end(t)
					if n := w.count(consumer.WriteRefused); n < 1 {
						t.Error("no write was refused: the test did not test")
					}
					ids := map[string]bool{}
					for _, l := range w.letters() {
						ids[l.EnvelopeID] = true
					}
					if len(ids) != 1 {
						t.Errorf("%d different letters, want 1", len(ids))
					}
					if n := w.ledger.inserts["hash-000001"]; n != 1 {
						t.Errorf("the retried record was inserted %d times, want once", n)
					}
					if n := w.ledger.tries("hash-000001"); n != 2 {
						t.Errorf("the retried record was tried %d times, want 2: a second copy does not run", n)
					}
				})
			})
		}
	}
}

// journal acknowledges nothing while held.
type journal struct {
	held    atomic.Bool
	entries atomic.Int64
}

func (j *journal) Append(_ context.Context, es ...audit.Entry) error {
	if j.held.Load() {
		return errors.New("trail cannot be written")
	}
	j.entries.Add(int64(len(es)))
	return nil
}

func TestNothingIsMarkedBeforeItsEvidenceIsAcknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		j := &journal{}
		j.held.Store(true)
		m := w.start(nil, consumer.WithJournal(j))
		w.send(message(1), message(2), message(3))
		w.until(time.Minute, "three postings", func() bool { return w.ledger.posted() == 3 })
		for i := 4; i < 12; i++ { // one at a time: each has its own turn of the loop
			w.send(message(i))
			w.until(time.Minute, "a posting while the trail cannot be written", func() bool { return w.ledger.posted() == i })
		}
		time.Sleep(time.Minute)
		if got := w.lag(); got != 11 {
			t.Errorf("lag %d while the trail cannot be written, want 11", got)
		}
		j.held.Store(false)
		w.until(time.Minute, "lag 0", func() bool { return w.lag() == 0 })
		m.end(t)
	})
}
