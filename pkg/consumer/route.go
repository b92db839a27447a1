package consumer

import (
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/topics"
)

// router decides what a failed record becomes. It is pure: the same delivery, error, time and draw give the same route.
type router struct {
	names    topics.Names
	ladder   topics.Ladder
	policies fault.Policies
	producer envelope.Producer
	periods  Periods // nil: no calendar, no matching windows
}

// route is where a failed record goes, and why.
type route struct {
	ending  ending        // endWaiting or endDead
	verdict fault.Verdict // what the error came to
	failure fault.Failure // of a letter
	retry   envelope.Retry
	letter  *envelope.Letter
	topic   string
}

// route judges err, which is not nil, for a delivery whose attempt ended at now. u in [0,1) is the draw of the jitter.
func (r *router) route(d *delivery, err error, now time.Time, u float64) *route {
	v := fault.Of(err)
	r.open(d, now)
	waiting := v.Code == fault.DuplicateInFlight
	next := r.after(d, v, now, waiting)
	wait, dead := r.policies.Next(fault.Try{
		Code: v.Code, Failures: d.retry.Budget[v.Code], Attempts: next.Attempt, Now: now,
		Deadline: d.deadline(), AtLeast: min(v.AtLeast, r.ladder.Largest()),
	}, u)
	if dead != "" {
		return r.dead(d, v, dead, next, now)
	}
	next.Due = roundUp(now.Add(wait))
	next.MaxAttempts = r.policies.For(v.Code).MaxAttempts
	return &route{ending: endWaiting, verdict: v, retry: next, topic: r.names.Tier(r.ladder.Choose(wait))}
}

// open computes when the matching window of d closes, once: at its first failure, where the record does not say so.
func (r *router) open(d *delivery, now time.Time) {
	if r.periods == nil || d.msg == nil || d.retry.Attempt > 0 || !d.deadline().IsZero() {
		return
	}
	if at, ok := r.periods.MatchDeadline(d.msg.LedgerEntity, now); ok {
		d.retry.MatchDeadline = roundUp(at)
	}
}

// roundUp gives t in the milliseconds of headers, never before t.
func roundUp(t time.Time) time.Time {
	return t.Add(time.Millisecond - time.Nanosecond).Truncate(time.Millisecond).UTC()
}

// spent is the route of a record whose limit, as configured today, is reached before its attempt begins.
func (r *router) spent(d *delivery, now time.Time) (*route, bool) {
	failures := d.retry.Budget[d.retry.Code]
	dead := r.policies.Spent(d.retry.Code, failures, d.retry.Attempt, d.deadline())
	if dead == "" || d.retry.Attempt == 0 {
		return nil, false
	}
	v := fault.Verdict{Code: d.retry.Code, Class: fault.Transient, Stage: d.retry.Stage, Detail: d.retry.Error, Known: true}
	return r.dead(d, v, dead, d.retry, now), true
}

// tooLarge is the route of a record whose copy no tier takes.
func (r *router) tooLarge(d *delivery, size, limit int, now time.Time) *route {
	err := fault.At(d.route.verdict.Stage, fault.New(fault.CopyTooLarge,
		"copy of %d bytes exceeds max.message.bytes=%d of %s after %s", size, limit, d.route.topic, d.route.verdict.Code))
	v := fault.Of(err)
	return r.dead(d, v, fault.FailedPoison, d.route.retry, now)
}

// later chooses the tier anew for a copy that could not be written in time: by what is left of its wait.
func (r *router) later(rt *route, now time.Time) {
	rt.topic = r.names.Tier(r.ladder.Choose(max(rt.retry.Due.Sub(now), 0)))
}

// after is the retry state behind this failure. A wait behind a duplicate counts for its own spacing only.
func (r *router) after(d *delivery, v fault.Verdict, now time.Time, waiting bool) envelope.Retry {
	next := d.retry
	if !waiting {
		next.Attempt++
	}
	next.Budget = maps.Clone(d.retry.Budget)
	if next.Budget == nil {
		next.Budget = make(map[fault.Code]int, 1)
	}
	next.Budget[v.Code]++
	next.Stage, next.Class, next.Code, next.Error = v.Stage, v.Class, v.Code, v.Detail
	next.MatchDeadline = d.deadline()
	if d.msg != nil {
		next.MessageID = d.msg.MessageID
	}
	if !waiting {
		next.History = append(slices.Clip(next.History), envelope.Attempt{
			Attempt: next.Attempt, At: now, Stage: v.Stage, FailureClass: v.Class, ErrorCode: v.Code,
			ErrorDetail: v.Detail, Waited: d.waited(), Took: d.took, Instance: r.producer.Instance,
		})
	}
	return next
}

func (r *router) dead(d *delivery, v fault.Verdict, failure fault.Failure, next envelope.Retry, now time.Time) *route {
	l := &envelope.Letter{
		FailureCode: failure, FailureClass: v.Class, ErrorCode: v.Code, ErrorDetail: v.Detail, SourceStage: v.Stage,
		AttemptCount: next.Attempt, History: next.History, HistoryOmitted: next.Omitted,
		Lineage: envelope.Lineage{
			Root: next.Root, Generation: next.Generation, Parent: next.Envelope, ReplayID: next.Replay,
		},
		Origin:      d.origin(),
		Original:    envelope.Original{Key: d.key, Value: d.value, Headers: d.own},
		FirstSeenAt: next.FirstSeen, DeadLetteredAt: now.UTC(), Producer: r.producer,
	}
	if d.msg != nil {
		l.Message = d.msg.Facts()
	}
	return &route{ending: endDead, verdict: v, failure: failure, retry: next, letter: l, topic: r.names.DLQ()}
}

// record makes what is written for the route: the copy with its headers, or the letter.
func (rt *route) record(d *delivery) (*kgo.Record, error) {
	rec := &kgo.Record{Topic: rt.topic, Partition: d.retry.Origin.Partition, Key: d.key}
	if rt.letter == nil {
		rec.Value, rec.Headers = d.value, rt.retry.Append(d.own)
		return rec, nil
	}
	value, err := rt.letter.Encode()
	if err != nil {
		return nil, err
	}
	rec.Value, rec.Headers = value, rt.letter.Headers()
	return rec, nil
}

// deadline is when the matching window of the record closes: its own word, else what the first failure computed.
func (d *delivery) deadline() time.Time {
	if d.msg != nil && !d.msg.MatchDeadline.IsZero() {
		return d.msg.MatchDeadline
	}
	return d.retry.MatchDeadline
}

// waited is how long the record lay on its tier before this attempt.
func (d *delivery) waited() time.Duration {
	if d.retry.Due.IsZero() || d.stamp.IsZero() {
		return 0
	}
	return max(d.began.Sub(d.stamp), 0)
}

// origin tells where on main the record lies in this generation, and what the broker kept of it there.
func (d *delivery) origin() envelope.Origin {
	r := d.retry.OriginRecord
	if r.TimestampType == "" {
		r.LeaderEpoch = -1
	}
	return envelope.Origin{
		Coordinates: d.retry.Origin, LeaderEpoch: r.LeaderEpoch, TimestampMS: r.TimestampMS, TimestampType: r.TimestampType,
	}
}
