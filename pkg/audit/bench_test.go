package audit_test

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/audit"
)

// acked acknowledges everything at once.
type acked struct{}

func (acked) Produce(_ context.Context, r *kgo.Record, done func(*kgo.Record, error)) { done(r, nil) }

const eventsPerEntry = 500

func fullEntry() audit.Entry {
	e := audit.Entry{Topic: "recon.main", From: 1000, To: 1000 + eventsPerEntry}
	for i := range int64(eventsPerEntry) {
		e.Add(audit.OutcomePosted, posting(1000+i, "1234.56"))
	}
	return e
}

// BenchmarkAppend is what the trail costs per event without the broker: text, hash, link. The aim is 1 µs for the text.
func BenchmarkAppend(b *testing.B) {
	c, err := audit.Open(context.Background(), config(), acked{})
	if err != nil {
		b.Fatal(err)
	}
	e := fullEntry()
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Append(context.Background(), e); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*eventsPerEntry), "ns/event")
}

// BenchmarkAdd is what building an entry costs per event: id, root hash, totals.
func BenchmarkAdd(b *testing.B) {
	events := fullEntry().Events
	b.ReportAllocs()
	for b.Loop() {
		e := audit.Entry{Events: make([]audit.Event, 0, len(events))}
		for i := range events {
			ev := events[i]
			ev.EventID = ""
			e.Add(audit.OutcomePosted, ev)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*eventsPerEntry), "ns/event")
}

// BenchmarkHash is the part of Append that SHA-256 takes.
func BenchmarkHash(b *testing.B) {
	var p topic
	c, err := audit.Open(context.Background(), config(), &p)
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Append(context.Background(), fullEntry()); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		audit.Hash(p.stored[1])
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*eventsPerEntry), "ns/event")
	b.ReportMetric(float64(len(p.stored[1]))/eventsPerEntry, "bytes/event")
}

// BenchmarkDecode is what a reader pays per event.
func BenchmarkDecode(b *testing.B) {
	var p topic
	c, err := audit.Open(context.Background(), config(), &p)
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Append(context.Background(), fullEntry()); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := audit.Decode(p.stored[1]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*eventsPerEntry), "ns/event")
}
