// Package demo shows the whole life of bank records in one process: posted, retried, dead-lettered, mended, replayed and
// accounted for. It runs the ordinary code; only addresses, tiers and policies differ, through demo.yaml.
package demo

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"recon/internal/config"
	"recon/internal/sandbox"
	"recon/pkg/audit"
	"recon/pkg/consumer"
	"recon/pkg/ledger"
	"recon/pkg/topics"
)

//go:embed demo.yaml
var settings []byte

// Options say how the demo ends.
type Options struct {
	Keep    bool // leaves the ledger's file and says where it is
	Version string
}

// ErrNotClosed is a demo whose books do not close, or in which a hash posted twice.
var ErrNotClosed = errors.New("the demo's books do not close")

// stage is everything that is set up for the play.
type stage struct {
	box      *sandbox.Sandbox
	settings *config.Effective
	names    topics.Names
	opts     []kgo.Opt
	ledger   *ledger.SQL
	carrier  *carrier
	view     *view
	count    *tally
}

const partitions = 3

// Run plays the scenario and tells it to out. It ends by itself; nil means that completeness closed and no hash posted
// twice.
func Run(ctx context.Context, out io.Writer, o Options) (err error) {
	v := newView(out)
	v.settings(settings)
	s, err := build(ctx, v, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(o.Keep)) }()
	end, err := s.consume(ctx, o)
	if err != nil {
		return err
	}
	played := s.play(ctx)
	if err := errors.Join(played, end()); err != nil {
		return err
	}
	return s.account(ctx)
}

// build opens the sandbox, the topics and the ledger with what its owners have put there.
func build(ctx context.Context, v *view, o Options) (*stage, error) {
	e, err := config.Load(config.Source{YAML: settings})
	if err != nil {
		return nil, err
	}
	s := &stage{settings: e, names: e.Names(), view: v, count: newTally()}
	if s.box, err = sandbox.Open(s.names.Main(), partitions); err != nil {
		return nil, err
	}
	e.Kafka.Brokers, e.Ledger.URL = s.box.Brokers(), "sqlite:"+s.box.LedgerFile()
	v.say("embedded broker at %s, dedup store in this process, ledger at %s\n", strings.Join(e.Kafka.Brokers, ","), s.box.LedgerFile())
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.close(o.Keep))
	}
	return s, nil
}

func (s *stage) open(ctx context.Context) error {
	var err error
	if s.opts, err = s.settings.Broker(nil).Options(); err != nil {
		return err
	}
	if err := s.applyTopics(ctx); err != nil {
		return err
	}
	if s.ledger, err = s.settings.OpenLedger(nil); err != nil {
		return err
	}
	if err := s.ledger.Migrate(ctx); err != nil {
		return err
	}
	s.carrier = &carrier{ledger: s.ledger}
	return s.seed(ctx)
}

// applyTopics does what `consumer topics --apply` does.
func (s *stage) applyTopics(ctx context.Context) error {
	cl, err := kgo.NewClient(append(s.opts, kgo.MetadataMinAge(100*time.Millisecond))...) // new topics are seen at once
	if err != nil {
		return err
	}
	defer cl.Close()
	ladder, err := s.settings.Ladder()
	if err != nil {
		return err
	}
	adm := kadm.NewClient(cl)
	found, err := topics.Inspect(ctx, adm, s.names, ladder)
	if err != nil {
		return err
	}
	plan, err := found.Plan()
	if err != nil {
		return err
	}
	return plan.Apply(ctx, adm)
}

// consume starts the engine. end stops it and returns what it returned.
func (s *stage) consume(ctx context.Context, o Options) (end func() error, err error) {
	cfg, err := s.settings.Consumer(nil, nil, o.Version)
	if err != nil {
		return nil, err
	}
	engine, err := consumer.New(cfg, s.carrier, s.box.Store, consumer.WithObserve(func(ev consumer.Event) {
		s.count.see(ev)
		s.view.event(ev)
	}))
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- engine.Run(ctx) }()
	return func() error {
		stop()
		return <-ended
	}, nil
}

// account takes the books as `replayer audit verify` does, from the topics and the ledger.
func (s *stage) account(ctx context.Context) error {
	ladder, err := s.settings.Ladder()
	if err != nil {
		return err
	}
	var tiers []string
	for _, d := range ladder {
		tiers = append(tiers, s.names.Tier(d))
	}
	twice := make(map[string]int)
	e, err := audit.Read(ctx, audit.ReadConfig{
		Options: s.opts, Group: s.settings.Group, Main: s.names.Main(), Tiers: tiers,
		DLQ: s.names.DLQ(), Dispositions: s.names.Dispositions(), Audit: s.names.Audit(),
		Postings: func(ctx context.Context, yield func(audit.Posting) error) error {
			return s.ledger.Each(ctx, func(p ledger.Posting) error {
				twice[p.SourceHash]++
				return yield(p.Evidence())
			})
		},
	})
	if err != nil {
		return err
	}
	result := e.Books.Result()
	s.view.books(result, e.Trail)
	for hash, n := range twice {
		if n > 1 {
			return fmt.Errorf("%w: %s has %d postings", ErrNotClosed, hash, n)
		}
	}
	if !result.Closes() || !e.Trail.Intact() {
		return ErrNotClosed
	}
	return nil
}

func (s *stage) close(keep bool) error {
	if s.ledger != nil {
		s.ledger.Close()
	}
	if keep {
		s.view.say("the ledger stays at %s (SQLite)", s.box.LedgerFile())
	}
	return s.box.Close(keep)
}

// await waits until ok or the end of patience.
func await(ctx context.Context, what string, ok func() bool) error {
	limit := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(limit) {
			return fmt.Errorf("waited %s for %s", patience, what)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

// patience is well above what any step of the scenario takes, so that a fault ends the demo and does not hang it.
const patience = 60 * time.Second
