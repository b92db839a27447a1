package replay_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/audit"
	"recon/pkg/dedup"
	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/replay"
)

// bubble runs f in a world of its own, in virtual time.
func bubble(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newWorld(t)) })
}

// Pitfalls R12, R28, R29, R40, R45, R52, R56: the original comes back byte for byte, with its lineage and a fresh time,
// from attempt 0; only the consumer's word makes it confirmed.
func TestOriginalComesBackAndIsConfirmed(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		l := w.letter(4, "ACME", func(l *envelope.Letter) { l.FirstSeenAt = time.Date(1999, 10, 1, 0, 0, 0, 0, time.UTC) })
		w.dead(l)
		p := w.plan()
		report := w.run(p, replay.ExitDone)
		if got, want := report.Line(), "selected 1 = reinjected 1 + suppressed 0 + quarantined 0 + refused 0 + failed 0 + untouched 0"; got != want {
			t.Errorf("last line %q, want %q", got, want)
		}
		rs := w.all(w.names.Main())
		if len(rs) != 1 {
			t.Fatalf("%d records on main, want 1", len(rs))
		}
		checkReplay(t, rs[0], l)
		if got := w.statuses(); got[replay.InFlight] != 1 {
			t.Errorf("before the consumer's word the letter is %v, want in flight", got)
		}
		w.consume(nil)
		if got := w.statuses(); got[replay.Confirmed] != 1 {
			t.Errorf("after it the letter is %v, want confirmed", got)
		}
		if got := w.journal.types(); got[audit.EventReinjected] != 1 || len(got) != 1 {
			t.Errorf("events %v, want one %s", got, audit.EventReinjected)
		}
	})
}

// checkReplay compares a record on main with the letter that it brings back.
func checkReplay(t *testing.T, r *kgo.Record, l *envelope.Letter) {
	t.Helper()
	own, ours := envelope.SplitHeaders(r.Headers)
	said, errs := envelope.ParseRetry(ours)
	if len(errs) > 0 {
		t.Errorf("headers: %v", errs)
	}
	want := envelope.Retry{
		Root: l.Lineage.Root, Generation: l.Lineage.Generation + 1, MessageID: envelope.MessageID(l.Lineage.Root), FirstSeen: l.FirstSeenAt,
		Envelope: l.EnvelopeID, Replay: envelope.ReplayID(l.EnvelopeID),
	}
	if fmt.Sprint(said) != fmt.Sprint(want) {
		t.Errorf("headers say %+v, want %+v", said, want)
	}
	if !bytes.Equal(r.Key, l.Original.Key) || (r.Key == nil) != (l.Original.Key == nil) || !bytes.Equal(r.Value, l.Original.Value) {
		t.Errorf("key %q value %q, want %q and %q", r.Key, r.Value, l.Original.Key, l.Original.Value)
	}
	if len(own)+len(l.Original.Headers) > 0 && fmt.Sprintf("%#v", own) != fmt.Sprintf("%#v", l.Original.Headers) {
		t.Errorf("own headers %#v, want %#v", own, l.Original.Headers)
	}
	if r.Partition != l.Origin.Partition {
		t.Errorf("partition %d, want the origin's %d", r.Partition, l.Origin.Partition)
	}
	if age := time.Since(r.Timestamp); age < 0 || age > time.Minute {
		t.Errorf("timestamp %s, want the current time", r.Timestamp)
	}
}

// Pitfall R46: an original that is itself a letter, or has no key and no headers, comes back as it was.
func TestOddOriginalsComeBackAsTheyWere(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		inner, err := w.letter(7, "ACME").Encode()
		if err != nil {
			t.Fatal(err)
		}
		wrapped := bytes.Replace(value(0, "ACME"), []byte(`{`), []byte(`{"letter":`+string(inner)+`,`), 1)
		bare := w.letter(1, "ACME", func(l *envelope.Letter) { l.Original.Key, l.Original.Headers = nil, nil })
		nested := w.letter(0, "ACME", func(l *envelope.Letter) { l.Original.Key, l.Original.Value = []byte{}, wrapped })
		w.dead(nested, bare)
		w.run(w.plan(), replay.ExitDone)
		for _, r := range w.all(w.names.Main()) {
			if r.Partition == 0 {
				checkReplay(t, r, nested)
			} else {
				checkReplay(t, r, bare)
			}
		}
	})
}

// Pitfall R29: what fails again lands in the DLQ as a child of generation 1, and can come back as generation 2.
func TestReplayThatFailsAgainIsReplacedByItsChild(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		l := w.letter(5, "ACME")
		w.dead(l)
		w.run(w.plan(), replay.ExitDone)
		w.consume(func(*envelope.Message) error { return errors.New("still no mapping") })
		if got := w.statuses(); got[replay.Replaced] != 1 || got[replay.Open] != 1 {
			t.Fatalf("letters stand at %v, want the parent replaced and the child open", got)
		}
		p := w.plan()
		if len(p.Entries) != 1 || p.Entries[0].Generation != 1 || p.Entries[0].Root != l.Lineage.Root {
			t.Fatalf("plan %+v, want the child alone", p.Entries)
		}
		w.run(p, replay.ExitDone)
		w.consume(nil)
		if got := w.statuses(); got[replay.Confirmed] != 1 || got[replay.Replaced] != 1 {
			t.Errorf("letters stand at %v, want the child confirmed", got)
		}
		if row := w.ledger.rows["hash-000005"]; row == nil || row.Root != l.Lineage.Root || row.Generation != 2 {
			t.Errorf("posted as %+v, want the root's generation 2", row)
		}
	})
}

// Pitfalls R68, R63: what becomes a letter after the plan was made is not touched by its run, also what failed in it.
func TestNewLettersAreNotTouchedByTheRun(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.dead(w.letter(0, "ACME"), w.letter(1, "ACME"))
		p := w.plan()
		late := w.letter(2, "ACME")
		w.dead(late)
		once := false
		report := w.run(p, replay.ExitDone, func(c *replay.Config) {
			c.Concurrency = 1
			c.Observe = func(replay.Event) {
				if !once {
					once = true
					w.dead(w.letter(3, "ACME"))
				}
			}
		})
		if got := report.Count(replay.EndReinjected); got != 2 || len(report.Results) != 2 {
			t.Errorf("%s, want the plan's two letters", report.Line())
		}
		if got := len(w.all(w.names.Main())); got != 2 {
			t.Errorf("%d records on main, want 2", got)
		}
		if got := w.statuses(); got[replay.Open] != 2 {
			t.Errorf("letters stand at %v, want the two later ones open", got)
		}
	})
}

// The same plan again has nothing left to do, also when its letters are confirmed, or refused, by now.
func TestSamePlanAgainHasNothingToDo(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.ledger.refuse = func(m *envelope.Message) error {
			if m.SourceHash == "hash-000001" {
				return fault.New(fault.RateNotPublished, "no rate")
			}
			return nil
		}
		w.dead(w.letter(0, "ACME"), w.letter(1, "ACME"), w.letter(2, "BETA"))
		p := w.plan()
		w.run(p, replay.ExitIncomplete)
		w.run(p, replay.ExitNothing)
		w.consume(nil)
		report := w.run(p, replay.ExitNothing)
		if got, want := report.Line(), "selected 3 = reinjected 2 + suppressed 0 + quarantined 0 + refused 1 + failed 0 + untouched 0"; got != want {
			t.Errorf("last line %q, want %q", got, want)
		}
		if report.Earlier() != 3 {
			t.Errorf("%d letters are an earlier run's, want 3", report.Earlier())
		}
		if got := len(w.all(w.names.Main())); got != 2 {
			t.Errorf("%d records on main, want 2", got)
		}
		if r := report.Results[1]; !r.Earlier || !strings.Contains(r.Fact, "no rate") {
			t.Errorf("what was refused earlier is %+v, want its fact", r)
		}
	})
}

// What is at work or waiting elsewhere ends by itself: the same plan asks again for what was refused for that, and for
// nothing else. How much of a plan is left is known before it is run.
func TestSamePlanAsksAgainForWhatWasInFlightElsewhere(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.ledger.refuse = func(m *envelope.Message) error {
			if m.SourceHash == "hash-000002" {
				return fault.New(fault.RateNotPublished, "no rate")
			}
			return nil
		}
		left := func(p *replay.Plan, want int) {
			t.Helper()
			if n, err := p.Left(w.fold()); err != nil || n != want {
				t.Errorf("%d letters of the plan are left (%v), want %d", n, err, want)
			}
		}
		l := w.letter(1, "ACME")
		w.dead(l, w.letter(2, "ACME"), w.letter(3, "BETA"))
		p := w.plan()
		left(p, 3)
		w.settle(dedup.Waiting, claimOf(w, l, other, 0))
		report := w.run(p, replay.ExitIncomplete)
		if r := report.Results[0]; r.Code != fault.FailedInFlightElsewhere {
			t.Fatalf("the first letter is %s %s %q, want it in flight elsewhere", r.Ending, r.Code, r.Fact)
		}
		left(p, 1)
		w.run(p, replay.ExitIncomplete)
		left(p, 1)
		posted(other, true)(w, l)
		report = w.run(p, replay.ExitIncomplete)
		if got, want := report.Line(), "selected 3 = reinjected 1 + suppressed 1 + quarantined 0 + refused 1 + failed 0 + untouched 0"; got != want || report.Earlier() != 2 {
			t.Errorf("last line %q, %d of an earlier run; want %q and 2", got, report.Earlier(), want)
		}
		left(p, 0)
		w.run(p, replay.ExitNothing)
	})
}

// The rate spaces the letters that are begun; the order of an entity is the plan's, however many run at once.
func TestRateAndOrderOfEachEntityAreKept(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		for n := range 24 {
			w.dead(w.letter(23-n, fmt.Sprintf("E%d", n%2)))
		}
		p := w.plan()
		began := time.Now()
		w.run(p, replay.ExitDone, func(c *replay.Config) { c.Rate = 4 })
		if took := time.Since(began); took < 23*time.Second/4 {
			t.Errorf("24 letters at 4 per second took %s, want at least %s", took, 23*time.Second/4)
		}
		last := map[string]time.Time{}
		ds := w.dispositions()
		if len(ds) != 24 {
			t.Fatalf("%d dispositions, want 24", len(ds))
		}
		at := map[string]time.Time{}
		for _, d := range ds {
			at[d.EnvelopeID] = d.At
		}
		for _, e := range p.Entries {
			if at[e.EnvelopeID].Before(last[e.Entity]) {
				t.Errorf("letter %s of %s came back before the one ahead of it", e.EnvelopeID, e.Entity)
			}
			last[e.Entity] = at[e.EnvelopeID]
		}
		if !strings.HasPrefix(p.Entries[0].Entity, "E0") || p.Entries[0].Root.Offset > p.Entries[11].Root.Offset {
			t.Errorf("the plan is not in the order of entity and first seen")
		}
	})
}

// Pitfalls R26, R63: letters none of which can come back are all refused, each with its code, and the run ends.
func TestDeadLettersThatAllStayInvalidEndTheRun(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		bad := [][]byte{nil, {}, []byte("no json"), []byte(`[]`), []byte(`{"amount":1}`), []byte(`{"source_hash":"hash-000001"}`)}
		for n, v := range bad {
			w.dead(w.letter(n, "", func(l *envelope.Letter) { l.Original.Value = v }))
		}
		p := w.plan()
		if p.Count(replay.Refuse) != len(bad) {
			t.Fatalf("the plan refuses %d, want all %d", p.Count(replay.Refuse), len(bad))
		}
		report := w.run(p, replay.ExitIncomplete)
		if report.Count(replay.EndRefused) != len(bad) {
			t.Errorf("%s, want all refused", report.Line())
		}
		for _, d := range w.dispositions() {
			if d.State != envelope.Refused || d.Code != fault.FailedStillInvalid || d.Note == "" {
				t.Errorf("disposition %s %s %q, want refused, STILL_INVALID and the fact", d.State, d.Code, d.Note)
			}
		}
		if got := w.statuses(); got[replay.Open] != len(bad) {
			t.Errorf("letters stand at %v, want all still open", got)
		}
		if got := len(w.all(w.names.Main())); got != 0 {
			t.Errorf("%d records on main, want none", got)
		}
	})
}
