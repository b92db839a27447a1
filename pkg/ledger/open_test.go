package ledger_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"recon/internal/testkit"
	"recon/pkg/fault"
	"recon/pkg/ledger"
)

func TestOpenRefusesWhatIsNoLedgerAndKeepsPasswordsToItself(t *testing.T) {
	for url, want := range map[string]string{
		"":                                       `got the scheme ""`,
		"ledger.db":                              "want postgres://… or sqlite:FILE",
		"mysql://x/y":                            `got the scheme "mysql"`,
		"https://ledger.example":                 `got the scheme "https"`,
		"sqlite:":                                "want sqlite:FILE",
		"sqlite::memory:":                        "want sqlite:FILE",
		"sqlite:x.db?mode=ro":                    "without parameters",
		"postgres://u:s%zzecret@h/db":            "must be percent-encoded",
		"postgres://u:s/ecret@h:1/db":            "must be percent-encoded",
		"postgres://u:secret@h:99999/db":         "ledger URL",
		"postgres://u:secret@h/db?sslmode=maybe": "sslmode",
		"postgres://u:secret@h/db?pool_max_conns=plenty":   "pool_max_conns",
		"postgres://u:secret@h/db?connect_timeout=forever": "connect_timeout",
	} {
		_, err := ledger.Open(url, ledger.Config{})
		contains(t, err, want)
		if err != nil && strings.Contains(err.Error(), "ecret") {
			t.Errorf("%s: the password is in %v", url, err)
		}
	}
}

func TestAllMistakesOfTheConfigurationAreNamedAtOnce(t *testing.T) {
	_, err := ledger.Open("sqlite:x.db", ledger.Config{
		Conns: -1, Timeout: -time.Second,
		FX: ledger.FX{Date: "value_date", Holidays: []string{"2026-12-25", "2026-02-30"}},
	})
	contains(t, err, "conns: -1", "timeout: -1s", "fx.date: value_date is no rule; there are: accounting_date, previous_business_day", "fx.holidays[1]: 2026-02-30")
}

func TestOpenAsksNothing(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "no", "such", "folder", "x.db")
	for url, want := range map[string]string{
		"postgres://u:p@127.0.0.1:1/db": "PostgreSQL at 127.0.0.1:1/db: dial tcp 127.0.0.1:1: connect: connection refused",
		"sqlite:" + nowhere:             "SQLite file " + nowhere + ": unable to open database file (14)",
	} {
		b := open(t, url, ledger.Config{})
		err := b.Ping(t.Context())
		b.wantCode(err, fault.DependencyUnavailable, fault.StagePost)
		if !ledger.IsAway(err) || fault.Of(err).Dependency != "ledger" {
			t.Errorf("%s: got %v", url, err)
		}
		if got := err.Error(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// Somebody listens, nobody answers: that is no slow statement.
func TestAServerThatTakesTheConnectionAndSaysNothingIsAway(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	b := open(t, "postgres://u:p@"+l.Addr().String()+"/db?sslmode=disable&connect_timeout=1", ledger.Config{})
	if err := b.Ping(t.Context()); !ledger.IsAway(err) {
		t.Errorf("got %v", err)
	}
}

func TestSQLiteFilesAreFoundUnderEverySpelling(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, row := range []struct{ url, file string }{
		{"sqlite:plain.db", "plain.db"},
		{"sqlite:" + dir + "/absolute.db", "absolute.db"},
		{"sqlite://" + dir + "/slashes.db", "slashes.db"},
		{"sqlite:with space ü%20.db", "with space ü%20.db"},
	} {
		ready(t, row.url, ledger.Config{})
		if _, err := os.Stat(filepath.Join(dir, row.file)); err != nil {
			t.Errorf("%s: %v", row.url, err)
		}
	}
}

func TestRealAWrongPasswordIsNamedAndNotShown(t *testing.T) {
	url := strings.Replace(testkit.Postgres(t), ":recon-test@", ":not-this-one@", 1)
	err := open(t, url, ledger.Config{}).Ping(t.Context())
	contains(t, err, "PostgreSQL at ", ": FATAL: password authentication failed for user recon")
	if !ledger.IsAway(err) || strings.Contains(err.Error(), "not-this-one") {
		t.Errorf("got %v", err)
	}
}

func TestRealMissingTablesAreTheLedgersFaultNotTheRecords(t *testing.T) {
	for name, url := range map[string]string{"sqlite": file(t), "postgres": testkit.Postgres(t)} {
		b := open(t, url, ledger.Config{})
		for _, err := range []error{b.Handle(t.Context(), message(1)), b.Precheck(t.Context(), message(1)), b.PutCurrency(t.Context(), "EUR")} {
			if !ledger.IsAway(err) || fault.Of(err).Code != fault.DependencyUnavailable {
				t.Errorf("%s: got %v", name, err)
			}
			if got := fault.Of(err).Detail; strings.Contains(got, "redacted") { // which table, a person must see
				t.Errorf("%s: got %s", name, got)
			}
		}
		b.must(b.Migrate(t.Context()))
		b.maps("EUR")
		b.must(b.Handle(t.Context(), message(1)))
	}
}

func TestPostingsInSQLiteSurviveThePower(t *testing.T) {
	b := ready(t, file(t), ledger.Config{})
	if level, err := ledger.Durability(t.Context(), b.SQL); err != nil || level != 2 {
		t.Errorf("synchronous: got %d, %v, want 2 (FULL)", level, err)
	}
}

func TestRealClosingUnderLoadEndsEachPostingOrSaysAway(t *testing.T) {
	suite(t, ledger.Config{}, func(b *bundle) {
		b.maps("EUR")
		var all sync.WaitGroup
		for i := range 32 {
			all.Go(func() {
				for n := 0; ; n++ {
					err := b.Handle(b.t.Context(), message(1000*i+n))
					if ledger.IsAway(err) {
						return
					}
					if err != nil {
						b.t.Errorf("got %v", err)
						return
					}
				}
			})
		}
		eventually(b.t, "some postings", func(context.Context) bool { return len(b.all()) > 20 })
		b.Close()
		all.Wait()
	})
}

func TestRealAClosedLedgerIsAway(t *testing.T) {
	suite(t, ledger.Config{}, func(b *bundle) {
		b.maps("EUR")
		b.Close()
		if err := b.Handle(b.t.Context(), message(1)); !ledger.IsAway(err) {
			b.t.Errorf("got %v", err)
		}
	})
}

func TestAFileThatIsNoDatabaseIsAway(t *testing.T) {
	name := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(name, []byte(strings.Repeat("not a database\n", 100)), 0o644); err != nil {
		t.Fatal(err)
	}
	b := open(t, "sqlite:"+name, ledger.Config{})
	for _, err := range []error{b.Ping(t.Context()), b.Handle(t.Context(), message(1)), b.Migrate(t.Context())} {
		if !ledger.IsAway(err) {
			t.Errorf("got %v", err)
		}
		contains(t, err, name, "not a database")
	}
}
