package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/consumer"
	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// refusingAt refuses every write to one partition of a topic.
type refusingAt struct {
	consumer.Producer
	topic     string
	partition int32
	heals     *atomic.Bool
}

func (p refusingAt) Produce(ctx context.Context, r *kgo.Record, done func(*kgo.Record, error)) {
	if !p.heals.Load() && r.Topic == p.topic && r.Partition == p.partition {
		go done(r, errors.New("no leader"))
		return
	}
	p.Producer.Produce(ctx, r, done)
}

// Pitfall S8, promise 3: a partition whose letters cannot be written stands still, and its neighbours do not.
func TestPartitionWhoseLettersCannotBeWrittenHoldsNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		w.ledger.script = func(_ context.Context, m *envelope.Message) error {
			if m.Root.Partition == 1 {
				return fault.New(fault.CurrencyUnmapped, "no mapping")
			}
			return nil
		}
		heals := new(atomic.Bool)
		m := w.start([]func(*consumer.Config){func(c *consumer.Config) { c.MaxUnsettled = 20 }}, consumer.WithProducer(func(p consumer.Producer) consumer.Producer {
			return refusingAt{p, w.names.DLQ(), 1, heals}
		}))
		w.assigned()
		for n := range 60 {
			w.put(keyed(n, 1, fmt.Sprint("key-", n)))
		}
		w.until(time.Minute, "refused writes", func() bool { return w.count(consumer.WriteRefused) > 0 })
		time.Sleep(10 * time.Second)
		for n := range 10 {
			w.put(keyed(1000+n, 2, "neighbour"))
		}
		w.until(time.Minute, "the neighbours", func() bool { return w.ledger.posted() == 10 })
		if n := len(w.ledger.calls()); n > 20+10 {
			t.Errorf("%d records were handled, want no new one behind those 20 whose letters cannot be written", n-10)
		}
		if n := w.count(consumer.DeadLettered); n != 0 {
			t.Errorf("%d letters while none can be written", n)
		}
		heals.Store(true)
		w.until(time.Minute, "the letters", func() bool { return w.count(consumer.DeadLettered) == 60 && w.lag() == 0 })
		if err := m.Counters().Idle(); err != nil {
			t.Errorf("idle, and still there: %v", err)
		}
		m.end(t)
	})
}

// A drain begins nothing, also not what a write held back that heals while it lasts.
func TestDrainBeginsNothingOfAPartitionWhoseWritesHealMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		w.ledger.script = func(context.Context, *envelope.Message) error { return fault.New(fault.CurrencyUnmapped, "no mapping") }
		heals := new(atomic.Bool)
		m := w.start([]func(*consumer.Config){func(c *consumer.Config) { c.MaxUnsettled, c.Grace = 20, 30*time.Second }}, consumer.WithProducer(func(p consumer.Producer) consumer.Producer {
			return refusingAt{p, w.names.DLQ(), 1, heals}
		}))
		w.assigned()
		for n := range 400 {
			w.put(keyed(n, 1, fmt.Sprint("key-", n)))
		}
		w.until(time.Minute, "refused writes", func() bool { return w.count(consumer.WriteRefused) > 0 })
		time.Sleep(10 * time.Second)
		before := len(w.ledger.calls())
		m.stop()
		time.Sleep(time.Millisecond)
		heals.Store(true)
		<-m.done
		if n := len(w.ledger.calls()) - before; n > 0 {
			t.Errorf("%d handlers began after the stop", n)
		}
		if n := w.count(consumer.DeadLettered); n != before {
			t.Errorf("%d letters, want the %d that were in hand", n, before)
		}
	})
}

// As above, for records that no handler stands before.
func TestPartitionOfUnreadableRecordsHoldsNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		heals := new(atomic.Bool)
		m := w.start([]func(*consumer.Config){func(c *consumer.Config) { c.MaxUnsettled = 20 }}, consumer.WithProducer(func(p consumer.Producer) consumer.Producer {
			return refusingAt{p, w.names.DLQ(), 1, heals}
		}))
		w.assigned()
		for n := range 60 {
			r := keyed(n, 1, "key")
			r.Value = []byte("not JSON")
			w.put(r)
		}
		w.until(time.Minute, "refused writes", func() bool { return w.count(consumer.WriteRefused) > 0 })
		time.Sleep(10 * time.Second)
		tried := map[envelope.Coordinates]bool{}
		for _, ev := range w.of(consumer.WriteRefused) {
			tried[ev.Record] = true
		}
		if len(tried) > 20 {
			t.Errorf("%d letters are tried at once, want at most 20", len(tried))
		}
		w.put(keyed(1000, 2, "neighbour"))
		w.until(time.Minute, "the neighbour", func() bool { return w.ledger.posted() == 1 })
		heals.Store(true)
		w.until(time.Minute, "the letters", func() bool { return w.count(consumer.DeadLettered) == 60 && w.lag() == 0 })
		m.end(t)
	})
}

func TestUnclassifiedErrorIsToldOnceHoweverOftenItsLetterIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		w.ledger.script = func(context.Context, *envelope.Message) error { return errUnknown }
		left := new(atomic.Int64)
		m := w.start(nil, consumer.WithProducer(func(p consumer.Producer) consumer.Producer { return refusing{p, "recon.dlq", left, false} }))
		w.assigned()
		left.Store(5)
		w.send(message(1))
		w.until(time.Hour, "the letter", func() bool { return w.count(consumer.DeadLettered) == 1 })
		if n := w.count(consumer.Unclassified); n != 1 {
			t.Errorf("told %d times, want once", n)
		}
		m.end(t)
	})
}
