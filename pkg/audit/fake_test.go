package audit_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/audit"
	"recon/pkg/envelope"
)

var errAway = errors.New("broker away")

// topic is the audit topic as a list, and the producer that fills it. answer says of each record whether it is stored
// and what the producer is told; nil stores all.
type topic struct {
	mu     sync.Mutex
	stored [][]byte
	keys   map[string]bool
	writes int
	answer func(n int, value []byte) (stored bool, err error)
	held   []func() // answers that do not come
}

// errHang makes the producer say nothing.
var errHang = errors.New("no answer")

func (p *topic) Produce(_ context.Context, r *kgo.Record, done func(*kgo.Record, error)) {
	p.mu.Lock()
	stored, err := true, error(nil)
	if p.answer != nil {
		stored, err = p.answer(p.writes, r.Value)
	}
	p.writes++
	if stored {
		p.stored = append(p.stored, r.Value)
		if p.keys == nil {
			p.keys = make(map[string]bool)
		}
		p.keys[string(r.Key)] = true
	}
	if errors.Is(err, errHang) {
		p.held = append(p.held, func() { done(r, nil) })
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	done(r, err)
}

func (p *topic) heal() { p.answer = nil }

// failing answers every write with an error, stored or not.
func failing(stored bool) func(int, []byte) (bool, error) {
	return func(int, []byte) (bool, error) { return stored, errAway }
}

// trail verifies everything that lies in the topic.
func trail(values ...[]byte) audit.Trail {
	var v audit.Verifier
	for i, value := range values {
		v.Add(envelope.Coordinates{Topic: "recon.audit", Offset: int64(i)}, value)
	}
	return v.Result()
}

// faults lists the findings as `fault@seq`.
func faults(t audit.Trail) string {
	var s []string
	for _, f := range t.Findings {
		s = append(s, fmt.Sprintf("%s@%d", f.Fault, f.Seq))
	}
	return strings.Join(s, " ")
}

// told lists the ids of the events that lie in the topic, by the place of their records in the chain; records that come
// again are not counted.
func told(t *testing.T, values [][]byte) []string {
	t.Helper()
	ids := make(map[int64][]string)
	for _, v := range values {
		r, err := audit.Decode(v)
		if err != nil {
			t.Fatal(err)
		}
		if r.Entry == nil || ids[r.Seq] != nil {
			continue
		}
		for _, e := range r.Entry.Events {
			ids[r.Seq] = append(ids[r.Seq], e.EventID)
		}
	}
	var all []string
	for _, seq := range slices.Sorted(maps.Keys(ids)) {
		all = append(all, ids[seq]...)
	}
	return all
}

func config() audit.Config {
	return audit.Config{Topic: "recon.audit", Service: "consumer", Instance: "host-1", Version: "1.2.3", ConfigDigest: "abcd"}
}

func open(t *testing.T, p audit.Producer) *audit.Chain {
	t.Helper()
	c, err := audit.Open(t.Context(), config(), p)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func at(partition int32, offset int64) envelope.Coordinates {
	return envelope.Coordinates{Topic: "recon.main", Partition: partition, Offset: offset}
}

var noon = time.Date(2026, 11, 30, 12, 0, 0, 123e6, time.UTC)

// posting is the event of a record that posted.
func posting(offset int64, amount string) audit.Event {
	root := at(0, offset)
	return audit.Event{
		Type: audit.EventPosted, At: noon, Root: root, Attempt: 1, MessageID: envelope.MessageID(root),
		TraceID: "4bf92f3577b34da6a3ce929d0e0e4736", SourceHash: fmt.Sprintf("v1:sha256:%064x", offset),
		MatchDecision: "MATCHED", Entity: "ACME-DE", Currency: "EUR", Amount: amount,
	}
}

// entry covers one record that posted.
func entry(offset int64) audit.Entry {
	e := audit.Entry{Topic: "recon.main", From: offset, To: offset + 1}
	e.Add(audit.OutcomePosted, posting(offset, "10.00"))
	return e
}
