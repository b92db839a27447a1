package main_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"recon/internal/testkit"
	"recon/pkg/envelope"
	"recon/pkg/replay"
	"recon/pkg/topics"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

func TestOutputOfReadingCommandsIsWhatMachinesRelyOn(t *testing.T) {
	s := newShelf(t)
	id := envelope.EnvelopeID(s.fill().Lineage.Root, 0)
	for _, c := range []struct {
		file string
		args []string
	}{
		{"status.json", []string{"status", "--output=json"}},
		{"status.jsonl", []string{"status", "--output=jsonl"}},
		{"list.json", []string{"list", "--output=json"}},
		{"list.jsonl", []string{"list", "--all", "--output=jsonl"}},
		{"show.json", []string{"show", id, "--output=json"}},
		{"waiting.json", []string{"waiting", "--output=json"}},
		{"waiting.jsonl", []string{"waiting", "--output=jsonl"}},
	} {
		t.Run(c.file, func(t *testing.T) {
			got := run(c.args...).want(t, replay.ExitDone)
			golden(t, c.file, got.out)
			for line := range strings.Lines(got.out) {
				if strings.HasSuffix(c.file, ".jsonl") && !json.Valid([]byte(line)) {
					t.Errorf("no JSON: %s", line)
				}
			}
			if c.args[0] != "show" && got.errs != "" {
				t.Errorf("something is said beside the output: %s", got.errs)
			}
		})
	}
}

func TestTablesShowPeopleWhatThereIs(t *testing.T) {
	s := newShelf(t)
	open := s.fill()
	run("status").want(t, replay.ExitDone, "open             3", "in_flight        1", "confirmed        1", "SEK open: debit 1234.50, credit 0.00, amounts 1", "1 records of DLQ or dispositions cannot be decoded")
	run("list").want(t, replay.ExitDone, "unreadable: recon.dlq/0@", open.EnvelopeID, "-1234.50", "letters listed: 4", "EUR listed: debit 0.00, credit 0.25, amounts 1", "1 letter that has ended is not listed: --all lists it")
	run("waiting").want(t, replay.ExitDone, "COUNTERPART_NOT_ARRIVED", "hash-000006", "EUR waiting 1: debit 0.00, credit 7.50, amounts 1")
	run("show", envelope.EnvelopeID(open.Lineage.Root, 0)).want(t, replay.ExitDone, "the gates are not asked: that needs redis.url", "hash-000001", "-1234.50 SEK", "CURRENCY_UNMAPPED")
	run("show", "7b7c1f3e-0000-5000-8000-000000000000").want(t, replay.ExitNothing, "no letter has the id")
}

// Each flag narrows; what has ended is listed when it is asked for.
func TestListSelects(t *testing.T) {
	s := newShelf(t)
	s.fill()
	for _, c := range []struct {
		args string
		want int
	}{
		{"", 4},
		{"--all", 5},
		{"--state=confirmed", 1},
		{"--state=refused", 1},
		{"--state=open,in_flight", 4},
		{"--entity=ACME", 2},
		{"--entity=ACME --entity=BETA", 3},
		{"--entity=ACME --currency=SEK", 1},
		{"--currency=SEK,JPY", 2},
		{"--min-amount=1000", 2},
		{"--error-code=UNDECODABLE", 1},
		{"--code=UNRECOVERABLE_PAYLOAD", 1},
		{"--stage=decode", 1},
		{"--class=transient", 0},
		{"--source-hash=hash-000003", 1},
		{"--source-system=bank", 3},
		{"--period=2026-01", 4},
		{"--root=recon.main/1@1", 1},
		{"--generation=1", 0},
		{"--root-cause=mapping_missing", 2},
		{"--root-cause=mapping_missing --all", 3},
		{"--since=2026-01-31T12:03:00Z", 2},
		{"--until=2026-01-31T12:03:00Z", 2},
		{"--limit=2", 2},
		{"--exclude-id=" + envelope.EnvelopeID(envelope.Coordinates{Topic: "recon.main", Partition: 1, Offset: 1}, 0), 3},
		{"--id=" + envelope.EnvelopeID(envelope.Coordinates{Topic: "recon.main", Partition: 1, Offset: 4}, 0) + " --all", 1},
		{"--message-id=" + envelope.MessageID(envelope.Coordinates{Topic: "recon.main", Partition: 1, Offset: 1}), 1},
	} {
		got := run(append([]string{"list", "--output=jsonl"}, strings.Fields(c.args)...)...)
		code := replay.ExitDone
		if c.want == 0 {
			code = replay.ExitNothing
		}
		if n := strings.Count(got.out, "\n"); n != c.want || got.code != int(code) {
			t.Errorf("list %s: %d letters, exit %d, want %d and %d\n%s", c.args, n, got.code, c.want, code, got.errs)
		}
	}
	run("list", "--source-hash=hash-000004").want(t, replay.ExitNothing, "1 letter that has ended is not listed: --all lists it")
}

// Pitfall R27: a topic that is missing, or that loses letters, ends a command before anything is done.
func TestTopicsThatCannotBeReliedOnAreAPrecondition(t *testing.T) {
	s := newShelf(t, topics.Names{}.DLQ())
	run("status").want(t, replay.ExitPrecondition, s.names.DLQ(), "consumer topics --apply")
	t.Setenv("RECON_REDIS_URL", "redis://127.0.0.1:1/0")
	t.Setenv("RECON_LEDGER_URL", "sqlite:never.sqlite")
	run("audit", "verify").want(t, replay.ExitPrecondition, s.names.DLQ())
	run("--all", "--yes", "--reason=x", "--root-cause=unknown").want(t, replay.ExitPrecondition,
		s.names.DLQ()+": topic is missing", s.names.Dispositions()+": retention.ms is 604800000, want -1")
}

// A plan that was changed, or that is too old, is refused before anybody is asked: nobody is there to ask.
func TestPlansThatMustNotBeExecutedExit7(t *testing.T) {
	s := newShelf(t)
	s.fill()
	testkit.Settings(t, everything...)
	file := filepath.Join(t.TempDir(), "plan.json")
	write := func(b []byte) {
		t.Helper()
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	expired, err := s.plan(time.Nanosecond).Encode()
	if err != nil {
		t.Fatal(err)
	}
	write(expired)
	run("replay", "--plan", file, "--yes").want(t, replay.ExitPlan, "expired", "--dry-run")
	good, err := s.plan(time.Hour).Encode()
	if err != nil {
		t.Fatal(err)
	}
	write(bytes.Replace(good, []byte(`"1000"`), []byte(`"9000"`), 1))
	run("replay", "--plan", file, "--yes").want(t, replay.ExitPlan, "no longer holds")
}
