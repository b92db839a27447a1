package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/consumer"
	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// lateness has records wait on the first tier for a fixed 2 s, and measures by how much the second attempt begins after
// its due time. None may begin before.
func lateness(ctx context.Context, o options) ([]result, error) {
	var mu sync.Mutex
	due := make(map[string]time.Time)
	var late []time.Duration
	early := 0
	finished := make(chan struct{})
	observe := consumer.WithObserve(func(ev consumer.Event) {
		if ev.Kind == consumer.RetryScheduled {
			mu.Lock()
			defer mu.Unlock()
			due[ev.Message.SourceHash] = ev.Due
		}
	})
	began := make(map[string]time.Time)
	handler := consumer.HandlerFunc(func(_ context.Context, m *envelope.Message) error {
		now := time.Now()
		if m.Attempt == 0 {
			return fault.New(fault.CarrierUnreachable, "carrier does not answer")
		}
		mu.Lock()
		defer mu.Unlock()
		if began[m.SourceHash] = now; len(began) == o.waiting {
			close(finished)
		}
		return nil
	})
	fresh, err := newWorkload(ctx, options{broker: o.broker, records: 0})
	if err != nil {
		return nil, err
	}
	defer fresh.close()
	for i := range o.waiting {
		r := &kgo.Record{Topic: fresh.names.Main(), Partition: int32(i % partitions), Key: []byte("key-" + strconv.Itoa(i)), Value: value(i)}
		fresh.client.Produce(ctx, r, nil)
	}
	if err := fresh.client.Flush(ctx); err != nil {
		return nil, err
	}
	if err := fresh.engine(ctx, handler, 2*time.Second, false, finished, observe); err != nil {
		return nil, fmt.Errorf("lateness: %w", err)
	}
	for hash, at := range began {
		d := at.Sub(due[hash])
		if late = append(late, d); d < 0 {
			early++
		}
	}
	slices.Sort(late)
	ms := func(q int) float64 { return float64(late[(len(late)-1)*q/100].Microseconds()) / 1000 }
	fmt.Printf("lateness of %d records after a fixed wait of 2 s: p50 %.1f ms, p99 %.1f ms, max %.1f ms, early %d\n", len(late), ms(50), ms(99), ms(100), early)
	return []result{
		{"late_first_p50_ms", ms(50), "ms", ms(50), 0}, {"late_first_p99_ms", ms(99), "ms", ms(99), 0}, {"early", float64(early), "attempts", float64(early), 0},
	}, nil
}
