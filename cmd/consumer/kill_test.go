package main_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	main "recon/cmd/consumer"
	"recon/internal/testkit"
	"recon/pkg/audit"
	"recon/pkg/ledger"
	"recon/pkg/topics"
)

// setting reads a number that `make chaos` raises.
func setting(name string, value int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return value
}

// plant is the service with everything around it, real, under names of its own.
type plant struct {
	t      *testing.T
	env    []string
	prefix string
	names  topics.Names
	kafka  string
	ledger *ledger.SQL
	client *kgo.Client
	server *testkit.Server // a broker of its own; nil: the shared one
}

const mainPartitions = 6

func newPlant(t *testing.T, tiers string) *plant {
	t.Helper()
	return newPlantAt(t, tiers, nil)
}

// newPlantAt stands on a broker of its own where there is one.
func newPlantAt(t *testing.T, tiers string, server *testkit.Server) *plant {
	t.Helper()
	p := &plant{t: t, prefix: testkit.Prefix(t), kafka: testkit.Kafka(t), server: server}
	if server != nil {
		p.kafka = server.Kafka()
	}
	p.names = topics.Names{Prefix: p.prefix}
	postgres := testkit.Postgres(t)
	p.env = []string{
		"RECON_KAFKA_BROKERS=" + p.kafka, "RECON_REDIS_URL=" + testkit.Redis(t), "RECON_LEDGER_URL=" + postgres,
		"RECON_TOPICS_PREFIX=" + p.prefix, "RECON_GROUP=" + p.prefix, "RECON_RETRY_TIERS=" + tiers,
		"RECON_LISTEN=127.0.0.1:0", "RECON_TIMEOUT_SESSION=6s", "RECON_CONFIG=" + p.file(),
	}
	clean(t, p.env...)
	testkit.CreateTopics(t, p.kafka, mainPartitions, nil, p.names.Main())
	var out, errs bytes.Buffer
	if code := main.Execute([]string{"topics", "--apply"}, &out, &errs); code != 0 {
		t.Fatalf("topics --apply: exit %d\n%s%s", code, out.String(), errs.String())
	}
	p.openLedger(postgres)
	var err error
	if p.client, err = kgo.NewClient(kgo.SeedBrokers(p.kafka), kgo.DefaultProduceTopic(p.names.Main())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		defer p.client.Close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		all, err := kadm.NewClient(p.client).ListTopics(ctx)
		if err == nil {
			mine := slices.DeleteFunc(all.Names(), func(n string) bool { return len(n) <= len(p.prefix) || n[:len(p.prefix)] != p.prefix })
			_, _ = kadm.NewClient(p.client).DeleteTopics(ctx, mine...)
		}
	})
	return p
}

// openLedger uses the ledger at url from now on.
func (p *plant) openLedger(url string) {
	p.t.Helper()
	l, err := ledger.Open(url, ledger.Config{})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(l.Close)
	p.ledger = l
	for _, err := range []error{l.Migrate(p.t.Context()), l.PutCurrency(p.t.Context(), "EUR")} {
		if err != nil {
			p.t.Fatal(err)
		}
	}
}

// set changes one setting of the processes to come.
func (p *plant) set(name, value string) { p.t.Setenv(name, value) }

// rows is the number of postings, or why they cannot be counted now.
func (p *plant) rows() (n int, err error) {
	err = p.ledger.Each(p.t.Context(), func(ledger.Posting) error { n++; return nil })
	return n, err
}

// file is a configuration whose waits suit a test.
func (p *plant) file() string {
	p.t.Helper()
	name := p.t.TempDir() + "/recon.yaml"
	content := "retry:\n  policies:\n    COUNTERPART_NOT_ARRIVED: {max_attempts: 99, base_delay: 200ms, cap: 2s}\n" +
		"    DEPENDENCY_UNAVAILABLE: {max_attempts: 99, base_delay: 500ms, cap: 2s}\n" +
		"    DEPENDENCY_TIMEOUT: {max_attempts: 99, base_delay: 500ms, cap: 2s}\n"
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return name
}

// load writes n records: one in a hundred in a currency that the ledger does not know, three in ten with a document
// that arrives later. It returns the documents.
func (p *plant) load(n int) (documents []string) {
	p.t.Helper()
	for i := range n {
		currency, counterpart := "EUR", ""
		switch {
		case i%100 == 50:
			currency = "SEK"
		case i%10 < 3:
			documents = append(documents, fmt.Sprintf("doc-%06d", i))
			counterpart = `,"counterpart_ref":"` + documents[len(documents)-1] + `"`
		}
		value := fmt.Sprintf(`{"source_hash":"%s-%06d","ledger_entity":"ACME-%d","currency":"%s","amount":"%d.25","match_decision":"UNMATCHED"%s}`,
			p.prefix, i, i%7, currency, i-n/2, counterpart)
		p.client.Produce(p.t.Context(), &kgo.Record{Key: []byte("key-" + strconv.Itoa(i%500)), Value: []byte(value)}, func(_ *kgo.Record, err error) {
			if err != nil {
				p.t.Errorf("produce: %v", err)
			}
		})
	}
	if err := p.client.Flush(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	return documents
}

// postings counts rows, and hashes that have more than one.
func (p *plant) postings() (rows, twice int) {
	p.t.Helper()
	seen := make(map[string]int)
	err := p.ledger.Each(p.t.Context(), func(post ledger.Posting) error {
		rows++
		seen[post.SourceHash]++
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, n := range seen {
		if n > 1 {
			twice++
		}
	}
	return rows, twice
}

// evidence takes the books.
func (p *plant) evidence() *audit.Evidence {
	p.t.Helper()
	ladder := []string{}
	all, err := kadm.NewClient(p.client).ListTopics(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	for _, name := range all.Names() {
		if len(name) > len(p.names.TierPrefix()) && name[:len(p.names.TierPrefix())] == p.names.TierPrefix() {
			ladder = append(ladder, name)
		}
	}
	e, err := audit.Read(p.t.Context(), audit.ReadConfig{
		Options: []kgo.Opt{kgo.SeedBrokers(p.kafka)}, Group: p.prefix, Main: p.names.Main(), Tiers: ladder,
		DLQ: p.names.DLQ(), Dispositions: p.names.Dispositions(), Audit: p.names.Audit(),
		Postings: func(ctx context.Context, yield func(audit.Posting) error) error {
			return p.ledger.Each(ctx, func(post ledger.Posting) error {
				return yield(audit.Posting{
					SourceHash: post.SourceHash, Root: post.Root, Generation: post.Generation, Digest: post.Digest,
					Money: audit.Money{Currency: post.Currency, Amount: post.Amount, Readable: true},
				})
			})
		},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return e
}

// lag is what the group has not committed.
func (p *plant) lag() int64 {
	p.t.Helper()
	lags, err := kadm.NewClient(p.client).Lag(p.t.Context(), p.prefix)
	if err != nil {
		p.t.Fatal(err)
	}
	total := int64(0)
	for _, l := range lags {
		total += l.Lag.Total()
	}
	return total
}

// Promises 1 and 2: whatever is killed when, no record is lost, none posts twice, and the books close.
func TestKilledConsumersLoseNothingAndPostNothingTwice(t *testing.T) {
	p := newPlant(t, "200ms,1s,2s")
	n, kills := setting("CHAOS_RECORDS", 3000), setting("CHAOS_KILLS", 3)
	seed := setting("SEED", int(time.Now().UnixNano()%1_000_000))
	t.Logf("SEED=%d: %d records, %d kills", seed, n, kills)
	dice := rand.New(rand.NewPCG(uint64(seed), 1))
	documents := p.load(n)
	members := []*testkit.Process{testkit.Child(t, "run", "RECON_INSTANCE=one"), testkit.Child(t, "run", "RECON_INSTANCE=two")}
	var arrivals sync.WaitGroup
	arrivals.Go(func() {
		for _, i := range dice.Perm(len(documents)) {
			if err := p.ledger.PutDocument(t.Context(), documents[i]); err != nil && t.Context().Err() == nil {
				t.Errorf("document: %v", err)
				return
			}
		}
	})
	// A kill falls while there is work: the gap is drawn, and the next kill waits for progress.
	want := n - n/100
	for k := range kills {
		goal := want * (k + 1) / (kills + 2)
		for rows := 0; rows < goal; rows, _ = p.postings() {
			time.Sleep(50 * time.Millisecond)
		}
		time.Sleep(time.Duration(dice.IntN(400)) * time.Millisecond)
		victim := dice.IntN(len(members))
		members[victim].Kill()
		<-members[victim].Done()
		members[victim] = testkit.Child(t, "run", "RECON_INSTANCE="+[]string{"one", "two"}[victim])
	}
	arrivals.Wait()
	limit := time.Now().Add(5 * time.Minute)
	for rows := 0; rows < want || p.lag() > 0; rows, _ = p.postings() {
		if time.Now().After(limit) {
			t.Fatalf("%d of %d posted, lag %d", rows, want, p.lag())
		}
		time.Sleep(200 * time.Millisecond)
	}
	for _, m := range members {
		if code := m.Stop(); code != 0 {
			t.Errorf("a member ended with exit %d", code)
		}
	}
	rows, twice := p.postings()
	if rows != want || twice != 0 {
		t.Errorf("%d postings, %d hashes twice, want %d and none", rows, twice, want)
	}
	e := p.evidence()
	var said bytes.Buffer
	if err := e.Books.Result().Print(&said); err != nil {
		t.Fatal(err)
	}
	if !e.Books.Result().Closes() {
		t.Errorf("the books do not close:\n%s", said.String())
	}
	if dead := e.Books.Result().By[audit.AsOpen].All().Records; dead != n/100 {
		t.Errorf("%d open letters, want %d", dead, n/100)
	}
	if !e.Trail.Intact() {
		t.Errorf("the trail is broken: %v", e.Trail.Findings)
	}
	t.Logf("\n%s", said.String())
}
