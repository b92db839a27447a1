package consumer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// onAssigned opens a window for every partition of a new assignment. Pauses survive a rebalance in the client, so they
// are lifted here and derived anew.
func (l *loop) onAssigned(_ context.Context, cl *kgo.Client, m map[string][]int32) {
	cl.ResumeFetchPartitions(m)
	l.ask(func() { l.assign(m) })
}

// onRevoked drains what is in hand of the revoked partitions, for at most half the rebalance timeout (past the whole of
// it the broker throws the member out), marks it and commits. The rest is the next owner's.
func (l *loop) onRevoked(ctx context.Context, cl *kgo.Client, m map[string][]int32) {
	if len(m) == 0 {
		return
	}
	drained := make(chan struct{})
	l.call(func() { l.drain(m, func() { close(drained) }) })
	limit := time.NewTimer(l.e.cfg.RebalanceTimeout / 2)
	defer limit.Stop()
	select {
	case <-drained:
	case <-limit.C:
	case <-l.ended:
	}
	l.ask(func() { l.leave(m, Revoked) })
	cl.ResumeFetchPartitions(m)
	ctx, cancel := context.WithTimeout(ctx, l.e.cfg.RebalanceTimeout/4)
	defer cancel()
	if err := cl.CommitMarkedOffsets(ctx); err != nil {
		l.e.observe(Event{Kind: PollError, At: time.Now(), Err: fmt.Errorf("commit of revoked partitions to group %s: %w", l.e.cfg.Group, err)})
	}
}

// onLost lets the partitions go: their offsets are somebody else's by now, nothing may be committed for them.
func (l *loop) onLost(_ context.Context, cl *kgo.Client, m map[string][]int32) {
	if len(m) == 0 {
		return
	}
	l.ask(func() { l.leave(m, Lost) })
	cl.ResumeFetchPartitions(m)
}

// onCommit looks into the answer of a commit: a member that was thrown out learns it there first, while the client
// reports it only when a revoke callback has returned, or never.
func (l *loop) onCommit(cl *kgo.Client, req *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
	if err != nil || resp == nil {
		return // the outcome is unknown; the marks stay, the next commit carries them
	}
	var refused error
	var at source
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err == nil {
				l.e.committed.Store(true)
			} else if refused == nil {
				refused, at = err, source{t.Topic, p.Partition}
			}
		}
	}
	if refused == nil {
		return
	}
	l.e.observe(Event{Kind: CommitRefused, At: time.Now(), Record: at.coordinates(), Err: refused})
	member, generation := cl.GroupMetadata()
	if req.MemberID == member && req.Generation == generation {
		l.call(func() { l.refused(refused, generation) })
	} // else it was the commit of an earlier generation: the client has joined anew since
}

// refused follows a commit that the broker did not take from a member who believes to be one.
func (l *loop) refused(why error, generation int32) {
	switch {
	case errors.Is(why, kerr.FencedInstanceID):
		l.e.fatal(fenced(l.e))
	case errors.Is(why, kerr.StaleMemberEpoch) && l.stale != generation:
		l.stale = generation // the answer to a heartbeat may be on its way with the next one
		return
	case errors.Is(why, kerr.StaleMemberEpoch), errors.Is(why, kerr.UnknownMemberID), errors.Is(why, kerr.IllegalGeneration),
		errors.Is(why, kerr.FencedMemberEpoch):
		l.e.fatal(errExpelled)
	default:
		return
	}
	l.leaveAll(Lost)
}

// fenced is the end of a static member whose name another process has.
func fenced(e *Engine) error {
	return fmt.Errorf("%w: %s has joined group %s elsewhere: give every process an instance name of its own", ErrFenced, e.cfg.Instance, e.cfg.Group)
}

func (l *loop) assign(m map[string][]int32) {
	for topic, ps := range m {
		_, tier := l.e.tiers[topic]
		for _, p := range ps {
			src := source{topic, p}
			if old := l.parts[src]; old != nil {
				l.forget(old)
			}
			l.assignments++
			part := &partition{
				source: src, tier: tier,
				window: newWindow(l.assignments, l.e.cfg.MaxInFlight, spanFactor*l.e.cfg.MaxInFlight),
			}
			part.ctx, part.cancel = context.WithCancel(l.work)
			l.parts[src] = part
			if tier && l.holds[topic] == nil {
				l.holds[topic] = newHold[*delivery](l.e.cfg.HoldBudget)
			}
			l.e.observe(Event{Kind: Assigned, At: l.now, Record: src.coordinates()})
		}
	}
	l.e.assigned.Store(int64(len(l.parts)))
}

// spanFactor bounds how far a window may stretch behind a record that does not end, in multiples of MaxInFlight.
const spanFactor = 4

// drain lets partitions finish what is in hand, and starts nothing more for them. done is called once nothing of them
// is in hand and everything finished is marked.
func (l *loop) drain(m map[string][]int32, done func()) {
	left := 0
	one := func() {
		if left--; left == 0 {
			done()
		}
	}
	var parts []*partition
	for topic, ps := range m {
		for _, p := range ps {
			if part := l.parts[source{topic, p}]; part != nil && !part.gone {
				parts = append(parts, part)
			}
		}
	}
	if left = len(parts); left == 0 {
		done()
		return
	}
	for _, part := range parts {
		part.drains = append(part.drains, one)
		part.draining = true
		l.goOn(part) // what stood still behind a failed write does not begin either
	}
	l.unstart()
}

// unstart takes what has not begun of draining partitions out of every queue. Claims that it holds stay: at the same
// position the next owner takes them over.
func (l *loop) unstart() {
	// Those behind first: a lane would hand out the next one in the middle of the queue that is being culled.
	for key, behind := range l.lanes.busy {
		was := len(behind)
		l.cull(&behind, nil)
		l.lanes.busy[key], l.lanes.wait = behind, l.lanes.wait-was+len(behind)
	}
	l.cull(&l.toStart, func(d *delivery) { l.leaveLane(d) })
	l.cull(&l.toWrite, nil)
	l.cull(&l.toClaim, nil)
	for _, h := range l.holds {
		h.drop(func(d *delivery) bool { return d.part.ending() })
	}
}

// cull drops the deliveries of ending partitions from a queue, and keeps the order of the others.
// What a dropped one sends on comes behind them: letting go of a delivery adds to the queues.
func (l *loop) cull(queue *[]*delivery, also func(*delivery)) {
	old := *queue
	*queue = nil
	var kept []*delivery
	for _, d := range old {
		if !d.part.ending() {
			kept = append(kept, d)
			continue
		}
		if also != nil {
			also(d)
		}
		l.drop(d)
	}
	*queue = append(kept, *queue...)
}

// ending tells that nothing new may begin for the assignment.
func (p *partition) ending() bool { return p.gone || p.draining }

// drained tells those who wait that a draining partition has nothing left in hand or unmarked.
func (l *loop) drained() {
	if l.proofOut {
		return
	}
	for _, part := range l.parts {
		if len(part.drains) == 0 || part.inHand > 0 || part.window.ready() {
			continue
		}
		part.drainedAll()
	}
}

// leave ends assignments: whatever of them is still under way is dropped when it comes back.
func (l *loop) leave(m map[string][]int32, why Kind) {
	for topic, ps := range m {
		for _, p := range ps {
			if part := l.parts[source{topic, p}]; part != nil {
				l.forget(part)
				l.e.observe(Event{Kind: why, At: l.now, Record: part.coordinates()})
			}
		}
	}
	l.unstart()
	l.e.assigned.Store(int64(len(l.parts)))
}

// leaveAll ends every assignment: the broker has thrown this member out, or the engine stops.
func (l *loop) leaveAll(why Kind) {
	all := make(map[string][]int32)
	for src := range l.parts {
		all[src.topic] = append(all[src.topic], src.partition)
	}
	l.leave(all, why)
}

func (l *loop) forget(part *partition) {
	part.gone = true
	l.goOn(part)
	part.cancel()
	part.drainedAll()
	delete(l.parts, part.source)
}

// drainedAll tells everybody who waits for the drain.
func (p *partition) drainedAll() {
	for _, done := range p.drains {
		done()
	}
	p.drains = nil
}
