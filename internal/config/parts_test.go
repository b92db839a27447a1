package config_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"recon/internal/config"
	"recon/pkg/broker"
	"recon/pkg/consumer"
	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/ledger"
	"recon/pkg/period"
)

func load(t *testing.T, yaml string) *config.Effective {
	t.Helper()
	e, err := config.Load(config.Source{YAML: []byte(yaml)})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// refused wants an error that names all of these.
func refused(t *testing.T, err error, want ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("it was taken, want it refused with %q", want)
		return
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error lacks %q: %v", w, err)
		}
	}
}

func TestPartsRefuseWhatTheyCannotBeMadeFrom(t *testing.T) {
	away := filepath.Join(t.TempDir(), "away.yaml")
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(bad, []byte("entities: 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ladder := func(e *config.Effective) error { _, err := e.Ladder(); return err }
	policies := func(e *config.Effective) error { _, _, err := e.Policies(24 * time.Hour); return err }
	store := func(e *config.Effective) error { _, err := e.Store(); return err }
	books := func(e *config.Effective) error { _, err := e.OpenLedger(nil); return err }
	periods := func(e *config.Effective) error { _, err := e.Periods(); return err }
	engine := func(e *config.Effective) error { _, err := e.Consumer(nil, nil, "v"); return err }
	for _, c := range []struct {
		name, yaml string
		made       func(*config.Effective) error
		want       []string
	}{
		{"tiers that are no durations, all named", "retry: {tiers: [2x, 5m, 3y]}", ladder, []string{"retry.tiers", `"2x"`, `"3y"`}},
		{"tiers that shrink", "retry: {tiers: [30s, 2s]}", ladder, []string{"2s"}},
		{"code that is none", "retry: {policies: {NO_SUCH: {cap: 1s}}}", policies, []string{"NO_SUCH", "docs/errors.md"}},
		{"attempts, base and cap that are none", "retry: {policies: {LOCK_CONTENTION: {max_attempts: few, base_delay: soon, cap: late}}}", policies, []string{"retry.policies.LOCK_CONTENTION", `max_attempts "few"`, `base_delay "soon"`, `cap "late"`}},
		{"spacing that is none", "retry: {policies: {LOCK_CONTENTION: {spacing: wild}}}", policies, []string{"LOCK_CONTENTION", "wild"}},
		{"no redis", "{}", store, []string{"redis.url (RECON_REDIS_URL)"}},
		{"redis that is none", "redis: {url: 'http://h'}", store, []string{"redis.url"}},
		{"memory without time", "redis: {url: 'redis://h:1'}\ndedup: {ttl: -1s}", store, []string{"redis.url"}},
		{"prefix of keys that is none", "redis: {url: 'redis://h:1'}\ntopics: {prefix: 'a{b'}", store, []string{"redis.url", `"a{b"`}},
		{"lease of a run without time", "redis: {url: 'redis://h:1'}\ndedup: {run_lease: -1s}", store, []string{"redis.url"}},
		{"no ledger", "{}", books, []string{"ledger.url (RECON_LEDGER_URL)"}},
		{"ledger that is none", "ledger: {url: 'mysql://h'}", books, []string{"ledger.url"}},
		{"day of rates that is none", "ledger: {url: 'sqlite:x'}\nfx: {date: someday}", books, []string{"someday"}},
		{"connections that are none", "ledger: {url: 'postgres://u@h/db', conns: -1}", books, []string{"ledger.url"}},
		{"calendar that is away", "calendar: {file: " + away + "}", periods, []string{"calendar.file", away}},
		{"calendar that is none", "calendar: {file: " + bad + "}", periods, []string{bad}},
		{"engine with tiers that are none", "kafka: {brokers: ['h:1']}\nretry: {tiers: [2x]}", engine, []string{`"2x"`}},
		{"engine with a policy that is none", "kafka: {brokers: ['h:1']}\nretry: {policies: {NO_SUCH: {cap: 1s}}}", engine, []string{"NO_SUCH"}},
		{"engine with an order that is none", "kafka: {brokers: ['h:1']}\norder: wild", engine, []string{"wild"}},
	} {
		t.Run(c.name, func(t *testing.T) { refused(t, c.made(load(t, c.yaml)), c.want...) })
	}
}

// Only a cap that the file names is held against the tiers; naming something else of the code leaves the default cap.
func TestDefaultCapOfANamedPolicyIsCutToo(t *testing.T) {
	p, cut, err := load(t, "retry: {policies: {LOCK_CONTENTION: {max_attempts: 7}}}").Policies(2 * time.Second)
	if err != nil || p[fault.LockContention].Cap != 2*time.Second || len(cut) == 0 {
		t.Errorf("cap %s, cut %v, %v, want 2s and cut", p[fault.LockContention].Cap, cut, err)
	}
}

func TestNoCalendarIsNone(t *testing.T) {
	if c, err := load(t, "{}").Periods(); c != nil || err != nil {
		t.Errorf("calendar %v, %v, want none", c, err)
	}
}

func TestEverySettingReachesTheEngine(t *testing.T) {
	e := load(t, `
kafka: {brokers: ['h:1'], client_id: me}
group: g
instance: i
static_member: true
topics: {prefix: p}
retry: {tiers: [1s, 2s]}
concurrency: 11
order: none
max_unsettled: 12
max_in_flight: 13
hold_budget: 14
dedup: {lease: 15s}
timeout: {handler: 16s, produce: 17s, grace: 18s, startup: 19s, session: 20s, rebalance: 21s}
`)
	got, err := e.Consumer(nil, nil, "v9")
	if err != nil {
		t.Fatal(err)
	}
	if got.Periods != nil {
		t.Errorf("periods %#v without a calendar, want nil", got.Periods)
	}
	policies, _, err := e.Policies(2 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	want := consumer.Config{
		Broker: broker.Config{Seeds: []string{"h:1"}, ClientID: "me"}, Group: "g", Instance: "i", StaticMember: true, Protocol: "classic",
		Topics: e.Names(), Tiers: []time.Duration{time.Second, 2 * time.Second}, Policies: policies, Concurrency: 11, Order: "none",
		MaxUnsettled: 12, MaxInFlight: 13, HoldBudget: 14, Lease: 15 * time.Second, HandlerTimeout: 16 * time.Second,
		ProduceTimeout: 17 * time.Second, Grace: 18 * time.Second, StartupTimeout: 19 * time.Second, SessionTimeout: 20 * time.Second,
		RebalanceTimeout: 21 * time.Second, Version: "v9", ConfigDigest: e.Digest(),
	}
	if want.Topics.Prefix != "p" || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	calendar := new(period.Calendar)
	if got, err = e.Consumer(nil, calendar, "v9"); err != nil || got.Periods != consumer.Periods(calendar) {
		t.Errorf("periods %v, %v, want the calendar", got.Periods, err)
	}
}

func TestEverySettingReachesTheBroker(t *testing.T) {
	got := load(t, `
kafka:
  brokers: ['h:1', 'h:2']
  client_id: me
  tls: {enabled: true, ca_file: ca, cert_file: cert, key_file: key, server_name: name}
  sasl: {mechanism: plain, user: u, password: p, password_file: f}
`).Broker(nil)
	want := broker.Config{
		Seeds: []string{"h:1", "h:2"}, ClientID: "me",
		TLS:  broker.TLS{Enabled: true, CAFile: "ca", CertFile: "cert", KeyFile: "key", ServerName: "name"},
		SASL: broker.SASL{Mechanism: "plain", User: "u", Password: "p", PasswordFile: "f"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// dollars is a record of a Saturday in a currency that is not the entity's.
func dollars(t *testing.T) *envelope.Message {
	t.Helper()
	m, err := envelope.Decode([]byte(`{"source_hash":"hash-0001","ledger_entity":"ACME","currency":"USD","amount":"1.00","match_decision":"MATCHED","booking_date":"2026-11-28"}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Identify(envelope.Coordinates{Topic: "recon.main", Offset: 1})
	return m
}

// Which rate is the right one, the settings decide: here only the opposite direction, of one type and source, is
// known, and the record is of the Saturday after.
func TestEverySettingOfRatesReachesTheLedger(t *testing.T) {
	for _, c := range []struct {
		name, fx string
		want     fault.Code
	}{
		{"all fit", "fx: {date: previous_business_day, type: average, source: ecb, inverse: true}", ""},
		{"no opposite", "fx: {date: previous_business_day, type: average, source: ecb}", fault.RateNotPublished},
		{"another type", "fx: {date: previous_business_day, source: ecb, inverse: true}", fault.RateNotPublished},
		{"another source", "fx: {date: previous_business_day, type: average, source: fed, inverse: true}", fault.RateNotPublished},
		{"another day", "fx: {type: average, source: ecb, inverse: true}", fault.RateNotPublished},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := load(t, "ledger: {url: 'sqlite:"+filepath.Join(t.TempDir(), "l")+"'}\n"+c.fx).OpenLedger(nil)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			ctx := context.Background()
			err = errors.Join(l.Migrate(ctx), l.PutCurrency(ctx, "USD"), l.PutEntity(ctx, "ACME", "EUR"), l.PutRate(ctx, ledger.Rate{
				Base: "USD", Quote: "EUR", Date: "2026-11-27", Type: "average", Rate: decimal.RequireFromString("0.8"), Source: "ecb",
			}))
			if err != nil {
				t.Fatal(err)
			}
			if err = l.Precheck(ctx, dollars(t)); (err == nil) != (c.want == "") || err != nil && fault.Of(err).Code != c.want {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestCalendarReachesTheLedger(t *testing.T) {
	calendar, err := period.Load("calendar.json", []byte(`{"version": 1, "revision": "1", "calendars": [{"id": "c", "timezone": "Europe/Berlin", "holidays": ["2026-11-27"],
		"periods": [{"id": "2026", "from": "2026-01-01", "to": "2026-12-31", "state": "open"}]}], "default": {"calendar": "c"}}`))
	if err != nil {
		t.Fatal(err)
	}
	// The calendar makes Friday a holiday: Saturday's rate is Thursday's.
	for _, c := range []struct {
		calendar *period.Calendar
		want     fault.Code
	}{{calendar, ""}, {nil, fault.RateNotPublished}} {
		l, err := load(t, "ledger: {url: 'sqlite:"+filepath.Join(t.TempDir(), "l")+"'}\nfx: {date: previous_business_day}").OpenLedger(c.calendar)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ctx := t.Context()
		err = errors.Join(l.Migrate(ctx), l.PutCurrency(ctx, "USD"), l.PutEntity(ctx, "ACME", "EUR"), l.PutRate(ctx, ledger.Rate{
			Base: "EUR", Quote: "USD", Date: "2026-11-26", Type: "spot", Rate: decimal.RequireFromString("1.25"), Source: "ecb",
		}))
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Precheck(ctx, dollars(t)); (err == nil) != (c.want == "") || err != nil && fault.Of(err).Code != c.want {
			t.Errorf("calendar %v: %v, want %q", c.calendar != nil, err, c.want)
		}
	}
}
