package topics

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Partitioner is the partitioner of both binaries. Copies, letters, quarantined letters and replays go to the partition
// that the record names, its origin's, modulo the topic's count: a topic with fewer partitions takes them too.
// Everything else goes by its key, as other Kafka clients hash it (murmur2).
func Partitioner(n Names) kgo.Partitioner {
	return partitioner{n, kgo.StickyKeyPartitioner(nil)}
}

type partitioner struct {
	names Names
	keyed kgo.Partitioner
}

// ForTopic implements kgo.Partitioner.
func (p partitioner) ForTopic(topic string) kgo.TopicPartitioner {
	n := p.names
	if topic == n.Main() || topic == n.DLQ() || topic == n.Quarantine() || strings.HasPrefix(topic, n.TierPrefix()) {
		return modulo{}
	}
	return p.keyed.ForTopic(topic)
}

// modulo counts all partitions, whether they can be written now or not: an origin always maps to the same one.
type modulo struct{}

func (modulo) RequiresConsistency(*kgo.Record) bool { return true }
func (modulo) Partition(r *kgo.Record, n int) int   { return int(r.Partition) % n }
