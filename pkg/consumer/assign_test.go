package consumer

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// assigned is an engine without a broker whose loop owns one partition, and turns until the test ends.
func assigned(t *testing.T) (*loop, *partition) {
	t.Helper()
	e := &Engine{cfg: Config{Topics: newRouter().names}.withDefaults(), observe: func(Event) {}}
	e.renew(t.Context())
	l := e.loop.Load()
	done := make(chan struct{})
	go l.run(done)
	t.Cleanup(func() { close(done); <-l.ended; l.stopWork() })
	var part *partition
	l.ask(func() {
		l.assign(map[string][]int32{"recon.main": {2}})
		part = l.parts[source{"recon.main", 2}]
	})
	return l, part
}

// Pitfall M3: the member learns that it was thrown out from the code in a commit's answer, whose err is nil.
func TestCommitRefusedToAStrangerEndsEveryAssignmentAtOnce(t *testing.T) {
	for _, c := range []struct {
		err    *kerr.Error
		times  int
		member string // whose commit it was; the client's own is empty
		lost   error
	}{
		{kerr.UnknownMemberID, 1, "", errExpelled},
		{kerr.IllegalGeneration, 1, "", errExpelled},
		{kerr.FencedMemberEpoch, 1, "", errExpelled},
		{kerr.FencedInstanceID, 1, "", ErrFenced},
		{kerr.StaleMemberEpoch, 2, "", errExpelled},
		{kerr.StaleMemberEpoch, 1, "", nil}, // the answer to a heartbeat may bring another epoch
		{kerr.UnknownMemberID, 1, "before", nil},
		{kerr.CoordinatorNotAvailable, 2, "", nil},
	} {
		t.Run(fmt.Sprint(c.err.Message, c.times, c.member), func(t *testing.T) {
			l, part := assigned(t)
			cl, err := kgo.NewClient(kgo.SeedBrokers("127.0.0.1:1"))
			if err != nil {
				t.Fatal(err)
			}
			defer cl.Close()
			var told []Event
			l.e.observe = func(ev Event) {
				if ev.Kind == CommitRefused { // told by who commits, and not by the loop
					told = append(told, ev)
				}
			}
			req := kmsg.NewPtrOffsetCommitRequest()
			req.MemberID, req.Generation = cl.GroupMetadata()
			req.MemberID += c.member
			resp := kmsg.NewPtrOffsetCommitResponse()
			resp.Topics = []kmsg.OffsetCommitResponseTopic{{
				Topic: "recon.main", Partitions: []kmsg.OffsetCommitResponseTopicPartition{{Partition: 2, ErrorCode: c.err.Code}},
			}}
			for range c.times {
				l.onCommit(cl, req, resp, nil)
			}
			if len(told) != c.times || !errors.Is(told[0].Err, c.err) || told[0].Record != part.coordinates() {
				t.Errorf("told %v, want %d refusals of %s", told, c.times, part.coordinates())
			}
			l.ask(func() {
				if lost := c.lost != nil; part.gone != lost || (part.ctx.Err() != nil) != lost {
					t.Errorf("gone %v, work ended %v, want %v", part.gone, part.ctx.Err(), lost)
				}
			})
			if cause := l.e.end.Load().cause(); !errors.Is(cause, c.lost) {
				t.Errorf("ended by %v, want %v", cause, c.lost)
			}
		})
	}
}

// Pitfalls L12, L22: a revoke lets what is in hand end before the assignment does.
func TestRevokeWaitsForWhatIsInHand(t *testing.T) {
	l, part := assigned(t)
	cl, err := kgo.NewClient(kgo.SeedBrokers("127.0.0.1:1"))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	d := &delivery{part: part}
	l.ask(func() { l.hold(d) })
	revoked := make(chan struct{})
	go func() {
		defer close(revoked)
		l.onRevoked(t.Context(), cl, map[string][]int32{"recon.main": {2}})
	}()
	// The revoke has reached the loop when the partition drains or, were nobody waited for, when it is gone.
	for seen := false; !seen; time.Sleep(time.Millisecond) {
		l.ask(func() { seen = part.draining || part.gone })
	}
	l.ask(func() {
		if part.gone || part.ctx.Err() != nil {
			t.Error("the assignment ended while a record of it was in hand")
		}
		l.let(d)
	})
	<-revoked
	l.ask(func() {
		if !part.gone {
			t.Error("the assignment outlived its revoke")
		}
	})
}

// Pitfalls L13, M2: a lost assignment ends at once, whatever of it is in hand, and nothing is marked or committed for it.
func TestLostAssignmentEndsAtOnceWithAllThatStoodStillForIt(t *testing.T) {
	l, part := assigned(t)
	cl, err := kgo.NewClient(kgo.SeedBrokers("127.0.0.1:1"))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	refused, behind := &delivery{part: part, step: stepWrite}, &delivery{part: part, step: stepLane, occupies: true}
	behind.claim.Hash = "hash"
	l.ask(func() {
		l.hold(refused)
		l.park(refused)
		l.hashes["hash"] = nil
		part.starts = append(part.starts, behind)
		part.window.finish(slot{}, outcome{})
	})
	l.onLost(t.Context(), cl, map[string][]int32{"recon.main": {2}})
	l.ask(func() {
		if !part.gone || part.ctx.Err() == nil || len(l.parts) != 0 {
			t.Error("the assignment outlived its loss")
		}
		if behind.step != stepDone || len(l.hashes) != 0 {
			t.Errorf("what stood behind a failed write is at step %d, hashes %v, want it dropped", behind.step, l.hashes)
		}
		l.written(written{refused, nil})
		if l.unsettled != 0 || part.refused != 0 {
			t.Errorf("unsettled %d, refused %d, want 0", l.unsettled, part.refused)
		}
	})
}
