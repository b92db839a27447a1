package consumer_test

import (
	"strings"
	"testing"
	"time"

	"recon/pkg/broker"
	"recon/pkg/consumer"
	"recon/pkg/dedup"
	"recon/pkg/topics"
)

func TestNewNamesEveryMistakeAtOnce(t *testing.T) {
	store, err := dedup.NewMemory(dedup.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = consumer.New(consumer.Config{
		Topics: topics.Names{Prefix: "a b"}, Tiers: topics.Ladder{time.Minute, time.Second}, Order: "both", Protocol: "new",
		Concurrency: -1, Lease: -time.Second, Instance: strings.Repeat("x", 300), Group: "a b.dlq",
	}, newLedger(), store)
	if err == nil {
		t.Fatal("New took it")
	}
	for _, want := range []string{"kafka.brokers", "topics.prefix", "retry.tiers", "order", "protocol", "concurrency", "lease", "instance"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q: %v", want, err)
		}
	}
}

func TestNewWantsHandlerAndStore(t *testing.T) {
	if _, err := consumer.New(consumer.Config{Broker: broker.Config{Seeds: []string{"h:1"}}}, nil, nil); err == nil {
		t.Error("New took neither handler nor store")
	}
}

// Pitfall: under KIP-848 a crashed static member keeps its partitions for the whole session (MECHANICS b).
func TestStaticMembershipIsForTheClassicProtocolOnly(t *testing.T) {
	cfg := consumer.Config{Broker: broker.Config{Seeds: []string{"h:1"}}, StaticMember: true, Protocol: consumer.ProtocolConsumer}
	if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "static_member") {
		t.Errorf("Validate returned %v, want static_member refused", err)
	}
	cfg.Protocol = consumer.ProtocolClassic
	if err := cfg.Validate(); err != nil {
		t.Errorf("Validate returned %v", err)
	}
}

// What the Kafka client would refuse when it is made is refused by New, which does no I/O.
func TestSettingsThatTheClientRefusesAreRefusedAtOnce(t *testing.T) {
	store, err := dedup.NewMemory(dedup.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cfg := consumer.Config{Broker: broker.Config{Seeds: []string{"127.0.0.1:1"}}, CommitInterval: time.Millisecond}
	if _, err := consumer.New(cfg, newLedger(), store); err == nil || !strings.Contains(err.Error(), "autocommit interval") {
		t.Errorf("New says %v, want the setting named", err)
	}
}
