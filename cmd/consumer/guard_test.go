package main_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	main "recon/cmd/consumer"
	"recon/internal/config"
	"recon/internal/testkit"
	"recon/pkg/consumer"
	"recon/pkg/dedup"
)

// Exit codes are those of the contract's table.
func TestExitCodeSaysWhatAPersonCanDo(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("anything else"), 1},
		{dedup.ErrUnavailable, 1},
		{consumer.ErrFenced, 1},
		{&config.UsageError{Err: errors.New("x")}, 2},
		{&config.UsageError{Err: dedup.ErrMemoryLost}, 2},
		{main.ErrPrecondition, 9},
		{dedup.ErrMemoryLost, 9},
		{dedup.ErrGroupReset, 9},
		{dedup.ErrEvicting, 9},
		{consumer.ErrTopicMissing, 9},
		{consumer.ErrTopicTooSmall, 9},
		{consumer.ErrTopicRecreated, 9},
		{consumer.ErrOffsetGone, 9},
	} {
		for _, err := range []error{c.err, fmt.Errorf("while at work: %w", c.err)} {
			if c.err == nil {
				err = nil
			}
			if got := main.ExitCode(err); got != c.want {
				t.Errorf("%v: exit %d, want %d", err, got, c.want)
			}
		}
	}
}

// command runs one command line with nothing configured but env.
func command(t *testing.T, env []string, args ...string) (code int, out, errs string) {
	t.Helper()
	testkit.Settings(t, env...)
	var o, e bytes.Buffer
	code = main.Execute(args, &o, &e)
	return code, o.String(), e.String()
}

// offline is a configuration that is whole, of addresses where nobody is asked.
var offline = []string{"RECON_KAFKA_BROKERS=127.0.0.1:1", "RECON_REDIS_URL=redis://127.0.0.1:1/0", "RECON_LEDGER_URL=postgres://u@127.0.0.1:1/db"}

func TestHelpAndVersionNeedNoConfiguration(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{{[]string{"--help"}, "topics"}, {[]string{"topics", "--help"}, "--apply"}, {[]string{"version"}, "\n"}} {
		if code, out, errs := command(t, nil, c.args...); code != 0 || !strings.Contains(out, c.want) || errs != "" {
			t.Errorf("%v: exit %d, %q, %q", c.args, code, out, errs)
		}
	}
}

func TestCheckAsksNobodyUnlessToldTo(t *testing.T) {
	code, out, errs := command(t, offline, "check")
	if code != 0 || out != "configuration: ok\ncalendar: no calendar; nothing is refused for its period\n" {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
}

func TestCheckNamesEveryPartThatCannotBeMade(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "calendar.yaml")
	if err := os.WriteFile(bad, []byte("entities: 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"check", "run"} {
		code, out, errs := command(t, []string{
			"RECON_KAFKA_BROKERS=http://x", "RECON_REDIS_URL=http://h", "RECON_LEDGER_URL=mysql://h", "RECON_CALENDAR_FILE=" + bad, "RECON_LISTEN=127.0.0.1:0", "RECON_ORDER=wild",
		}, name)
		if code != 2 || strings.Contains(out, "ok") {
			t.Errorf("%s: exit %d, said %q", name, code, out)
		}
		for _, want := range []string{"http://x", "wild", "redis.url", "ledger.url", bad} {
			if !strings.Contains(errs, want) {
				t.Errorf("%s: error output lacks %q:\n%s", name, want, errs)
			}
		}
	}
}

// A file that is away is a mistake of the configuration: it is said before anybody is asked or waited for.
func TestCheckNamesAFileThatTheBrokersConnectionNeeds(t *testing.T) {
	away := filepath.Join(t.TempDir(), "away.pem")
	for _, name := range []string{"check", "run"} {
		env := append(slices.Clone(offline), "RECON_KAFKA_TLS_ENABLED=true", "RECON_KAFKA_TLS_CA_FILE="+away, "RECON_LISTEN=127.0.0.1:0")
		if code, out, errs := command(t, env, name); code != 2 || strings.Contains(out, "ok") || !strings.Contains(errs, away) {
			t.Errorf("%s: exit %d, %q, %q, want 2 and the file", name, code, out, errs)
		}
	}
}

func TestSettingsThatTheClientRefusesAreExit2(t *testing.T) {
	for _, name := range []string{"check", "run"} {
		env := append(slices.Clone(offline), "RECON_TIMEOUT_SESSION=1ms", "RECON_LISTEN=127.0.0.1:0")
		if code, out, errs := command(t, env, name); code != 2 || strings.Contains(out, "ok") || !strings.Contains(errs, "session timeout 1ms") {
			t.Errorf("%s: exit %d, %q, %q, want 2 and the setting", name, code, out, errs)
		}
	}
}

func TestTopicsWithoutAnAddressThatCanBeDialledIsExit2(t *testing.T) {
	for _, c := range []struct {
		env  []string
		want string
	}{
		{nil, "kafka.brokers"},
		{[]string{"RECON_KAFKA_BROKERS=h:1", "RECON_KAFKA_TLS_ENABLED=true", "RECON_KAFKA_TLS_CA_FILE=" + filepath.Join(t.TempDir(), "away")}, "away"},
	} {
		if code, _, errs := command(t, c.env, "topics"); code != 2 || !strings.Contains(errs, c.want) {
			t.Errorf("exit %d, %q, want 2 and %q", code, errs, c.want)
		}
	}
}

func TestWaitForABrokerThatIsAwayLeavesNothingRunning(t *testing.T) {
	before := goleak.IgnoreCurrent()
	code, _, errs := command(t, []string{"RECON_KAFKA_BROKERS=127.0.0.1:1", "RECON_TIMEOUT_STARTUP=100ms"}, "topics")
	if code != 1 || !strings.Contains(errs, "waited 100ms") {
		t.Errorf("exit %d, %q", code, errs)
	}
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}

func TestConfigSaysHowLongARecordTakesToTheDLQ(t *testing.T) {
	file := filepath.Join(t.TempDir(), "recon.yaml")
	content := "retry:\n  tiers: [2s, 30s]\n  policies:\n    RATE_LIMITED: {cap: 20s, max_attempts: 3}\n"
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := command(t, nil, "config", "--config="+file)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	for _, want := range [][]string{
		{"RATE_NOT_PUBLISHED", "30s", "cap cut to the largest tier"},
		{"RATE_LIMITED", "3", "20s", "cap is never reached"},
		{"COUNTERPART_NOT_ARRIVED", "until the match deadline"},
		{"DUPLICATE_IN_FLIGHT", "–", "never"},
		{"Every other code is poison"},
	} {
		if !hasLine(out, want) {
			t.Errorf("no line with %q in\n%s", want, out)
		}
	}
	if hasLine(out, []string{"PERIOD_CLOSED"}) {
		t.Error("a code that is never tried again has a line")
	}
}

func TestConfigRefusesPoliciesThatCannotBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "recon.yaml")
	if err := os.WriteFile(file, []byte("retry: {tiers: [2s], policies: {RATE_LIMITED: {cap: 20s}}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := command(t, nil, "config", "--config="+file); code != 2 || !strings.Contains(errs, "RATE_LIMITED") || out != "" {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
}

func TestReadinessFollowsTheLedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var answer error
		say := func(err error) {
			mu.Lock()
			answer = err
			mu.Unlock()
			time.Sleep(3 * time.Second) // it asks every two
		}
		run, ready := main.Watch(func(context.Context) error {
			mu.Lock()
			defer mu.Unlock()
			return answer
		}, func() []string { return []string{"others"} })
		ctx, cancel := context.WithCancel(t.Context())
		var watch sync.WaitGroup
		watch.Go(func() { run(ctx) })
		for _, c := range []struct {
			err  error
			want []string
		}{{nil, []string{"others"}}, {errors.New("connection refused"), []string{"others", "ledger: connection refused"}}, {nil, []string{"others"}}} {
			if say(c.err); !slices.Equal(ready(), c.want) {
				t.Errorf("ledger says %v: reasons %q, want %q", c.err, ready(), c.want)
			}
		}
		cancel()
		watch.Wait()
	})
}

// A ledger that never answers is away too: each question has an end.
func TestLedgerThatFallsSilentIsNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run, ready := main.Watch(func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}, func() []string { return nil })
		ctx, cancel := context.WithCancel(t.Context())
		var watch sync.WaitGroup
		watch.Go(func() { run(ctx) })
		time.Sleep(10 * time.Second)
		if len(ready()) != 1 {
			t.Errorf("reasons %q, want the ledger's", ready())
		}
		cancel()
		watch.Wait()
		if len(ready()) != 0 {
			t.Errorf("reasons %q after the end, want none: what was cut off says nothing", ready())
		}
	})
}
