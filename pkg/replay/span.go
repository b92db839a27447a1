package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// span is a range of one partition: from, and all up to to, which is not in it.
type span struct {
	place
	from, to int64
}

// idle is how long a partition that has more may give nothing before reading is given up.
const idle = 30 * time.Second

// bounds gives where the partitions of topics begin and end, the end being that of what a read-committed reader sees.
func bounds(ctx context.Context, opts []kgo.Opt, names ...string) (map[place]gap, error) {
	adm, err := kadm.NewOptClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("client to read %s: %w", strings.Join(names, ", "), err)
	}
	defer adm.Close()
	ends, err := listed(adm.ListCommittedOffsets(ctx, names...))
	if err != nil {
		return nil, fmt.Errorf("where %s end: %w", strings.Join(names, ", "), err)
	}
	starts, err := listed(adm.ListStartOffsets(ctx, names...))
	if err != nil {
		return nil, fmt.Errorf("where %s begin: %w", strings.Join(names, ", "), err)
	}
	logs := make(map[place]gap, len(ends))
	for p, end := range ends {
		logs[p] = gap{starts[p], end}
	}
	return logs, nil
}

func listed(offsets kadm.ListedOffsets, err error) (map[place]int64, error) {
	if err != nil {
		return nil, err
	}
	found := make(map[place]int64)
	var missing error
	offsets.Each(func(o kadm.ListedOffset) {
		if errors.Is(o.Err, kerr.UnknownTopicOrPartition) {
			missing = fmt.Errorf("%w: topic %s does not exist; `consumer topics --apply` creates it", ErrPrecondition, o.Topic)
		} else if o.Err != nil && missing == nil {
			missing = fmt.Errorf("%s/%d: %w", o.Topic, o.Partition, o.Err)
		}
		found[place{o.Topic, o.Partition}] = o.Offset
	})
	return found, missing
}

// reader makes a client that reads partitions from given offsets, outside of any group and read-committed. It keeps
// control records: a range that ends with a transaction's marker would otherwise never end.
func reader(opts []kgo.Opt, starts map[string]map[int32]kgo.Offset) (*kgo.Client, error) {
	cl, err := kgo.NewClient(append(slices.Clone(opts),
		kgo.ConsumePartitions(starts), kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
		kgo.FetchMaxWait(250*time.Millisecond), kgo.FetchMaxBytes(8<<20), kgo.FetchMaxPartitionBytes(1<<20),
	)...)
	if err != nil {
		return nil, fmt.Errorf("client to read topics: %w", err)
	}
	return cl, nil
}

// readSpans reads the given ranges, one of each partition at most, and gives each record to fn; advance is told of
// offsets gone by. It returns once every range is read to its end. An error: not all of it could be read.
func readSpans(ctx context.Context, opts []kgo.Opt, spans []span, fn func(*kgo.Record), advance func(int64)) error {
	open := make(map[place]span)
	at := make(map[place]int64)
	starts := make(map[string]map[int32]kgo.Offset)
	for _, s := range spans {
		open[s.place], at[s.place] = s, s.from
		if starts[s.topic] == nil {
			starts[s.topic] = make(map[int32]kgo.Offset)
		}
		starts[s.topic][s.partition] = kgo.NewOffset().At(s.from)
	}
	if len(open) == 0 {
		return nil
	}
	cl, err := reader(opts, starts)
	if err != nil {
		return err
	}
	defer cl.Close()
	for len(open) > 0 {
		fetches, err := poll(ctx, cl, open)
		if err != nil {
			return err
		}
		fetches.EachRecord(func(r *kgo.Record) {
			p := place{r.Topic, r.Partition}
			s, ok := open[p]
			if !ok {
				return
			}
			// Offsets have holes: the end is reached by any record at or beyond the last offset.
			upTo := min(r.Offset+1, s.to)
			if advance != nil {
				advance(upTo - at[p])
			}
			if at[p] = upTo; upTo == s.to {
				delete(open, p)
				cl.RemoveConsumePartitions(map[string][]int32{r.Topic: {r.Partition}})
			}
			if r.Offset < s.to {
				fn(r)
			}
		})
	}
	return nil
}

// poll returns the next records, or an error when none come for idle.
func poll(ctx context.Context, cl *kgo.Client, open map[place]span) (kgo.Fetches, error) {
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

// remains lists what is not read yet.
func remains(open map[place]span) string {
	var s []string
	for p, o := range open {
		s = append(s, fmt.Sprintf("%s/%d up to %d", p.topic, p.partition, o.to))
	}
	slices.Sort(s)
	return strings.Join(s, ", ")
}
