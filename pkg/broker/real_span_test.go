package broker_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"recon/internal/testkit"
	"recon/pkg/broker"
)

// A real broker's log with everything in it that is no record: markers, what was aborted, a start that was moved.
func TestRealTopicIsReadFromItsStartToItsEndWhateverLiesThere(t *testing.T) {
	address, topic := testkit.Kafka(t), testkit.Prefix(t)
	testkit.CreateTopics(t, address, 2, nil, topic)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	opts := []kgo.Opt{kgo.SeedBrokers(address)}
	feed, err := kgo.NewClient(append(opts, kgo.TransactionalID(topic), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	if err != nil {
		t.Fatal(err)
	}
	defer feed.Close()
	for i, end := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort, kgo.TryCommit, kgo.TryAbort} {
		if err := feed.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		for n := range 3 {
			r := &kgo.Record{Topic: topic, Value: fmt.Appendf(nil, "%d.%d", i, n)}
			if err := feed.ProduceSync(ctx, r).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		if err := feed.EndTransaction(ctx, end); err != nil {
			t.Fatal(err)
		}
	}
	adm := kadm.NewClient(feed)
	var start kadm.Offsets
	start.AddOffset(topic, 0, 1, -1)
	if _, err := adm.DeleteRecords(ctx, start); err != nil {
		t.Fatal(err)
	}
	logs, err := broker.Bounds(ctx, adm, topic)
	if want := []broker.Span{{topic, 0, 1, 16}, {topic, 1, 0, 0}}; err != nil || !slices.Equal(logs, want) {
		t.Fatalf("got %v and %v, want %v", logs, err, want)
	}
	for _, c := range []struct {
		from, to int64
		want     string
	}{
		{1, 16, "0.1 0.2 2.0 2.1 2.2"},
		{1, 6, "0.1 0.2"},
		{3, 4, ""},
		{5, 10, "2.0 2.1"},
		{12, 16, ""},
	} {
		var got []string
		var passed int64
		r := broker.Reader{Options: opts, Passed: func(n int64) { passed += n }}
		err := r.Read(ctx, []broker.Span{{topic, 0, c.from, c.to}}, func(r *kgo.Record) error {
			got = append(got, string(r.Value))
			return nil
		})
		if got := strings.Join(got, " "); err != nil || got != c.want || passed != c.to-c.from {
			t.Errorf("from %d to %d: got %q, %d offsets and %v, want %q", c.from, c.to, got, passed, err, c.want)
		}
	}
}

func TestRealGroupsOffsetsAreFoundAndNoneOfAStranger(t *testing.T) {
	address, topic := testkit.Kafka(t), testkit.Prefix(t)
	testkit.CreateTopics(t, address, 1, nil, topic)
	adm := kadm.NewClient(client(t, broker.Config{Seeds: []string{address}}))
	var at kadm.Offsets
	at.AddOffset(topic, 0, 7, -1)
	if err := adm.CommitAllOffsets(t.Context(), topic, at); err != nil {
		t.Fatal(err)
	}
	got, err := broker.Committed(t.Context(), broker.Patience, adm, topic)
	if o, any := got.Lookup(topic, 0); err != nil || !any || o.At != 7 {
		t.Errorf("got %v and %v, want offset 7", got, err)
	}
	if got, err := broker.Committed(t.Context(), broker.Patience, adm, topic+"-stranger"); err != nil || len(got) != 0 {
		t.Errorf("a stranger: got %v and %v, want none", got, err)
	}
}
