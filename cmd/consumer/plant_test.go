package main_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
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
	testkit.Settings(t, p.env...)
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

// load writes n records: one in a hundred in a currency that the ledger does not know, three others in ten with a
// document that arrives later. It returns the documents.
func (p *plant) load(n int) (documents []string) {
	p.t.Helper()
	for i := range n {
		currency, counterpart := "EUR", ""
		switch {
		case i%100 == 55:
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
	a := newAccount()
	if err := p.ledger.Each(p.t.Context(), a.post); err != nil {
		p.t.Fatal(err)
	}
	return a.postings()
}

// tiers are the delay topics that exist.
func (p *plant) tiers() (names []string) {
	p.t.Helper()
	all, err := kadm.NewClient(p.client).ListTopics(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	for _, name := range all.Names() {
		if strings.HasPrefix(name, p.names.TierPrefix()) && name != p.names.TierPrefix() {
			names = append(names, name)
		}
	}
	return names
}

// evidence takes the books.
func (p *plant) evidence() *audit.Evidence {
	p.t.Helper()
	e, err := audit.Read(p.t.Context(), audit.ReadConfig{
		Options: []kgo.Opt{kgo.SeedBrokers(p.kafka)}, Group: p.prefix, Main: p.names.Main(), Tiers: p.tiers(),
		DLQ: p.names.DLQ(), Dispositions: p.names.Dispositions(), Audit: p.names.Audit(),
		Postings: func(ctx context.Context, yield func(audit.Posting) error) error {
			return p.ledger.Each(ctx, func(post ledger.Posting) error { return yield(post.Evidence()) })
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
