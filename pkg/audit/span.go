package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/envelope"
)

// Span is a range of one partition: From, and all up to To, which is not in it.
type Span struct {
	Topic     string
	Partition int32
	From, To  int64
}

// String gives `topic/partition from to`.
func (s Span) String() string {
	return fmt.Sprintf("%s/%d from %d to %d", s.Topic, s.Partition, s.From, s.To)
}

// defaultIdle is how long a partition may give nothing before reading it is given up.
const defaultIdle = 30 * time.Second

type topicPartition struct {
	topic     string
	partition int32
}

// readSpans reads the given ranges with a client of its own, outside of any group and read-committed, and gives each
// record to fn; control records are passed over. It returns once every range is read to its end. An error: not all of
// it could be read, or fn said so.
func readSpans(ctx context.Context, opts []kgo.Opt, spans []Span, idle time.Duration, fn func(*kgo.Record) error) error {
	open := make(map[topicPartition]Span)
	starts := make(map[string]map[int32]kgo.Offset)
	for _, s := range spans {
		if s.From >= s.To {
			continue
		}
		open[topicPartition{s.Topic, s.Partition}] = s
		if starts[s.Topic] == nil {
			starts[s.Topic] = make(map[int32]kgo.Offset)
		}
		starts[s.Topic][s.Partition] = kgo.NewOffset().At(s.From)
	}
	if len(open) == 0 {
		return nil
	}
	cl, err := kgo.NewClient(append(slices.Clone(opts),
		kgo.ConsumePartitions(starts),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(), // without them a range that ends with a transaction's marker would never end
	)...)
	if err != nil {
		return fmt.Errorf("client to read the topics: %w", err)
	}
	defer cl.Close()
	for len(open) > 0 {
		fetches, err := poll(ctx, cl, cmp.Or(idle, defaultIdle), open)
		if err != nil {
			return err
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if err == nil {
				err = deliver(cl, open, r, fn)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// poll returns the next records, or an error when none come for idle.
func poll(ctx context.Context, cl *kgo.Client, idle time.Duration, open map[topicPartition]Span) (kgo.Fetches, error) {
	within, cancel := context.WithTimeout(ctx, idle)
	defer cancel()
	fetches := cl.PollFetches(within)
	for _, e := range fetches.Errors() {
		switch {
		case ctx.Err() != nil:
			return nil, fmt.Errorf("reading %s: %w", remains(open), context.Cause(ctx))
		case errors.Is(e.Err, context.DeadlineExceeded):
			return nil, fmt.Errorf("reading %s: nothing came for %s; is a broker away?", remains(open), idle)
		default:
			return nil, fmt.Errorf("reading %s/%d: %w", e.Topic, e.Partition, e.Err)
		}
	}
	return fetches, nil
}

// deliver gives r to fn if it is in its range, and closes the range at its end. Offsets have holes, so the end is reached
// by any record at or beyond the last offset.
func deliver(cl *kgo.Client, open map[topicPartition]Span, r *kgo.Record, fn func(*kgo.Record) error) error {
	tp := topicPartition{r.Topic, r.Partition}
	s, ok := open[tp]
	if !ok {
		return nil
	}
	if r.Offset >= s.To-1 {
		delete(open, tp)
		cl.RemoveConsumePartitions(map[string][]int32{r.Topic: {r.Partition}})
	}
	if r.Offset >= s.To || r.Attrs.IsControl() {
		return nil
	}
	return fn(r)
}

// remains lists what is not read yet.
func remains(open map[topicPartition]Span) string {
	var s []string
	for _, span := range open {
		s = append(s, span.String())
	}
	slices.Sort(s)
	return strings.Join(s, ", ")
}

// compare orders coordinates by topic, partition and offset.
func compare(a, b envelope.Coordinates) int {
	return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
}

// coordinates says where r lies.
func coordinates(r *kgo.Record) envelope.Coordinates {
	return envelope.Coordinates{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}
}
