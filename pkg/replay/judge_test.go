package replay_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/audit"
	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/replay"
)

func answer(c replay.Check) replay.Gate {
	return gateFunc(func() (replay.Check, error) { return c, nil })
}

// Gates are independent: all are asked, of several refusals the first is the letter's, and that something has posted
// outweighs them all.
func TestAllGatesAreAskedAndTheirAnswersWeighed(t *testing.T) {
	pass := replay.Check{Pass: true, Fact: "fine"}
	refuse := replay.Check{Code: fault.FailedCauseNotFixed, Fact: "still broken"}
	closed := replay.Check{Code: fault.FailedPeriodClosed, Fact: "closed"}
	duplicate := replay.Check{Code: fault.FailedReplayDuplicate, Fact: "posted", Instead: replay.Suppress}
	own := replay.Check{Fact: "posted itself", Instead: replay.Confirm}
	for name, row := range map[string]struct {
		checks []replay.Check
		want   replay.Outcome
		code   fault.Failure
	}{
		"all pass":                       {[]replay.Check{pass, pass}, replay.Reinject, ""},
		"one refuses":                    {[]replay.Check{pass, refuse, pass}, replay.Refuse, fault.FailedCauseNotFixed},
		"the first of two refusals":      {[]replay.Check{closed, refuse}, replay.Refuse, fault.FailedPeriodClosed},
		"posted after a refusal":         {[]replay.Check{refuse, duplicate}, replay.Suppress, fault.FailedReplayDuplicate},
		"posted before a refusal":        {[]replay.Check{duplicate, closed}, replay.Suppress, fault.FailedReplayDuplicate},
		"its own root posted, refused":   {[]replay.Check{closed, own, refuse}, replay.Confirm, ""},
		"a refusal that says it is none": {[]replay.Check{{Code: fault.FailedReplayLimit, Instead: replay.Refuse}}, replay.Refuse, fault.FailedReplayLimit},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.dead(w.letter(1, "ACME"))
				var gates []replay.Gate
				for _, c := range row.checks {
					gates = append(gates, answer(c))
				}
				r := w.runner(func(c *replay.Config) { c.Gates = gates })
				p, err := r.Plan(t.Context(), w.fold(), replay.Selection{All: true})
				if err != nil {
					t.Fatal(err)
				}
				e := p.Entries[0]
				if e.Outcome != row.want || e.Code != row.code || len(e.Gates) != len(gates) {
					t.Errorf("%s %s by %d gates, want %s %s by all %d", e.Outcome, e.Code, len(e.Gates), row.want, row.code, len(gates))
				}
			})
		})
	}
}

// CONTRACT 9: what the end of a root leaves missing on its other letters, the next run writes, without asking anybody.
func TestRunWritesWhatARootsEndLeftMissing(t *testing.T) {
	for _, row := range []struct {
		end, want envelope.State
	}{{envelope.Confirmed, envelope.Confirmed}, {envelope.Suppressed, envelope.Suppressed}} {
		t.Run(string(row.end), func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				l := w.letter(1, "ACME")
				late := w.letter(1, "ACME", func(l *envelope.Letter) {
					l.Lineage = envelope.Lineage{Root: l.Lineage.Root, Generation: 1, Parent: envelope.EnvelopeID(l.Lineage.Root, 0)}
				})
				w.dead(l, late)
				ended := stateOf(l, row.end, "")
				if ended.Code = ""; row.end == envelope.Suppressed {
					ended.Code = fault.FailedReplayDuplicate
				}
				w.dispose(ended)
				if got := w.statuses(); got[replay.Unrecorded] != 1 || got[replay.Open] != 0 {
					t.Fatalf("letters stand at %v, want one unrecorded", got)
				}
				report := w.run(w.plan(), replay.ExitDone)
				if report.Count(replay.EndSuppressed) != 1 || len(w.all(w.names.Main())) != 0 {
					t.Errorf("%s, want one suppressed and nothing on main", report.Line())
				}
				if got := w.statuses(); got[replay.Status(row.want)] != 2 {
					t.Errorf("letters stand at %v, want both %s", got, row.want)
				}
			})
		})
	}
}

// A letter that was taken out of quarantine comes back like any other.
func TestReleasedLetterComesBack(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		l := w.letter(1, "ACME")
		w.dead(l)
		quarantined := stateOf(l, envelope.Quarantined, "run-1")
		released := stateOf(l, envelope.Released, "run-2")
		released.Lifts = quarantined.EventID
		w.dispose(quarantined)
		if _, err := w.runner().Plan(t.Context(), w.fold(), replay.Selection{All: true}); replay.ExitOf(err) != replay.ExitNothing {
			t.Errorf("in quarantine: %v, want exit 3", err)
		}
		w.dispose(released)
		w.run(w.plan(), replay.ExitDone)
		checkComplete(t, w, 1, envelope.Quarantined, envelope.Released)
	})
}

// Pitfall R30: two environments in one cluster: originals and dispositions land in their own.
func TestPrefixesKeepEnvironmentsApart(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.deadOf(2, 1)
		mine := w.names
		w.names.Prefix = "blue"
		for _, topic := range w.names.Written(short) {
			if err := w.create(topic); err != nil {
				t.Fatal(err)
			}
		}
		w.out = w.client(kgo.RecordPartitioner(partitionerOf(w)))
		blue := w.letter(5, "ACME")
		w.dead(blue)
		w.run(w.plan(), replay.ExitDone)
		if got := len(w.all(w.names.Main())); got != 1 {
			t.Errorf("%d records on %s, want 1", got, w.names.Main())
		}
		if got := len(w.all(mine.Main())) + len(w.all(mine.Dispositions())); got != 0 {
			t.Errorf("%d records in the other environment, want none", got)
		}
	})
}

// An origin's partition that main has no more maps to one that it has.
func TestOriginsPartitionIsTakenModulo(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		l := w.letter(1, "ACME", func(l *envelope.Letter) { l.Origin.Partition = 8 })
		w.dead(l)
		w.run(w.plan(), replay.ExitDone)
		if rs := w.all(w.names.Main()); len(rs) != 1 || rs[0].Partition != 8%partitions {
			t.Errorf("records %v, want one on partition %d", rs, 8%partitions)
		}
	})
}

// Lanes that wait for the same write of the trail share it, and a failed one fails them all.
func TestEvidenceOfSeveralLanesIsOneWrite(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.deadOf(40, 8)
		p := w.plan()
		slow := &slowJournal{journal: w.journal}
		w.run(p, replay.ExitDone, func(c *replay.Config) { c.Journal = slow })
		if slow.writes >= 40 || slow.writes < 5 {
			t.Errorf("40 letters took %d writes, want the lanes to share them", slow.writes)
		}
		checkComplete(t, w, 40)
	})
}

// slowJournal takes a second for each write.
type slowJournal struct {
	*journal
	mu     sync.Mutex
	writes int
}

func (j *slowJournal) Append(ctx context.Context, es ...audit.Entry) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.writes++
	time.Sleep(time.Second)
	return j.journal.Append(ctx, es...)
}

// Progress is told for every letter, in the plan and in the run, up to the total.
func TestProgressIsToldToItsEnd(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.deadOf(10, 3)
		var mu sync.Mutex
		seen := map[replay.Kind]map[int]bool{}
		watch := func(c *replay.Config) {
			c.Observe = func(e replay.Event) {
				mu.Lock()
				defer mu.Unlock()
				if seen[e.Kind] == nil {
					seen[e.Kind] = map[int]bool{}
				}
				seen[e.Kind][e.Done] = true
				if e.Total != 10 || e.Case == nil {
					t.Errorf("%s: total %d, case %v", e.Kind, e.Total, e.Case)
				}
			}
		}
		p, err := w.runner(watch).Plan(t.Context(), w.fold(), replay.Selection{All: true})
		if err != nil {
			t.Fatal(err)
		}
		w.run(p, replay.ExitDone, watch)
		for _, kind := range []replay.Kind{replay.Checked, replay.Ended} {
			if len(seen[kind]) != 10 || !seen[kind][10] {
				t.Errorf("%s was told for %v, want 1 to 10", kind, seen[kind])
			}
		}
	})
}

func TestRunThatLacksSomethingIsNotBegun(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.deadOf(1, 1)
		p := w.plan()
		for name, change := range map[string]func(*replay.Config){
			"producer": func(c *replay.Config) { c.Producer = nil },
			"journal":  func(c *replay.Config) { c.Journal = nil },
			"owner":    func(c *replay.Config) { c.Owner = "" },
		} {
			if _, err := w.runner(change).Run(t.Context(), nil, p); replay.ExitOf(err) != replay.ExitUsage {
				t.Errorf("without %s: %v, want exit 2", name, err)
			}
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := w.runner().Run(gone, nil, p); !errors.Is(err, context.Canceled) || replay.ExitOf(err) != replay.ExitInterrupted {
			t.Errorf("after an interrupt: %v, want exit 6", err)
		}
		w.run(p, replay.ExitDone)
	})
}
