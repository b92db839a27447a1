package topics_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"recon/internal/testkit"
	"recon/pkg/topics"
)

// realCluster is a real broker with a prefix of this test's own; every topic under it goes with the test.
func realCluster(t *testing.T) cluster {
	t.Helper()
	c := at(t, topics.Names{Prefix: testkit.Prefix(t)}, testkit.Kafka(t))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		all, err := c.adm.ListTopics(ctx)
		if err != nil {
			t.Errorf("list the topics to delete: %v", err)
			return
		}
		own := slices.DeleteFunc(all.Names(), func(name string) bool { return !strings.HasPrefix(name, c.names.Prefix+".") })
		if len(own) > 0 {
			_, _ = c.adm.DeleteTopics(ctx, own...) // best effort: the next test has another prefix
		}
	})
	return c
}

func TestRealBrokerEndsWhereThePlanSays(t *testing.T) {
	c := realCluster(t)
	c.create(c.names.Main(), 3, 1, "max.message.bytes", "2000000")
	c.apply()
	found := c.inspect()
	if wrong := topics.Wrongs(found.Verify()); len(wrong) != 0 {
		t.Errorf("after the plan: %v", wrong)
	}
	if again, err := found.Plan(); err != nil || len(again) != 0 {
		t.Errorf("second plan: got %v, %v, want none", again, err)
	}
	dlq, _ := found.Topic(c.names.DLQ())
	if dlq.Partitions != 3 || dlq.Settings[topics.MaxMessageBytes].Value != "2732203" || !dlq.Settings[topics.RetentionMs].Own {
		t.Errorf("dlq: got %+v", dlq)
	}

	c.set(c.names.DLQ(), "cleanup.policy", "", "retention.ms", "1000")
	c.set(c.names.Tier(2*s), "max.message.bytes", "1000")
	told(t, topics.Wrongs(c.inspect().Verify()),
		"error: "+c.names.Tier(2*s)+": max.message.bytes is 1000, want ≥ 2065536",
		"error: "+c.names.DLQ()+`: cleanup.policy is "", want delete`,
		"error: "+c.names.DLQ()+": retention.ms is 1000, want -1")
	c.apply()
	told(t, topics.Wrongs(c.inspect().Verify()))
}

// Pitfall M12: the broker takes min.insync.replicas=2 on one replica and goes on accepting writes; the count tells.
func TestRealTopicWithOneReplicaIsWarnedAboutWhateverItSays(t *testing.T) {
	c := realCluster(t)
	c.create(c.names.Main(), 1, 1, "min.insync.replicas", "2")
	cl := c.client(kgo.DefaultProduceTopic(c.names.Main()))
	if err := cl.ProduceSync(c.ctx(), &kgo.Record{Value: []byte("x")}).FirstErr(); err != nil {
		t.Errorf("a write to one replica with min.insync.replicas=2: %v", err)
	}
	first := c.inspect().Verify()[0].String()
	if want := "warning: " + c.names.Main() + ": replicas is 1, want 3: min.insync.replicas 2 does not help"; !strings.HasPrefix(first, want) {
		t.Errorf("got %s, want %s", first, want)
	}
}

func TestRealBrokersReasonIsTold(t *testing.T) {
	c := realCluster(t)
	plan := topics.Plan{
		{Topic: c.names.DLQ(), Create: true, Partitions: 1, Replicas: 1, Settings: map[string]string{"retention.ms": "soon"}},
		{Topic: c.names.Audit(), Create: true, Partitions: 1, Replicas: 1, Settings: map[string]string{"retention.ms": "-1"}},
	}
	err := plan.Apply(c.ctx(), c.adm)
	if !errors.Is(err, kerr.InvalidConfig) || !strings.Contains(err.Error(), "retention.ms") || strings.Contains(err.Error(), c.names.Audit()) {
		t.Errorf("got %v, want the broker's words about retention.ms of one topic", err)
	}
	plan = topics.Plan{{Topic: c.names.Audit(), Settings: map[string]string{"retention.ms": "later"}}}
	if err := plan.Apply(c.ctx(), c.adm); !errors.Is(err, kerr.InvalidConfig) || !strings.Contains(err.Error(), "later") {
		t.Errorf("got %v, want the broker's words", err)
	}
}

// Pitfall M5: what main accepts, its tiers and letters' topics accept. Pitfall M6: a batch never exceeds its topic's limit,
// so small records do not fail because many of them were sent at once.
func TestRealLimitsLetRecordsThroughThatTheirTopicsTake(t *testing.T) {
	c := realCluster(t)
	c.create(c.names.Main(), 1, 1)
	c.apply()
	c.create(c.names.Tier(7*s), 1, 1, "max.message.bytes", "100000")
	limits := c.inspect().Limits()
	cl := c.client(kgo.ProducerBatchMaxBytesFn(func(topic string) int32 {
		if n, known := limits[topic]; known {
			return int32(n)
		}
		return 1_048_588
	}), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerLinger(50*time.Millisecond))

	large := bytes.Repeat([]byte("x"), 1_000_100)
	for _, topic := range []string{c.names.Main(), c.names.Tier(2 * s), c.names.DLQ(), c.names.Quarantine()} {
		if err := cl.ProduceSync(c.ctx(), &kgo.Record{Topic: topic, Value: large}).FirstErr(); err != nil {
			t.Errorf("1,000,100 bytes to %s: %v", topic, err)
		}
	}

	var many []*kgo.Record
	for i := range 300 {
		many = append(many, &kgo.Record{Topic: c.names.Tier(7 * s), Key: fmt.Append(nil, i), Value: make([]byte, 1000)})
	}
	many[150].Value = make([]byte, 150_000)
	for i, result := range cl.ProduceSync(c.ctx(), many...) {
		large := len(result.Record.Value) > 100_000
		if large != errors.Is(result.Err, kerr.MessageTooLarge) || (!large && result.Err != nil) {
			t.Errorf("record %d of %d bytes: %v", i, len(result.Record.Value), result.Err)
		}
	}
}

func TestRealUserWithoutRightsIsToldWhichAreMissing(t *testing.T) {
	secured := testkit.KafkaSASL(t)
	c := realCluster(t)
	c.create(c.names.Main(), 1, 1)
	c.apply()
	grant := func(ops ...kadm.ACLOperation) {
		acls := kadm.NewACLs().Allow("User:" + secured.User).AllowHosts("*").Topics(c.names.Prefix).Operations(ops...).ResourcePatternType(kadm.ACLPatternPrefixed)
		if _, err := c.adm.CreateACLs(c.ctx(), acls); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = c.adm.DeleteACLs(context.Background(), acls) })
	}
	user := c
	user.seeds = []string{secured.Address}
	user.adm = kadm.NewClient(user.client(kgo.SASL(scram.Auth{User: secured.User, Pass: secured.Password}.AsSha512Mechanism())))

	// Rights take up to a second to count: ask until the first line changes.
	first := func(part string) {
		t.Helper()
		ctx := c.ctx()
		var said string
		for ctx.Err() == nil {
			if said = user.inspect().Verify()[0].String(); strings.Contains(said, part) {
				return
			}
		}
		t.Errorf("got %s, want %q", said, part)
	}
	first("topic is not shown (TOPIC_AUTHORIZATION_FAILED)")
	grant(kadm.OpDescribe)
	first("settings is unreadable (TOPIC_AUTHORIZATION_FAILED)")
	grant(kadm.OpDescribeConfigs)
	first("replicas is 1")
	if wrong := topics.Wrongs(user.inspect().Verify()); len(wrong) != 0 {
		t.Errorf("with both rights: %v", wrong)
	}
}
