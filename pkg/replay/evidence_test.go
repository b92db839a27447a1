package replay_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/audit"
	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/replay"
)

// Every decision carries who, why, in which run of which plan, and what it is about; the trail says the same.
func TestDispositionAndEvidenceSayWhoWhyAndWhat(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		l := w.letter(1, "ACME")
		w.dead(l)
		mine := func(c *replay.Config) { c.Ticket, c.ConfigDigest = "OPS-1", "digest-1" }
		p, err := w.runner(mine).Plan(t.Context(), w.fold(), replay.Selection{Entities: []string{"ACME"}})
		if err != nil {
			t.Fatal(err)
		}
		if p.Reason != "mapping added" || p.Ticket != "OPS-1" || p.Actor != "kim" || p.Selection != "--entity ACME" || p.RootCause != "mapping_missing" {
			t.Errorf("the plan says %+v", p)
		}
		report := w.run(p, replay.ExitDone, mine, func(c *replay.Config) { c.Actor, c.Reason = "lee", "of the runner, not of the plan" })
		got := w.dispositions()[0]
		want := envelope.Disposition{
			EventID:    envelope.DispositionID(l.EnvelopeID, envelope.Reinjected, envelope.ReplayID(l.EnvelopeID)),
			EnvelopeID: l.EnvelopeID, Root: l.Lineage.Root, State: envelope.Reinjected, SourceHash: "hash-000001", TraceID: got.TraceID,
			MatchDecision: envelope.Matched, Entity: "ACME", Currency: "EUR", Amount: "11.5", RunID: report.RunID, ReplayID: envelope.ReplayID(l.EnvelopeID),
			PlanID: p.ID, Actor: "lee", Reason: "mapping added", RootCause: "mapping_missing", Ticket: "OPS-1", ConfigDigest: "digest-1", At: got.At,
		}
		if *got != want {
			t.Errorf("disposition\n%+v\nwant\n%+v", *got, want)
		}
		if got.TraceID == "" || time.Since(got.At) > time.Minute {
			t.Errorf("trace id %q at %s, want both", got.TraceID, got.At)
		}
		e := w.journal.events[0]
		if e.ID() != e.EventID || e.Type != audit.EventReinjected || e.Root != l.Lineage.Root || e.Actor != "lee" || e.RunID != report.RunID ||
			e.Amount != "11.5" || e.Entity != "ACME" || e.SourceHash != "hash-000001" || e.MatchDecision != envelope.Matched || e.MessageID != envelope.MessageID(l.Lineage.Root) {
			t.Errorf("event %+v", e)
		}
	})
}

// Two refusals of two runs are two dispositions; the same replay told twice is one.
func TestRefusalsCountPerRunAndReplaysOnce(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.deadOf(1, 1)
		w.ledger.refuse = func(*envelope.Message) error { return fault.New(fault.RateNotPublished, "no rate") }
		for range 2 {
			w.run(w.plan(), replay.ExitIncomplete)
		}
		if got := len(w.dispositions()); got != 2 {
			t.Errorf("%d dispositions after two refusals, want 2", got)
		}
		w.ledger.refuse = nil
		p := w.plan()
		w.run(p, replay.ExitDone)
		c := w.fold()
		for l := range c.All() {
			if l.Status() != replay.InFlight || l.Said() != envelope.Refused || l.RootCause() != "mapping_missing" || len(l.Steps) != 3 {
				t.Errorf("letter %s said %s, %d steps; want in flight after two refusals", l.Status(), l.Said(), len(l.Steps))
			}
		}
	})
}

// The order of an entity on main is the plan's, whatever runs beside it.
func TestOrderOfAnEntityOnMainIsThePlans(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		var ls []*envelope.Letter
		for n := range 24 {
			l := w.letter(23-n, fmt.Sprintf("E%d", n%2))
			l.Origin.Partition = 0
			ls = append(ls, l)
		}
		w.dead(ls...)
		p := w.plan()
		w.run(p, replay.ExitDone)
		want, got := map[string][]string{}, map[string][]string{}
		for _, e := range p.Entries {
			want[e.Entity] = append(want[e.Entity], e.EnvelopeID)
		}
		entity := map[string]string{}
		for _, e := range p.Entries {
			entity[e.EnvelopeID] = e.Entity
		}
		for _, r := range w.all(w.names.Main()) {
			_, ours := envelope.SplitHeaders(r.Headers)
			said, _ := envelope.ParseRetry(ours)
			got[entity[said.Envelope]] = append(got[entity[said.Envelope]], said.Envelope)
		}
		for e := range want {
			if !slices.Equal(got[e], want[e]) {
				t.Errorf("%s came back as %v, want %v", e, got[e], want[e])
			}
		}
	})
}

// A plan of more letters than are held in memory at once, in one long lane and some short ones, is worked off whole.
func TestLongPlanIsWorkedOffInBatches(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		var ls []*envelope.Letter
		for n := range 250 {
			entity := "BIG"
			if n%50 == 0 {
				entity = fmt.Sprint("SMALL", n)
			}
			ls = append(ls, w.letter(n, entity))
		}
		w.dead(ls...)
		p := w.plan()
		if len(p.Entries) != 250 || p.Totals.Currencies["EUR"].Count != 250 {
			t.Fatalf("%d letters, totals %+v; want 250", len(p.Entries), p.Totals)
		}
		w.run(p, replay.ExitDone)
		checkComplete(t, w, 250)
	})
}

// Reading on gives the same state as reading anew, whatever came in between.
func TestCatchingUpAgreesWithReadingAnew(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		seed := rand.Uint64()
		random := rand.New(rand.NewPCG(seed, 1))
		f := replay.NewFold()
		for range 12 {
			var rs []*kgo.Record
			for range random.IntN(8) {
				l := letterOf(random.IntN(4), random.IntN(3), random.IntN(3))
				l.Origin.Partition = int32(random.IntN(partitions))
				body, err := l.Encode()
				if err != nil {
					t.Fatal(err)
				}
				rs = append(rs, w.dlq(l, body))
				d := stateOf(l, []envelope.State{envelope.Confirmed, envelope.Quarantined, envelope.Refused, envelope.Reinjected}[random.IntN(4)], "run-1")
				d.Code, d.ReplayID = fault.FailedCauseNotFixed, envelope.ReplayID(l.EnvelopeID)
				if body, err = d.Encode(); err != nil {
					t.Fatal(err)
				}
				rs = append(rs, &kgo.Record{Topic: w.names.Dispositions(), Key: []byte(d.EnvelopeID), Value: body})
			}
			if random.IntN(3) == 0 {
				rs = append(rs, &kgo.Record{Topic: w.names.DLQ(), Value: []byte("no letter")})
			}
			w.write(rs...)
			if err := f.CatchUp(t.Context(), w.options(), w.names, nil); err != nil {
				t.Fatal(err)
			}
			if got, want := picture(f), picture(w.fold()); got != want {
				t.Fatalf("seed %d: caught up\n%s\nread anew\n%s", seed, got, want)
			}
		}
	})
}
