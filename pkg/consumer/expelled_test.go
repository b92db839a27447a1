package consumer_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"recon/pkg/audit"
	"recon/pkg/consumer"
	"recon/pkg/envelope"
)

// Pitfalls M3, S1: a member that learns from a commit that the group has thrown it out stops all work, joins anew and reads
// again what it had not committed: the client alone would keep its partitions and read on behind them.
func TestMemberThrownOutAndToldByACommitJoinsAnewAndLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		m := w.start(nil)
		w.assigned()
		time.Sleep(10 * time.Second)
		w.send(messages(0, 6)...)
		w.kick() // before the commit of the six, and before the next heartbeat
		w.until(time.Minute, "the expulsion", func() bool { return w.count(consumer.Expelled) == 1 })
		w.send(messages(6, 12)...)
		w.until(time.Minute, "all", func() bool { return w.ledger.posted() == 12 && w.lag() == 0 })
		if why := m.Ready(); len(why) > 0 {
			t.Errorf("not ready: %v", why)
		}
		if n := w.count(consumer.Expelled); n != 1 {
			t.Errorf("thrown out %d times, want once", n)
		}
		m.end(t)
	})
}

// A member that joins anew waits for its store as long as one that runs does: it has begun once already.
func TestMemberThrownOutWhileTheStoreIsAwayWaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		store := &forgetful{Store: w.store}
		w.store = store
		m := w.start(nil)
		w.assigned()
		time.Sleep(10 * time.Second)
		w.send(messages(0, 6)...)
		for w.ledger.posted() < 6 {
			time.Sleep(10 * time.Millisecond)
		}
		store.away.Store(true)
		w.kick()
		w.until(time.Minute, "the expulsion", func() bool { return w.count(consumer.Expelled) == 1 })
		time.Sleep(time.Hour)
		if len(m.Ready()) == 0 {
			t.Error("ready while nothing is assigned")
		}
		if n, back := w.count(consumer.StoreAway), w.count(consumer.StoreBack); n == 0 || back != 0 {
			t.Errorf("store told away %d times and back %d times, want away once and not back", n, back)
		}
		if why := strings.Join(m.Ready(), "; "); !strings.Contains(why, "dedup store") {
			t.Errorf("not ready because %q, want the store named", why)
		}
		store.away.Store(false)
		w.send(messages(6, 12)...)
		w.until(time.Minute, "all", func() bool { return w.ledger.posted() == 12 && w.lag() == 0 })
		if n, back := w.count(consumer.StoreAway), w.count(consumer.StoreBack); back != n {
			t.Errorf("store told away %d times and back %d times", n, back)
		}
		m.end(t)
	})
}

// The old client closes also where no broker answers, and the new one begins when one does.
func TestMemberThrownOutBehindAHungBrokerJoinsAnewWhenItIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		var m *member
		m = w.start(nil, consumer.WithObserve(func(ev consumer.Event) {
			if w.observe(ev); ev.Kind == consumer.CommitRefused {
				m.link.Freeze()
			}
		}))
		w.assigned()
		time.Sleep(10 * time.Second)
		w.send(messages(0, 6)...)
		w.kick()
		time.Sleep(5 * time.Minute)
		if m.gone() {
			t.Fatalf("ended: %v", m.err)
		}
		m.link.Thaw()
		w.send(messages(6, 12)...)
		w.until(5*time.Minute, "all", func() bool { return w.ledger.posted() == 12 && w.lag() == 0 })
		m.end(t)
	})
}

// The old client joins anew by itself, and waits there for whoever drains: that holds up nobody, and ends no process.
func TestMemberThrownOutWhileAnotherDrainsJoinsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		w.ledger.script = func(ctx context.Context, m *envelope.Message) error {
			if m.Root.Partition == 0 && m.Root.Offset == 0 {
				return wait(ctx, 40*time.Second) // longer than a revoke drains
			}
			return nil
		}
		slow := func(c *consumer.Config) { c.HandlerTimeout = time.Minute }
		one := w.start(append(named("one"), slow))
		two := w.start(append(named("two"), slow))
		w.until(time.Minute, "assignments", func() bool { return w.count(consumer.Assigned) >= 2*partitions })
		sent := 0
		for range 6 {
			w.send(messages(sent, sent+30)...)
			sent += 30
			for w.ledger.posted() < sent-1 {
				time.Sleep(10 * time.Millisecond)
			}
			w.kick()
			time.Sleep(7 * time.Second)
		}
		w.until(10*time.Minute, "all", func() bool { return one.gone() || two.gone() || w.ledger.posted() == sent && w.lag() == 0 })
		if w.count(consumer.Expelled) == 0 {
			t.Error("nobody was thrown out: the test shows nothing")
		}
		one.end(t)
		two.end(t)
	})
}

// Who gives a journal keeps it: the next membership tells its outcomes to it too.
func TestGivenJournalOutlivesAnExpulsion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		j := &closable{}
		m := w.start(nil, consumer.WithJournal(j))
		w.assigned()
		time.Sleep(10 * time.Second)
		w.send(messages(0, 6)...)
		w.kick()
		w.until(time.Minute, "the expulsion", func() bool { return w.count(consumer.Expelled) == 1 })
		w.send(messages(6, 12)...)
		w.until(time.Minute, "all", func() bool { return w.ledger.posted() == 12 && w.lag() == 0 })
		m.end(t)
		if n := j.closed.Load(); n != 0 {
			t.Errorf("closed %d times, want it left to whoever gave it", n)
		}
	})
}

// closable is a journal with an end, as audit.Chain is.
type closable struct{ closed atomic.Int64 }

func (j *closable) Append(context.Context, ...audit.Entry) error {
	if j.closed.Load() > 0 {
		return errors.New("journal is closed")
	}
	return nil
}

func (j *closable) Close(context.Context) error {
	j.closed.Add(1)
	return nil
}

// A static member whose id another process has taken ends by name, and is no ready corpse.
func TestFencedStaticMemberEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		static := []func(*consumer.Config){func(c *consumer.Config) { c.StaticMember, c.Instance = true, "same" }}
		one := w.start(static)
		w.assigned()
		two := w.start(static)
		w.until(10*time.Minute, "the first one's end", one.gone)
		if !errors.Is(one.err, consumer.ErrFenced) {
			t.Errorf("Run returned %v, want ErrFenced", one.err)
		}
		if why := strings.Join(one.Ready(), " "); why == "" {
			t.Error("ready after its end")
		}
		w.send(messages(0, 9)...)
		w.until(time.Minute, "the second one's work", func() bool { return w.ledger.posted() == 9 })
		two.end(t)
	})
}

// kick takes every member out of the group, as the coordinator does whose sessions have run out.
func (w *world) kick() {
	w.t.Helper()
	groups, err := kadm.NewClient(w.out).DescribeGroups(w.t.Context(), w.group)
	if err != nil {
		w.t.Fatal(err)
	}
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group = w.group
	for _, m := range groups[w.group].Members {
		out := kmsg.NewLeaveGroupRequestMember()
		out.MemberID = m.MemberID
		req.Members = append(req.Members, out)
	}
	if _, err := req.RequestWith(w.t.Context(), w.out); err != nil {
		w.t.Fatal(err)
	}
}
