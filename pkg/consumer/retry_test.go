package consumer_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/consumer"
	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/topics"
)

// Pitfalls A2, A4, A5, A7, T1, T8, T9: the whole timeline of a record that recovers on its fourth attempt.
func TestTransientFailureWaitsOnItsTierAndNeverRunsEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		w.ledger.script = func(_ context.Context, m *envelope.Message) error {
			if m.Attempt < 3 {
				return fault.At("carrier_status", fault.New(fault.CarrierUnreachable, "carrier says nothing"))
			}
			return nil
		}
		m := w.start(nil)
		w.send(message(1))
		w.until(time.Hour, "the posting", func() bool { return w.ledger.posted() == 1 })
		w.until(time.Minute, "lag 0", func() bool { return w.lag() == 0 })
		m.end(t)
		at := w.ledger.calls()
		if len(at) != 4 {
			t.Fatalf("%d attempts, want 4", len(at))
		}
		retries := w.of(consumer.RetryScheduled)
		if len(retries) != 3 {
			t.Fatalf("%d retries, want 3", len(retries))
		}
		for i, ev := range retries {
			if ev.Attempt != i+1 || at[i].made != i {
				t.Errorf("failure %d is told as attempt %d and began with %d made", i+1, ev.Attempt, at[i].made)
			}
			if at[i+1].at.Before(ev.Due) {
				t.Errorf("attempt %d ran at %s, %s early", i+2, at[i+1].at, ev.Due.Sub(at[i+1].at))
			}
			if late := at[i+1].at.Sub(ev.Due); late > time.Second {
				t.Errorf("attempt %d ran %s late on an idle broker", i+2, late)
			}
			if bound := min(5*time.Second<<i, 30*time.Second); ev.Due.Sub(ev.At) > bound {
				t.Errorf("wait %d is %s, above its bound %s", i+1, ev.Due.Sub(ev.At), bound)
			}
			// The due time is the drawn wait after the attempt's end, rounded up to a millisecond.
			wait := ev.Due.Sub(at[i].end)
			if most, least := w.names.Tier(short.Choose(wait)), w.names.Tier(short.Choose(wait-time.Millisecond)); ev.Topic != most && ev.Topic != least {
				t.Errorf("a wait of %s went to %s, want %s", wait, ev.Topic, most)
			}
		}
		if n := w.count(consumer.WriteRefused) + w.count(consumer.PollError) + w.count(consumer.Malformed); n != 0 {
			t.Errorf("%d alarms in a clean wait, want none", n)
		}
	})
}

// Pitfalls A1, A9, A10, A21, H1, H3: exactly the budget, then one letter with everything that was tried.
func TestSpentBudgetIsOneLetterAfterExactlySoManyAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		w.ledger.script = func(context.Context, *envelope.Message) error {
			return fault.New(fault.LockContention, "lock 9 is held")
		}
		m := w.start(nil)
		rec := message(7)
		rec.Headers = []kgo.RecordHeader{{Key: "a", Value: []byte("1")}, {Key: "a"}, {Key: "traceparent", Value: []byte("x")}}
		w.send(rec)
		w.until(time.Hour, "the letter", func() bool { return w.count(consumer.DeadLettered) == 1 })
		w.until(time.Minute, "lag 0", func() bool { return w.lag() == 0 })
		m.end(t)
		if got := len(w.ledger.calls()); got != 5 {
			t.Errorf("%d attempts, want 5 (LOCK_CONTENTION)", got)
		}
		l := w.letters()[0]
		if l.FailureCode != fault.FailedExhausted || l.FailureClass != fault.Transient || l.AttemptCount != 5 || len(l.History) != 5 {
			t.Errorf("letter says %s %s after %d with %d of history, want ATTEMPTS_EXHAUSTED transient 5 5", l.FailureCode, l.FailureClass, l.AttemptCount, len(l.History))
		}
		for i, h := range l.History {
			if h.Attempt != i+1 || h.ErrorCode != fault.LockContention || h.Instance != "one" {
				t.Errorf("history %d is %+v", i, h)
			}
		}
		if h := l.Original.Headers; len(h) != 3 || h[0].Key != "a" || h[1].Key != "a" || h[1].Value != nil {
			t.Errorf("original headers %v, want the record's own three", h)
		}
		if o := l.Origin; o.TimestampType != envelope.CreateTime || o.TimestampMS != w.read(w.names.Main())[0].Timestamp.UnixMilli() {
			t.Errorf("origin says %d %s, want the time of the record on main: a tier must not lose it", o.TimestampMS, o.TimestampType)
		}
		if l.Lineage.Root.String() != "recon.main/0@0" || l.Origin.Coordinates != l.Lineage.Root {
			t.Errorf("lineage %+v origin %+v", l.Lineage, l.Origin)
		}
	})
}

// CONTRACT 3: an attempt at or after the deadline that fails closes the window; a wait that would pass it ends at it.
func TestMatchDeadlineEndsTheWaitOnceAndThenTheRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, topics.Ladder{2 * time.Second, 30 * time.Second, 5 * time.Minute, 6 * time.Hour})
		deadline := time.Now().Add(3 * time.Minute).UTC()
		w.ledger.script = func(context.Context, *envelope.Message) error {
			return fault.New(fault.CounterpartNotArrived, "invoice 7 is not there")
		}
		m := w.start(nil)
		rec := message(1)
		rec.Value = []byte(strings.Replace(string(rec.Value), "{", `{"match_deadline":"`+envelope.FormatTime(deadline)+`",`, 1))
		w.send(rec)
		w.until(time.Hour, "the letter", func() bool { return w.count(consumer.DeadLettered) == 1 })
		m.end(t)
		if l := w.letters()[0]; l.FailureCode != fault.FailedWindowClosed {
			t.Errorf("failure code %s, want MATCHING_WINDOW_CLOSED", l.FailureCode)
		}
		last := w.ledger.calls()[len(w.ledger.calls())-1]
		if last.at.Before(deadline.Truncate(time.Millisecond)) || last.at.After(deadline.Add(time.Second)) {
			t.Errorf("last attempt at %s, want it at the deadline %s", last.at, deadline)
		}
	})
}

// CONTRACT 3: the limit is checked again, against the configuration of that moment, before the handler runs.
func TestLoweredLimitCountsForWhatWaitsAlready(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, topics.Ladder{2 * time.Second, 5 * time.Minute})
		w.ledger.script = func(context.Context, *envelope.Message) error {
			return fault.New(fault.CarrierUnreachable, "carrier says nothing")
		}
		m := w.start([]func(*consumer.Config){fixed(fault.CarrierUnreachable, 6, time.Minute)})
		w.send(message(1))
		w.until(time.Hour, "the second failure", func() bool { return w.count(consumer.RetryScheduled) == 2 })
		m.end(t)
		m = w.start([]func(*consumer.Config){fixed(fault.CarrierUnreachable, 2, time.Minute)})
		w.until(time.Hour, "the letter", func() bool { return w.count(consumer.DeadLettered) == 1 })
		m.end(t)
		if got := len(w.ledger.calls()); got != 2 {
			t.Errorf("%d attempts, want 2: the limit is 2 by now", got)
		}
		if l := w.letters()[0]; l.FailureCode != fault.FailedExhausted || l.AttemptCount != 2 {
			t.Errorf("letter %s after %d, want ATTEMPTS_EXHAUSTED after 2", l.FailureCode, l.AttemptCount)
		}
	})
}

// Pitfalls T6, S6: one key that fails or hangs costs its neighbours nothing.
func TestNeighboursOfAStuckKeyGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		w.ledger.script = func(ctx context.Context, m *envelope.Message) error {
			if m.SourceHash == "hash-000000" {
				return wait(ctx, 20*time.Second)
			}
			return nil
		}
		m := w.start(nil)
		began := time.Now()
		for i := range 200 {
			r := message(i)
			r.Partition = 1
			w.send(r)
		}
		w.until(time.Minute, "199 neighbours", func() bool { return w.ledger.posted() == 199 })
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("neighbours of a key stuck for 20 s took %s", took)
		}
		w.until(time.Minute, "all", func() bool { return w.ledger.posted() == 200 })
		w.until(time.Minute, "lag 0", func() bool { return w.lag() == 0 })
		m.end(t)
	})
}

func TestFirstAttemptsOfOneKeyStartInOrderOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		w.ledger.script = func(ctx context.Context, _ *envelope.Message) error { return wait(ctx, 10*time.Millisecond) }
		m := w.start(nil)
		for i := range 120 {
			r := message(i)
			r.Key, r.Partition = []byte("key-"+string(rune('a'+i%4))), 1
			w.send(r)
		}
		w.until(time.Minute, "all", func() bool { return w.ledger.posted() == 120 })
		m.end(t)
		last := map[string]attempt{}
		for _, a := range w.ledger.calls() {
			if before, ok := last[a.key]; ok && (a.root.Offset < before.root.Offset || a.at.Before(before.end)) {
				t.Errorf("%s: offset %d began at %s, before offset %d had ended", a.key, a.root.Offset, a.at, before.root.Offset)
			}
			last[a.key] = a
		}
	})
}

func TestOrderNoneHandlesOneKeyConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		w.ledger.script = func(ctx context.Context, _ *envelope.Message) error { return wait(ctx, time.Second) }
		m := w.start([]func(*consumer.Config){func(c *consumer.Config) { c.Order = consumer.OrderNone }})
		began := time.Now()
		for i := range 50 {
			r := message(i)
			r.Key, r.Partition = []byte("hot"), 1
			w.send(r)
		}
		w.until(time.Minute, "all", func() bool { return w.ledger.posted() == 50 })
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("50 of a second each took %s, want them side by side", took)
		}
		m.end(t)
	})
}

// Pitfall G4: a tier that is no longer configured is drained, not forgotten.
func TestTierNoLongerConfiguredIsDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, topics.Ladder{2 * time.Second, 5 * time.Minute})
		w.ledger.script = func(_ context.Context, m *envelope.Message) error {
			if m.Attempt == 0 {
				return fault.New(fault.CarrierUnreachable, "carrier says nothing")
			}
			return nil
		}
		m := w.start([]func(*consumer.Config){fixed(fault.CarrierUnreachable, 6, 4*time.Minute)})
		w.send(message(1))
		w.until(time.Minute, "the wait", func() bool { return w.count(consumer.RetryScheduled) == 1 })
		m.end(t)
		w.tiers = topics.Ladder{2 * time.Second}
		m = w.start(nil)
		w.until(time.Hour, "the posting", func() bool { return w.ledger.posted() == 1 })
		if due := w.of(consumer.RetryScheduled)[0].Due; w.ledger.calls()[1].at.Before(due) {
			t.Errorf("ran at %s, due %s", w.ledger.calls()[1].at, due)
		}
		m.end(t)
	})
}

// fixed sets one policy with a fixed wait.
func fixed(code fault.Code, limit int, wait time.Duration) func(*consumer.Config) {
	return func(c *consumer.Config) {
		c.Policies = fault.Defaults()
		c.Policies[code] = fault.Policy{Class: fault.Transient, MaxAttempts: limit, Base: wait, Cap: wait, Spacing: fault.Fixed}
		if _, err := c.Policies.Fit(c.Tiers.Largest(), nil); err != nil {
			panic(err)
		}
	}
}

// windows is a calendar with one matching window.
type windows struct{ length time.Duration }

func (windows) Check(*envelope.Message, time.Time) error { return nil }
func (w windows) MatchDeadline(_ string, failed time.Time) (time.Time, bool) {
	return failed.Add(w.length), true
}

// DESIGN 5: the calendar's deadline is computed once, at the first failure, and travels with the record.
func TestCalendarsMatchingWindowIsComputedAtTheFirstFailureOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, topics.Ladder{2 * time.Second, 30 * time.Second, 5 * time.Minute, 6 * time.Hour})
		w.ledger.script = func(context.Context, *envelope.Message) error {
			return fault.New(fault.CounterpartNotArrived, "invoice 7 is not there")
		}
		m := w.start([]func(*consumer.Config){func(c *consumer.Config) { c.Periods = windows{10 * time.Minute} }})
		w.send(message(1))
		w.until(time.Hour, "the letter", func() bool { return w.count(consumer.DeadLettered) == 1 })
		m.end(t)
		calls := w.ledger.calls()
		deadline := calls[0].at.Add(10 * time.Minute)
		if l := w.letters()[0]; l.FailureCode != fault.FailedWindowClosed {
			t.Errorf("failure code %s, want MATCHING_WINDOW_CLOSED", l.FailureCode)
		}
		if last := calls[len(calls)-1].at; last.Before(deadline) || last.After(deadline.Add(2*time.Second)) {
			t.Errorf("last attempt at %s, want it at %s, ten minutes after the first failure", last, deadline)
		}
	})
}

// refuses is a calendar in which every period is closed.
type refuses struct{ windows }

func (refuses) Check(*envelope.Message, time.Time) error {
	return fault.New(fault.PeriodClosed, "2026-10 is closed")
}

func TestClosedPeriodIsALetterBeforeTheHandlerRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		m := w.start([]func(*consumer.Config){func(c *consumer.Config) { c.Periods = refuses{} }})
		w.send(message(1))
		w.until(time.Minute, "the letter", func() bool { return w.count(consumer.DeadLettered) == 1 })
		m.end(t)
		if l := w.letters()[0]; l.ErrorCode != fault.PeriodClosed || l.SourceStage != fault.StagePeriod || l.FailureCode != fault.FailedPoison {
			t.Errorf("letter %s %s at %s, want POISON_MESSAGE PERIOD_CLOSED at period", l.FailureCode, l.ErrorCode, l.SourceStage)
		}
		if n := len(w.ledger.calls()); n != 0 {
			t.Errorf("the handler ran %d times", n)
		}
	})
}

// breaks is a calendar that panics.
type breaks struct{ windows }

func (breaks) Check(*envelope.Message, time.Time) error { panic("calendar of another year") }

func TestPanicBeforeTheHandlerIsALetterAsWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		m := w.start([]func(*consumer.Config){func(c *consumer.Config) { c.Periods = breaks{} }})
		w.send(message(1))
		w.until(time.Minute, "the letter", func() bool { return w.count(consumer.DeadLettered) == 1 })
		m.end(t)
		if l := w.letters()[0]; l.ErrorCode != fault.HandlerPanic {
			t.Errorf("code %s, want HANDLER_PANIC", l.ErrorCode)
		}
	})
}
