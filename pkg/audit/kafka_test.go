package audit_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/audit"
	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// cluster is a broker in this process with the topics of one house, and a client that writes to it.
type cluster struct {
	t    *testing.T
	opts []kgo.Opt
	cl   *kgo.Client
	adm  *kadm.Client
}

var topics = []string{"recon.main", "recon.retry.2s", "recon.retry.5m", "recon.dlq", "recon.dispositions", "recon.audit"}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	k, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, topics...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	c := &cluster{t: t, opts: []kgo.Opt{kgo.SeedBrokers(k.ListenAddrs()...)}}
	c.cl = c.client()
	c.adm = kadm.NewClient(c.cl)
	return c
}

// client places records by key, or where a test says.
func (c *cluster) client(more ...kgo.Opt) *kgo.Client {
	c.t.Helper()
	cl, err := kgo.NewClient(append(append([]kgo.Opt{kgo.RecordPartitioner(placed{})}, c.opts...), more...)...)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(cl.Close)
	return cl
}

// placed takes the partition of records that have one above 0, and the key's place for the others.
type placed struct{}

func (placed) ForTopic(topic string) kgo.TopicPartitioner {
	if topic == "recon.audit" || topic == "recon.dispositions" {
		return kgo.StickyKeyPartitioner(nil).ForTopic(topic)
	}
	return kgo.ManualPartitioner().ForTopic(topic)
}

// put writes one record and returns where it lies.
func (c *cluster) put(topic string, partition int32, key string, value []byte, headers ...kgo.RecordHeader) envelope.Coordinates {
	c.t.Helper()
	r := &kgo.Record{Topic: topic, Partition: partition, Key: []byte(key), Value: value, Headers: headers}
	if err := c.cl.ProduceSync(c.t.Context(), r).FirstErr(); err != nil {
		c.t.Fatal(err)
	}
	return envelope.Coordinates{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}
}

func message(hash, amount string) []byte {
	return fmt.Appendf(nil, `{"source_hash":%q,"ledger_entity":"ACME-DE","currency":"EUR","amount":%q,"match_decision":"MATCHED"}`, hash, amount)
}

// arrive writes a message to main.
func (c *cluster) arrive(partition int32, hash, amount string) envelope.Coordinates {
	return c.put("recon.main", partition, "ACME-DE", message(hash, amount))
}

func (c *cluster) commit(group string, at map[string]map[int32]int64) {
	c.t.Helper()
	var os kadm.Offsets
	for topic, ps := range at {
		for p, offset := range ps {
			os.AddOffset(topic, p, offset, -1)
		}
	}
	if err := c.adm.CommitAllOffsets(c.t.Context(), group, os); err != nil {
		c.t.Fatal(err)
	}
}

// letterOf is the dead letter of a message that lies at root.
func letterOf(root envelope.Coordinates, generation int, hash, amount string, value []byte) *envelope.Letter {
	l := &envelope.Letter{
		FailureCode: fault.FailedPoison, FailureClass: fault.Poison, ErrorCode: fault.SchemaInvalid, ErrorDetail: "x",
		SourceStage: fault.StageDecode, Fingerprint: envelope.NewFingerprint(fault.SchemaInvalid, fault.StageDecode, "x"),
		AttemptCount: 1, FirstSeenAt: noon, DeadLetteredAt: noon,
		Message: envelope.Facts{
			MessageID: envelope.MessageID(root), SourceHash: hash, LedgerEntity: "ACME-DE", Currency: "EUR", Amount: amount,
			MatchDecision: "MATCHED", TraceID: "t-1",
		},
		Lineage:  envelope.Lineage{Root: root, Generation: generation},
		Origin:   envelope.Origin{Coordinates: root, LeaderEpoch: -1, TimestampMS: noon.UnixMilli(), TimestampType: "CreateTime"},
		Original: envelope.Original{Key: []byte("ACME-DE"), Value: value},
		Producer: envelope.Producer{Service: "consumer", Version: "1", Instance: "host-1", Group: "g", ConfigDigest: "abcd"},
	}
	if generation > 0 {
		l.Lineage.Parent = envelope.EnvelopeID(root, generation-1)
		l.Lineage.ReplayID = envelope.ReplayID(l.Lineage.Parent)
	}
	return l
}

func (c *cluster) bury(l *envelope.Letter) {
	c.t.Helper()
	v, err := l.Encode()
	if err != nil {
		c.t.Fatal(err)
	}
	c.put("recon.dlq", l.Lineage.Root.Partition, "ACME-DE", v, l.Headers()...)
}

func (c *cluster) dispose(root envelope.Coordinates, s envelope.State, change func(*envelope.Disposition)) {
	c.t.Helper()
	d := &envelope.Disposition{
		EnvelopeID: envelope.EnvelopeID(root, 0), Root: root, State: s, Actor: "ops", Reason: "r", RootCause: "rate_late",
		RunID: "6f1c1d5e-0000-4000-8000-000000000001", ConfigDigest: "abcd", At: noon, Entity: "ACME-DE", Currency: "EUR",
	}
	if change != nil {
		change(d)
	}
	v, err := d.Encode()
	if err != nil {
		c.t.Fatal(err)
	}
	c.put("recon.dispositions", 0, d.EnvelopeID, v)
}

// chain opens a chain that writes to the cluster.
func (c *cluster) chain(change func(*audit.Config)) *audit.Chain {
	c.t.Helper()
	cfg := config()
	if change != nil {
		change(&cfg)
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	chain, err := audit.Open(ctx, cfg, c.cl)
	if err != nil {
		c.t.Fatal(err)
	}
	return chain
}
