package replay

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

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
	var spans []span
	var read, total int64
	for p, log := range logs {
		from := f.next[p]
		if from < log.from {
			f.gaps[p] = gap{f.gapFrom(p, from), log.from}
			from = log.from
		}
		if from < log.to {
			spans = append(spans, span{p, from, log.to})
			total += log.to - from
		}
	}
	err = readSpans(ctx, opts, spans, func(r *kgo.Record) { f.record(names, r) }, func(offsets int64) {
		read += offsets
		if progress != nil {
			progress(read, total)
		}
	})
	if err != nil {
		return err
	}
	for p, log := range logs {
		f.next[p] = max(f.next[p], log.to)
	}
	return nil
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
	starts := make(map[string]map[int32]kgo.Offset)
	for p, next := range f.next {
		if starts[p.topic] == nil {
			starts[p.topic] = make(map[int32]kgo.Offset)
		}
		starts[p.topic][p.partition] = kgo.NewOffset().At(next)
	}
	cl, err := reader(opts, starts)
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
	at := envelope.Coordinates{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}
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
