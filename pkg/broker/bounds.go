package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// ErrNoTopic is a topic that does not exist; the error that holds it names the topic.
var ErrNoTopic = errors.New("the topic does not exist")

// Bounds gives all that a read-committed reader can read of topics now: one span for each partition, by topic and
// partition, an empty one where there is nothing. An open transaction ends its partition's span. An error: one of
// topics is missing (ErrNoTopic), may not be read (*kadm.AuthError), or could not be asked about.
func Bounds(ctx context.Context, adm *kadm.Client, topics ...string) ([]Span, error) {
	if len(topics) == 0 {
		return nil, nil // the client would take it for all topics
	}
	// The ends are asked first: retention that moves a start meanwhile cannot make a span begin where nothing is left.
	ends, err := listed(adm.ListCommittedOffsets(ctx, topics...))
	if err != nil {
		return nil, fmt.Errorf("where %s end: %w", strings.Join(topics, ", "), err)
	}
	starts, err := listed(adm.ListStartOffsets(ctx, topics...))
	if err != nil {
		return nil, fmt.Errorf("where %s begin: %w", strings.Join(topics, ", "), err)
	}
	var spans []Span
	ends.Each(func(end kadm.ListedOffset) {
		start, _ := starts.Lookup(end.Topic, end.Partition)
		spans = append(spans, Span{end.Topic, end.Partition, start.Offset, max(start.Offset, end.Offset)})
	})
	slices.SortFunc(spans, func(a, b Span) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return spans, nil
}

// listed turns the errors of single partitions into one; that a topic is missing says more than any other.
func listed(offsets kadm.ListedOffsets, err error) (kadm.ListedOffsets, error) {
	if err != nil {
		return nil, err
	}
	offsets.Each(func(o kadm.ListedOffset) {
		switch {
		case errors.Is(o.Err, kerr.UnknownTopicOrPartition):
			err = fmt.Errorf("%w: %s", ErrNoTopic, o.Topic)
		case o.Err != nil && err == nil:
			err = fmt.Errorf("%s/%d: %w", o.Topic, o.Partition, o.Err)
		}
	})
	return offsets, err
}
