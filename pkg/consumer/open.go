package consumer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/zap"

	"recon/pkg/audit"
	"recon/pkg/broker"
	"recon/pkg/dedup"
	"recon/pkg/topics"
)

// open asks broker, topics, group and store what it must know before the first record, begins the trail, and only then
// makes the client that joins the group: a member that cannot work yet holds no partition.
func (e *Engine) open(ctx context.Context, l *loop) error {
	base, err := e.cfg.Broker.Options()
	if err != nil {
		return err
	}
	asking, err := kgo.NewClient(append(base, e.writing()...)...)
	if err != nil {
		return fmt.Errorf("kafka client: %w", err)
	}
	defer asking.Close()
	if err := broker.Await(ctx, e.patience, asking); err != nil {
		return err
	}
	adm := kadm.NewClient(asking)
	if err := e.openTopics(ctx, adm); err != nil {
		return err
	}
	if err := e.openStore(ctx, adm); err != nil {
		return err
	}
	e.writeBy(asking)
	if err := e.openJournal(ctx, base); err != nil {
		return err
	}
	life, end := context.WithCancel(context.Background())
	if e.client, err = kgo.NewClient(slices.Concat(base, e.reading(l), e.writing(), []kgo.Opt{kgo.WithContext(life)})...); err != nil {
		end()
		return fmt.Errorf("kafka client of group %s: %w", e.cfg.Group, err)
	}
	e.endLife = end
	e.writeBy(e.client)
	return nil
}

// writeBy has cl make every write from now on.
func (e *Engine) writeBy(cl *kgo.Client) {
	e.producer = cl
	if e.wrap != nil {
		e.producer = e.wrap(cl)
	}
}

// openTopics finds the tiers to read, the configured ones and those that exist from an earlier configuration, and the
// size that each topic takes. A topic that is missing is an error: nothing is ever created on the way.
func (e *Engine) openTopics(ctx context.Context, adm *kadm.Client) error {
	var found *topics.Found
	err := e.patiently(ctx, "the topics", kerr.IsRetriable, func() (err error) {
		found, err = topics.Inspect(ctx, adm, e.cfg.Topics, e.cfg.Tiers)
		return err
	})
	if err != nil {
		return err
	}
	if missing := found.Missing(e.cfg.Topics.Written(e.cfg.Tiers)); len(missing) > 0 {
		return fmt.Errorf("%w: %v: `consumer topics --apply` creates all but %s", ErrTopicMissing, missing, e.cfg.Topics.Main())
	}
	e.tiers = make(map[string]struct{})
	for _, topic := range found.Tiers() {
		e.tiers[topic] = struct{}{}
	}
	if err := e.judge(found.Verify()); err != nil {
		return err
	}
	e.limits = found.Limits()
	for _, topic := range []string{e.cfg.Topics.DLQ(), e.cfg.Topics.Audit()} {
		if n := e.limit(topic); n < wholeLetter {
			return fmt.Errorf("%w: %s has max.message.bytes=%d, want at least %d, or a record could end nowhere: `consumer topics --apply` sets it", ErrTopicTooSmall, topic, n, wholeLetter)
		}
	}
	return nil
}

// judge refuses topics that lose records by compaction: two records of one key are two transactions. What else breaks a
// promise is told, each start anew; `consumer check --online` has it all.
func (e *Engine) judge(findings []topics.Finding) error {
	var errs []error
	for _, f := range topics.Wrongs(findings) {
		if f.Setting == topics.CleanupPolicy {
			errs = append(errs, fmt.Errorf("%w: %s", ErrTopicCompacted, f))
			continue
		}
		e.log.Error("topic setting breaks a promise of the service", zap.String("topic", f.Topic), zap.String("finding", f.String()))
	}
	return errors.Join(errs...)
}

// openStore begins with the store, which wants to know whether this group has ever committed an offset.
func (e *Engine) openStore(ctx context.Context, adm *kadm.Client) error {
	offsets, err := broker.Committed(ctx, e.patience, adm, e.cfg.Group)
	if err != nil {
		return err
	}
	away := func(err error) bool {
		if !errors.Is(err, dedup.ErrUnavailable) {
			return false
		}
		if e.storeAway.Swap(&err) == nil {
			e.observe(Event{Kind: StoreAway, At: time.Now(), Err: err})
		}
		return true
	}
	err = e.patiently(ctx, "the dedup store (RECON_REDIS_URL)", away, func() error {
		return e.store.Open(ctx, len(offsets) > 0, e.cfg.FromStart)
	})
	if err == nil && e.storeAway.Swap(nil) != nil {
		e.observe(Event{Kind: StoreBack, At: time.Now()})
	}
	return err
}

// patiently asks again while the answer is one that time can heal, for as long as a start may take.
func (e *Engine) patiently(ctx context.Context, whom string, heals func(error) bool, ask func() error) error {
	limit := time.Now().Add(e.patience)
	for n := 0; ; n++ {
		err := ask()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err() // whatever the answer was: a stop is no fault
		case !heals(err):
			return err
		}
		if time.Now().Add(pause(n)).After(limit) {
			return fmt.Errorf("waited %s for %s: %w", e.patience, whom, err)
		}
		if !sleep(ctx, pause(n)) {
			return ctx.Err()
		}
	}
}

// openJournal begins this process's chain in the audit topic, unless the evidence goes elsewhere.
func (e *Engine) openJournal(ctx context.Context, base []kgo.Opt) error {
	if e.silent || e.journal != nil {
		return nil
	}
	cfg := audit.Config{
		Topic: e.cfg.Topics.Audit(), Service: e.cfg.Service, Instance: e.cfg.Instance, Version: e.cfg.Version,
		ConfigDigest: e.cfg.ConfigDigest, MaxBytes: e.limit(e.cfg.Topics.Audit()),
	}
	whatever := func(err error) bool { // a chain that could not begin is given up, and harms nobody
		e.observe(Event{Kind: WriteRefused, At: time.Now(), Topic: cfg.Topic, Count: 1, Err: err})
		return true
	}
	err := e.patiently(ctx, "the audit topic", whatever, func() error {
		head, found, err := audit.LastHead(ctx, base, cfg.Topic, cfg.Service, cfg.Instance)
		if err != nil {
			return err
		}
		if found {
			cfg.Predecessor = head
		}
		e.chain, err = audit.Open(ctx, cfg, timed{e})
		return err
	})
	if err != nil {
		return err
	}
	e.journal = e.chain
	return nil
}

// timed gives every write of the trail the same limit of time as any other write of the engine.
type timed struct{ e *Engine }

// Produce writes r within the limit.
func (t timed) Produce(ctx context.Context, r *kgo.Record, done func(*kgo.Record, error)) {
	t.e.produce(ctx, r, func(err error) { done(r, err) })
}

// reading are the options of a client that polls main and tiers, and commits.
func (e *Engine) reading(l *loop) []kgo.Opt {
	read := []string{e.cfg.Topics.Main()}
	for topic := range e.tiers {
		read = append(read, topic)
	}
	opts := []kgo.Opt{
		kgo.ConsumerGroup(e.cfg.Group), kgo.ConsumeTopics(read...),
		kgo.AutoCommitMarks(), kgo.AutoCommitInterval(e.cfg.CommitInterval), kgo.AutoCommitCallback(l.onCommit),
		kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(l.onAssigned), kgo.OnPartitionsRevoked(l.onRevoked), kgo.OnPartitionsLost(l.onLost),
		// A transaction's markers count as done records, so that resting lag is 0 (MECHANICS a).
		kgo.KeepControlRecords(), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		// A new group reads from the start; a known one whose offset is gone is told so, and never skips.
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()), kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.SessionTimeout(e.cfg.SessionTimeout), kgo.HeartbeatInterval(e.cfg.SessionTimeout / 5),
		kgo.RebalanceTimeout(e.cfg.RebalanceTimeout), kgo.FetchMaxWait(e.cfg.FetchWait),
	}
	if e.cfg.Protocol == ProtocolConsumer {
		return append(opts, kgo.ServerSideBalancer())
	}
	opts = append(opts, kgo.Balancers(kgo.CooperativeStickyBalancer()))
	if e.cfg.StaticMember {
		opts = append(opts, kgo.InstanceID(e.cfg.Instance))
	}
	return opts
}

// writing are the options of a client that writes copies, letters, dispositions and the trail.
func (e *Engine) writing() []kgo.Opt {
	return []kgo.Opt{
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordPartitioner(topics.Partitioner(e.cfg.Topics)), kgo.ProducerLinger(0),
		// A write that must end in time ends: with a hung broker only this bounds it (MECHANICS d).
		kgo.AllowIdempotentProduceCancellation(), kgo.RecordDeliveryTimeout(e.cfg.ProduceTimeout),
		kgo.ProduceRequestTimeout(e.cfg.ProduceTimeout), kgo.MaxBufferedRecords(maxBuffered),
		kgo.ProducerBatchMaxBytesFn(func(topic string) int32 { return int32(e.limit(topic)) }),
	}
}

const (
	// maxBuffered is above everything that can be unsettled at once, so that a write never blocks the loop.
	maxBuffered = 1 << 20
	// wholeLetter is what a letter without its original needs at most, with headers and batch (CONTRACT 5: 48 KiB without
	// them), and what an audit record does.
	wholeLetter = 64 << 10
	// unknownLimit is a topic's size limit where the broker did not tell: its own default (Apache Kafka 4.3.1).
	unknownLimit = 1_048_588
)

// limit is the largest batch that topic takes, in bytes.
func (e *Engine) limit(topic string) int {
	if n, ok := e.limits[topic]; ok {
		return n
	}
	return unknownLimit
}

// keeper asks from time to time whether a broker answers (a poll says nothing when none does, or when the password is
// wrong), and tells the store once that the group has committed.
func (e *Engine) keeper(ctx context.Context) {
	for sleep(ctx, keepEvery) {
		limited, cancel := context.WithTimeout(ctx, keepLimit)
		err := broker.Ping(limited, e.client)
		_ = e.tellCommitted(limited) // asked again
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			e.brokerAway.Store(nil)
		default:
			if e.brokerAway.Swap(&err) == nil {
				e.observe(Event{Kind: PollError, At: time.Now(), Err: err})
			}
		}
	}
}

const (
	keepEvery = 5 * time.Second
	keepLimit = 5 * time.Second
)

// tellCommitted lets the store remember that this group had offsets: one that has none later on is told from a new one.
// The store knows when it has been told.
func (e *Engine) tellCommitted(ctx context.Context) error {
	if !e.committed.Load() {
		return nil
	}
	return e.store.MarkCommitted(ctx)
}
