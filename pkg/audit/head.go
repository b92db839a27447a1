package audit

import (
	"context"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/broker"
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
	logs, err := broker.Bounds(ctx, adm, topic)
	if err != nil {
		return Head{}, false, err
	}
	h := headSearch{prefix: service + "/" + instance + "/", reached: make(map[int32]int64), oldest: make(map[int32]int64)}
	for _, log := range logs {
		h.reached[log.Partition] = log.To
	}
	for _, step := range steps {
		if err := (broker.Reader{Options: opts}).Read(ctx, h.back(logs, step), h.look); err != nil {
			return Head{}, false, fmt.Errorf("the last head of %s/%s: %w", service, instance, err)
		}
	}
	return h.best, h.best.Chain != "", nil
}

// headSearch is what LastHead has seen.
type headSearch struct {
	prefix  string
	best    Head
	stamp   int64           // of the record with the best head, by the broker
	reached map[int32]int64 // from where on each partition is read
	oldest  map[int32]int64 // the oldest timestamp seen per partition, milliseconds
}

// back gives the next stretch, up to step records before the end, of each partition in which a newer head can be: all
// that were not read to their start nor to a record older than the best head.
func (h *headSearch) back(logs []broker.Span, step int64) []broker.Span {
	var next []broker.Span
	for _, log := range logs {
		seen, any := h.oldest[log.Partition]
		if h.best.Chain != "" && any && seen < h.stamp {
			continue
		}
		from, to := max(log.From, log.To-step), h.reached[log.Partition]
		if from < to {
			next = append(next, broker.Span{Topic: log.Topic, Partition: log.Partition, From: from, To: to})
			h.reached[log.Partition] = from
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
