package topics_test

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"go.uber.org/goleak"

	"recon/pkg/topics"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cluster is a Kafka with an admin client, and the names that a test uses on it.
type cluster struct {
	t      *testing.T
	fake   *kfake.Cluster // nil where the broker is real
	seeds  []string
	adm    *kadm.Client
	names  topics.Names
	ladder topics.Ladder
}

// newCluster starts brokers in this process.
func newCluster(t *testing.T, brokers int, opts ...kfake.Opt) cluster {
	t.Helper()
	c, err := kfake.NewCluster(append(opts, kfake.NumBrokers(brokers))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	mine := at(t, topics.Names{}, c.ListenAddrs()...)
	mine.fake = c
	return mine
}

// at is a cluster that runs elsewhere.
func at(t *testing.T, names topics.Names, seeds ...string) cluster {
	t.Helper()
	c := cluster{t: t, seeds: seeds, names: names, ladder: topics.Ladder{2 * time.Second, time.Hour}}
	c.adm = kadm.NewClient(c.client())
	return c
}

// as is the same cluster in the eyes of a user.
func (c cluster) as(user, password string) cluster {
	c.t.Helper()
	c.adm = kadm.NewClient(c.client(kgo.SASL(plain.Auth{User: user, Pass: password}.AsMechanism())))
	return c
}

// client is closed with the test; its answers about topics are fresh.
func (c cluster) client(opts ...kgo.Opt) *kgo.Client {
	c.t.Helper()
	cl, err := kgo.NewClient(append(opts, kgo.SeedBrokers(c.seeds...), kgo.MetadataMinAge(10*time.Millisecond))...)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(cl.Close)
	return cl
}

// ctx ends with the test, or after a minute.
func (c cluster) ctx() context.Context {
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	c.t.Cleanup(cancel)
	return ctx
}

// create makes a topic as somebody else would, with settings given in pairs, and waits until it is shown.
func (c cluster) create(topic string, partitions int32, replicas int16, settings ...string) {
	c.t.Helper()
	configs := map[string]*string{}
	for i := 0; i < len(settings); i += 2 {
		configs[settings[i]] = &settings[i+1]
	}
	ctx := c.ctx()
	if _, err := c.adm.CreateTopic(ctx, partitions, replicas, configs, topic); err != nil {
		c.t.Fatalf("create %s: %v", topic, err)
	}
	for ctx.Err() == nil {
		if all, err := c.adm.ListTopics(ctx); err == nil && all.Has(topic) {
			return
		}
	}
	c.t.Fatalf("%s is never shown", topic)
}

func (c cluster) set(topic string, settings ...string) {
	c.t.Helper()
	var changes []kadm.AlterConfig
	for i := 0; i < len(settings); i += 2 {
		changes = append(changes, kadm.AlterConfig{Op: kadm.SetConfig, Name: settings[i], Value: &settings[i+1]})
	}
	if _, err := c.adm.AlterTopicConfigs(c.ctx(), changes, topic); err != nil {
		c.t.Fatalf("set %v of %s: %v", settings, topic, err)
	}
}

func (c cluster) inspect() *topics.Found {
	c.t.Helper()
	f, err := topics.Inspect(c.ctx(), c.adm, c.names, c.ladder)
	if err != nil {
		c.t.Fatal(err)
	}
	return f
}

// apply makes the plan for what is there and carries it out.
func (c cluster) apply() topics.Plan {
	c.t.Helper()
	plan, err := c.inspect().Plan()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := plan.Apply(c.ctx(), c.adm); err != nil {
		c.t.Fatal(err)
	}
	return plan
}
