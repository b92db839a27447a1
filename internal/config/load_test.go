package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"recon/internal/config"
	"recon/pkg/fault"
)

// env is an environment of its own, whatever the test's own says.
func env(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	}
}

func lines(e *config.Effective) map[string]config.Line {
	all := make(map[string]config.Line)
	for _, l := range e.Lines() {
		all[l.Path] = l
	}
	return all
}

func TestFlagsBeatEnvironmentBeatsFileBeatsDefaults(t *testing.T) {
	e, err := config.Load(config.Source{
		YAML:  []byte("group: file\nconcurrency: 1\nmax_unsettled: 10\nkafka:\n  brokers: [a:1, b:2]\ntimeout: {grace: 7s}\n"),
		Env:   env(map[string]string{"RECON_CONCURRENCY": "2", "RECON_MAX_UNSETTLED": "20"}),
		Flags: map[string]string{"max_unsettled": "30"},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := lines(e)
	for path, want := range map[string][2]string{
		"group": {"file", "file"}, "concurrency": {"2", "environment"}, "max_unsettled": {"30", "flag"},
		"kafka.brokers": {"a:1,b:2", "file"}, "timeout.grace": {"7s", "file"}, "order": {"key", "default"}, "retry.tiers": {"2s,30s,5m,1h,6h,24h", "default"},
	} {
		if l := got[path]; l.Value != want[0] || l.From != want[1] {
			t.Errorf("%s is %q from %s, want %q from %s", path, l.Value, l.From, want[0], want[1])
		}
	}
	if e.Concurrency != 2 || e.Timeout.Grace != 7*time.Second || len(e.Kafka.Brokers) != 2 {
		t.Errorf("typed: %d %s %v", e.Concurrency, e.Timeout.Grace, e.Kafka.Brokers)
	}
}

// The names of the contract's table.
func TestEnvironmentNamesAreThoseOfTheContract(t *testing.T) {
	e, err := config.Load(config.Source{})
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, l := range e.Lines() {
		have[l.Env] = true
	}
	for _, want := range []string{
		"RECON_KAFKA_BROKERS", "RECON_KAFKA_TLS_ENABLED", "RECON_KAFKA_SASL_MECHANISM", "RECON_GROUP", "RECON_INSTANCE", "RECON_STATIC_MEMBER",
		"RECON_TOPICS_PREFIX", "RECON_RETRY_TIERS", "RECON_REDIS_URL", "RECON_LEDGER_URL", "RECON_LISTEN", "RECON_CONCURRENCY", "RECON_ORDER",
		"RECON_MAX_UNSETTLED", "RECON_MAX_IN_FLIGHT",
	} {
		if !have[want] {
			t.Errorf("no setting reads %s", want)
		}
	}
}

func TestEveryMistakeIsNamedWithItsFullNameAtOnce(t *testing.T) {
	t.Setenv("RECON_GRUOP", "x")
	_, err := config.Load(config.Source{
		YAML:  []byte("kafka: {brokesr: [a:1]}\nconcurrency: many\nretry: {policies: {LOCK_CONTENTION: {max_attemps: 3}}}\n"),
		Env:   os.LookupEnv,
		Flags: map[string]string{"timeout.grace": "soon"},
	})
	if err == nil {
		t.Fatal("Load took it")
	}
	for _, want := range []string{
		"kafka.brokesr", "concurrency (file)", "retry.policies.LOCK_CONTENTION.max_attemps", "RECON_GRUOP", "timeout.grace (flag)",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q:\n%v", want, err)
		}
	}
}

func TestYAMLThatRepeatsAKeyIsRefused(t *testing.T) {
	if _, err := config.Load(config.Source{YAML: []byte("group: a\ngroup: b\n")}); err == nil {
		t.Error("Load took a group that is given twice")
	}
}

func TestSecretsComeFromFilesAndAreNeverShown(t *testing.T) {
	file := filepath.Join(t.TempDir(), "url")
	if err := os.WriteFile(file, []byte("redis://u:geheim@h:1/0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := config.Load(config.Source{
		Env: env(map[string]string{"RECON_REDIS_URL_FILE": file, "RECON_LEDGER_URL": "postgres://u:ge@heim@h:2/db", "RECON_KAFKA_SASL_PASSWORD": "geheim"}),
	})
	if err != nil {
		t.Fatal(err)
	}
	if e.Redis.URL != "redis://u:geheim@h:1/0" {
		t.Errorf("redis.url %q, want the file's", e.Redis.URL)
	}
	for _, l := range e.Lines() {
		if strings.Contains(l.Value, "geheim") || strings.Contains(l.Value, "heim@") {
			t.Errorf("%s shows a secret: %s", l.Path, l.Value)
		}
	}
	_, err = config.Load(config.Source{Env: env(map[string]string{"RECON_REDIS_URL_FILE": file, "RECON_REDIS_URL": "redis://h:1"})})
	if err == nil || !strings.Contains(err.Error(), "redis.url") {
		t.Errorf("both given: %v, want redis.url refused", err)
	}
}

func TestDigestFollowsEverySettingButNoSecret(t *testing.T) {
	digest := func(yaml string) string {
		e, err := config.Load(config.Source{YAML: []byte(yaml)})
		if err != nil {
			t.Fatal(err)
		}
		return e.Digest()
	}
	base := digest("redis: {url: redis://u:one@h:1/0}")
	if digest("redis: {url: redis://u:two@h:1/0}") != base {
		t.Error("a changed password changes the digest")
	}
	for _, other := range []string{
		"redis: {url: redis://u:one@h:2/0}", "redis: {url: redis://u:one@h:1/0}\ngroup: other",
		"redis: {url: redis://u:one@h:1/0}\nretry: {policies: {LOCK_CONTENTION: {max_attempts: 7}}}",
	} {
		if digest(other) == base {
			t.Errorf("the digest does not see %q", other)
		}
	}
}

func TestPoliciesChangeOnlyWhatTheyName(t *testing.T) {
	e, err := config.Load(config.Source{YAML: []byte("retry: {policies: {LOCK_CONTENTION: {max_attempts: 7, spacing: fixed}}}")})
	if err != nil {
		t.Fatal(err)
	}
	p, cut, err := e.Policies(24 * time.Hour)
	if err != nil || len(cut) != 0 {
		t.Fatalf("policies: cut %v, %v", cut, err)
	}
	want := fault.Defaults()[fault.LockContention]
	want.MaxAttempts, want.Spacing = 7, fault.Fixed
	if p[fault.LockContention] != want {
		t.Errorf("policy %+v, want %+v", p[fault.LockContention], want)
	}
}

func TestConfiguredCapAboveTheLargestTierIsAMistakeADefaultOneIsCut(t *testing.T) {
	e, err := config.Load(config.Source{YAML: []byte("retry: {tiers: [2s, 30s]}")})
	if err != nil {
		t.Fatal(err)
	}
	ladder, err := e.Ladder()
	if err != nil {
		t.Fatal(err)
	}
	p, cut, err := e.Policies(ladder.Largest())
	if err != nil || p[fault.RateNotPublished].Cap != 30*time.Second || len(cut) == 0 {
		t.Errorf("default caps: %s, cut %v, %v, want 30s and cut", p[fault.RateNotPublished].Cap, cut, err)
	}
	e, err = config.Load(config.Source{YAML: []byte("retry: {tiers: [2s, 30s], policies: {LOCK_CONTENTION: {cap: 1m}}}")})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err = e.Policies(30 * time.Second); err == nil || !strings.Contains(err.Error(), "LOCK_CONTENTION") {
		t.Errorf("configured cap: %v, want LOCK_CONTENTION refused", err)
	}
	e, err = config.Load(config.Source{YAML: []byte("retry: {policies: {NO_SUCH_CODE: {cap: 1m}}}")})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err = e.Policies(time.Hour); err == nil || !strings.Contains(err.Error(), "NO_SUCH_CODE") {
		t.Errorf("unknown code: %v", err)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("group: a\nkafka: {brokers: [a:1]}")
	f.Add("retry:\n  policies:\n    X: {cap: 1s}")
	f.Add("- 1\n- 2")
	f.Add("a: &x [*x]")
	f.Fuzz(func(_ *testing.T, yaml string) {
		e, err := config.Load(config.Source{YAML: []byte(yaml)})
		if err == nil {
			_ = e.Digest()
			_, _ = e.Ladder()
			_, _, _ = e.Policies(time.Hour)
		}
	})
}
