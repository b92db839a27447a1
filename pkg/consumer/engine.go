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

	"recon/pkg/audit"
	"recon/pkg/dedup"
	"recon/pkg/envelope"
)

// What ends an engine that nothing can heal while it runs. errors.Is finds them in what Run returns.
var (
	ErrOffsetGone     = errors.New("committed offset is outside the log")
	ErrTopicRecreated = errors.New("topic recreated")
	ErrTopicMissing   = errors.New("topic missing")
	ErrTopicCompacted = errors.New("topic is compacted")
	ErrTopicTooSmall  = errors.New("topic takes no whole letter")
	ErrFenced         = errors.New("another process has this static member id")
	ErrHandlerStuck   = errors.New("handlers ignore the end of their context")
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
	silent  bool    // no audit trail
	given   Journal // in place of the audit topic

	router   router
	tiers    map[string]struct{} // topics that are read as tiers
	limits   map[string]int      // max.message.bytes by topic
	client   *kgo.Client
	endLife  context.CancelFunc // ends whatever the client waits for
	producer Producer
	wrap     func(Producer) Producer // tests stand between engine and broker here
	journal  Journal
	chain    *audit.Chain // the engine's own journal; nil: there is none

	patience time.Duration // for broker and store to answer at a start
	loop     atomic.Pointer[loop]
	end      atomic.Pointer[end]

	storeAway                 atomic.Pointer[error] // why the store does not answer; nil: it does
	brokerAway                atomic.Pointer[error]
	assigned                  atomic.Int64 // partitions; below 0: not yet any assignment
	committed                 atomic.Bool  // some offset was committed
	stopping                  atomic.Bool  // no record is taken any more
	unknownSince, unknownLast time.Time    // of UNKNOWN_TOPIC_ID; the poller's
}

// Option changes what an Engine does beside its main job.
type Option func(*Engine)

// WithObserve has every Event told to f, by several goroutines at once; f must not block.
func WithObserve(f func(Event)) Option { return func(e *Engine) { e.observe = f } }

// WithLogger sets the logger; without one nothing is logged.
func WithLogger(l *zap.Logger) Option { return func(e *Engine) { e.log = l } }

// WithJournal has outcomes told to j in place of the audit topic. Whoever gives it closes it, after Run has returned.
func WithJournal(j Journal) Option { return func(e *Engine) { e.given = j } }

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
		cfg: cfg, handler: h, store: s, observe: func(Event) {}, log: zap.NewNop(), patience: cfg.StartupTimeout,
	}
	for _, opt := range opts {
		opt(e)
	}
	e.router = router{
		names: cfg.Topics, ladder: cfg.Tiers, policies: cfg.Policies, periods: cfg.Periods,
		producer: envelope.Producer{
			Service: cfg.Service, Version: cfg.Version, Instance: cfg.Instance, Group: cfg.Group, ConfigDigest: cfg.ConfigDigest,
		},
	}
	e.renew(context.Background())
	if err := kgo.ValidateOpts(append(e.reading(e.loop.Load()), e.writing()...)...); err != nil {
		return nil, fmt.Errorf("consumer: settings of the kafka client: %w", err)
	}
	return e, nil
}

// Run works until ctx ends, which ends intake; what is in hand then has Config.Grace to end by itself. It returns nil
// after such a stop, and otherwise what made going on impossible. It may be called once.
//
// A member that the group has thrown out joins anew, with another client: it reads again what it had not committed.
func (e *Engine) Run(ctx context.Context) error {
	for {
		// Work outlives intake: its context ends a grace later.
		e.renew(context.WithoutCancel(ctx))
		err := e.membership(ctx)
		if err != errExpelled { //nolint:errorlint // alone, not among others
			return err
		}
		e.observe(Event{Kind: Expelled, At: time.Now(), Err: err})
		if !sleep(ctx, rejoinPause) {
			return nil
		}
		e.patience = later
	}
}

// rejoinPause keeps a member that is thrown out again and again from doing nothing but joining.
const rejoinPause = time.Second

// later is how long broker and store may take to answer a member that joins anew: as long as one that runs waits for them.
const later = 100 * 365 * 24 * time.Hour

// renew makes what one membership needs: nothing of an earlier one can reach it.
func (e *Engine) renew(work context.Context) {
	e.loop.Store(newLoop(work, e))
	e.end.Store(&end{ended: make(chan struct{})})
	e.assigned.Store(-1)
	e.stopping.Store(false)
	e.brokerAway.Store(nil) // storeAway stays: only an answer of the store ends it
	e.journal, e.chain = e.given, nil
}

// end is why a membership ends before it is told to.
type end struct {
	once  sync.Once // guards err and the closing of ended
	err   error
	ended chan struct{}
}

// cause is what ended the membership, nil while nothing has.
func (e *end) cause() error {
	select {
	case <-e.ended:
		return e.err
	default:
		return nil
	}
}

// fatal ends the membership with err, the first one counts. All but errExpelled end the engine.
func (e *Engine) fatal(err error) {
	end := e.end.Load()
	end.once.Do(func() {
		end.err = err
		close(end.ended)
	})
}

// Ready tells why the engine takes no records now; empty means that it does.
func (e *Engine) Ready() []string {
	var why []string
	if e.stopping.Load() {
		why = append(why, "stops, or has stopped")
	}
	if e.assigned.Load() < 0 {
		why = append(why, "no partition was assigned yet")
	}
	if err := e.storeAway.Load(); err != nil {
		why = append(why, fmt.Sprintf("dedup store: %v", *err))
	}
	if err := e.brokerAway.Load(); err != nil {
		why = append(why, fmt.Sprintf("broker: %v", *err))
	}
	if err := e.end.Load().cause(); err != nil {
		why = append(why, fmt.Sprintf("stopped: %v", err))
	}
	return why
}
