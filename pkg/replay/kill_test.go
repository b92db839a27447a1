package replay_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/audit"
	"recon/pkg/dedup"
	"recon/pkg/replay"
)

var errKilled = errors.New("killed")

// life is the life of one process: the n-th act of a kind, counted from 1, is its last one, done or not; from then on
// nothing that it does has any effect.
type life struct {
	kind string // reserve, main, evidence, disposition; empty: any
	n    int
	done bool // the last act still takes effect; its answer never comes

	mu    sync.Mutex
	acts  int
	ended bool
}

// act tells whether an act takes effect, and whether its answer comes.
func (l *life) act(kind string) (effect, answer bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return false, false
	}
	if l.kind != "" && l.kind != kind {
		return true, true
	}
	if l.acts++; l.acts < l.n {
		return true, true
	}
	l.ended = true
	return l.done, false
}

// mortal is everything that a run writes to, for the length of a life.
type mortal struct {
	*life
	dedup.Store
	w *world
}

func (m mortal) Reserve(ctx context.Context, r dedup.Reservation) (dedup.ReserveAnswer, error) {
	effect, answer := m.act("reserve")
	var a dedup.ReserveAnswer
	var err error
	if effect {
		a, err = m.Store.Reserve(ctx, r)
	}
	if !answer {
		return dedup.ReserveAnswer{}, errKilled
	}
	return a, err
}

func (m mortal) Produce(ctx context.Context, r *kgo.Record, done func(*kgo.Record, error)) {
	kind := "main"
	if r.Topic == m.w.names.Dispositions() {
		kind = "disposition"
	}
	effect, answer := m.act(kind)
	switch {
	case !effect:
		done(r, errKilled)
	case answer:
		m.w.out.Produce(ctx, r, done)
	default:
		m.w.out.Produce(ctx, r, func(r *kgo.Record, _ error) { done(r, errKilled) })
	}
}

func (m mortal) Append(ctx context.Context, es ...audit.Entry) error {
	effect, answer := m.act("evidence")
	var err error
	if effect {
		err = m.w.journal.Append(ctx, es...)
	}
	if !answer {
		return errKilled
	}
	return err
}

// live runs the plan for the length of a life.
func (w *world) live(p *replay.Plan, l *life) (*replay.Report, error) {
	m := mortal{l, w.store, w}
	return w.runner(func(c *replay.Config) { c.Store, c.Producer, c.Journal = m, m, m }).Run(w.t.Context(), nil, p)
}

// Pitfalls R1, R20, R32, R33, R36: a run of many letters is killed before or after any of its steps; the same plan run
// again completes it. Every letter has one state, one piece of evidence, and one record that a consumer accepts, whether
// the consumer worked in between or not.
func TestRunKilledAtAnyStepIsCompletedByTheSamePlan(t *testing.T) {
	letters := 200
	if testing.Short() {
		letters = 60
	}
	for i, kind := range []string{"reserve", "main", "evidence", "disposition"} {
		for _, done := range []bool{false, true} {
			n, consumed := 1+rand.IntN(letters-1), (i%2 == 0) == done // not the last: behind its disposition nothing is left
			if kind == "evidence" {                                   // one write takes what all lanes wait to tell
				n = 1 + n/10
			}
			t.Run(fmt.Sprintf("%s %d done %t consumed %t", kind, n, done, consumed), func(t *testing.T) {
				bubble(t, func(t *testing.T, w *world) {
					w.deadOf(letters, 5)
					p := w.plan()
					report, err := w.live(p, &life{kind: kind, n: n, done: done})
					if replay.ExitOf(err) != replay.ExitStopped || !errors.Is(err, errKilled) {
						t.Fatalf("ended with %v, want that it stopped", err)
					}
					if got := report.Count(replay.EndFailed) + report.Count(replay.EndReinjected) + report.Count(replay.EndUntouched); got != letters {
						t.Errorf("%s: want all accounted for", report.Line())
					}
					if consumed {
						w.consume(nil)
					}
					if next := w.run(p, replay.ExitDone); next.Count(replay.EndReinjected)+next.Count(replay.EndSuppressed) != letters {
						t.Errorf("%s, want all brought back", next.Line())
					}
					checkComplete(t, w, letters)
				})
			})
		}
	}
}

// The same over many random lives in a row, with consumers that post or fail in between and new plans for what failed.
func TestRunsKilledAtRandomLoseAndDoubleNothing(t *testing.T) {
	seeds := 6
	if testing.Short() {
		seeds = 3
	}
	for range seeds {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			bubble(t, func(t *testing.T, w *world) {
				const letters = 40
				w.deadOf(letters, 4)
				p := w.plan()
				for {
					l := &life{n: 1 + random.IntN(120), done: random.IntN(2) == 0}
					_, err := w.live(p, l)
					if random.IntN(2) == 0 {
						w.consume(nil)
					}
					if code := replay.ExitOf(err); code == replay.ExitDone || code == replay.ExitNothing {
						break
					} else if code != replay.ExitStopped {
						t.Fatalf("a killed run ended with %v", err)
					}
				}
				checkComplete(t, w, letters)
			})
		})
	}
}

// A letter whose replay is on main and was seen by a consumer, but whose run was killed before it said so, is not
// brought back once more: what is missing is written.
func TestReplaySeenByTheConsumerIsCompletedNotRepeated(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		l := w.letter(1, "ACME")
		w.dead(l)
		p := w.plan()
		if _, err := w.live(p, &life{kind: "evidence", n: 1}); replay.ExitOf(err) != replay.ExitStopped {
			t.Fatal(err)
		}
		w.settle(dedup.Waiting, claimOf(w, l, l.Lineage.Root, 1)) // a consumer has put it on a tier
		report := w.run(p, replay.ExitDone)
		if report.Count(replay.EndReinjected) != 1 || !report.Results[0].Again {
			t.Errorf("%s, want the letter completed", report.Line())
		}
		if got := len(w.all(w.names.Main())); got != 1 {
			t.Errorf("%d records on main, want the first one alone", got)
		}
		if got := w.statuses(); got[replay.InFlight] != 1 {
			t.Errorf("letters stand at %v, want in flight", got)
		}
	})
}

// Pitfall R14: a broker that takes nothing ends the run after the letters in hand, each with its count, and says why.
func TestBrokerThatTakesNothingStopsTheRun(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.deadOf(30, 30)
		p := w.plan()
		link := w.kafka.NewLink()
		cut := w.client(append(link.Options(), kgo.AllowIdempotentProduceCancellation())...)
		began := time.Now()
		report, err := w.runner(func(c *replay.Config) {
			c.Producer, c.Concurrency, c.ProduceTimeout = cut, 4, 5*time.Second
			c.Observe = func(e replay.Event) { link.Cut() }
		}).Run(t.Context(), nil, p)
		if replay.ExitOf(err) != replay.ExitStopped || !strings.Contains(err.Error(), w.names.Main()) && !strings.Contains(err.Error(), w.names.Dispositions()) {
			t.Fatalf("ended with %v, want that it stopped at a topic", err)
		}
		if got := report.Count(replay.EndFailed); got == 0 || got > 4 {
			t.Errorf("%s, want those in hand failed and no more", report.Line())
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("it took %s to find out, want about the produce timeout", took)
		}
		w.run(p, replay.ExitDone)
		checkComplete(t, w, 30)
	})
}
