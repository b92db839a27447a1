package replay_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"recon/pkg/dedup"
	"recon/pkg/envelope"
	"recon/pkg/replay"
)

func TestPagesSayWhatAPersonNeeds(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		evil := w.letter(3, "ACME", func(l *envelope.Letter) { l.ErrorDetail = "no \x1b[31mmapping\x07" })
		w.dead(w.letter(0, "ACME"), w.letter(1, "BETA"), w.letter(2, "ACME", invalid), evil)
		now := time.Date(2000, 1, 2, 3, 0, 2, 0, time.UTC)
		f := w.fold()
		c, _ := f.Case(evil.EnvelopeID)
		opened, entry, err := w.runner().Check(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		var pages [5]strings.Builder
		replay.PrintOverview(&pages[0], f.Overview(), now)
		replay.PrintCases(&pages[1], slices.Collect(f.All()), now)
		replay.PrintLetter(&pages[2], c, opened, entry)
		p := w.plan()
		replay.PrintPlan(&pages[3], p)
		report := w.run(p, replay.ExitIncomplete)
		replay.PrintReport(&pages[4], report)
		for i, want := range [][]string{
			{"open", "4", "POISON_MESSAGE", "(1d03h)", "EUR open: debit 0.00, credit 35.50, amounts 3", "unreadable amounts open: 1"},
			{evil.EnvelopeID, "unreadable", "13.50", "recon.main/1@0", "letters listed: 4"},
			{"status         open", "\uFFFD[31mmapping\uFFFD", "integrity", "temporal", "no calendar", "a replay would now: reinject"},
			{"DRY RUN: nothing is changed", "STILL_INVALID", "EUR to come back: debit 0.00, credit 35.50, amounts 3", "selected 4 = reinject 3 + complete 0 + confirm 0 + suppress 0 + refuse 1"},
			{"refused  STILL_INVALID        1  AMOUNT_INVALID", "selected 4 = reinjected 3 + suppressed 0 + quarantined 0 + refused 1 + failed 0 + untouched 0\n", "EUR reinjected: debit 0.00, credit 35.50, amounts 3"},
		} {
			page := pages[i].String()
			for _, part := range want {
				if !strings.Contains(page, part) {
					t.Errorf("page %d does not say %q:\n%s", i, part, page)
				}
			}
			if strings.ContainsAny(page, "\x1b\x07") {
				t.Errorf("page %d lets a letter steer the terminal", i)
			}
		}
	})
}

func TestOnlyTheCountItselfConfirms(t *testing.T) {
	for typed, want := range map[string]bool{"12\n": true, " 12 \n": true, "12": true, "\n": false, "": false, "1\n2\n": false, "y\n": false, "012\n": false, "13\n": false} {
		var asked strings.Builder
		if got := replay.ConfirmCount(strings.NewReader(typed), &asked, 12); got != want || !strings.Contains(asked.String(), "(12)") {
			t.Errorf("%q: got %t, want %t; asked %q", typed, got, want, &asked)
		}
	}
}

func TestExitCodesFollowTheContract(t *testing.T) {
	for _, row := range []struct {
		err  error
		want replay.Exit
	}{
		{nil, 0},
		{errors.New("other"), 1},
		{fmt.Errorf("x: %w", replay.ErrUsage), 2},
		{replay.ErrNothing, 3},
		{replay.ErrIncomplete, 4},
		{fmt.Errorf("%w: %w", replay.ErrStopped, dedup.ErrUnavailable), 5},
		{fmt.Errorf("%w: %w", replay.ErrStopped, dedup.ErrLeaseLost), 5},
		{replay.ErrInterrupted, 6},
		{context.Canceled, 6},
		{replay.ErrPlanExpired, 7},
		{replay.ErrPlanChanged, 7},
		{&dedup.LeaseHeldError{Owner: "x"}, 8},
		{dedup.ErrMemoryLost, 9},
		{dedup.ErrEvicting, 9},
		{replay.ErrPrecondition, 9},
	} {
		if got := replay.ExitOf(row.err); got != row.want {
			t.Errorf("%v: exit %d, want %d", row.err, got, row.want)
		}
	}
}

func TestOverviewNamesWhatAPersonMustLookAt(t *testing.T) {
	l, late, lone := letterOf(0, 0, 0), letterOf(0, 1, 0), letterOf(2, 0, 0)
	waits, flies := letterOf(4, 0, 0), letterOf(5, 0, 0)
	f := foldOf(
		fact{at: envelope.Coordinates{Topic: "recon.dlq", Offset: 1}, letter: l}, fact{at: envelope.Coordinates{Topic: "recon.dlq", Offset: 2}, letter: l},
		fact{letter: late}, fact{letter: waits}, fact{letter: flies}, fact{at: envelope.Coordinates{Topic: "recon.dlq", Offset: 9}},
		fact{state: stateOf(l, envelope.Confirmed, "")}, fact{state: stateOf(l, envelope.Resolved, "run-1")}, fact{state: stateOf(lone, envelope.Confirmed, "")},
		fact{state: stateOf(waits, envelope.Quarantined, "run-1")}, fact{state: stateOf(flies, envelope.Reinjected, "run-1")},
	)
	var page, list strings.Builder
	replay.PrintOverview(&page, f.Overview(), time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC))
	for _, part := range []string{
		"in flight since: 2000-01-01T00:01:06.000Z (58m54s)", "EUR in flight: debit 0.00, credit 15.50, amounts 1",
		"1 letters lack the disposition", "1 letters await their manual journal", "1 further copies", "1 records of DLQ or dispositions cannot be decoded",
		"1 dispositions name a letter that is not in the DLQ", "conflict: letter " + l.EnvelopeID, "has 2 terminal states, confirmed counts: confirmed, resolved",
	} {
		if !strings.Contains(page.String(), part) {
			t.Errorf("the page does not say %q:\n%s", part, &page)
		}
	}
	if strings.Contains(page.String(), "oldest open") {
		t.Errorf("the page names an oldest open letter where none is open:\n%s", &page)
	}
	replay.PrintUnreadable(&list, f.Unreadable())
	if got, want := list.String(), "unreadable: recon.dlq/0@9: no letter\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAgesAreSaidInTheirTwoLargestUnits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 1500 * time.Millisecond: "1s", 61 * time.Second: "1m01s", 59*time.Minute + 59*time.Second: "59m59s",
		90 * time.Minute: "1h30m", 24 * time.Hour: "1d00h", 100*24*time.Hour + 5*time.Hour: "100d05h",
	} {
		if got := replay.Age(d); got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
	}
}

// A report after waiting names what is not confirmed, and what an earlier run had done.
func TestReportAfterWaitingNamesWhatIsUnconfirmed(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		r, f, report := started(t, w, 3)
		w.dispose(stateOf(w.letter(0, "x"), envelope.Confirmed, ""))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := r.Wait(ctx, f, report); replay.ExitOf(err) != replay.ExitIncomplete {
			t.Fatal(err)
		}
		var page strings.Builder
		replay.PrintReport(&page, report)
		for _, part := range []string{
			"unconfirmed: letter " + envelope.EnvelopeID(w.letter(1, "x").Lineage.Root, 0) + " of recon.main/1@0",
			"reinjected 3 = confirmed 1 + suppressed 0 + failed again 0 + settled by hand 0 + unconfirmed 2\n",
			"selected 3 = reinjected 3 + suppressed 0 + quarantined 0 + refused 0 + failed 0 + untouched 0\nEUR selected: debit 0.00, credit 34.50, amounts 3\n",
		} {
			if !strings.Contains(page.String(), part) {
				t.Errorf("the page does not say %q:\n%s", part, &page)
			}
		}
		if lines := strings.Split(strings.TrimSpace(page.String()), "\n"); !strings.HasPrefix(lines[len(lines)-1], "EUR selected") {
			t.Errorf("the last line is %q, want the sums", lines[len(lines)-1])
		}
	})
}
