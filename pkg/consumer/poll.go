package consumer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/envelope"
)

// poll is what one call to the broker's client delivered, ready for the loop.
type poll struct {
	batches  []batch
	admitted chan struct{} // closed by the loop when every record is in its window
	taken    chan struct{} // closed by the loop when there is room for the next poll
}

// batch are the records of one source, in the order of delivery.
type batch struct {
	source
	ds []*delivery
}

// pollRecords is how many records a poll takes at most. What is not taken stays in the client.
const pollRecords = 5000

// poller takes records from the client until ctx ends. Between a poll and its admission no rebalance can happen
// (BlockRebalanceOnPoll): a record therefore always meets the window of the assignment that fetched it.
func (e *Engine) poller(ctx context.Context, l *loop) {
	for ctx.Err() == nil {
		fetches := e.client.PollRecords(ctx, pollRecords)
		now := time.Now()
		p := &poll{admitted: make(chan struct{}), taken: make(chan struct{})}
		fetches.EachPartition(func(f kgo.FetchTopicPartition) {
			if len(f.Records) == 0 {
				return
			}
			_, tier := e.tiers[f.Topic]
			p.batches = append(p.batches, batch{source{f.Topic, f.Partition}, e.prepare(f.Records, tier, now)})
		})
		if len(p.batches) > 0 {
			l.inbox.leave(func(m *mail) { m.polls = append(m.polls, p) })
			select {
			case <-p.admitted:
			case <-l.ended:
			}
		}
		e.client.AllowRebalance()
		failed := e.pollErrors(ctx, fetches, now)
		if len(p.batches) > 0 {
			select {
			case <-p.taken:
			case <-ctx.Done():
			}
		}
		if failed {
			sleep(ctx, pollPause)
		}
	}
}

// pollPause follows a poll with an error: some come hundreds of times a second (MECHANICS g8, h).
const pollPause = 200 * time.Millisecond

// pollErrors sorts a poll's errors: most are information, a few end the engine because waiting cannot heal them.
func (e *Engine) pollErrors(ctx context.Context, fetches kgo.Fetches, now time.Time) (failed bool) {
	fetches.EachError(func(topic string, partition int32, err error) {
		if ctx.Err() != nil || errors.Is(err, context.Canceled) {
			return
		}
		failed = true
		at := envelope.Coordinates{Topic: topic, Partition: partition}
		switch {
		case errors.Is(err, kgo.ErrClientClosed):
			e.fatal(fmt.Errorf("kafka client closed under the engine: %w", err))
		case errors.Is(err, kerr.OffsetOutOfRange):
			e.fatal(fmt.Errorf("%w: group %s has committed an offset of %s/%d that the log does not hold: records were lost to retention, or the topic was recreated; compare `consumer check --online`, then decide about the group's offsets",
				ErrOffsetGone, e.cfg.Group, topic, partition))
		case errors.As(err, new(*kgo.ErrDataLoss)):
			e.fatal(fmt.Errorf("%w: the log of %s/%d was cut behind what was read, and others stand there now: %w", ErrOffsetGone, topic, partition, err))
		case errors.Is(err, kerr.FencedInstanceID):
			e.fatal(fenced(e))
		case errors.Is(err, kerr.UnknownTopicID):
			if e.recreated(now) {
				e.fatal(fmt.Errorf("%w: %s was deleted or recreated under the consumer: its offsets are gone with it", ErrTopicRecreated, topic))
			}
		}
		e.observe(Event{Kind: PollError, At: now, Record: at, Err: err})
	})
	return failed
}

// recreated tells whether UNKNOWN_TOPIC_ID has lasted so long that it is no passing state of metadata. It is called by
// the poller alone.
func (e *Engine) recreated(now time.Time) bool {
	if now.Sub(e.unknownLast) > unknownPatience {
		e.unknownSince = now
	}
	e.unknownLast = now
	return now.Sub(e.unknownSince) > unknownPatience
}

// unknownPatience: metadata settles within a second or two (MECHANICS g9: a recreated topic never does).
const unknownPatience = 15 * time.Second

// relax lets the poller go on while there is room, and pauses and resumes single partitions: one that is full never
// stops the others.
func (l *loop) relax() {
	var pause, resume map[string][]int32
	for _, part := range l.parts {
		h := l.holds[part.topic]
		full := part.window.full() || h != nil && h.full()
		free := part.window.relaxed() && (h == nil || h.relaxed())
		switch {
		case !part.paused && full:
			part.paused = true
			pause = with(pause, part.source)
		case part.paused && free:
			part.paused = false
			resume = with(resume, part.source)
		}
	}
	if len(pause) > 0 {
		l.e.client.PauseFetchPartitions(pause)
	}
	if len(resume) > 0 {
		l.e.client.ResumeFetchPartitions(resume)
	}
	if l.polling != nil && len(l.toClaim) <= pollRecords {
		close(l.polling.taken)
		l.polling = nil
	}
}

// with adds one partition to a set, which may be nil.
func with(set map[string][]int32, s source) map[string][]int32 {
	if set == nil {
		set = make(map[string][]int32)
	}
	set[s.topic] = append(set[s.topic], s.partition)
	return set
}
