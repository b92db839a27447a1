package ledger_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"go.uber.org/goleak"

	"recon/internal/testkit"
	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/ledger"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bundle is one test's own, migrated ledger.
type bundle struct {
	*ledger.SQL
	t    *testing.T
	url  string
	side *sql.DB // a connection beside the ledger's, as another program has it; nil until it is used
}

// suite runs one test over both databases; each run owns its tables. Under -short PostgreSQL is left out, so who calls it
// is named TestReal: the real suite picks its tests by that name.
func suite(t *testing.T, cfg ledger.Config, test func(*bundle)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(ready(t, file(t), cfg)) })
	t.Run("postgres", func(t *testing.T) { test(ready(t, testkit.Postgres(t), cfg)) })
}

func file(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "ledger.db") }

// open opens a ledger whose tables may be missing.
func open(t *testing.T, url string, cfg ledger.Config) *bundle {
	t.Helper()
	l, err := ledger.Open(url, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return &bundle{SQL: l, t: t, url: url}
}

func ready(t *testing.T, url string, cfg ledger.Config) *bundle {
	t.Helper()
	b := open(t, url, cfg)
	b.must(b.Migrate(t.Context()))
	return b
}

func (b *bundle) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// maps puts currencies into the currency map.
func (b *bundle) maps(codes ...string) {
	b.t.Helper()
	for _, code := range codes {
		b.must(b.PutCurrency(b.t.Context(), code))
	}
}

// quotes publishes a spot rate: one unit of base buys value units of quote. A clock that advances by a minute tells
// rates of one key apart.
func (b *bundle) quotes(base, quote, date, value string, edit ...func(*ledger.Rate)) {
	b.t.Helper()
	r := ledger.Rate{Base: base, Quote: quote, Date: date, Rate: amount(value), Source: "ECB"}
	for _, e := range edit {
		e(&r)
	}
	b.must(b.PutRate(b.t.Context(), r))
}

// posted is the posting of a hash as Each gives it; it fails the test when there is none or more than one.
func (b *bundle) posted(hash string) ledger.Posting {
	b.t.Helper()
	var found []ledger.Posting
	for _, p := range b.all() {
		if p.SourceHash == hash {
			found = append(found, p)
		}
	}
	if len(found) != 1 {
		b.t.Fatalf("%s: got %d postings, want 1", hash, len(found))
	}
	return found[0]
}

func (b *bundle) all() []ledger.Posting {
	b.t.Helper()
	var all []ledger.Posting
	b.must(b.Each(b.t.Context(), func(p ledger.Posting) error {
		all = append(all, p)
		return nil
	}))
	return all
}

// wantCode fails the test unless err carries the code and stage.
func (b *bundle) wantCode(err error, code fault.Code, stage fault.Stage) {
	b.t.Helper()
	v := fault.Of(err)
	if err == nil || v.Code != code || !v.Known || v.Stage != stage {
		b.t.Fatalf("got %v (%s at %s), want %s at %s", err, v.Code, v.Stage, code, stage)
	}
}

// wantPosted fails the test unless err says that root's posting is in the way.
func (b *bundle) wantPosted(err error, root envelope.Coordinates) *envelope.AlreadyPosted {
	b.t.Helper()
	var p *envelope.AlreadyPosted
	if !errors.As(err, &p) || p.Root != root || p.ID == "" || p.At.IsZero() || p.At.Location() != time.UTC {
		b.t.Fatalf("got %#v (%v), want the posting of %s", p, err, root)
	}
	return p
}

// message is a record that posts when EUR is mapped; n tells its hash and root from others.
func message(n int, edit ...func(*envelope.Message)) *envelope.Message {
	m := &envelope.Message{
		SourceHash:   fmt.Sprintf("v1:sha256:%08d", n),
		LedgerEntity: "ACME-DE", Currency: "EUR", Amount: amount("10.50"), HasAmount: true,
		MatchDecision: envelope.Unmatched, BookingDate: "2026-11-30",
		Digest: "0123456789abcdef", FirstSeen: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC),
	}
	m.Identify(envelope.Coordinates{Topic: "recon.main", Partition: 3, Offset: int64(n)})
	for _, e := range edit {
		e(m)
	}
	return m
}

func amount(s string) decimal.Decimal { return decimal.RequireFromString(s) }

// eventually polls a condition that others bring about; the deadline only ends a test that would never end.
func eventually(t *testing.T, what string, condition func(ctx context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !condition(ctx) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited a minute in vain: %s", what)
		}
	}
}

func contains(t *testing.T, err error, want ...string) {
	t.Helper()
	for _, w := range want {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("got %v, want it to say %q", err, w)
		}
	}
}
