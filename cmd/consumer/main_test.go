package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	main "recon/cmd/consumer"
	"recon/internal/testkit"
)

func TestMain(m *testing.M) {
	testkit.MaybeRunChild(map[string]func() int{
		"demo":       func() int { return main.Execute([]string{"demo"}, os.Stdout, os.Stderr) },
		"hangs":      func() int { return main.Execute([]string{"version"}, hangs{}, os.Stderr) },
		"run":        func() int { return main.Execute([]string{"run"}, os.Stdout, os.Stderr) },
		"from-start": func() int { return main.Execute([]string{"run", "--from-start"}, os.Stdout, os.Stderr) },
	})
	os.Exit(m.Run())
}

func TestMistakesAreReportedTogetherWithExit2(t *testing.T) {
	cases := []struct {
		name string
		args []string
		env  []string
		want []string
	}{
		{"nothing configured", []string{"run"}, nil, []string{"kafka.brokers (RECON_KAFKA_BROKERS)", "redis.url (RECON_REDIS_URL)", "ledger.url (RECON_LEDGER_URL)"}},
		{"unknown command", []string{"rnu"}, nil, []string{"rnu", "--help"}},
		{"unknown flag", []string{"run", "--concurency=3"}, nil, []string{"--concurency"}},
		{"values that are none", []string{"check", "--retry-tiers=2x"}, []string{"RECON_CONCURRENCY=many", "RECON_KAFKA_BROKERS=h:1", "RECON_ODER=key"}, []string{"concurrency (environment)", "RECON_ODER"}},
		{"tiers that shrink", []string{"config", "--retry-tiers=30s,2s"}, nil, []string{"retry.tiers"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			testkit.Settings(t, c.env...)
			var out, errs bytes.Buffer
			if code := main.Execute(c.args, &out, &errs); code != 2 {
				t.Errorf("exit %d, want 2", code)
			}
			for _, want := range c.want {
				if !strings.Contains(errs.String(), want) {
					t.Errorf("error output lacks %q:\n%s", want, errs.String())
				}
			}
		})
	}
}

func TestConfigShowsWhereEachSettingCameFromAndHidesSecrets(t *testing.T) {
	testkit.Settings(t, "RECON_REDIS_URL=redis://user:geheim@127.0.0.1:6379/0", "RECON_GROUP=mine", "RECON_KAFKA_SASL_PASSWORD=geheim")
	var out, errs bytes.Buffer
	if code := main.Execute([]string{"config", "--concurrency=7"}, &out, &errs); code != 0 {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	if strings.Contains(out.String(), "geheim") {
		t.Error("a password is shown")
	}
	for _, want := range [][]string{
		{"redis.url", "redis://user:(hidden)@127.0.0.1:6379/0", "environment"},
		{"group", "mine", "environment"},
		{"concurrency", "7", "flag"},
		{"order", "key", "default"},
		{"LOCK_CONTENTION", "5"},
		{"config digest"},
	} {
		if !hasLine(out.String(), want) {
			t.Errorf("no line with %q in\n%s", want, out.String())
		}
	}
}

// Evidence and a person's report name the build: a binary made from a checkout says its revision.
func TestRealBuiltBinarySaysTheRevisionItIsOf(t *testing.T) {
	if testing.Short() {
		t.Skip("part of the real suite: it links a binary")
	}
	head, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil {
		t.Skipf("no checkout, so no revision: %v", err)
	}
	if info, err := os.Stat("../../.git"); err != nil || !info.IsDir() {
		t.Skip("a worktree, or sources without a checkout: Go gives a revision for neither")
	}
	binary := filepath.Join(t.TempDir(), "consumer")
	if out, err := exec.Command("go", "build", "-buildvcs=true", "-ldflags=-w", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	said, err := exec.Command(binary, "version").Output()
	if want := string(head[:12]) + "\n"; err != nil || string(said) != want {
		t.Errorf("version %q, %v, want %q", said, err, want)
	}
}

// hasLine tells whether one line holds all the words.
func hasLine(text string, words []string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		ok := true
		for _, w := range words {
			ok = ok && strings.Contains(line, w)
		}
		if ok {
			return true
		}
	}
	return false
}
