package replay

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/broker"
	"recon/pkg/envelope"
	"recon/pkg/topics"
)

// Read makes the fold of what lies in the DLQ and in the dispositions now: from the start of each partition to where it
// ended when reading began. opts say how to reach the broker, without a group and without topics. progress, which may
// be nil, is told how many of the offsets are read. A record that cannot be decoded is listed in the fold, never
// skipped in silence. An error: not all could be read; ErrPrecondition where a topic is missing.
func Read(ctx context.Context, opts []kgo.Opt, names topics.Names, progress func(read, total int64)) (*Fold, error) {
	f := NewFold()
	return f, f.CatchUp(ctx, opts, names, progress)
}

// CatchUp reads on from where the fold stands to where the topics end now. After an error it may be called again:
// what was read twice counts once.
func (f *Fold) CatchUp(ctx context.Context, opts []kgo.Opt, names topics.Names, progress func(read, total int64)) error {
	logs, err := bounds(ctx, opts, names.DLQ(), names.Dispositions())
	if err != nil {
		return err
	}
	var spans []broker.Span
	var read, total int64
	for _, s := range logs {
		p := place{s.Topic, s.Partition}
		from := f.next[p]
		if from < s.From {
			f.gaps[p] = gap{f.gapFrom(p, from), s.From}
		}
		s.From = max(s.From, from)
		spans = append(spans, s)
		total += s.Len()
	}
	reader := broker.Reader{Options: opts, Passed: func(offsets int64) {
		if read += offsets; progress != nil {
			progress(read, total)
		}
	}}
	err = reader.Read(ctx, spans, func(r *kgo.Record) error {
		f.record(names, r)
		return nil
	})
	if err != nil {
		return err
	}
	for _, s := range spans {
		f.next[place{s.Topic, s.Partition}] = max(s.From, s.To)
	}
	return nil
}

// bounds gives what can be read of topics now. That one is missing is ErrPrecondition, with what to do.
func bounds(ctx context.Context, opts []kgo.Opt, names ...string) ([]broker.Span, error) {
	adm, err := kadm.NewOptClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("client to read %s: %w", strings.Join(names, ", "), err)
	}
	defer adm.Close()
	logs, err := broker.Bounds(ctx, adm, names...)
	if errors.Is(err, broker.ErrNoTopic) {
		return nil, fmt.Errorf("%w: %w; `consumer topics --apply` creates it", ErrPrecondition, err)
	}
	return logs, err
}

// gapFrom is where the gap of a partition begins: one that grows keeps its beginning.
func (f *Fold) gapFrom(p place, from int64) int64 {
	if g, ok := f.gaps[p]; ok {
		return g.from
	}
	return from
}

// Follow reads on, and on, until done says so, which is asked at first and after everything that came. The end of ctx
// is the only other way out, and an error.
func (f *Fold) Follow(ctx context.Context, opts []kgo.Opt, names topics.Names, done func() bool) error {
	if done() {
		return nil
	}
	var on []broker.Span
	for p, next := range f.next {
		on = append(on, broker.Span{Topic: p.topic, Partition: p.partition, From: next, To: math.MaxInt64})
	}
	cl, err := broker.Reader{Options: opts}.Client(on)
	if err != nil {
		return err
	}
	defer cl.Close()
	for {
		fetches := cl.PollFetches(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for _, e := range fetches.Errors() {
			return fmt.Errorf("reading %s/%d on: %w", e.Topic, e.Partition, e.Err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			f.record(names, r)
			f.next[place{r.Topic, r.Partition}] = r.Offset + 1
		})
		if done() {
			return nil
		}
	}
}

// record takes one record of either topic.
func (f *Fold) record(names topics.Names, r *kgo.Record) {
	if r.Attrs.IsControl() {
		return
	}
	at := envelope.CoordinatesOf(r)
	if r.Topic == names.DLQ() {
		l, err := envelope.DecodeLetter(r.Value)
		if err != nil {
			f.Undecodable(at, err)
			return
		}
		f.Letter(at, l)
		return
	}
	d, err := envelope.DecodeDisposition(r.Value)
	if err != nil {
		f.Undecodable(at, err)
		return
	}
	f.Disposition(d)
}
