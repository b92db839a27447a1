package testkit_test

import (
	"context"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"recon/internal/testkit"
)

func TestMain(m *testing.M) {
	testkit.MaybeRunChild(roles)
	os.Exit(m.Run())
}

func TestNamesAreUniqueAndFitEveryService(t *testing.T) {
	t.Run("With spaces, ÜMLAUTS and_a_name/that is far longer than any of the services would take as a name", func(t *testing.T) {
		seen := map[string]bool{}
		for range 1000 {
			name := testkit.Prefix(t)
			if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || len(name) > 41 || name[0] != 't' {
				t.Fatalf("got %q, want at most 41 lower-case letters, digits and dashes after a t", name)
			}
			if seen[name] {
				t.Fatalf("got %q twice", name)
			}
			seen[name] = true
		}
	})
}

func TestRealKafkaServesAFreshTopicAtOnce(t *testing.T) {
	address := testkit.Kafka(t)
	topic := testkit.Prefix(t)
	testkit.CreateTopics(t, address, 3, nil, topic)
	client := newClient(t, kgo.SeedBrokers(address), kgo.ConsumeTopics(topic), kgo.ConsumerGroup(topic), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()))
	roundTrip(t, client, topic)
}

func TestRealSecuredKafkaKnowsItsUsersAndGrantsNothing(t *testing.T) {
	secured := testkit.KafkaSASL(t)
	topic := testkit.Prefix(t)
	testkit.CreateTopics(t, testkit.Kafka(t), 1, nil, topic)
	dial := func(user, password string) *kadm.Client {
		auth := scram.Auth{User: user, Pass: password}
		return kadm.NewClient(newClient(t, kgo.SeedBrokers(secured.Address), kgo.SASL(auth.AsSha512Mechanism())))
	}
	for _, row := range []struct {
		user, password string
		sees           bool
	}{
		{secured.Admin, secured.AdminPassword, true},
		{secured.User, secured.Password, false},
	} {
		topics, err := dial(row.user, row.password).ListTopics(t.Context())
		if err != nil {
			t.Fatalf("list topics as %s: %v", row.user, err)
		}
		if got := topics.Has(topic); got != row.sees {
			t.Errorf("%s sees the topic: got %v, want %v", row.user, got, row.sees)
		}
	}
	if err := newClient(t, kgo.SeedBrokers(secured.Address), kgo.SASL(scram.Auth{User: secured.User, Pass: "wrong"}.AsSha512Mechanism())).Ping(t.Context()); err == nil {
		t.Error("a wrong password: got no error, want one")
	}
}

func TestRealPostgresGivesEachTestASchemaAndDropsIt(t *testing.T) {
	var schema string
	t.Run("one", func(t *testing.T) {
		address := testkit.Postgres(t)
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		schema = u.Query().Get("search_path")
		query(t, address, "create table posting (id int)")
		if got := query(t, address, "select schemaname from pg_tables where tablename = 'posting' and schemaname = current_schema()"); got != schema {
			t.Errorf("the table's schema: got %q, want %q", got, schema)
		}
	})
	t.Run("after", func(t *testing.T) {
		address := testkit.Postgres(t)
		if got := query(t, address, "select count(*)::text from information_schema.schemata where schema_name = '"+schema+"'"); got != "0" {
			t.Errorf("schemas called %s after their test: got %s, want 0", schema, got)
		}
	})
}

func newClient(t *testing.T, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// roundTrip produces a record to topic and reads it back.
func roundTrip(t *testing.T, client *kgo.Client, topic string) {
	t.Helper()
	if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: []byte("value")}).FirstErr(); err != nil {
		t.Fatalf("produce to %s: %v", topic, err)
	}
	fetches := client.PollFetches(t.Context())
	if err := fetches.Err(); err != nil {
		t.Fatalf("poll %s: %v", topic, err)
	}
	if records := fetches.Records(); len(records) != 1 || string(records[0].Value) != "value" {
		t.Fatalf("got %v, want the one record", records)
	}
}

// query runs a statement on a connection of its own and returns the first column of its first row, "" for none.
func query(t *testing.T, address, statement string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	rows, err := conn.Query(t.Context(), statement)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if len(got) == 0 {
		return ""
	}
	return got[0]
}
