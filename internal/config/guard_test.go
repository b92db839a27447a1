package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"recon/internal/config"
)

func TestWhatNoSettingCanTakeIsRefused(t *testing.T) {
	away := filepath.Join(t.TempDir(), "away")
	for _, c := range []struct {
		name string
		src  config.Source
		want []string
	}{
		{"no truth value", config.Source{YAML: []byte("static_member: perhaps")}, []string{"static_member (file)", `"perhaps"`}},
		{"no number", config.Source{YAML: []byte("hold_budget: 1MB")}, []string{"hold_budget (file)", `"1MB"`}},
		{"no duration", config.Source{Env: env(map[string]string{"RECON_TIMEOUT_GRACE": "20"})}, []string{"timeout.grace (environment)", `"20"`}},
		{"no file", config.Source{File: away}, []string{"configuration file", away}},
		{"no file of redis", config.Source{Env: env(map[string]string{"RECON_REDIS_URL_FILE": away})}, []string{"redis.url_file", away}},
		{"no file of the ledger", config.Source{Env: env(map[string]string{"RECON_LEDGER_URL_FILE": away})}, []string{"ledger.url_file", away}},
		{"a policy that is none", config.Source{YAML: []byte("retry: {policies: {LOCK_CONTENTION: 5}}")}, []string{"retry.policies.LOCK_CONTENTION (file)"}},
		{"no mapping", config.Source{YAML: []byte("- 1\n- 2\n")}, []string{"configuration file"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := config.Load(c.src)
			if err == nil {
				t.Fatal("Load took it")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error lacks %q:\n%v", want, err)
				}
			}
		})
	}
}

func TestBlanksAroundValuesAreNoPartOfThem(t *testing.T) {
	e, err := config.Load(config.Source{
		YAML: []byte("instance: null\n"),
		Env:  env(map[string]string{"RECON_KAFKA_BROKERS": " a:1 , b:2, ", "RECON_GROUP": " mine\n", "RECON_CONCURRENCY": " 7 "}),
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(e.Kafka.Brokers, []string{"a:1", "b:2"}) || e.Group != "mine" || e.Concurrency != 7 || e.Instance != "" {
		t.Errorf("brokers %q, group %q, concurrency %d, instance %q", e.Kafka.Brokers, e.Group, e.Concurrency, e.Instance)
	}
}

func TestLedgersURLComesFromItsFileToo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "url")
	if err := os.WriteFile(file, []byte("sqlite:books\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := config.Load(config.Source{Env: env(map[string]string{"RECON_LEDGER_URL_FILE": file})})
	if err != nil || e.Ledger.URL != "sqlite:books" {
		t.Errorf("ledger.url %q, %v", e.Ledger.URL, err)
	}
}

func TestOnlyVariablesOfTestsAndServicesAreNoSettings(t *testing.T) {
	vars := map[string]string{}
	set := func(names ...string) error {
		for _, name := range names {
			t.Setenv(name, "x")
			vars[name] = "x"
		}
		_, err := config.Load(config.Source{Env: env(vars)})
		return err
	}
	if err := set("RECON_TEST_KAFKA", "RECON_REQUIRE_SERVICES", "RECON_CACHE", "RECON_CONFIG"); err != nil {
		t.Errorf("Load: %v", err)
	}
	err := set("RECON_CONFIGURATION", "RECON_CACHES", "RECON_TESTS")
	refused(t, err, "RECON_CONFIGURATION", "RECON_CACHES", "RECON_TESTS")
}

// A variable that the source does not have is no mistake, whatever the process has.
func TestMistypedVariableCountsOnlyWhereItIsSet(t *testing.T) {
	t.Setenv("RECON_GRUOP", "x")
	if _, err := config.Load(config.Source{Env: env(nil)}); err != nil {
		t.Errorf("Load: %v", err)
	}
}

func TestPasswordIsHiddenHoweverTheURLIsWritten(t *testing.T) {
	for url, want := range map[string]string{
		"redis://u:geheim@h:1/0":                               "redis://u:(hidden)@h:1/0",
		"redis://:geheim@h:1/0":                                "redis://:(hidden)@h:1/0",
		"rediss://u:a/b@geheim@h":                              "rediss://u:(hidden)@h",
		"u:geheim@h:1/0":                                       "u:(hidden)@h:1/0",
		"redis:/u:geheim@h:1":                                  "redis:(hidden)@h:1",
		"postgres://h/db?user=u&password=geheim&sslmode=off":   "postgres://h/db?user=u&password=(hidden)&sslmode=off",
		"postgres://u:geheim@h/db?sslpassword=geheim":          "postgres://u:(hidden)@h/db?sslpassword=(hidden)",
		"redis://h:1/0?PassWord=geheim#x":                      "redis://h:1/0?PassWord=(hidden)",
		"postgres://u@h/db":                                    "postgres://u@h/db",
		"sqlite:books.sqlite":                                  "sqlite:books.sqlite",
		"postgres://h/db?options=-c%20search_path%3Dt&user=me": "postgres://h/db?options=-c%20search_path%3Dt&user=me",
	} {
		e, err := config.Load(config.Source{Env: env(map[string]string{"RECON_REDIS_URL": url, "RECON_LEDGER_URL": url})})
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"redis.url", "ledger.url"} {
			if got := lines(e)[path].Value; got != want || strings.Contains(got, "geheim") {
				t.Errorf("%s %s is shown as %s, want %s", path, url, got, want)
			}
		}
	}
}

func TestNothingIsShownAsHiddenWhereNothingIsGiven(t *testing.T) {
	e, err := config.Load(config.Source{YAML: []byte("retry: {policies: {LOCK_CONTENTION: {max_attempts: 7}}}")})
	if err != nil {
		t.Fatal(err)
	}
	all := lines(e)
	for _, path := range []string{"kafka.sasl.password", "redis.url", "ledger.url"} {
		if all[path].Value != "" {
			t.Errorf("%s is shown as %q", path, all[path].Value)
		}
	}
	for _, field := range []string{"base_delay", "cap", "spacing"} {
		if l, ok := all["retry.policies.LOCK_CONTENTION."+field]; ok {
			t.Errorf("%+v is shown although nothing is said of it", l)
		}
	}
	if l := all["retry.policies.LOCK_CONTENTION.max_attempts"]; l.Value != "7" || l.From != "file" {
		t.Errorf("max_attempts is %+v", l)
	}
}

// Each value is bounded by its length: what moves from the end of one to the beginning of the next changes the digest.
func TestDigestKnowsWhereEachValueEnds(t *testing.T) {
	digest := func(mechanism, user string) string {
		e, err := config.Load(config.Source{Env: env(map[string]string{"RECON_KAFKA_SASL_MECHANISM": mechanism, "RECON_KAFKA_SASL_USER": user})})
		if err != nil {
			t.Fatal(err)
		}
		return e.Digest()
	}
	if digest("a", "kafka.sasl.userb") == digest("akafka.sasl.user", "b") {
		t.Error("two configurations have one digest")
	}
}
