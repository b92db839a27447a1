package main_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	main "recon/cmd/replayer"
	"recon/internal/config"
	"recon/internal/testkit"
	"recon/pkg/dedup"
	"recon/pkg/replay"
)

// argsEnv holds the command line of a child, an argument a line; terminalEnv says that its standard input is a person's.
const (
	argsEnv     = "T_ARGS"
	terminalEnv = "T_TERMINAL"
)

func TestMain(m *testing.M) {
	replayer := func() int { return main.Execute(strings.Split(os.Getenv(argsEnv), "\n"), os.Stdout, os.Stderr) }
	if os.Getenv(terminalEnv) != "" {
		os.Exit(replayer())
	}
	testkit.MaybeRunChild(map[string]func() int{"replayer": replayer})
	flag.Parse()
	os.Exit(m.Run())
}

// said is what one command came to.
type said struct {
	code      int
	out, errs string
}

func run(args ...string) said {
	var out, errs bytes.Buffer
	code := main.Execute(args, &out, &errs)
	return said{code, out.String(), errs.String()}
}

// want fails the test unless the exit code is right and the output, both streams together, holds the texts.
func (s said) want(t *testing.T, code replay.Exit, texts ...string) said {
	t.Helper()
	if s.code != int(code) {
		t.Fatalf("exit %d, want %d\n%s\n%s", s.code, code, s.out, s.errs)
	}
	for _, text := range texts {
		if !strings.Contains(s.out+s.errs, text) {
			t.Errorf("output lacks %q:\n%s\n%s", text, s.out, s.errs)
		}
	}
	return s
}

// everything is a configuration without a mistake; nobody is there.
var everything = []string{"RECON_KAFKA_BROKERS=127.0.0.1:1", "RECON_REDIS_URL=redis://127.0.0.1:1/0", "RECON_LEDGER_URL=sqlite:never.sqlite"}

func TestMistakesAreReportedTogetherWithExit2(t *testing.T) {
	full := []string{"replay", "--all", "--reason", "mended", "--root-cause", "rate_late", "--yes"}
	with := func(more ...string) []string { return append(slices.Clone(full), more...) }
	there := filepath.Join(t.TempDir(), "there.json")
	if err := os.WriteFile(there, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		env  []string
		want []string
	}{
		{"nothing configured", []string{"status"}, nil, []string{"kafka.brokers (RECON_KAFKA_BROKERS)"}},
		{
			"bare, nothing said and nothing configured", nil, nil,
			[]string{"kafka.brokers (RECON_KAFKA_BROKERS)", "redis.url (RECON_REDIS_URL)", "ledger.url (RECON_LEDGER_URL)", "no selection", "--reason", "--root-cause", "no terminal"},
		},
		{"trace needs store and ledger", []string{"trace", "hash"}, everything[:1], []string{"redis.url", "ledger.url"}},
		{"audit verify needs the ledger", []string{"audit", "verify"}, everything[:2], []string{"ledger.url"}},
		{"unknown command", []string{"statsu"}, everything, []string{"statsu", "--help"}},
		{"show without an id", []string{"show"}, everything, []string{"<id>"}},
		{"unknown output", []string{"status", "--output=xml"}, everything, []string{"--output"}},
		{"a flag of the consumer", []string{"status", "--max-unsettled=3"}, everything, []string{"--max-unsettled"}},
		{"a setting that is none", []string{"status"}, append(slices.Clone(everything), "RECON_TOPIC_PREFIX=x"), []string{"RECON_TOPIC_PREFIX"}},
		{
			"values that are none",
			[]string{"list", "--since=yesterday", "--until=7y", "--min-amount=1e3", "--class=bad", "--state=gone", "--root=x", "--match-decision=YES"},
			everything,
			[]string{"--since", "--until", "--min-amount", "--class", "--state", "--root", "--match-decision"},
		},
		{"a time that ends before it begins", []string{"list", "--since=1h", "--until=2h"}, everything, []string{"--until", "--since"}},
		{"no terminal and no --yes", full[:len(full)-1], everything, []string{"no terminal to confirm at: say --yes"}},
		{"no selection", full[:1:1], everything, []string{"no selection", "--all"}},
		{"a root cause that is none", with("--root-cause", "bad_luck"), everything, []string{"bad_luck", "mapping_missing"}},
		{"an actor of two lines", with("--as", "kim\nlee"), everything, []string{"--as"}},
		{"a wait that is none", with("--wait=soon"), everything, []string{"soon"}},
		{"a rate below zero", with("--rate=-1"), everything, []string{"--rate"}},
		{"a dry run that waits", with("--dry-run", "--wait"), everything, []string{"--wait", "--dry-run"}},
		{"a place for a plan that is not made", with("--plan-out=x.json"), everything, []string{"--plan-out"}},
		{"a plan written over", with("--dry-run", "--plan-out="+there), everything, []string{there, "exists"}},
		{"a plan that is not there", []string{"replay", "--plan=gone.json", "--yes"}, everything, []string{"gone.json"}},
		{"a plan that is none", []string{"replay", "--plan=" + there, "--yes"}, everything, []string{"no plan file"}},
		{
			"a plan and what it has already", with("--plan="+there, "--dry-run"), everything,
			[]string{"leave the selection out", "leave --reason, --root-cause and --ticket out", "--dry-run", "no plan file"},
		},
		{"a group named like a topic", []string{"waiting", "--group=recon.main"}, everything, []string{"recon.main"}},
		{"a calendar that is not there", []string{"list", "--calendar-file=gone.yaml"}, everything, []string{"calendar.file"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			testkit.Settings(t, c.env...)
			got := run(c.args...).want(t, replay.ExitUsage)
			for _, want := range c.want {
				if !strings.Contains(got.errs, want) {
					t.Errorf("error output lacks %q:\n%s", want, got.errs)
				}
			}
		})
	}
}

// A ticket may be made a duty, and root causes may be added; both are settings of the file.
func TestTheConfigurationAsksForTicketsAndAddsRootCauses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "recon.yaml")
	if err := os.WriteFile(file, []byte("replay:\n  ticket_required: true\n  root_causes: [bank_holiday]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	testkit.Settings(t, append(slices.Clone(everything), "RECON_CONFIG="+file, "RECON_TIMEOUT_STARTUP=1ms")...)
	args := []string{"--all", "--reason=x", "--root-cause=bank_holiday", "--yes"}
	run(args...).want(t, replay.ExitUsage, "--ticket is missing")
	run(append(args, "--ticket=T-1")...).want(t, replay.ExitError, "waited", "RECON_KAFKA_BROKERS")
	run(append(args, "--ticket=T-1", "--root-cause=full_moon")...).want(t, replay.ExitUsage, "bank_holiday")
}

func TestHelpListsTheCommands(t *testing.T) {
	testkit.Settings(t)
	got := run("--help").want(t, replay.ExitDone)
	for _, command := range []string{"status", "list", "show", "waiting", "trace", "replay", "audit"} {
		if !strings.Contains(got.out, "\n  "+command+" ") {
			t.Errorf("--help does not list %s:\n%s", command, got.out)
		}
	}
	if strings.Contains(got.out, "hold-budget") {
		t.Error("--help lists a flag that changes nothing here")
	}
	got = run("replay", "--help").want(t, replay.ExitDone)
	for _, flag := range []string{
		"--code", "--error-code", "--class", "--stage", "--fingerprint", "--entity", "--currency", "--match-decision",
		"--min-amount", "--period", "--source-system", "--source-hash", "--trace-id", "--message-id", "--id", "--exclude-id", "--root",
		"--generation", "--state", "--since", "--until", "--limit", "--all", "--dry-run", "--plan", "--plan-out", "--reason",
		"--root-cause", "--ticket", "--as", "--yes", "--rate", "--concurrency", "--wait", "--output",
	} {
		if !strings.Contains(got.out, "  "+flag+"=") && !strings.Contains(got.out, "  "+flag+" ") {
			t.Errorf("replay --help does not list %s", flag)
		}
	}
}

func TestEveryEndHasTheExitCodeOfTheContract(t *testing.T) {
	for _, c := range []struct {
		err  error
		want replay.Exit
	}{
		{nil, replay.ExitDone},
		{errors.New("x"), replay.ExitError},
		{&config.UsageError{Err: replay.ErrNothing}, replay.ExitUsage},
		{replay.ErrNothing, replay.ExitNothing},
		{replay.ErrIncomplete, replay.ExitIncomplete},
		{replay.ErrStopped, replay.ExitStopped},
		{replay.ErrInterrupted, replay.ExitInterrupted},
		{replay.ErrPlanExpired, replay.ExitPlan},
		{fmt.Errorf("x: %w", &dedup.LeaseHeldError{Owner: "kim"}), replay.ExitLease},
		{dedup.ErrMemoryLost, replay.ExitPrecondition},
		{dedup.ErrGroupReset, replay.ExitPrecondition},
		{dedup.ErrEvicting, replay.ExitPrecondition},
		{fmt.Errorf("x: %w", main.ErrIntegrity), replay.ExitIntegrity},
	} {
		if got := main.ExitCode(c.err); got != int(c.want) {
			t.Errorf("%v: exit %d, want %d", c.err, got, c.want)
		}
	}
}

func TestNothingButATerminalIsTakenForAPerson(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	nothing, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer nothing.Close()
	for _, f := range []*os.File{file, nothing} {
		if main.IsTerminal(f) {
			t.Errorf("%s is taken for a terminal", f.Name())
		}
	}
}
