package audit_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"recon/pkg/audit"
	"recon/pkg/envelope"
)

func TestEveryLifeHasOneOutcome(t *testing.T) {
	for _, l := range lives {
		for _, ledger := range []bool{true, false} {
			w := newWorld()
			w.amount = "12.34"
			root := at(0, 7)
			l.write(w, root)
			r := books(ledger, w.facts()).Result()
			if !r.Closes() || len(r.Alarms) > 0 {
				t.Errorf("%s: does not close:\n%s", l.name, text(r))
			}
			if got := r.Ingested.All().Records; got != l.roots {
				t.Errorf("%s: %d ingested, want %d", l.name, got, l.roots)
			}
			if got := r.By[l.want].All().Records; got != 1 {
				t.Errorf("%s: %d are %s, want 1\n%s", l.name, got, l.want, text(r))
			}
		}
	}
}

func TestBooksFoldInAnyOrderWithAnyRepeats(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		picks := rapid.SliceOfN(rapid.IntRange(0, len(lives)-1), 1, 12).Draw(rt, "lives")
		w, _ := story(len(picks), func(i int) int { return picks[i] })
		facts := w.facts()
		want := text(books(true, facts).Result())
		if !strings.Contains(want, "completeness closes") {
			rt.Fatalf("a whole history does not close:\n%s", want)
		}
		again := rapid.SliceOfN(rapid.IntRange(0, len(facts)-1), 0, 20).Draw(rt, "repeats")
		mixed := slices.Clone(facts)
		for _, i := range again {
			mixed = append(mixed, facts[i])
		}
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		rng.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		if got := text(books(true, mixed).Result()); got != want {
			rt.Fatalf("got\n%s\nwant\n%s", got, want)
		}
	})
}

// Pitfall L4: inputs = outcomes, and a record whose outcome is nowhere is named.
func TestLostRecordIsNamed(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		picks := rapid.SliceOfN(rapid.IntRange(0, len(lives)-1), 1, 12).Draw(rt, "lives")
		w, _ := story(len(picks), func(i int) int { return picks[i] })
		roots := slices.SortedFunc(func(yield func(envelope.Coordinates) bool) {
			for root := range w.main {
				if !yield(root) {
					return
				}
			}
		}, func(a, b envelope.Coordinates) int { return strings.Compare(a.String(), b.String()) })
		lost := rapid.SampledFrom(roots).Draw(rt, "lost")
		r := books(true, w.facts(lost)).Result()
		if r.Closes() || !slices.Contains(r.Missing, lost) {
			rt.Fatalf("%s is lost, but:\n%s", lost, text(r))
		}
	})
}

// A source that contradicts itself gives the same result, alarms included, in whatever order it is read.
func TestContradictingFactsGiveOneResultInAnyOrder(t *testing.T) {
	root := at(0, 1)
	for name, say := range map[string]func(w *world, amount string){
		"event":       func(w *world, amount string) { w.event(audit.EventSuppressed, root, 0, "h"+amount) },
		"tier":        func(w *world, amount string) { w.wait(root, 0, "h"+amount) },
		"letter":      func(w *world, amount string) { w.die(root, 0, "h"+amount) },
		"disposition": func(w *world, _ string) { w.dispose(root, 0, envelope.Resolved, nil) },
		"ledger":      func(w *world, amount string) { w.post(root, 0, "h"+amount, "d") },
	} {
		w := newWorld()
		w.amount = "5"
		w.arrive(root, "h5", "d")
		for _, amount := range []string{"5", "6", "", "4"} {
			w.amount = amount
			say(w, amount)
		}
		facts := w.facts()
		want := text(books(true, facts).Result())
		for range 50 {
			rand.Shuffle(len(facts), func(i, j int) { facts[i], facts[j] = facts[j], facts[i] })
			if got := text(books(true, facts).Result()); got != want {
				t.Fatalf("%s: got\n%s\nwant\n%s", name, got, want)
			}
		}
	}
}

func TestMissingRootsAreListedSmallestFirst(t *testing.T) {
	w := newWorld()
	w.amount = "1"
	want := []envelope.Coordinates{at(0, 2), at(0, 10), at(1, 1), at(2, 0)}
	for _, root := range []envelope.Coordinates{want[2], want[1], want[3], want[0]} {
		w.arrive(root, hashOf(root), "d")
	}
	if got := books(true, w.facts()).Result().Missing; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// The order of CONTRACT 9: posted, resolved, quarantined, suppressed, open letter, waiting.
func TestARootHasItsFirstOutcome(t *testing.T) {
	root := at(0, 1)
	add := []struct {
		want audit.Standing
		say  func(w *world)
	}{
		{audit.AsMissing, func(w *world) { w.arrive(root, hashOf(root), "d") }},
		{audit.AsWaiting, func(w *world) { w.wait(root, 0, hashOf(root)) }},
		{audit.AsOpen, func(w *world) { w.die(root, 0, hashOf(root)) }},
		{audit.AsSuppressed, func(w *world) { w.event(audit.EventSuppressed, root, 0, hashOf(root)) }},
		{audit.AsQuarantined, func(w *world) { w.dispose(root, 0, envelope.Quarantined, nil) }},
		{audit.AsJournaled, func(w *world) { w.dispose(root, 0, envelope.JournalPosted, nil) }},
		{audit.AsResolved, func(w *world) { w.dispose(root, 0, envelope.Resolved, nil) }},
		{audit.AsPosted, func(w *world) { w.post(root, 0, hashOf(root), "d") }},
	}
	w := newWorld()
	w.amount = "5"
	for _, step := range add {
		step.say(w)
		r := books(true, w.facts()).Result()
		if got := r.By[step.want].All().Records; got != 1 {
			t.Errorf("want %s, got\n%s", step.want, text(r))
		}
	}
}

// A letter that has a child is not open any more: the child's fate is the record's.
func TestLetterWithAChildIsNotOpen(t *testing.T) {
	w := newWorld()
	w.amount = "5"
	root := at(0, 1)
	w.arrive(root, hashOf(root), "d")
	w.die(root, 0, hashOf(root))
	w.die(root, 1, hashOf(root))
	w.dispose(root, 1, envelope.Confirmed, nil) // and the ledger has no posting: nothing of it is open
	r := books(true, w.facts()).Result()
	if r.By[audit.AsOpen].All().Records != 0 || !slices.Equal(r.Missing, []envelope.Coordinates{root}) {
		t.Errorf("want it missing, got\n%s", text(r))
	}
}

func TestAlarms(t *testing.T) {
	root, twin := at(0, 1), at(0, 2)
	for _, row := range []struct {
		name  string
		grave bool
		want  string
		say   func(w *world)
	}{
		{"posted and resolved", true, "posted, and resolved by a person as well", func(w *world) {
			w.arrive(root, hashOf(root), "d")
			w.die(root, 0, hashOf(root))
			w.dispose(root, 0, envelope.Resolved, nil)
			w.post(root, 0, hashOf(root), "d")
		}},
		{"posted and quarantined", true, "posted, and quarantined", func(w *world) {
			w.arrive(root, hashOf(root), "d")
			w.die(root, 0, hashOf(root))
			w.dispose(root, 0, envelope.Quarantined, nil)
			w.post(root, 0, hashOf(root), "d")
		}},
		{"two terminal states", false, "has 2 terminal states: resolved, quarantined", func(w *world) {
			w.arrive(root, hashOf(root), "d")
			w.die(root, 0, hashOf(root))
			w.dispose(root, 0, envelope.Resolved, nil)
			w.dispose(root, 0, envelope.Quarantined, nil)
		}},
		{"open letter of a resolved root", false, "is open although its root is resolved", func(w *world) {
			w.arrive(root, hashOf(root), "d")
			w.die(root, 0, hashOf(root))
			w.dispose(root, 0, envelope.Resolved, nil)
			w.die(root, 1, hashOf(root))
		}},
		{"one hash posted twice", true, "is posted 2 times, by recon.main/0@1 and recon.main/0@2", func(w *world) {
			for _, r := range []envelope.Coordinates{root, twin} {
				w.arrive(r, hashOf(root), "d")
				w.post(r, 0, hashOf(root), "d")
			}
		}},
		{"another amount in the ledger", true, "the amount differs: ingested EUR 5, posted EUR 6", func(w *world) {
			w.arrive(root, hashOf(root), "d")
			w.amount = "6"
			w.post(root, 0, hashOf(root), "d")
		}},
		{"another amount in the letter", true, "the amount differs: ingested EUR 5, open dead letters EUR 6", func(w *world) {
			w.arrive(root, hashOf(root), "d")
			w.amount = "6"
			w.die(root, 0, hashOf(root))
		}},
		{"another content in the ledger", true, "the posting is of another content", func(w *world) {
			w.arrive(root, hashOf(root), "d")
			w.post(root, 0, hashOf(root), "e")
		}},
		{"posted under another hash", true, "posted under source_hash other", func(w *world) {
			w.arrive(root, hashOf(root), "d")
			w.post(root, 0, "other", "d")
		}},
		{"posting that only the trail knows", true, "the ledger has no posting of it", func(w *world) {
			w.arrive(root, hashOf(root), "d")
			w.event(audit.EventPosted, root, 0, hashOf(root))
		}},
		{"confirmation without a posting", true, "confirmed as posted, but the ledger has no posting", func(w *world) {
			w.arrive(root, hashOf(root), "d")
			w.die(root, 0, hashOf(root))
			w.dispose(root, 0, envelope.Confirmed, nil)
		}},
		{"suppressed, and nothing posted", true, "is not posted", func(w *world) {
			w.arrive(root, hashOf(root), "d")
			w.event(audit.EventSuppressed, root, 0, hashOf(root))
		}},
		{"suppressed for another transaction", true, "which is another transaction", func(w *world) {
			w.arrive(root, hashOf(root), "d")
			w.event(audit.EventSuppressed, root, 0, hashOf(root))
			w.arrive(twin, hashOf(root), "e")
			w.post(twin, 0, hashOf(root), "e")
		}},
		{"posted and suppressed", false, "reported as suppressed as well", func(w *world) {
			w.arrive(root, hashOf(root), "d")
			w.post(root, 0, hashOf(root), "d")
			w.event(audit.EventSuppressed, root, 0, hashOf(root))
		}},
		{"a posting of nothing", true, "main does not hold such a record", func(w *world) {
			w.post(root, 0, hashOf(root), "d")
		}},
		{"unreadable evidence", true, "no letter can be read here", func(w *world) {
			w.say(root, func(b *audit.Books) { b.Suspect(root, "no letter can be read here") })
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld()
			w.amount = "5"
			row.say(w)
			b := books(true, w.facts())
			b.Cut(0, 0, 100)
			r := b.Result()
			i := slices.IndexFunc(r.Alarms, func(a audit.Alarm) bool { return strings.Contains(a.Text, row.want) })
			if i < 0 || r.Alarms[i].Grave != row.grave || r.Closes() == row.grave {
				t.Errorf("want an alarm %q, grave %v; got\n%s", row.want, row.grave, text(r))
			}
		})
	}
}

func TestCutBoundsWhatIsCounted(t *testing.T) {
	w := newWorld()
	w.amount = "5"
	for offset := int64(10); offset < 20; offset++ {
		w.arrive(at(0, offset), hashOf(at(0, offset)), "d")
		w.post(at(0, offset), 0, hashOf(at(0, offset)), "d")
	}
	w.arrive(at(0, 20), "in flight", "d")                             // at the committed position: not yet handled
	w.post(at(0, 21), 0, "ahead", "d")                                // beyond it
	w.post(envelope.Coordinates{Topic: "other.main"}, 0, "other", "") // another house's
	w.event(audit.EventPosted, at(0, 9), 0, hashOf(at(0, 9)))         // no longer on main
	w.say(at(0, 9), func(b *audit.Books) {
		b.Posted(audit.Posting{SourceHash: hashOf(at(0, 9)), Root: at(0, 9), Money: audit.MoneyOf("EUR", "5")})
	})
	b := books(true, w.facts())
	b.Cut(0, 10, 20)
	r := b.Result()
	if got := r.Ingested.All().Records; got != 11 || !r.Closes() || len(r.Alarms) > 0 || r.BelowStart[0] != 1 {
		t.Errorf("%d counted, want 11, one of them from the trail\n%s", got, text(r))
	}
	if !strings.Contains(text(r), "recon.main/0: 1 records that are no longer there were counted from the audit trail") {
		t.Errorf("it is not said:\n%s", text(r))
	}
}
