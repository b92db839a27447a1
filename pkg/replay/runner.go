package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/topics"
)

// Config is all that a Runner needs. Fields without a default are required; for making plans alone Producer, Journal
// and Owner are not needed.
type Config struct {
	Topics   topics.Names
	Options  []kgo.Opt // how to reach the broker for reading: no group, no topics
	Producer Producer
	Journal  Journal
	Store    Store
	Gates    []Gate // asked in this order; without any, every letter would pass, so there must be one

	Owner        string // names this run where the lease is asked for: host, process, person
	Actor        string // who does it, as claimed
	Reason       string
	RootCause    string
	Ticket       string
	RootCauses   []string // allowed besides those of the contract
	Service      string   // name in the evidence; default recon-replayer
	ConfigDigest string

	Concurrency    int           // letters at once, each of another ledger entity; default 8
	Rate           float64       // letters begun per second; 0: no limit
	PlanLife       time.Duration // of a new plan; default 24 h
	Grace          time.Duration // for work in hand once the run is asked to end; default 30 s
	ProduceTimeout time.Duration // of one write; default 30 s

	Observe  func(Event)             // by several goroutines at once; it must not block
	Progress func(read, total int64) // of reading DLQ and dispositions
}

// rootCauses are those of the contract.
var rootCauses = []string{
	"mapping_missing", "rate_late", "feed_schema", "dependency_outage", "duplicate_feed", "master_data", "counterpart_late", "unknown",
}

// RootCauses lists the root causes of the contract.
func RootCauses() []string { return slices.Clone(rootCauses) }

func (c *Config) fill() {
	set(&c.Service, "recon-replayer")
	set(&c.Concurrency, 8)
	set(&c.PlanLife, 24*time.Hour)
	set(&c.Grace, 30*time.Second)
	set(&c.ProduceTimeout, 30*time.Second)
	if c.Observe == nil {
		c.Observe = func(Event) {}
	}
}

func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// maxLabel is how long names in evidence may be, in characters.
const maxLabel = 200

// leastRate is about one letter a day; the time between two stays far within what a clock counts.
const leastRate = 1e-5

// isName tells whether a disposition takes s as its root cause. One that it does not take must be found before the
// original is on main: it would never get its `reinjected`.
func isName(s string) bool {
	return s != "" && len(s) <= 64 && s[0] >= 'a' && s[0] <= 'z' && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

func (c *Config) validate() error {
	var errs []error
	wrong := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	errs = append(errs, c.Topics.Validate())
	wrong(c.Store != nil, "a replay needs the dedup store")
	wrong(len(c.Gates) > 0, "a replay needs gates")
	wrong(c.Actor != "" && len(c.Actor) <= maxLabel, "--as: want a name of 1 to %d characters", maxLabel)
	wrong(strings.TrimSpace(c.Reason) != "", "--reason is missing: say why these letters may come back")
	wrong(slices.Contains(append(RootCauses(), c.RootCauses...), c.RootCause), "--root-cause %q: want one of %s",
		c.RootCause, strings.Join(append(RootCauses(), c.RootCauses...), ", "))
	for _, cause := range c.RootCauses {
		wrong(isName(cause), "replay.root_causes: %q: want 1 to 64 characters of a-z, 0-9 and _, the first a letter", cause)
	}
	wrong(len(c.Ticket) <= maxLabel, "--ticket: want at most %d characters", maxLabel)
	wrong(c.Concurrency > 0, "--concurrency %d: want a number from 1", c.Concurrency)
	wrong(c.Rate == 0 || c.Rate >= leastRate, "--rate %g: want 0, which is no limit, or at least %g", c.Rate, leastRate)
	wrong(c.PlanLife > 0 && c.Grace > 0 && c.ProduceTimeout > 0, "plan life %s, grace %s, produce timeout %s: want durations above 0",
		c.PlanLife, c.Grace, c.ProduceTimeout)
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w: %w", ErrUsage, err)
	}
	return nil
}

// Runner makes plans and executes them.
type Runner struct {
	cfg Config
}

// New checks the configuration and does no I/O. The error is ErrUsage and names every mistake.
func New(cfg Config) (*Runner, error) {
	cfg.fill()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Runner{cfg: cfg}, nil
}

// Kind is what an Event tells of.
type Kind string

// What a Runner tells.
const (
	Checked Kind = "checked" // the gates were asked, for a plan
	Ended   Kind = "ended"   // a run is done with a letter
)

// Event is one thing that happened to one letter.
type Event struct {
	Kind        Kind
	Case        *Case
	Outcome     Outcome // of Checked
	Result      Result  // of Ended
	Done, Total int     // letters of this plan or run
}

// Plan asks the gates about every letter that sel chooses and freezes the answers. It writes nothing anywhere.
// ErrNothing: no letter that could come back matches. ErrPrecondition: the topics or the store have lost what the
// answers would rest on.
func (r *Runner) Plan(ctx context.Context, f *Fold, sel Selection) (*Plan, error) {
	if err := sel.ValidateForWriting(); err != nil {
		return nil, err
	}
	if err := f.whole(); err != nil {
		return nil, err
	}
	cases := sel.pick(f, (*Case).Replayable)
	if len(cases) == 0 {
		return nil, fmt.Errorf("%w: no open letter matches %s", ErrNothing, sel.String())
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	p := &Plan{
		Action: ActionReplay, CreatedAt: now, ExpiresAt: now.Add(r.cfg.PlanLife), Actor: r.cfg.Actor, Reason: r.cfg.Reason,
		RootCause: r.cfg.RootCause, Ticket: r.cfg.Ticket, Selection: sel.String(),
	}
	for batch := range batches(cases, func(c *Case) int { return c.size }) {
		verdicts, err := r.ask(ctx, batch)
		if err != nil {
			return nil, err
		}
		for i, v := range verdicts {
			p.Entries = append(p.Entries, newEntry(batch[i], v))
			if v.outcome == Reinject || v.outcome == Complete {
				p.Totals.Add(batch[i])
			}
			r.cfg.Observe(Event{Kind: Checked, Case: batch[i], Outcome: v.outcome, Done: len(p.Entries), Total: len(cases)})
		}
	}
	return p, p.seal()
}

// How many letters, and how many bytes of their originals, are loaded at once; and how many letters may wait in a lane
// with theirs, which is enough to keep it busy while the next ones are loaded.
const (
	loadBatch = 200
	loadBytes = 16 << 20
	laneAhead = 16
)

// ask loads letters and asks the gates about each, several at once.
func (r *Runner) ask(ctx context.Context, cases []*Case) ([]verdict, error) {
	opened, err := Load(ctx, r.cfg.Options, cases)
	if err != nil {
		return nil, err
	}
	verdicts := make([]verdict, len(opened))
	each(r.cfg.Concurrency, len(opened), func(i int) { verdicts[i] = judge(ctx, r.cfg.Gates, &opened[i]) })
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for _, v := range verdicts {
		if v.fatal != nil {
			return nil, v.fatal
		}
	}
	return verdicts, nil
}

// Check asks the gates about one letter and says what a replay would do with it now.
func (r *Runner) Check(ctx context.Context, c *Case) (*Opened, Entry, error) {
	opened, err := Load(ctx, r.cfg.Options, []*Case{c})
	if err != nil {
		return nil, Entry{}, err
	}
	v := judge(ctx, r.cfg.Gates, &opened[0])
	return &opened[0], newEntry(c, v), nil
}

// whole refuses a fold that lacks what its topics have lost.
func (f *Fold) whole() error {
	if gaps := f.Gaps(); len(gaps) > 0 {
		return fmt.Errorf("%w: %s; retention.ms of this topic must be -1", ErrPrecondition, strings.Join(gaps, "; "))
	}
	return nil
}

// every is the time between two letters under the rate.
func (c *Config) every() time.Duration {
	if c.Rate == 0 {
		return 0
	}
	return time.Duration(float64(time.Second) / c.Rate)
}

// each calls f for 0 to n-1, at most limit at once, and returns when all have returned.
func each(limit, n int, f func(i int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(limit, n) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	all.Wait()
}
