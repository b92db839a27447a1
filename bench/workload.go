package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/broker"
	"recon/pkg/consumer"
	"recon/pkg/dedup"
	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/topics"
)

// workload is a preloaded main topic of 500-byte records, with everything else that a pass needs.
type workload struct {
	o      options
	prefix string
	names  topics.Names
	ladder topics.Ladder
	client *kgo.Client
	passes int
}

const partitions = 6

func newWorkload(ctx context.Context, o options) (*workload, error) {
	w := &workload{o: o, prefix: "bench-" + strconv.FormatInt(time.Now().UnixNano(), 36), ladder: topics.Ladder{2 * time.Second, time.Hour}}
	w.names = topics.Names{Prefix: w.prefix}
	var err error
	w.client, err = kgo.NewClient(kgo.SeedBrokers(o.broker), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MaxBufferedRecords(100_000))
	if err != nil {
		return nil, err
	}
	adm := kadm.NewClient(w.client)
	if _, err := adm.CreateTopics(ctx, partitions, 1, nil, append(w.names.Written(w.ladder), w.bin())...); err != nil {
		return nil, err
	}
	var failed atomic.Pointer[error]
	for i := range o.records {
		r := &kgo.Record{Topic: w.names.Main(), Partition: int32(i % partitions), Key: []byte("key-" + strconv.Itoa(i%50_000)), Value: value(i)}
		w.client.Produce(ctx, r, func(_ *kgo.Record, err error) {
			if err != nil {
				failed.Store(&err)
			}
		})
	}
	if err := w.client.Flush(ctx); err != nil {
		return nil, err
	}
	if err := failed.Load(); err != nil {
		return nil, *err
	}
	return w, nil
}

// bin is where the bare loop writes what fails.
func (w *workload) bin() string { return w.prefix + ".bare" }

func (w *workload) close() {
	defer w.client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	adm := kadm.NewClient(w.client)
	all, err := adm.ListTopics(ctx)
	if err == nil {
		mine := slices.DeleteFunc(all.Names(), func(n string) bool { return !strings.HasPrefix(n, w.prefix) })
		_, _ = adm.DeleteTopics(ctx, mine...)
	}
}

// value is a record of 500 bytes.
func value(i int) []byte {
	v := fmt.Sprintf(`{"message_id":"00000000-0000-4000-8000-%012d","source_hash":"v1:sha256:%064d","ledger_entity":"DE02120300000000202051","currency":"EUR","amount":"%d.25","match_decision":"UNMATCHED","booking_date":"2026-11-30","value_date":"2026-11-30","trace_id":"%032d","source_system":"bench","remittance":"`, i, i, i%100_000, i)
	return append(append([]byte(v), make500[:500-len(v)-2]...), `"}`...)
}

var make500 = []byte(strings.Repeat("x", 500))

// fails tells whether record i fails, spread evenly.
func fails(offset int64, percent int) bool { return int(offset%100) < percent }

// bare is the loop that a good engineer writes by hand: poll, the same decoder, failing records produced without
// waiting, autocommit of what is done.
func (w *workload) bare(ctx context.Context, failing int) error {
	w.passes++
	cl, err := kgo.NewClient(kgo.SeedBrokers(w.o.broker), kgo.ConsumerGroup(fmt.Sprintf("%s-bare-%d", w.prefix, w.passes)),
		kgo.ConsumeTopics(w.names.Main()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return err
	}
	defer cl.Close()
	var failed atomic.Pointer[error]
	for done := 0; done < w.o.records; {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		fetches.EachRecord(func(r *kgo.Record) {
			done++
			m, err := envelope.Decode(r.Value, r.Headers)
			if err != nil || m.SourceHash == "" {
				failed.Store(&err)
			}
			if fails(r.Offset, failing) {
				out := &kgo.Record{Topic: w.bin(), Partition: r.Partition, Key: r.Key, Value: r.Value, Headers: r.Headers}
				cl.Produce(ctx, out, func(_ *kgo.Record, err error) {
					if err != nil {
						failed.Store(&err)
					}
				})
			}
		})
	}
	if err := cl.Flush(ctx); err != nil {
		return err
	}
	if err := failed.Load(); err != nil {
		return *err
	}
	return cl.CommitUncommittedOffsets(ctx)
}

// ours is the engine over the same records: in-process claims, audit as said. A failing record goes to a tier where it
// stays for longer than the pass.
func (w *workload) ours(ctx context.Context, failing int, audit bool) error {
	w.passes++
	var done atomic.Int64
	finished := make(chan struct{})
	observe := consumer.WithObserve(func(ev consumer.Event) {
		if (ev.Kind == consumer.Posted || ev.Kind == consumer.RetryScheduled) && done.Add(1) == int64(w.o.records) {
			close(finished)
		}
	})
	handler := consumer.HandlerFunc(func(_ context.Context, m *envelope.Message) error {
		if fails(m.Root.Offset, failing) {
			return fault.New(fault.CarrierUnreachable, "carrier does not answer")
		}
		return nil
	})
	return w.engine(ctx, handler, time.Hour, audit, finished, observe)
}

// engine runs one engine of a fresh group until finished is closed.
func (w *workload) engine(ctx context.Context, h consumer.Handler, wait time.Duration, audit bool, finished <-chan struct{}, opts ...consumer.Option) error {
	store, err := dedup.NewMemory(dedup.Options{})
	if err != nil {
		return err
	}
	cfg := consumer.Config{
		Broker: broker.Config{Seeds: []string{w.o.broker}}, Group: fmt.Sprintf("%s-ours-%d", w.prefix, w.passes),
		Topics: w.names, Tiers: w.ladder, Instance: "bench", Policies: fault.Defaults(),
	}
	cfg.Policies[fault.CarrierUnreachable] = fault.Policy{Class: fault.Transient, MaxAttempts: 6, Base: wait, Cap: wait, Spacing: fault.Fixed}
	if _, err := cfg.Policies.Fit(w.ladder.Largest(), nil); err != nil {
		return err
	}
	if !audit {
		opts = append(opts, consumer.WithoutAudit())
	}
	e, err := consumer.New(cfg, h, store, opts...)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	select {
	case <-finished:
		stop()
		return <-ended
	case err := <-ended:
		return errors.Join(errors.New("engine ended before the pass"), err)
	}
}
