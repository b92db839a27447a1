package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shopspring/decimal"
	"github.com/twmb/franz-go/pkg/kgo"

	"recon/examples/ingester/statement"
	"recon/pkg/audit"
	"recon/pkg/consumer"
	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/ledger"
	"recon/pkg/replay"
	"recon/pkg/topics"
)

// carrier is the handler of the demo: a question to a carrier before the ledger, for records of its billing.
type carrier struct {
	ledger *ledger.SQL
	up     atomic.Bool
}

// stageCarrier is where a record fails while the carrier does not answer.
var stageCarrier = fault.Register("carrier_status")

// ask is the dependency that the scenario switches.
func (c *carrier) ask(m *envelope.Message) error {
	if m.SourceSystem != "carrier-billing" || c.up.Load() {
		return nil
	}
	return fault.At(stageCarrier, fault.On("carrier", fault.New(fault.CarrierUnreachable, "the carrier does not answer")))
}

// Handle asks the carrier, then posts.
func (c *carrier) Handle(ctx context.Context, m *envelope.Message) error {
	if err := c.ask(m); err != nil {
		return err
	}
	return c.ledger.Handle(ctx, m)
}

// Precheck says whether m would post now.
func (c *carrier) Precheck(ctx context.Context, m *envelope.Message) error {
	if err := c.ask(m); err != nil {
		return err
	}
	return c.ledger.Precheck(ctx, m)
}

// The facts of the scenario: what the ledger's owners know at the start, and what they learn later.
const (
	company   = "NORDWIND-DE"
	lateDoc   = "GR-2026-0815"
	lateDay   = "2026-11-27"
	usdPerDay = "1.1600"
	sekPerDay = "11.1450"
)

// seed is what the ledger's owners have entered before the first record: two currencies, one entity with a base
// currency. SEK, the rates of the day and one goods receipt are missing.
func (s *stage) seed(ctx context.Context) error {
	return errors.Join(
		s.ledger.PutCurrency(ctx, "EUR"), s.ledger.PutCurrency(ctx, "USD"), s.ledger.PutEntity(ctx, company, "EUR"),
	)
}

// play is the scenario: feed, wait, mend, replay.
func (s *stage) play(ctx context.Context) error {
	sent, err := s.feed(ctx)
	if err != nil {
		return err
	}
	s.view.title("%d records are on %s", sent, s.names.Main())
	time.Sleep(1500 * time.Millisecond)
	s.view.title("the rate EUR/USD of %s is published, late; goods receipt %s arrives, late", lateDay, lateDoc)
	if err := errors.Join(s.rate(ctx, "USD", usdPerDay), s.ledger.PutDocument(ctx, lateDoc)); err != nil {
		return err
	}
	if err := await(ctx, "an outcome of every record", func() bool { return s.count.ended() == sent }); err != nil {
		return err
	}
	posted, suppressed, dead := s.count.by()
	s.view.title("every record has an outcome: %d posted, %d suppressed, %d dead letters", posted, suppressed, dead)
	s.view.title("the causes are mended: the ledger learns SEK and its rate, the carrier answers again")
	s.carrier.up.Store(true)
	if err := errors.Join(s.ledger.PutCurrency(ctx, "SEK"), s.rate(ctx, "SEK", sekPerDay)); err != nil {
		return err
	}
	return s.replay(ctx)
}

func (s *stage) rate(ctx context.Context, quote, value string) error {
	return s.ledger.PutRate(ctx, ledger.Rate{
		Base: "EUR", Quote: quote, Date: lateDay, Type: "spot", Rate: decimal.RequireFromString(value),
		Source: "demo", PublishedAt: time.Now().UTC(),
	})
}

// feed sends the bank files and the other systems' messages, as examples/ingester would.
func (s *stage) feed(ctx context.Context) (sent int, err error) {
	cl, err := kgo.NewClient(append(s.opts, kgo.DefaultProduceTopic(s.names.Main()))...)
	if err != nil {
		return 0, err
	}
	defer cl.Close()
	var recs []*kgo.Record
	for _, name := range []string{"camt053.xml", "mt940.sta", "card.csv", "payroll.ach", "bai2.txt"} {
		file, err := readBankFile(name)
		if err != nil {
			return 0, err
		}
		s.view.say("%s: %s, %d records", file.Name, file.Format, len(file.Records))
		for _, r := range file.Records {
			recs = append(recs, &kgo.Record{Key: []byte(r.Key), Value: r.Value})
		}
	}
	feed, err := statement.Testdata.ReadFile("testdata/feed.jsonl")
	if err != nil {
		return 0, err
	}
	lines := bytes.Split(bytes.TrimSpace(feed), []byte("\n"))
	s.view.say("feed.jsonl: messages of other systems, %d records", len(lines))
	for _, line := range lines {
		recs = append(recs, &kgo.Record{Key: []byte(company), Value: line})
	}
	return len(recs), cl.ProduceSync(ctx, recs...).FirstErr()
}

func readBankFile(name string) (*statement.File, error) {
	content, err := statement.Testdata.ReadFile(path.Join("testdata", name))
	if err != nil {
		return nil, err
	}
	var opts statement.Options
	if path.Ext(name) == ".csv" {
		opts.Entity = company // a CSV names no account
	}
	return statement.Read(name, bytes.NewReader(content), opts)
}

// replay does what `replayer replay` does: a plan, the gates, the run, the wait for confirmation.
func (s *stage) replay(ctx context.Context) error {
	cl, err := kgo.NewClient(append(s.opts, kgo.RecordPartitioner(topics.Partitioner(s.names)))...)
	if err != nil {
		return err
	}
	defer cl.Close()
	chain, err := audit.Open(ctx, audit.Config{Topic: s.names.Audit(), Service: "recon-replayer", Instance: "demo", ConfigDigest: s.settings.Digest()}, cl)
	if err != nil {
		return err
	}
	runner, err := replay.New(replay.Config{
		Topics: s.names, Options: s.opts, Producer: cl, Journal: chain, Store: s.box.Store,
		Gates: []replay.Gate{replay.Integrity{}, replay.Cause{Handler: s.carrier}, replay.Idempotency{Store: s.box.Store, Ledger: s.ledger}, replay.Temporal{}},
		Owner: "demo", Actor: "demo", Reason: "currency mapped, carrier back", RootCause: "mapping_missing",
	})
	if err != nil {
		return err
	}
	fold, err := replay.Read(ctx, s.opts, s.names, nil)
	if err != nil {
		return err
	}
	plan, err := runner.Plan(ctx, fold, replay.Selection{All: true})
	if err != nil {
		return err
	}
	s.view.plan(plan)
	report, err := runner.Run(ctx, fold, plan)
	if err != nil && !errors.Is(err, replay.ErrIncomplete) {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := runner.Wait(waiting, fold, report); err != nil && !errors.Is(err, replay.ErrIncomplete) {
		return err
	}
	s.view.report(report)
	if left := len(report.After().Unconfirmed); left > 0 {
		return fmt.Errorf("%d replayed letters were not confirmed within %s", left, patience)
	}
	return chain.Close(ctx)
}

// tally counts outcomes by root: a record that comes again counts once.
type tally struct {
	mu   sync.Mutex // guards ends
	ends map[envelope.Coordinates]consumer.Kind
}

func newTally() *tally { return &tally{ends: make(map[envelope.Coordinates]consumer.Kind)} }

func (t *tally) see(ev consumer.Event) {
	switch ev.Kind {
	case consumer.Posted, consumer.Suppressed, consumer.DeadLettered:
		t.mu.Lock()
		defer t.mu.Unlock()
		t.ends[ev.Root] = ev.Kind
	}
}

func (t *tally) ended() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.ends)
}

func (t *tally) by() (posted, suppressed, dead int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, kind := range t.ends {
		switch kind {
		case consumer.Posted:
			posted++
		case consumer.Suppressed:
			suppressed++
		default:
			dead++
		}
	}
	return posted, suppressed, dead
}
