package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"recon/pkg/replay"
)

// Pitfall R28: what went back and is not confirmed stays in sight; the same plan waits on, and brings nothing back twice.
func TestRealWaitThatEndsUnconfirmedSaysWhatIsMissing(t *testing.T) {
	p := newPlant(t)
	p.send(2, "SEK", "")
	p.awaitLetters(2, replay.Open)
	if err := p.ledger.PutCurrency(t.Context(), "SEK"); err != nil {
		t.Fatal(err)
	}
	p.stop()
	plan := filepath.Join(t.TempDir(), "plan.json")
	run(replayArgs("--dry-run", "--all", "--plan-out="+plan)...).want(t, replay.ExitDone)
	got := decode[outcome](t, run("replay", "--plan", plan, "--yes", "--wait=1s", "--output=json").want(t, replay.ExitIncomplete, "2 are not confirmed yet"))
	if got.Reinjected != 2 || len(got.After.Unconfirmed) != 2 {
		t.Errorf("the run came to %+v, want both on main and unconfirmed", got)
	}
	run("status").want(t, replay.ExitDone, "in_flight        2", "SEK in flight: debit 0.00, credit 201.00")
	run(replayArgs("--all", "--yes")...).want(t, replay.ExitNothing) // what is in flight is not selected
	p.consume()
	run("replay", "--plan", plan, "--yes", "--wait").want(t, replay.ExitNothing, "2 of these are the work of an earlier run", "confirmed 2")
	if rows := p.postings(); len(rows) != 2 {
		t.Errorf("%d hashes are posted, want 2", len(rows))
	}
}

// Pitfalls R29, A13: a replay that fails again is a new letter of the next generation; it alone is open, and comes back
// as its parent did.
func TestRealReplayThatFailsAgainIsANewLetter(t *testing.T) {
	p := newPlant(t)
	p.send(1, "SEK", "")
	p.awaitLetters(1, replay.Open)
	if err := p.ledger.PutCurrency(t.Context(), "SEK"); err != nil {
		t.Fatal(err)
	}
	p.stop() // so that the cause can come back after the gates were asked
	run(replayArgs("--all", "--yes")...).want(t, replay.ExitDone, "reinjected 1")
	p.sql("DELETE FROM currencies WHERE currency = 'SEK'")
	p.consume()
	p.awaitLetters(1, replay.Replaced)
	list := run("list", "--output=jsonl").want(t, replay.ExitDone)
	if strings.Count(list.out, "\n") != 1 || !strings.Contains(list.out, `"generation":1,"parent":"`) {
		t.Errorf("the child letter alone is open, got\n%s", list.out)
	}
	if err := p.ledger.PutCurrency(t.Context(), "SEK"); err != nil {
		t.Fatal(err)
	}
	run(replayArgs("--generation=1", "--yes", "--wait")...).want(t, replay.ExitDone, "reinjected 1 = confirmed 1")
	run("list").want(t, replay.ExitNothing, "2 letters that have ended are not listed")
	p.committed()
	run("audit", "verify").want(t, replay.ExitDone, "ingested 1 = posted 1", "2 records of", "completeness closes")
}

// What waits is shown with its due time, and is gone once it has posted.
func TestRealWaitingShowsWhatTheTiersHold(t *testing.T) {
	file := filepath.Join(t.TempDir(), "recon.yaml")
	policy := "retry:\n  policies:\n    COUNTERPART_NOT_ARRIVED: {max_attempts: 99, base_delay: 1s, cap: 2s}\n"
	if err := os.WriteFile(file, []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	p := newPlant(t, "RECON_CONFIG="+file)
	document := p.names.Prefix + "-document"
	p.send(2, "EUR", `,"counterpart_ref":"`+document+`"`)
	held := func() string { return run("waiting", "--output=json").want(t, replay.ExitDone).out }
	p.await("two records on the tiers", func() bool { return strings.Count(held(), `"COUNTERPART_NOT_ARRIVED"`) == 2 })
	run("waiting").want(t, replay.ExitDone, "COUNTERPART_NOT_ARRIVED", p.hash("EUR", 1), "EUR waiting 2: debit 0.00, credit 201.00, amounts 2")
	if err := p.ledger.PutDocument(t.Context(), document); err != nil {
		t.Fatal(err)
	}
	p.await("nothing to wait", func() bool { return strings.Contains(held(), `"waiting": []`) })
	run("waiting").want(t, replay.ExitDone, "nothing waits")
	run("list").want(t, replay.ExitNothing)
}

// A dependency that is away at the start is waited for, then named with its setting.
func TestRealStoreAndLedgerThatAreAwayAreNamed(t *testing.T) {
	p := newPlant(t)
	p.send(1, "SEK", "")
	p.awaitLetters(1, replay.Open)
	var id string
	for c := range p.fold().All() {
		id = c.EnvelopeID
	}
	began := time.Now()
	run(replayArgs("--all", "--yes", "--timeout-startup=1s", "--redis-url=redis://127.0.0.1:1/0")...).want(t, replay.ExitError, "waited 1s for the dedup store (RECON_REDIS_URL)")
	run(replayArgs("--all", "--yes", "--timeout-startup=1s", "--ledger-url=postgres://127.0.0.1:1/x")...).want(t, replay.ExitError, "waited 1s for the ledger (RECON_LEDGER_URL)")
	run("show", id, "--timeout-startup=1s", "--redis-url=redis://127.0.0.1:1/0").want(t, replay.ExitError, id, "CURRENCY_UNMAPPED", "the gates were not asked")
	if took := time.Since(began); took > patience {
		t.Errorf("it took %s to find out", took)
	}
}
