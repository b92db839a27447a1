package consumer_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"recon/pkg/consumer"
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
		store.away.Store(false)
		w.send(messages(6, 12)...)
		w.until(time.Minute, "all", func() bool { return w.ledger.posted() == 12 && w.lag() == 0 })
		m.end(t)
	})
}

// Two clients of one engine would share its partitions with nobody working for the old one's: the process ends instead.
func TestMemberThrownOutWhoseClientDoesNotCloseEnds(t *testing.T) {
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
		<-m.done
		if m.err == nil || !strings.Contains(m.err.Error(), "did not close") {
			t.Errorf("Run returned %v, want the old client named", m.err)
		}
		m.link.Thaw()
		time.Sleep(5 * time.Minute) // what the client still waited for ends
	})
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
