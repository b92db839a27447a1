package observe_test

import (
	"errors"
	"net"
	"net/http"
	"slices"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"recon/internal/observe"
	"recon/pkg/consumer"
	"recon/pkg/envelope"
)

func logged(t *testing.T, level zapcore.Level, events ...consumer.Event) []observer.LoggedEntry {
	t.Helper()
	core, logs := observer.New(level)
	tell := observe.Log(zap.New(core))
	for _, ev := range events {
		tell(ev)
	}
	return logs.All()
}

func TestEveryFactOfAnEventIsAFieldOfItsLine(t *testing.T) {
	record := envelope.Coordinates{Topic: "recon.retry.2s", Partition: 1, Offset: 7}
	due := time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC)
	all := logged(t, zap.DebugLevel, consumer.Event{
		Kind: consumer.DeadLettered, Record: record, Root: envelope.Coordinates{Topic: "recon.main", Partition: 1, Offset: 3},
		Message: &envelope.Message{MessageID: "m", SourceHash: "h", TraceID: "t", LedgerEntity: "e", Value: []byte("payload")},
		Code:    "CODE", Failure: "FAILURE", Stage: "post", Topic: "recon.dlq", Letter: "l", Attempt: 2, Due: due,
		Took: time.Second, Count: 5, Err: errors.New("why"),
	})
	want := map[string]any{
		"record": "recon.retry.2s/1@7", "root": "recon.main/1@3", "message_id": "m", "source_hash": "h", "trace_id": "t", "ledger_entity": "e",
		"error_code": "CODE", "failure_code": "FAILURE", "stage": "post", "topic": "recon.dlq", "envelope_id": "l", "attempt": int64(2),
		"due": due, "took": time.Second, "count": int64(5), "error": "why",
	}
	got := all[0].ContextMap()
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %v, want %v", name, got[name], value)
		}
	}
	if len(all) != 1 || len(got) != len(want) || all[0].Message != string(consumer.DeadLettered) {
		t.Errorf("%d lines, %q, fields %v", len(all), all[0].Message, got)
	}
}

func TestWhatAnEventDoesNotKnowIsNoField(t *testing.T) {
	at := envelope.Coordinates{Topic: "recon.main", Offset: 3}
	all := logged(t, zap.DebugLevel, consumer.Event{Kind: consumer.StoreAway}, consumer.Event{Kind: consumer.Posted, Record: at, Root: at}, consumer.Event{Kind: consumer.Assigned, Record: at})
	if fields := all[0].ContextMap(); len(fields) != 0 {
		t.Errorf("fields %v, want none", fields)
	}
	for _, line := range all[1:] {
		if fields := line.ContextMap(); len(fields) != 1 || fields["record"] != "recon.main/0@3" {
			t.Errorf("fields %v, want the record alone: it is its own root, or has none", fields)
		}
	}
}

// An event that is new to this package is rather heard than lost.
func TestUnknownKindIsAWarning(t *testing.T) {
	if all := logged(t, zap.WarnLevel, consumer.Event{Kind: "news"}); len(all) != 1 || all[0].Level != zap.WarnLevel {
		t.Errorf("logged %v, want one warning", all)
	}
}

func TestPlannedWorkIsQuietAndEveryLossIsHeard(t *testing.T) {
	quiet := []consumer.Kind{
		consumer.Posted, consumer.Suppressed, consumer.RetryScheduled, consumer.Repeated, consumer.Closed, consumer.Abandoned,
		consumer.StoreBack, consumer.Assigned, consumer.Revoked,
	}
	loud := []consumer.Kind{
		consumer.DeadLettered, consumer.Unclassified, consumer.Untrusted, consumer.Malformed, consumer.Redelivered,
		consumer.WriteRefused, consumer.StoreAway, consumer.PollError, consumer.Lost, consumer.CommitRefused, consumer.Expelled,
	}
	var heard []consumer.Kind
	for _, kind := range slices.Concat(quiet, loud) {
		for _, line := range logged(t, zap.WarnLevel, consumer.Event{Kind: kind}) {
			heard = append(heard, consumer.Kind(line.Message))
		}
	}
	if !slices.Equal(heard, loud) {
		t.Errorf("warnings of %v, want %v", heard, loud)
	}
}

func TestHealthIsOnlyAskedAndEndsWhenClosed(t *testing.T) {
	h, err := observe.Serve("127.0.0.1:0", func() []string { return nil })
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"/livez": http.StatusMethodNotAllowed, "/readyz": http.StatusMethodNotAllowed, "/else": http.StatusNotFound} {
		resp, err := http.Post("http://"+h.Address()+path, "text/plain", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("POST %s: %d, want %d", path, resp.StatusCode, want)
		}
	}
	if err := h.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if c, err := net.Dial("tcp", h.Address()); err == nil {
		c.Close()
		t.Error("it still listens")
	}
}
