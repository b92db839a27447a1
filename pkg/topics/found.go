package topics

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Found is what a cluster has of the service's topics.
type Found struct {
	Brokers int // in the cluster
	names   Names
	ladder  Ladder
	topics  map[string]Topic
	hidden  map[string]error // wanted, and not shown to this user
}

// Topic is one topic as it is.
type Topic struct {
	Name       string
	Partitions int32
	Replicas   int // of the partition that has the fewest
	Settings   map[string]Setting
	Err        error // the settings could not be read
}

// Setting is one configured value and where it comes from.
type Setting struct {
	Value string
	Own   bool // set on the topic itself, not inherited from the broker or Kafka's default
}

// Inspect asks the cluster for the service's topics, those configured and those that an earlier configuration left.
// It needs DESCRIBE and DESCRIBE_CONFIGS on them; without, it tells so in Verify and not by an error.
func Inspect(ctx context.Context, adm *kadm.Client, n Names, l Ladder) (*Found, error) {
	all, err := adm.Metadata(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the topics: %w", err)
	}
	f := &Found{Brokers: len(all.Brokers), names: n, ladder: l, topics: map[string]Topic{}, hidden: map[string]error{}}
	wanted := append(n.Written(l), n.Quarantine())
	for name, detail := range all.Topics {
		if slices.Contains(wanted, name) || strings.HasPrefix(name, n.TierPrefix()) {
			f.topics[name] = topicOf(name, detail)
		}
	}
	for _, name := range f.Missing(wanted) {
		_, err := adm.Metadata(ctx, name)
		if denied := isDenied(err); denied != nil {
			f.hidden[name] = denied
		}
	}
	return f, f.readSettings(ctx, adm)
}

func topicOf(name string, detail kadm.TopicDetail) Topic {
	t := Topic{Name: name, Partitions: int32(len(detail.Partitions))}
	for _, p := range detail.Partitions {
		if t.Replicas == 0 || len(p.Replicas) < t.Replicas {
			t.Replicas = len(p.Replicas)
		}
	}
	return t
}

func (f *Found) readSettings(ctx context.Context, adm *kadm.Client) error {
	names := slices.Sorted(maps.Keys(f.topics))
	if len(names) == 0 {
		return nil
	}
	configs, err := adm.DescribeTopicConfigs(ctx, names...)
	if isDenied(err) != nil {
		// One refusal hides all answers: ask for each topic alone.
		configs, err = nil, nil
		for _, name := range names {
			one, oneErr := adm.DescribeTopicConfigs(ctx, name)
			if denied := isDenied(oneErr); denied != nil {
				one, oneErr = kadm.ResourceConfigs{{Name: name, Err: denied}}, nil
			}
			configs, err = append(configs, one...), errors.Join(err, oneErr)
		}
	}
	if err != nil {
		return fmt.Errorf("read the settings of %s: %w", strings.Join(names, ", "), err)
	}
	for _, c := range configs {
		f.keep(c)
	}
	return nil
}

func (f *Found) keep(c kadm.ResourceConfig) {
	if errors.Is(c.Err, kerr.UnknownTopicOrPartition) {
		delete(f.topics, c.Name) // deleted between the two questions
		return
	}
	t := f.topics[c.Name]
	t.Err, t.Settings = c.Err, make(map[string]Setting, len(c.Configs))
	for _, s := range c.Configs {
		t.Settings[s.Key] = Setting{Value: s.MaybeValue(), Own: s.Source == kmsg.ConfigSourceDynamicTopicConfig}
	}
	f.topics[c.Name] = t
}

// isDenied is Kafka's reason when the answer as a whole is a refusal, else nil.
func isDenied(err error) error {
	var denied *kadm.AuthError
	if errors.As(err, &denied) {
		return denied.Err
	}
	return nil
}

// Topic returns one topic as it is, and false where there is none or it is not shown to this user.
func (f *Found) Topic(name string) (Topic, bool) {
	t, ok := f.topics[name]
	return t, ok
}

// Missing are those of want that the cluster does not have, or does not show to this user.
func (f *Found) Missing(want []string) []string {
	return slices.DeleteFunc(slices.Clone(want), func(t string) bool { _, ok := f.topics[t]; return ok })
}

// Tiers are the tier topics that exist, configured or not, shortest delay first: all of them are to be read, so that
// no record is stranded by a changed configuration.
func (f *Found) Tiers() []string {
	var tiers []string
	for name := range f.topics {
		if _, ok := f.names.DelayOf(name); ok {
			tiers = append(tiers, name)
		}
	}
	slices.SortFunc(tiers, func(a, b string) int {
		x, _ := f.names.DelayOf(a)
		y, _ := f.names.DelayOf(b)
		return int(x.Milliseconds() - y.Milliseconds())
	})
	return tiers
}

// Leftover are the tier topics that exist and are not configured: they are drained and get nothing new.
func (f *Found) Leftover() []string {
	return slices.DeleteFunc(f.Tiers(), func(name string) bool {
		delay, _ := f.names.DelayOf(name)
		return slices.Contains(f.ladder, delay)
	})
}

// The limits that a client may be given for a batch (kgo.ProducerBatchMaxBytesFn), in bytes.
const (
	leastBatch = 512
	mostBatch  = 1 << 30
)

// Limits is the largest batch that each topic takes, in bytes, within what a client may be told. A topic whose
// settings cannot be read is not in it.
func (f *Found) Limits() map[string]int {
	limits := make(map[string]int, len(f.topics))
	for name, t := range f.topics {
		if n, err := strconv.Atoi(t.Settings[MaxMessageBytes].Value); err == nil {
			limits[name] = min(max(n, leastBatch), mostBatch)
		}
	}
	return limits
}

// facts are main's, zero where it is missing or cannot be read.
func (f *Found) facts() Facts {
	main := f.topics[f.names.Main()]
	size, _ := strconv.ParseInt(main.Settings[MaxMessageBytes].Value, 10, 32)
	return Facts{Partitions: main.Partitions, MaxBytes: size}
}
