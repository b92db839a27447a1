package main_test

import (
	"strings"
	"syscall"
	"testing"

	main "recon/cmd/replayer"
	"recon/pkg/replay"
)

// What an error repeats of topics, stores, files or the command line steers no terminal.
func TestErrorsSteerNoTerminal(t *testing.T) {
	newShelf(t)
	got := run("show", "7b7c1f3e\x1b[2J\x1b]0;x\x07\u009b").want(t, replay.ExitNothing, "no letter has the id 7b7c1f3e")
	if strings.ContainsAny(got.errs, "\x1b\x07\u009b") {
		t.Errorf("got %q", got.errs)
	}
}

// Books close for a group that does not exist, since nothing is counted: that proves nothing, and must not look like it.
func TestRealVerifyOfAGroupThatCommittedNothingProvesNothing(t *testing.T) {
	p := newPlant(t)
	p.send(3, "EUR", "")
	p.await("postings", func() bool { return len(p.postings()) == 3 })
	p.committed()
	run("audit", "verify").want(t, replay.ExitDone, "ingested 3 = posted 3", "completeness closes")
	got := run("audit", "verify", "--group=another").want(t, replay.ExitPrecondition, "group another (RECON_GROUP) has committed none of them")
	if strings.Contains(got.out, "closes") {
		t.Errorf("it says that the books close:\n%s", got.out)
	}
}

// Books that close say how much of main they do not speak of.
func TestRealVerifySaysWhatTheGroupHasNotReached(t *testing.T) {
	p := newPlant(t)
	p.send(3, "EUR", "")
	p.await("postings", func() bool { return len(p.postings()) == 3 })
	p.committed()
	if got := run("audit", "verify").want(t, replay.ExitDone, "completeness closes"); strings.Contains(got.out, "not reached") {
		t.Errorf("everything is reached, and it says:\n%s", got.out)
	}
	p.stop()
	p.send(5, "USD", "")
	run("audit", "verify").want(t, replay.ExitDone, "ingested 3 = posted 3", "not counted: the records of 5 offsets of main", "completeness closes")
	run("audit", "verify", "--output=json").want(t, replay.ExitDone, `"offsets_not_reached": 5`)
}

// A table that could not be written, on a full disk for instance, is no success.
func TestOutputThatIsLostIsAnError(t *testing.T) {
	s := newShelf(t)
	s.fill()
	for _, args := range [][]string{{"status"}, {"list"}, {"waiting"}, {"list", "--output=json"}} {
		var errs strings.Builder
		if code := main.Execute(args, full{}, &errs); code != int(replay.ExitError) || !strings.Contains(errs.String(), "no space left") {
			t.Errorf("%v: exit %d, %q; want 1 and why", args, code, errs.String())
		}
	}
}

// full takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }
