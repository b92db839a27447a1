package audit

import (
	"context"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// steps is how far LastHead looks back in each partition, in records, one step after the other.
var steps = [...]int64{100, 1_000, 10_000}

// LastHead finds the head of the newest chain that service and instance wrote to topic: the predecessor that the next
// chain names. opts say how to reach the broker (no consumer group). It reads the last 10,000 records of each partition
// at most, and only as many as it needs: false means that there is no such chain in them. An error: the topic could
// not be read.
func LastHead(ctx context.Context, opts []kgo.Opt, topic, service, instance string) (Head, bool, error) {
	adm, err := kadm.NewOptClient(opts...)
	if err != nil {
		return Head{}, false, fmt.Errorf("client to read %s: %w", topic, err)
	}
	defer adm.Close()
	starts, err := listed(adm.ListStartOffsets(ctx, topic))
	if err != nil {
		return Head{}, false, fmt.Errorf("where %s begins: %w", topic, err)
	}
	ends, err := listed(adm.ListCommittedOffsets(ctx, topic))
	if err != nil {
		return Head{}, false, fmt.Errorf("where %s ends: %w", topic, err)
	}
	h := headSearch{prefix: service + "/" + instance + "/", oldest: make(map[int32]int64)}
	var spans []Span
	for p, end := range ends[topic] {
		spans = append(spans, Span{topic, p, end, end})
	}
	for _, step := range steps {
		spans = h.back(spans, ends[topic], starts[topic], step)
		if err := readSpans(ctx, opts, spans, 0, h.look); err != nil {
			return Head{}, false, fmt.Errorf("the last head of %s/%s: %w", service, instance, err)
		}
	}
	return h.best, h.best.Chain != "", nil
}

// headSearch is what LastHead has seen.
type headSearch struct {
	prefix string
	best   Head
	stamp  int64           // of the record with the best head, by the broker
	oldest map[int32]int64 // the oldest timestamp seen per partition, milliseconds
}

// back gives the next stretch, up to step records before the end, of each partition in which a newer head can be: all
// that were not read to their start nor to a record older than the best head. spans were the stretches before.
func (h *headSearch) back(spans []Span, ends, starts map[int32]int64, step int64) []Span {
	var next []Span
	for _, s := range spans {
		seen, any := h.oldest[s.Partition]
		if h.best.Chain != "" && any && seen < h.stamp {
			continue
		}
		from := max(starts[s.Partition], ends[s.Partition]-step)
		if from < s.From {
			next = append(next, Span{s.Topic, s.Partition, from, s.From})
		}
	}
	return next
}

// look takes one record. What cannot be decoded is no head; the verifier names it.
func (h *headSearch) look(r *kgo.Record) error {
	ms := r.Timestamp.UnixMilli()
	if seen, any := h.oldest[r.Partition]; !any || ms < seen {
		h.oldest[r.Partition] = ms
	}
	boot, ours := strings.CutPrefix(string(r.Key), h.prefix)
	if !ours || strings.Contains(boot, "/") {
		return nil
	}
	rec, err := Decode(r.Value)
	if err != nil || rec.Chain != string(r.Key) {
		return nil
	}
	head := rec.Head()
	newer := head.Chain != h.best.Chain && head.At.After(h.best.At) || head.Chain == h.best.Chain && head.Seq > h.best.Seq
	if h.best.Chain == "" || newer {
		h.best, h.stamp = head, ms
	}
	return nil
}

// listed turns kadm's answer into offsets by topic and partition; any partition's error is the whole answer's.
func listed(os kadm.ListedOffsets, err error) (map[string]map[int32]int64, error) {
	if err == nil {
		err = os.Error()
	}
	if err != nil {
		return nil, err
	}
	m := make(map[string]map[int32]int64, len(os))
	for topic, ps := range os {
		m[topic] = make(map[int32]int64, len(ps))
		for p, o := range ps {
			m[topic][p] = o.Offset
		}
	}
	return m, nil
}
