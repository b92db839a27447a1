package testkit

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// serviceLimit bounds one request to a real service on a busy machine.
const serviceLimit = 60 * time.Second

// Kafka returns the address of a real broker's plain listener, shared by all tests of a run, or skips the test: under -short, and
// where no broker is found (with RECON_REQUIRE_SERVICES=1 that is fatal).
func Kafka(t testing.TB) string {
	t.Helper()
	return need(t, "Kafka", envKafka)
}

// Secured is a real broker's SASL listener (PLAIN, SCRAM-SHA-256, SCRAM-SHA-512; no TLS). User may do what ACLs grant it, at first nothing;
// Admin may do everything.
type Secured struct {
	Address              string
	User, Password       string
	Admin, AdminPassword string
}

// KafkaSASL returns a real broker's secured listener, or skips the test.
func KafkaSASL(t testing.TB) Secured {
	t.Helper()
	address := need(t, "Kafka with SASL", envKafkaSASL)
	facts := find().facts
	return Secured{
		Address: address,
		User:    facts[envKafkaUser], Password: facts[envKafkaPassword],
		Admin: facts[envKafkaAdmin], AdminPassword: facts[envKafkaAdminPw],
	}
}

// CreateTopics makes topics of one replica and waits until the broker lists their leaders; they are deleted when the test ends.
func CreateTopics(t testing.TB, address string, partitions int32, configs map[string]*string, topics ...string) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(address))
	if err != nil {
		t.Fatalf("a client for %s: %v", address, err)
	}
	admin := kadm.NewClient(client)
	ctx, cancel := context.WithTimeout(context.Background(), serviceLimit)
	defer cancel()
	answers, err := admin.CreateTopics(ctx, partitions, 1, configs, topics...)
	if err == nil {
		err = answers.Error()
	}
	if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		client.Close()
		t.Fatalf("create topics %v at %s: %v", topics, address, err)
	}
	t.Cleanup(func() {
		defer client.Close()
		ctx, cancel := context.WithTimeout(context.Background(), serviceLimit)
		defer cancel()
		// Best effort: the broker may be one that this test killed.
		_, _ = admin.DeleteTopics(ctx, topics...)
	})
	for ctx.Err() == nil {
		described, err := admin.ListTopics(ctx, topics...)
		if err == nil && led(described, topics) {
			return
		}
	}
	t.Fatalf("topics %v at %s have no leaders", topics, address)
}

// led reports whether every partition of every topic has a leader.
func led(described kadm.TopicDetails, topics []string) bool {
	for _, topic := range topics {
		detail, ok := described[topic]
		if !ok || detail.Err != nil || len(detail.Partitions) == 0 {
			return false
		}
		for _, p := range detail.Partitions {
			if p.Err != nil || p.Leader < 0 {
				return false
			}
		}
	}
	return true
}
