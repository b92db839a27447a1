package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"recon/internal/config"
	"recon/internal/testkit"
	"recon/pkg/consumer"
	"recon/pkg/envelope"
	"recon/pkg/ledger"
	"recon/pkg/replay"
	"recon/pkg/topics"
)

// plant is the service with everything around it, real, under names of its own. Its consumer is in this process.
type plant struct {
	t        *testing.T
	settings *config.Effective
	names    topics.Names
	opts     []kgo.Opt
	adm      *kadm.Client
	cl       *kgo.Client // writes to main
	ledger   *ledger.SQL
	stop     func() // ends the consumer
}

// patience is well above what any step takes, so that a fault ends a test and does not hang it.
const patience = 2 * time.Minute

// env is over what a plant has by itself.
func newPlant(t *testing.T, env ...string) *plant {
	t.Helper()
	prefix := testkit.Prefix(t)
	p := &plant{t: t, names: topics.Names{Prefix: prefix}}
	testkit.Settings(t, append([]string{
		"RECON_KAFKA_BROKERS=" + testkit.Kafka(t), "RECON_REDIS_URL=" + testkit.Redis(t), "RECON_LEDGER_URL=" + testkit.Postgres(t),
		"RECON_TOPICS_PREFIX=" + prefix, "RECON_GROUP=" + prefix, "RECON_RETRY_TIERS=1s,30s", "RECON_TIMEOUT_SESSION=6s",
		"RECON_DEDUP_RUN_LEASE=3s",
	}, env...)...)
	var err error
	if p.settings, err = config.Load(config.Source{File: os.Getenv("RECON_CONFIG"), Env: os.LookupEnv}); err != nil {
		t.Fatal(err)
	}
	if p.opts, err = p.settings.Broker(nil).Options(); err != nil {
		t.Fatal(err)
	}
	if p.cl, err = kgo.NewClient(append(p.opts, kgo.DefaultProduceTopic(p.names.Main()))...); err != nil {
		t.Fatal(err)
	}
	p.adm = kadm.NewClient(p.cl)
	t.Cleanup(p.cl.Close)
	p.apply()
	p.openLedger()
	p.consume()
	return p
}

// apply does what `consumer topics --apply` does.
func (p *plant) apply() {
	p.t.Helper()
	ladder, err := p.settings.Ladder()
	if err != nil {
		p.t.Fatal(err)
	}
	testkit.CreateTopics(p.t, p.settings.Kafka.Brokers[0], 3, nil, p.names.Main())
	found, err := topics.Inspect(p.t.Context(), p.adm, p.names, ladder)
	if err != nil {
		p.t.Fatal(err)
	}
	plan, err := found.Plan()
	if err == nil {
		err = plan.Apply(p.t.Context(), p.adm)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	made := append(p.names.Written(ladder)[1:], p.names.Quarantine())
	p.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_, _ = p.adm.DeleteTopics(ctx, made...)
	})
	p.await("leaders of the topics", func() bool {
		adm, err := kadm.NewOptClient(p.opts...) // a client keeps what it was told for seconds
		if err != nil {
			return false
		}
		defer adm.Close()
		ends, err := adm.ListEndOffsets(p.t.Context(), made...)
		return err == nil && ends.Error() == nil
	})
}

// openLedger knows EUR.
func (p *plant) openLedger() {
	p.t.Helper()
	var err error
	if p.ledger, err = p.settings.OpenLedger(nil); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(p.ledger.Close)
	if err := errors.Join(p.ledger.Migrate(p.t.Context()), p.ledger.PutCurrency(p.t.Context(), "EUR")); err != nil {
		p.t.Fatal(err)
	}
}

// consume starts the consumer. It ends with the test, or before by stop.
func (p *plant) consume() {
	p.t.Helper()
	cfg, err := p.settings.Consumer(nil, nil, "test")
	if err != nil {
		p.t.Fatal(err)
	}
	store, err := p.settings.Store()
	if err != nil {
		p.t.Fatal(err)
	}
	engine, err := consumer.New(cfg, p.ledger, store)
	if err != nil {
		p.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- engine.Run(ctx) }()
	p.stop = sync.OnceFunc(func() {
		stop()
		if err := errors.Join(<-ended, store.Close()); err != nil {
			p.t.Errorf("the consumer ended with %v", err)
		}
	})
	p.t.Cleanup(p.stop)
}

// send writes n messages of one currency to main, spread over entities; more is added to each.
func (p *plant) send(n int, currency, more string) {
	p.t.Helper()
	var rs []*kgo.Record
	for i := range n {
		value := fmt.Sprintf(`{"source_hash":"%s","ledger_entity":"ACME-%d","currency":"%s","amount":"%d","match_decision":"UNMATCHED","booking_date":"2026-01-15"%s}`,
			p.hash(currency, i), i%7, currency, 100+i, more)
		rs = append(rs, &kgo.Record{Key: fmt.Appendf(nil, "key-%d", i), Value: []byte(value)})
	}
	if err := p.cl.ProduceSync(p.t.Context(), rs...).FirstErr(); err != nil {
		p.t.Fatal(err)
	}
}

func (p *plant) hash(currency string, i int) string {
	return fmt.Sprintf("%s-%s-%06d", p.names.Prefix, currency, i)
}

// await asks ok until it is true.
func (p *plant) await(what string, ok func() bool) {
	p.t.Helper()
	limit := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(limit) {
			p.t.Fatalf("waited %s for %s", patience, what)
		}
		<-time.After(50 * time.Millisecond)
	}
}

func (p *plant) fold() *replay.Fold {
	p.t.Helper()
	f, err := replay.Read(p.t.Context(), p.opts, p.names, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	return f
}

// awaitLetters waits until so many letters have a status.
func (p *plant) awaitLetters(n int, status replay.Status) {
	p.t.Helper()
	p.await(fmt.Sprintf("%d letters %s", n, status), func() bool { return p.fold().Overview().ByStatus[status] >= n })
}

// committed waits until the group has committed everything.
func (p *plant) committed() {
	p.t.Helper()
	p.await("everything to be committed", func() bool {
		lags, err := p.adm.Lag(p.t.Context(), p.settings.Group)
		return err == nil && lags.Error() == nil && len(lags) == 1 && lags[p.settings.Group].Lag.Total() == 0
	})
}

// postings counts the ledger's rows by hash.
func (p *plant) postings() map[string]int {
	p.t.Helper()
	rows := make(map[string]int)
	err := p.ledger.Each(p.t.Context(), func(post ledger.Posting) error {
		rows[post.SourceHash]++
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return rows
}

// confirmations counts, per letter, the different dispositions that confirm it.
func (p *plant) confirmations() map[string]int {
	p.t.Helper()
	of := make(map[string]int)
	for c := range p.fold().All() {
		for _, s := range c.Steps {
			if s.State == envelope.Confirmed {
				of[c.EnvelopeID]++
			}
		}
	}
	return of
}

// child starts the replayer as a process of its own.
func (p *plant) child(args ...string) *testkit.Process {
	p.t.Helper()
	return testkit.Child(p.t, "replayer", argsEnv+"="+strings.Join(args, "\n"))
}

// decode reads what a command wrote as JSON.
func decode[T any](t *testing.T, s said) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(s.out), &v); err != nil {
		t.Fatalf("%v\n%s", err, s.out)
	}
	return v
}

// sql changes the ledger behind its back.
func (p *plant) sql(statement string, args ...any) {
	p.t.Helper()
	db, err := pgx.Connect(p.t.Context(), p.settings.Ledger.URL)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = db.Close(p.t.Context()) }()
	if _, err := db.Exec(p.t.Context(), statement, args...); err != nil {
		p.t.Fatal(err)
	}
}

// outcome is what tests look at of a report.
type outcome struct {
	Selected, Reinjected, Refused, Suppressed int
	Refusals                                  map[string]int
	After                                     struct {
		Confirmed   int
		Unconfirmed []string
	}
	Letters []struct{ Status string }
}
