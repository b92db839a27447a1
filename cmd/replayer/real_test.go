package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/redis/go-redis/v9"

	"recon/internal/testkit"
	"recon/pkg/replay"
)

var why = []string{"--reason=SEK is mapped", "--root-cause=mapping_missing", "--as=kim"}

func replayArgs(more ...string) []string { return append(append([]string{"replay"}, why...), more...) }

// The whole way of a letter: seen, planned, refused while its cause stands, brought back once it is mended, confirmed,
// and nothing left to do afterwards.
func TestRealDeadLettersComeBackByAPlan(t *testing.T) {
	p := newPlant(t)
	const letters = 4
	p.send(6, "EUR", "")
	p.send(letters, "SEK", "")
	p.awaitLetters(letters, replay.Open)
	p.committed()
	dir := t.TempDir()

	run("status").want(t, replay.ExitDone, "open          4", "SEK open: debit 0.00, credit 406.00, amounts 4")
	list := decode[struct {
		Letters []struct {
			EnvelopeID string `json:"envelope_id"`
		}
	}](t, run("list", "--currency=SEK", "--output=json"))
	if len(list.Letters) != letters {
		t.Fatalf("%d letters are listed, want %d", len(list.Letters), letters)
	}
	id := list.Letters[0].EnvelopeID
	run("show", id).want(t, replay.ExitDone, id, "cause        no      CAUSE_NOT_FIXED", "idempotency  yes", "a replay would now: refuse")

	// The cause stands: the plan says so, and so does the run, in one line.
	early := filepath.Join(dir, "early.json")
	run(replayArgs("--dry-run", "--all", "--plan-out="+early)...).want(t, replay.ExitDone, early, "DRY RUN: nothing is changed", "no calendar", "selected 4 = reinject 0 + complete 0 + confirm 0 + suppress 0 + refuse 4")
	if steps := p.steps(); steps != 0 {
		t.Errorf("a dry run wrote %d dispositions", steps)
	}
	run("replay", "--plan", early, "--yes").want(t, replay.ExitIncomplete, "refused  CAUSE_NOT_FIXED        4  CURRENCY_UNMAPPED",
		"selected 4 = reinjected 0 + suppressed 0 + quarantined 0 + refused 4 + failed 0 + untouched 0\nSEK selected: debit 0.00, credit 406.00, amounts 4\n")

	if err := p.ledger.PutCurrency(t.Context(), "SEK"); err != nil {
		t.Fatal(err)
	}
	run("show", id, "--output=jsonl").want(t, replay.ExitDone, `"outcome":"reinject"`)
	good := filepath.Join(dir, "good.json")
	lines := run(replayArgs("--dry-run", "--all", "--plan-out="+good, "--output=jsonl")...).want(t, replay.ExitDone, `"outcome":"reinject"`, `"outcomes":{"reinject":4}`)
	if n := strings.Count(lines.out, "\n"); n != letters+1 {
		t.Errorf("%d lines, want one for each letter and one for the plan", n)
	}
	got := decode[outcome](t, run("replay", "--plan", good, "--yes", "--as=kim", "--wait", "--output=json").want(t, replay.ExitDone))
	if got.Selected != letters || got.Reinjected != letters || got.After.Confirmed != letters || len(got.After.Unconfirmed) != 0 || got.Letters[0].Status != "confirmed" {
		t.Errorf("the run came to %+v, want all confirmed", got)
	}
	run("replay", "--plan", good, "--yes", "--wait").want(t, replay.ExitNothing, "4 of these are the work of an earlier run", "every letter of plan")
	run(replayArgs("--all", "--yes")...).want(t, replay.ExitNothing, "selected 0 = reinjected 0", "no open letter matches --all")
	run("replay", "--plan", early, "--yes").want(t, replay.ExitNothing, "4 of these are the work of an earlier run")
	checkBooks(t, p, id, letters)
}

// steps counts all dispositions.
func (p *plant) steps() (n int) {
	p.t.Helper()
	for c := range p.fold().All() {
		n += len(c.Steps)
	}
	return n
}

// checkBooks looks at what was left behind: one posting a hash, the life of one letter by any of its names, and the
// completeness line, which no longer closes when a posting is taken out of the ledger.
func checkBooks(t *testing.T, p *plant, id string, letters int) {
	t.Helper()
	rows := p.postings()
	if len(rows) != 6+letters {
		t.Errorf("%d hashes are posted, want %d", len(rows), 6+letters)
	}
	for hash, n := range rows {
		if n != 1 {
			t.Errorf("%s is posted %d times", hash, n)
		}
	}
	letter, _ := p.fold().Case(id)
	for _, key := range []string{letter.SourceHash, letter.Root.String(), letter.MessageID, letter.TraceID} {
		run("trace", key).want(t, replay.ExitDone, "letter", "reinjected", "confirmed", "kim", "is posted "+letter.Root.String()+" 1 ", "generation 1 at")
	}
	life := decode[struct {
		Moments []struct{ What string }
		Hashes  []struct{ Posting struct{ Root string } }
	}](t, run("trace", letter.SourceHash, "--output=json").want(t, replay.ExitDone))
	if got := fmt.Sprint(life.Moments); !strings.HasPrefix(got, "[{main} {letter}") || life.Hashes[0].Posting.Root != letter.Root.String() {
		t.Errorf("the life is %+v", life)
	}
	run("trace", "no-such-hash").want(t, replay.ExitNothing, "no-such-hash")

	p.committed()
	run("audit", "verify").want(t, replay.ExitDone, "ingested 10 = posted 10 +", "4 records of "+p.names.Main()+" are replays", "completeness closes", "audit trail: intact")
	p.sql("DELETE FROM postings WHERE source_hash = $1", p.hash("EUR", 0))
	run("audit", "verify").want(t, replay.ExitIntegrity, "completeness DOES NOT CLOSE", "MISSING 1")
	found := decode[struct {
		Closes  bool
		Missing []string
	}](t, run("audit", "verify", "--output=json").want(t, replay.ExitIntegrity))
	if found.Closes || len(found.Missing) != 1 {
		t.Errorf("verify says %+v, want one missing", found)
	}
}

// Pitfalls R17, R33: one run at a time; the second one is told who holds the lease. The first signal ends a run in
// order, with its counts, and the same plan goes on.
func TestRealSecondRunIsRefusedAndAnInterruptedOneGoesOn(t *testing.T) {
	p := newPlant(t)
	const letters = 12
	p.send(letters, "SEK", "")
	p.awaitLetters(letters, replay.Open)
	if err := p.ledger.PutCurrency(t.Context(), "SEK"); err != nil {
		t.Fatal(err)
	}
	plan := filepath.Join(t.TempDir(), "plan.json")
	run(replayArgs("--dry-run", "--all", "--plan-out="+plan)...).want(t, replay.ExitDone)
	slow := p.child("replay", "--plan="+plan, "--yes", "--rate=1", "--as=slow kim")
	p.awaitLetters(1, replay.Confirmed)
	run("replay", "--plan="+plan, "--yes").want(t, replay.ExitLease, "another replay run holds the lease: slow kim on ", "that is "+p.settings.Dedup.RunLease.String()+" here, and then it ends by itself")
	if code := slow.Stop(); code != int(replay.ExitInterrupted) {
		t.Errorf("an interrupted run exits with %d, want %d", code, replay.ExitInterrupted)
	}
	for _, text := range []string{"ending in order", "selected 12 = reinjected", "of 12 letters are left; the same plan continues"} {
		if !strings.Contains(slow.Output(), text) {
			t.Errorf("an interrupted run does not say %q", text)
		}
	}
	said, code := p.atTerminal("12\n", "replay", "--plan="+plan)
	if code != int(replay.ExitUsage) || !strings.Contains(said, " done earlier, ") || strings.Contains(said, "letters (12)") {
		t.Errorf("the rest of a plan is confirmed by the count of all: exit %d\n%s", code, said)
	}
	run("replay", "--plan="+plan, "--yes", "--wait=90s").want(t, replay.ExitDone, "are the work of an earlier run of this plan", "reinjected 12 = confirmed 12", "selected 12 = reinjected 12")
	if rows := p.postings(); len(rows) != letters {
		t.Errorf("%d hashes are posted, want %d", len(rows), letters)
	}
}

// The second signal ends a run at once, whatever it hangs on.
func TestRealSecondSignalEndsARunThatHangs(t *testing.T) {
	server := testkit.StartRedis(t)
	p := newPlant(t, "RECON_REDIS_URL="+server.Redis())
	p.send(20, "SEK", "")
	p.awaitLetters(20, replay.Open)
	if err := p.ledger.PutCurrency(t.Context(), "SEK"); err != nil {
		t.Fatal(err)
	}
	child := p.child(replayArgs("--all", "--yes", "--rate=1")...)
	p.awaitLetters(1, replay.Confirmed)
	server.Pause()
	defer server.Resume()
	signal := func() { _ = syscall.Kill(child.Pid(), syscall.SIGTERM) }
	signal()
	child.Await("a second signal ends at once", patience)
	for ended := false; !ended; { // what is said and what is done are two things: the second may come a moment later
		signal()
		select {
		case <-child.Done():
			ended = true
		case <-time.After(50 * time.Millisecond):
		}
	}
	if code := child.Wait(); code != -1 { // by a signal
		t.Errorf("after the second signal the run ends by itself, with exit %d", code)
	}
}

// Pitfalls R79, R82: at a terminal a run asks first, and only the right count lets it begin.
func TestRealPersonAtATerminalConfirmsByTheCount(t *testing.T) {
	p := newPlant(t)
	p.send(3, "SEK", "")
	p.awaitLetters(3, replay.Open)
	if err := p.ledger.PutCurrency(t.Context(), "SEK"); err != nil {
		t.Fatal(err)
	}
	said, code := p.atTerminal("4\n", replayArgs("--all")...)
	if code != int(replay.ExitUsage) || !strings.Contains(said, "not confirmed, nothing was changed") || p.steps() != 0 {
		t.Errorf("after a wrong count: exit %d, %d dispositions\n%s", code, p.steps(), said)
	}
	said, code = p.atTerminal("3\n", replayArgs("--all", "--wait")...)
	if code != int(replay.ExitDone) || !strings.Contains(said, "reinject              3") || !strings.Contains(said, "confirmed 3") {
		t.Errorf("after the right count: exit %d\n%s", code, said)
	}
	if strings.Contains(said, "DRY RUN") {
		t.Errorf("a run that is confirmed calls itself a dry run:\n%s", said)
	}
}

// atTerminal runs the replayer with a terminal as standard input, and types answer once it asks.
func (p *plant) atTerminal(answer string, args ...string) (string, int) {
	p.t.Helper()
	mine, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		p.t.Skipf("this machine has no terminals to give: %v", err)
	}
	defer mine.Close()
	var number, unlocked uint32
	for request, value := range map[uintptr]*uint32{syscall.TIOCGPTN: &number, syscall.TIOCSPTLCK: &unlocked} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, mine.Fd(), request, uintptr(unsafe.Pointer(value))); errno != 0 {
			p.t.Fatal(errno)
		}
	}
	theirs, err := os.OpenFile("/dev/pts/"+strconv.Itoa(int(number)), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		p.t.Fatal(err)
	}
	defer theirs.Close()
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	out := new(strings.Builder)
	cmd := exec.CommandContext(p.t.Context(), self)
	cmd.Env = append(os.Environ(), terminalEnv+"=1", argsEnv+"="+strings.Join(args, "\n"))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, out, out
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	if _, err := mine.WriteString(answer); err != nil { // it waits there until it is read
		p.t.Fatal(err)
	}
	_ = cmd.Wait()
	return out.String(), cmd.ProcessState.ExitCode()
}

// Pitfall R6 and the store that forgot: nothing comes back while nobody knows what has posted, nor for a group that is
// not the consumer's.
func TestRealStoreThatForgotEndsTheRunBeforeItBegins(t *testing.T) {
	p := newPlant(t)
	p.send(1, "SEK", "")
	p.awaitLetters(1, replay.Open)
	p.committed()
	p.await("the store to know of the commit", func() bool {
		return run("trace", p.hash("SEK", 0), "--group=another").code == int(replay.ExitPrecondition)
	})
	run(replayArgs("--all", "--yes", "--group=another")...).want(t, replay.ExitPrecondition, "group another (RECON_GROUP)", "lost its committed offsets")
	options, err := redis.ParseURL(p.settings.Redis.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	defer client.Close()
	key := p.names.Prefix + ":dedup:generation"
	kept, err := client.Get(t.Context(), key).Result()
	if err == nil {
		err = client.Del(t.Context(), key).Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	run(replayArgs("--all", "--yes")...).want(t, replay.ExitPrecondition, "lost its memory", "dedup rebuild")
	if err := client.Set(t.Context(), key, kept, 0).Err(); err != nil {
		t.Fatal(err)
	}
	if steps := p.steps(); steps != 0 {
		t.Errorf("%d dispositions were written without the store's memory", steps)
	}
}
