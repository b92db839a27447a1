package replay_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"recon/pkg/audit"
	"recon/pkg/dedup"

	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/replay"
)

// A root cause that a disposition cannot carry would leave every replay without its `reinjected`: the original is on
// main by then. It is a mistake before anything is written.
func TestRootCauseThatNoDispositionTakesIsAMistake(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.deadOf(1, 1)
		for _, cause := range []string{"FX-late", "fx late", strings.Repeat("x", 65)} {
			_, err := replay.New(replay.Config{
				Topics: w.names, Store: w.store, Gates: []replay.Gate{replay.Integrity{}}, Actor: "kim", Reason: "mended",
				RootCause: cause, RootCauses: []string{cause},
			})
			if replay.ExitOf(err) != replay.ExitUsage || !strings.Contains(err.Error(), cause) {
				t.Errorf("%q: got %v, want exit 2 that names it", cause, err)
			}
		}
	})
}

// What a plan shows, totals and is confirmed by is the letter's word: one that says other figures than its original
// does not come back under them.
func TestLetterThatSpeaksOfOtherFiguresIsRefused(t *testing.T) {
	for name, forge := range map[string]func(*envelope.Facts){
		"amount":   func(f *envelope.Facts) { f.Amount = "1" },
		"currency": func(f *envelope.Facts) { f.Currency = "JPY" },
		"entity":   func(f *envelope.Facts) { f.LedgerEntity = "BETA" },
		"booking":  func(f *envelope.Facts) { f.BookingDate = "2001-01-15" },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				l := w.letter(1, "ACME")
				forge(&l.Message)
				w.dead(l)
				p := w.plan()
				e := p.Entries[0]
				if e.Outcome != replay.Refuse || e.Code != fault.FailedStillInvalid || !strings.Contains(e.Fact, "its original says") {
					t.Errorf("got %s %s %q, want refused as STILL_INVALID", e.Outcome, e.Code, e.Fact)
				}
			})
		})
	}
}

// One letter whose original lies on a topic that is not there any more keeps no other letter from coming back.
func TestCompactLetterOfAGoneTopicStopsNoOther(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		gone := w.letter(1, "ACME", func(l *envelope.Letter) { l.Origin.Topic = "old.main" })
		w.dead(w.letter(0, "ACME"), gone.Compact(), w.letter(2, "ACME"))
		report := w.run(w.plan(), replay.ExitIncomplete)
		if report.Count(replay.EndReinjected) != 2 || report.Count(replay.EndRefused) != 1 {
			t.Fatalf("%s, want two reinjected and one refused", report.Line())
		}
		i := slices.IndexFunc(report.Results, func(r replay.Result) bool { return r.Ending == replay.EndRefused })
		if fact := report.Results[i].Fact; !strings.Contains(fact, "old.main/1@0") {
			t.Errorf("got %q, want the place of the original", fact)
		}
	})
}

// CONTRACT 9: posted comes before suppressed, also for what a root's end leaves missing on its letters.
func TestUnrecordedLetterGetsTheBestEndOfItsRoot(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		ls := []*envelope.Letter{w.letter(1, "ACME")}
		for g := 1; g <= 2; g++ {
			ls = append(ls, w.letter(1, "ACME", func(l *envelope.Letter) {
				l.Lineage = envelope.Lineage{Root: l.Lineage.Root, Generation: g, Parent: envelope.EnvelopeID(l.Lineage.Root, g-1)}
			}))
		}
		w.dead(ls...)
		suppressed := stateOf(ls[0], envelope.Suppressed, "")
		suppressed.Code = fault.FailedReplayDuplicate
		w.dispose(suppressed)
		w.dispose(stateOf(ls[1], envelope.Confirmed, ""))
		w.run(w.plan(), replay.ExitDone)
		if got := w.statuses(); got[replay.Confirmed] != 2 || got[replay.Suppressed] != 1 {
			t.Errorf("letters stand at %v, want the last one confirmed", got)
		}
	})
}

// A key that looks like a place on a topic that nobody has is a key that no record has, and no order to create it.
func TestTraceOfAPlaceOnNoTopicFindsNothing(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.deadOf(1, 1)
		for _, key := range []string{"elsewhere/0@5", w.names.TierPrefix() + "9s/0@0"} {
			_, err := replay.Trace(t.Context(), replay.TraceConfig{Topics: w.names, Options: w.options()}, key)
			if replay.ExitOf(err) != replay.ExitNothing {
				t.Errorf("%s: got %v, want exit 3", key, err)
			}
		}
		// Its letter is found although the root's own topic is gone.
		l := newLetter("old.main", 7, value(7, "ACME"))
		w.lay(l)
		life, err := replay.Trace(t.Context(), replay.TraceConfig{Topics: w.names, Options: w.options()}, l.Lineage.Root.String())
		if err != nil || len(life.Moments) != 1 {
			t.Errorf("%s: got %v, want the letter", l.Lineage.Root, err)
		}
	})
}

// What is beyond what a clock can count is a mistake and no other time.
func TestAgesBeyondTheClockAreMistakes(t *testing.T) {
	now := time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	for _, s := range []string{"213504d", "106752d", "9223372036854775807d", "-1d", "d"} {
		if at, err := replay.ParseMoment(s, now); replay.ExitOf(err) != replay.ExitUsage {
			t.Errorf("%q: got %s, %v, want a mistake", s, at, err)
		}
	}
	if at, err := replay.ParseMoment("36500d", now); err != nil || !at.Equal(now.Add(-36500*24*time.Hour)) {
		t.Errorf("36500d: got %s, %v", at, err)
	}
}

// A rate so small that the time between two letters cannot be counted would be no limit at all.
func TestRateBelowTheClockIsAMistake(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		for _, rate := range []float64{1e-12, 1e-300} {
			_, err := replay.New(replay.Config{
				Topics: w.names, Store: w.store, Gates: []replay.Gate{replay.Integrity{}}, Actor: "kim", Reason: "mended",
				RootCause: "unknown", Rate: rate,
			})
			if replay.ExitOf(err) != replay.ExitUsage || !strings.Contains(err.Error(), "--rate") {
				t.Errorf("%g: got %v, want exit 2", rate, err)
			}
		}
	})
}

// A plan file is made by a program, but anyone may make one: outcomes that nobody knows are no plan, since its lines
// would not add up, and what it says is made safe for a terminal.
func TestPlanFileOfAnotherHandIsReadWithCare(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.deadOf(1, 1)
		p := w.plan()
		forged := *p
		forged.Entries = slices.Clone(p.Entries)
		forged.Entries[0].Outcome = "approve"
		if _, err := replay.DecodePlan(encode(t, resealed(t, &forged))); replay.ExitOf(err) != replay.ExitUsage || !strings.Contains(err.Error(), `"approve"`) {
			t.Errorf("got %v, want exit 2 that names the outcome", err)
		}
		forged.Entries[0] = p.Entries[0]
		forged.Entries[0].Outcome, forged.Entries[0].Code, forged.Entries[0].Fact = replay.Refuse, "\x1b[2J", "\x1b[31m"
		forged.Totals.Currencies = map[string]audit.Total{"\x1b[1m": {Count: 1}}
		var page strings.Builder
		replay.PrintPlan(&page, &forged)
		if strings.Contains(page.String(), "\x1b") {
			t.Errorf("the page steers the terminal: %q", page.String())
		}
	})
}

// Who interrupts a run that has stopped by itself is still told why it stopped.
func TestInterruptDoesNotHideWhyARunStopped(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.deadOf(6, 2)
		ctx, interrupt := context.WithCancel(t.Context())
		defer interrupt()
		_, err := w.runner(func(c *replay.Config) {
			c.Store = mute{w.store}
			c.Observe = func(replay.Event) { interrupt() }
		}).Run(ctx, nil, w.plan())
		if replay.ExitOf(err) != replay.ExitStopped || !errors.Is(err, dedup.ErrUnavailable) {
			t.Errorf("got %v, want that the store is away, exit 5", err)
		}
	})
}

// A store that goes away in the middle of a run says nothing about any letter: none is refused for it, neither in the
// run, whose plan goes on when it is back, nor in a plan that is made meanwhile.
func TestStoreThatIsAwayRefusesNoLetter(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.deadOf(12, 1)
		p := w.plan()
		away := &leaving{Store: w.store}
		away.answers.Store(5)
		gates := func(c *replay.Config) {
			c.Gates = []replay.Gate{replay.Integrity{}, replay.Idempotency{Store: away, Ledger: w.ledger}}
		}
		report := w.run(p, replay.ExitStopped, gates)
		if report.Count(replay.EndRefused) != 0 || report.Count(replay.EndReinjected) != 5 || report.Count(replay.EndUntouched) != 7 {
			t.Errorf("%s, want five back and the rest untouched", report.Line())
		}
		_, err := w.runner(gates).Plan(t.Context(), w.fold(), replay.Selection{All: true})
		if !errors.Is(err, dedup.ErrUnavailable) {
			t.Errorf("a plan meanwhile: got %v, want that the store is away", err)
		}
		w.run(p, replay.ExitDone)
		checkComplete(t, w, 12)
	})
}

// leaving is a store that answers so often and then is away.
type leaving struct {
	dedup.Store
	answers atomic.Int64
}

func (s *leaving) Get(ctx context.Context, hash string) (dedup.Value, bool, error) {
	if s.answers.Add(-1) < 0 {
		return dedup.Value{}, false, dedup.ErrUnavailable
	}
	return s.Store.Get(ctx, hash)
}
