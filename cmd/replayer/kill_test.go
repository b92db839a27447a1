package main_test

import (
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"recon/pkg/replay"
)

// Pitfalls R1, R20, R33: whatever moment the replayer is killed at, the same plan goes on; in the end every letter is
// confirmed once, and every hash has one posting.
func TestKillReplayerInTheMiddleOfAPlan(t *testing.T) {
	p := newPlant(t)
	const letters, kills = 300, 3
	seed := rand.Uint64()
	t.Logf("seed %d: %d letters, %d kills", seed, letters, kills)
	dice := rand.New(rand.NewPCG(seed, 0))
	p.send(letters, "SEK", "")
	p.awaitLetters(letters, replay.Open)
	if err := p.ledger.PutCurrency(t.Context(), "SEK"); err != nil {
		t.Fatal(err)
	}
	plan := filepath.Join(t.TempDir(), "plan.json")
	run(replayArgs("--dry-run", "--all", "--plan-out="+plan)...).want(t, replay.ExitDone, "reinject 300")
	hit := 0
	args := []string{"replay", "--plan=" + plan, "--yes", "--rate=50"}
	for k := range kills {
		// A kill falls while there is work: it waits for progress, then for a moment that the dice choose.
		goal := letters * (k + 1) / (kills + 2)
		child := p.child(args...)
		for p.confirmed() < goal {
			select {
			case <-time.After(50 * time.Millisecond):
				continue
			case <-child.Done():
			}
			switch code := replay.Exit(child.Wait()); code {
			case replay.ExitLease: // that of the one killed before ends by itself
				child = p.child(args...)
			case replay.ExitDone: // done before the dice fell
				<-time.After(50 * time.Millisecond)
			default:
				t.Fatalf("a run that nobody killed exits with %d:\n%s", code, child.Output())
			}
		}
		<-time.After(time.Duration(dice.IntN(300)) * time.Millisecond)
		if child.Kill(); child.Wait() < 0 {
			hit++
		}
	}
	if hit == 0 {
		t.Fatal("no kill hit a process at work: this machine is too slow for the test")
	}
	var last said
	p.await("a run that nobody kills", func() bool {
		last = run("replay", "--plan="+plan, "--yes", "--wait=90s")
		return last.code != int(replay.ExitLease)
	})
	code := replay.ExitDone
	if last.code == int(replay.ExitNothing) { // the last process was done before it was killed
		code = replay.ExitNothing
	}
	last.want(t, code, "selected 300 = reinjected 300", "reinjected 300 = confirmed 300")
	for id, n := range p.confirmations() {
		if n != 1 {
			t.Errorf("letter %s is confirmed %d times", id, n)
		}
	}
	rows := p.postings()
	for hash, n := range rows {
		if n != 1 {
			t.Errorf("%s is posted %d times", hash, n)
		}
	}
	if confirmed := len(p.confirmations()); confirmed != letters || len(rows) != letters {
		t.Errorf("%d letters are confirmed, %d hashes posted, want %d of each", confirmed, len(rows), letters)
	}
	p.committed()
	run("audit", "verify").want(t, replay.ExitDone, "ingested 300 = posted 300", "completeness closes", "audit trail: intact")
	run(replayArgs("--all", "--yes")...).want(t, replay.ExitNothing)
}

// confirmed counts letters that have come to their end.
func (p *plant) confirmed() int {
	p.t.Helper()
	return p.fold().Overview().ByStatus[replay.Confirmed]
}
