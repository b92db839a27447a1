package consumer

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// assigned is an engine without a broker whose loop owns one partition, and turns until the test ends.
func assigned(t *testing.T) (*Engine, *partition) {
	t.Helper()
	e := &Engine{cfg: Config{Topics: newRouter().names}.withDefaults(), observe: func(Event) {}, loopEnded: make(chan struct{})}
	e.work, e.stopWork = context.WithCancel(t.Context())
	e.loop = newLoop(e)
	e.pool = newPool(1, func(*delivery) {})
	done := make(chan struct{})
	go func() { defer close(e.loopEnded); e.loop.run(done) }()
	t.Cleanup(func() { close(done); <-e.loopEnded; e.stopWork() })
	var part *partition
	e.ask(func() {
		e.loop.assign(map[string][]int32{"recon.main": {2}})
		part = e.loop.parts[source{"recon.main", 2}]
	})
	return e, part
}

// Pitfall M3: the member learns that it was thrown out from the code in a commit's answer, whose err is nil.
func TestCommitRefusedToAStrangerEndsEveryAssignmentAtOnce(t *testing.T) {
	for _, c := range []struct {
		err  *kerr.Error
		lost bool
	}{
		{kerr.UnknownMemberID, true},
		{kerr.IllegalGeneration, true},
		{kerr.StaleMemberEpoch, true},
		{kerr.FencedInstanceID, true},
		{kerr.FencedMemberEpoch, true},
		{kerr.CoordinatorNotAvailable, false},
	} {
		t.Run(c.err.Message, func(t *testing.T) {
			e, part := assigned(t)
			resp := kmsg.NewPtrOffsetCommitResponse()
			resp.Topics = []kmsg.OffsetCommitResponseTopic{{
				Topic: "recon.main", Partitions: []kmsg.OffsetCommitResponseTopicPartition{{Partition: 2, ErrorCode: c.err.Code}},
			}}
			e.onCommit(nil, nil, resp, nil)
			e.ask(func() {
				if part.gone != c.lost || (part.ctx.Err() != nil) != c.lost {
					t.Errorf("gone %v, work ended %v, want %v", part.gone, part.ctx.Err(), c.lost)
				}
			})
		})
	}
}

// Pitfalls L12, L22: a revoke lets what is in hand end before the assignment does.
func TestRevokeWaitsForWhatIsInHand(t *testing.T) {
	e, part := assigned(t)
	cl, err := kgo.NewClient(kgo.SeedBrokers("127.0.0.1:1"))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	d := &delivery{part: part}
	e.ask(func() { e.loop.hold(d) })
	revoked := make(chan struct{})
	go func() {
		defer close(revoked)
		e.onRevoked(t.Context(), cl, map[string][]int32{"recon.main": {2}})
	}()
	// The revoke has reached the loop when the partition drains or, were nobody waited for, when it is gone.
	for seen := false; !seen; time.Sleep(time.Millisecond) {
		e.ask(func() { seen = part.draining || part.gone })
	}
	e.ask(func() {
		if part.gone || part.ctx.Err() != nil {
			t.Error("the assignment ended while a record of it was in hand")
		}
		e.loop.let(d)
	})
	<-revoked
	e.ask(func() {
		if !part.gone {
			t.Error("the assignment outlived its revoke")
		}
	})
}
