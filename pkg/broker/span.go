package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Span is a stretch of one partition: the offsets from From up to To, which is not in it.
type Span struct {
	Topic     string
	Partition int32
	From, To  int64
}

// String gives `topic/partition from to`.
func (s Span) String() string {
	return fmt.Sprintf("%s/%d from %d to %d", s.Topic, s.Partition, s.From, s.To)
}

// Len is how many offsets the span has; there may be fewer records.
func (s Span) Len() int64 { return max(0, s.To-s.From) }

// Reader reads spans, outside of any consumer group and read-committed.
type Reader struct {
	Options []kgo.Opt           // how to reach the broker; no group, no topics
	Idle    time.Duration       // how long all that is left may give nothing; 0 for Patience
	Passed  func(offsets int64) // told how many offsets were gone by, read or not; nil: nobody is
}

// Read gives every record of spans to fn, each partition's in the order of offsets, and returns once all spans are read
// to their ends. There may be one span of a partition at most; an empty one is read already.
//
// Not every offset holds a record that fn is given: control records and aborted transactions are gone by, and so are
// the holes of compaction. A span ends with the first offset at or beyond its last one, whatever lies there. One whose
// last offsets hold nothing, with nothing behind them either, cannot be told from a broker that is silent: it ends as
// that does.
//
// An error: not all was read. It is fn's own; ctx's cause; or it says what could not be read, a span's beginning that
// the log no longer has for instance (OFFSET_OUT_OF_RANGE), or of what was left nothing came for Idle.
func (r Reader) Read(ctx context.Context, spans []Span, fn func(*kgo.Record) error) error {
	open := make(unread, len(spans))
	for _, s := range spans {
		if s.Len() == 0 {
			continue
		}
		if other, twice := open[partition{s.Topic, s.Partition}]; twice {
			return fmt.Errorf("reading %s: %s is to be read as well, and one partition cannot be read in two places", s, other)
		}
		open[partition{s.Topic, s.Partition}] = s
	}
	if len(open) == 0 {
		return nil
	}
	cl, err := r.Client(spans)
	if err != nil {
		return err
	}
	defer cl.Close()
	for len(open) > 0 {
		fetches, err := r.poll(ctx, cl, open)
		if err != nil {
			return err
		}
		fetches.EachRecord(func(rec *kgo.Record) {
			if err == nil {
				err = r.take(cl, open, rec, fn)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Client makes a client that reads on and on, from the beginning of each span that is not empty, as Read does, but for
// control records: it keeps them, because a span that ends with a transaction's marker would otherwise never end.
func (r Reader) Client(spans []Span) (*kgo.Client, error) {
	starts := make(map[string]map[int32]kgo.Offset)
	for _, s := range spans {
		if s.Len() == 0 {
			continue
		}
		if starts[s.Topic] == nil {
			starts[s.Topic] = make(map[int32]kgo.Offset)
		}
		starts[s.Topic][s.Partition] = kgo.NewOffset().At(s.From)
	}
	cl, err := kgo.NewClient(append(slices.Clone(r.Options),
		kgo.ConsumePartitions(starts), kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
		kgo.FetchMaxWait(250*time.Millisecond), kgo.FetchMaxBytes(8<<20), kgo.FetchMaxPartitionBytes(1<<20),
	)...)
	if err != nil {
		return nil, fmt.Errorf("client to read topics: %w", err)
	}
	return cl, nil
}

// poll returns the next records, or an error when none come for Idle.
func (r Reader) poll(ctx context.Context, cl *kgo.Client, open unread) (kgo.Fetches, error) {
	idle := cmp.Or(r.Idle, Patience)
	within, cancel := context.WithTimeout(ctx, idle)
	defer cancel()
	fetches := cl.PollFetches(within)
	for _, e := range fetches.Errors() {
		switch {
		case ctx.Err() != nil:
			return nil, fmt.Errorf("reading %s: %w", open, context.Cause(ctx))
		case errors.Is(e.Err, context.DeadlineExceeded):
			return nil, fmt.Errorf("reading %s: nothing came for %s; is a broker away?", open, idle)
		default:
			return nil, fmt.Errorf("reading %s/%d: %w", e.Topic, e.Partition, e.Err)
		}
	}
	return fetches, nil
}

// take moves the span of rec on, closes it at its end, and gives rec to fn if it is one for it.
func (r Reader) take(cl *kgo.Client, open unread, rec *kgo.Record, fn func(*kgo.Record) error) error {
	at := partition{rec.Topic, rec.Partition}
	s, ok := open[at]
	if !ok {
		return nil
	}
	next := min(rec.Offset+1, s.To)
	if r.Passed != nil {
		r.Passed(next - s.From)
	}
	if s.From = next; s.Len() > 0 {
		open[at] = s
	} else {
		delete(open, at)
		cl.RemoveConsumePartitions(map[string][]int32{rec.Topic: {rec.Partition}})
	}
	if rec.Offset >= s.To || rec.Attrs.IsControl() {
		return nil
	}
	return fn(rec)
}

type partition struct {
	topic  string
	number int32
}

// unread is what is left of the spans.
type unread map[partition]Span

// String lists it in order.
func (u unread) String() string {
	var left []string
	for _, s := range u {
		left = append(left, s.String())
	}
	slices.Sort(left)
	return strings.Join(left, ", ")
}
