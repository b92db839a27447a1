package topics_test

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/topics"
)

// Pitfall G1: a tier or DLQ with fewer partitions than main takes every record.
// Pitfall G18: copies spread as on main, and what shared a partition shares one again.
func TestCopiesFollowTheirOriginsPartitionWhateverTheTopicHas(t *testing.T) {
	n := topics.Names{Prefix: "acme"}
	p := topics.Partitioner(n)
	for _, topic := range []string{n.Main(), n.DLQ(), n.Quarantine(), n.Tier(2 * s), n.Tier(h)} {
		tp := p.ForTopic(topic)
		for _, count := range []int{1, 3, 12} {
			for origin := range int32(12) {
				r := &kgo.Record{Topic: topic, Partition: origin, Key: []byte("same key")}
				if got, want := tp.Partition(r, count), int(origin)%count; got != want {
					t.Errorf("%s of %d partitions, origin %d: got %d, want %d", topic, count, origin, got, want)
				}
				if !tp.RequiresConsistency(r) {
					t.Errorf("%s: the count may leave out partitions that are away", topic)
				}
			}
		}
	}
}

func TestDispositionsAndAuditGoByTheirKeyAsOtherClientsHashIt(t *testing.T) {
	n := topics.Names{}
	for _, topic := range []string{n.Dispositions(), n.Audit()} {
		tp, plain := topics.Partitioner(n).ForTopic(topic), kgo.StickyKeyPartitioner(nil).ForTopic(topic)
		seen := map[int]bool{}
		for i := range 100 {
			r := &kgo.Record{Topic: topic, Partition: 5, Key: fmt.Append(nil, "key", i)}
			got, want := tp.Partition(r, 12), plain.Partition(r, 12)
			if got != want {
				t.Errorf("%s, key %d: got %d, want %d", topic, i, got, want)
			}
			seen[got] = true
		}
		if len(seen) < 6 {
			t.Errorf("%s: 100 keys on %d of 12 partitions", topic, len(seen))
		}
	}
	// The value of Kafka's own DefaultPartitioner: murmur2("key") & 0x7fffffff, modulo 12.
	r := &kgo.Record{Topic: n.Audit(), Key: []byte("foobar")}
	if got, want := topics.Partitioner(n).ForTopic(n.Audit()).Partition(r, 12), int(uint32(0x7fffffff&(-790332482&0xffffffff)))%12; got != want {
		t.Errorf("foobar: got %d, want %d", got, want)
	}
}
