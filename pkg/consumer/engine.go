// Package consumer takes records off main and the tiers, has each one handled, and gives it a durable outcome before
// its offset is committed: posted, suppressed, waiting on a tier, or in the DLQ as a letter.
package consumer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/zap"

	"recon/pkg/dedup"
	"recon/pkg/envelope"
)

// What ends an engine that nothing can heal while it runs. errors.Is finds them in what Run returns.
var (
	ErrOffsetGone     = errors.New("committed offset is outside the log")
	ErrTopicRecreated = errors.New("topic recreated")
	ErrTopicMissing   = errors.New("topic missing")
)

// Producer writes records; *kgo.Client is one. An error means that nobody knows whether the record is in the log.
type Producer interface {
	Produce(ctx context.Context, r *kgo.Record, done func(*kgo.Record, error))
}

// Engine is one member of the group. It is made by New and runs once.
type Engine struct {
	cfg     Config
	handler Handler
	store   dedup.Store
	observe func(Event)
	log     *zap.Logger
	silent  bool // no audit trail

	router   router
	tiers    map[string]struct{} // topics that are read as tiers
	limits   map[string]int      // max.message.bytes by topic
	client   *kgo.Client
	producer Producer
	wrap     func(Producer) Producer // tests stand between engine and broker here
	journal  Journal

	loop      *loop
	loopEnded chan struct{}
	pool      *pool
	starting  []*delivery // of this turn; the loop's
	claims    chan *claimBatch
	settles   chan *settleBatch
	proofs    chan *proof

	work     context.Context // ends all work in hand
	stopWork context.CancelFunc
	failed   chan struct{} // closed with the first fatal error
	once     sync.Once     // guards failure and the closing of failed
	failure  error

	storeAway                 atomic.Pointer[error] // why the store does not answer; nil: it does
	brokerAway                atomic.Pointer[error]
	assigned                  atomic.Int64 // partitions; below 0: not yet any assignment
	committed                 atomic.Bool  // some offset was committed; the store is told once
	unknownSince, unknownLast time.Time    // of UNKNOWN_TOPIC_ID; the poller's
}

// Option changes what an Engine does beside its main job.
type Option func(*Engine)

// WithObserve has every Event told to f, by several goroutines at once; f must not block.
func WithObserve(f func(Event)) Option { return func(e *Engine) { e.observe = f } }

// WithLogger sets the logger; without one nothing is logged.
func WithLogger(l *zap.Logger) Option { return func(e *Engine) { e.log = l } }

// WithJournal has outcomes told to j in place of the audit topic.
func WithJournal(j Journal) Option { return func(e *Engine) { e.journal = j } }

// WithoutAudit writes no audit trail at all: for benchmarks, and for whoever keeps evidence elsewhere.
func WithoutAudit() Option { return func(e *Engine) { e.silent = true } }

// WithProducer puts f between the engine and the broker, for every write that the engine makes.
func WithProducer(f func(Producer) Producer) Option { return func(e *Engine) { e.wrap = f } }

// New makes an engine and checks its configuration; it does no I/O. The error names every mistake.
func New(cfg Config, h Handler, s dedup.Store, opts ...Option) (*Engine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if h == nil || s == nil {
		return nil, errors.New("consumer: want a handler and a dedup store, got none")
	}
	cfg = cfg.withDefaults()
	e := &Engine{
		cfg: cfg, handler: h, store: s, observe: func(Event) {}, log: zap.NewNop(),
		loopEnded: make(chan struct{}), failed: make(chan struct{}),
		claims: make(chan *claimBatch, batchesOut), settles: make(chan *settleBatch, batchesOut), proofs: make(chan *proof, 1),
	}
	e.assigned.Store(-1)
	for _, opt := range opts {
		opt(e)
	}
	e.router = router{
		names: cfg.Topics, ladder: cfg.Tiers, policies: cfg.Policies, periods: cfg.Periods,
		producer: envelope.Producer{
			Service: cfg.Service, Version: cfg.Version, Instance: cfg.Instance, Group: cfg.Group, ConfigDigest: cfg.ConfigDigest,
		},
	}
	e.loop = newLoop(e)
	e.pool = newPool(cfg.Concurrency, e.handle)
	return e, nil
}

// Run works until ctx ends, which ends intake; what is in hand then has Config.Grace to end by itself. It returns nil
// after such a stop, and otherwise what made going on impossible. It may be called once.
func (e *Engine) Run(ctx context.Context) error {
	// Work outlives intake: it has a context of its own, which ends a grace later.
	e.work, e.stopWork = context.WithCancel(context.WithoutCancel(ctx))
	defer e.stopWork()
	if err := e.open(ctx); err != nil {
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			return nil
		}
		return err
	}
	defer e.client.CloseAllowingRebalance()

	intake, stopIntake := context.WithCancel(ctx)
	defer stopIntake()
	var polling, carrying, looping sync.WaitGroup
	loopDone := make(chan struct{})
	looping.Go(func() { e.loop.run(loopDone) })
	for range batchesOut {
		carrying.Go(func() { e.claimer(e.work) })
		carrying.Go(func() { e.settler(e.work) })
	}
	carrying.Go(func() { e.journalist(e.work) })
	polling.Go(func() { e.poller(intake) })
	polling.Go(func() { e.keeper(intake) })

	select {
	case <-ctx.Done():
	case <-e.failed:
	}
	stopIntake()
	e.finishWork()
	polling.Wait()
	e.stopWork()
	e.pool.stop()
	e.ask(func() { e.loop.leaveAll(Revoked) })
	close(loopDone)
	looping.Wait()
	close(e.loopEnded)
	close(e.claims)
	close(e.settles)
	close(e.proofs)
	carrying.Wait()
	return errors.Join(e.failure, e.closing())
}

// finishWork lets what is in hand end, be settled and be marked, for the length of the grace.
func (e *Engine) finishWork() {
	done := make(chan struct{})
	e.ask(func() {
		all := make(map[string][]int32)
		for src := range e.loop.parts {
			all[src.topic] = append(all[src.topic], src.partition)
		}
		e.loop.drain(all, func() { close(done) })
	})
	grace := time.NewTimer(e.cfg.Grace)
	defer grace.Stop()
	select {
	case <-done:
	case <-grace.C:
	}
}

// closing commits what is marked and ends the trail, while the broker still knows this member.
func (e *Engine) closing() error {
	ctx, cancel := context.WithTimeout(context.Background(), closingTime)
	defer cancel()
	var errs []error
	if e.assigned.Load() >= 0 {
		if err := e.client.CommitMarkedOffsets(ctx); err != nil {
			errs = append(errs, fmt.Errorf("last commit of group %s: %w; what it held is read again and recognised", e.cfg.Group, err))
		}
	}
	if err := e.tellCommitted(ctx); err != nil {
		errs = append(errs, err)
	}
	if c, ok := e.journal.(interface{ Close(context.Context) error }); ok {
		if err := c.Close(ctx); err != nil {
			errs = append(errs, fmt.Errorf("closing entry of the audit chain: %w", err))
		}
	}
	return errors.Join(errs...)
}

// closingTime bounds the last commit and the closing entry together.
const closingTime = 10 * time.Second

// fatal ends the engine with err, the first one counts.
func (e *Engine) fatal(err error) {
	e.once.Do(func() {
		e.failure = err
		close(e.failed)
	})
}

// Ready tells why the engine takes no records now; empty means that it does.
func (e *Engine) Ready() []string {
	var why []string
	if e.assigned.Load() < 0 {
		why = append(why, "no partition was assigned yet")
	}
	if err := e.storeAway.Load(); err != nil {
		why = append(why, fmt.Sprintf("dedup store: %v", *err))
	}
	if err := e.brokerAway.Load(); err != nil {
		why = append(why, fmt.Sprintf("broker: %v", *err))
	}
	select {
	case <-e.failed:
		why = append(why, fmt.Sprintf("stopped: %v", e.failure))
	default:
	}
	return why
}
