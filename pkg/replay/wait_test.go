package replay_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"recon/pkg/envelope"
	"recon/pkg/replay"
)

// started runs a plan of n letters and gives fold and report for waiting.
func started(t *testing.T, w *world, n int) (*replay.Runner, *replay.Fold, *replay.Report) {
	t.Helper()
	w.deadOf(n, n)
	r, f := w.runner(), w.fold()
	p, err := r.Plan(t.Context(), f, replay.Selection{All: true})
	if err != nil {
		t.Fatal(err)
	}
	report, err := r.Run(t.Context(), f, p)
	if err != nil {
		t.Fatal(err)
	}
	return r, f, report
}

func TestWaitEndsWhenEveryLetterIsConfirmed(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		r, f, report := started(t, w, 6)
		go func() {
			time.Sleep(10 * time.Second)
			for n := range 6 {
				w.dispose(stateOf(w.letter(n, "x"), envelope.Confirmed, ""))
			}
		}()
		began := time.Now()
		if err := r.Wait(t.Context(), f, report); err != nil {
			t.Errorf("got %v, want that all are confirmed", err)
		}
		if took := time.Since(began); took < 10*time.Second || took > 15*time.Second {
			t.Errorf("it waited %s, want the ten seconds until the last word", took)
		}
		if a := report.After(); a.Confirmed != 6 {
			t.Errorf("after: %+v, want 6 confirmed", a)
		}
	})
}

// A letter whose replay failed again is not waited for any longer, and not taken for success.
func TestWaitSeesWhatFailedAgain(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		r, f, report := started(t, w, 3)
		w.consume(func(m *envelope.Message) error {
			if m.SourceHash == "hash-000001" {
				return errors.New("still no mapping")
			}
			return nil
		})
		err := r.Wait(t.Context(), f, report)
		if a := report.After(); replay.ExitOf(err) != replay.ExitIncomplete || a.Confirmed != 2 || a.Again != 1 {
			t.Errorf("got %v and %+v, want exit 4 with 2 confirmed and 1 failed again", err, a)
		}
	})
}

// Pitfall R28: what no consumer confirms in time is shown as unconfirmed, and stays in flight.
func TestWaitShowsWhatIsUnconfirmedAtItsEnd(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		r, f, report := started(t, w, 3)
		w.dispose(stateOf(w.letter(0, "x"), envelope.Confirmed, ""))
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		err := r.Wait(ctx, f, report)
		if a := report.After(); replay.ExitOf(err) != replay.ExitIncomplete || len(a.Unconfirmed) != 2 || a.Confirmed != 1 {
			t.Errorf("got %v and %+v, want exit 4 with 2 unconfirmed", err, a)
		}
		if got := w.statuses(); got[replay.InFlight] != 2 {
			t.Errorf("letters stand at %v, want 2 in flight", got)
		}
	})
}

func TestWaitThatIsInterruptedSaysSo(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		r, f, report := started(t, w, 2)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(5*time.Second, cancel)
		if err := r.Wait(ctx, f, report); replay.ExitOf(err) != replay.ExitInterrupted {
			t.Errorf("got %v, want exit 6", err)
		}
	})
}
