package replay_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/replay"
)

// fact is one record of the DLQ or of the dispositions.
type fact struct {
	at     envelope.Coordinates
	letter *envelope.Letter
	state  *envelope.Disposition
}

func (f fact) into(fold *replay.Fold) {
	switch {
	case f.letter != nil:
		fold.Letter(f.at, f.letter)
	case f.state != nil:
		fold.Disposition(f.state)
	default:
		fold.Undecodable(f.at, errors.New("no letter"))
	}
}

func foldOf(facts ...fact) *replay.Fold {
	f := replay.NewFold()
	for _, x := range facts {
		x.into(f)
	}
	return f
}

// letterOf is the letter of generation g of root n; written is how many seconds later than its first copy this one is.
func letterOf(n, g, written int) *envelope.Letter {
	l := newLetter("recon.main", n, value(n, "ACME"))
	l.Lineage.Generation = g
	l.EnvelopeID = envelope.EnvelopeID(l.Lineage.Root, g)
	if g > 0 {
		l.Lineage.Parent = envelope.EnvelopeID(l.Lineage.Root, g-1)
	}
	m, _ := envelope.Decode(l.Original.Value, l.Original.Headers)
	l.Message = m.Facts()
	l.DeadLetteredAt = l.DeadLetteredAt.Add(time.Duration(written) * time.Second)
	return l
}

func stateOf(l *envelope.Letter, s envelope.State, run string) *envelope.Disposition {
	d := &envelope.Disposition{
		EnvelopeID: envelope.EnvelopeID(l.Lineage.Root, l.Lineage.Generation), Root: l.Lineage.Root, Generation: l.Lineage.Generation,
		State: s, RunID: run, At: l.DeadLetteredAt.Add(time.Minute),
	}
	d.EventID = d.ID()
	return d
}

// history draws letters of a few roots and dispositions about them, any of them repeated.
func history(t *rapid.T) []fact {
	var facts []fact
	var quarantines []string
	place := 0
	at := func() envelope.Coordinates {
		place++
		return envelope.Coordinates{Topic: "recon.dlq", Partition: int32(place % 3), Offset: int64(place)}
	}
	states := envelope.States()
	facts = append(facts, fact{at: at()})
	for range rapid.IntRange(1, 25).Draw(t, "facts") {
		l := letterOf(rapid.IntRange(0, 2).Draw(t, "root"), rapid.IntRange(0, 2).Draw(t, "generation"), rapid.IntRange(0, 2).Draw(t, "written"))
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0, 1, 2, 3:
			facts = append(facts, fact{at: at(), letter: l})
		case 4:
			facts = append(facts, fact{at: at()})
		case 5: // an event that is told again, in other words
			if i := slices.IndexFunc(facts, func(x fact) bool { return x.state != nil }); i >= 0 {
				again := *facts[i].state
				again.At, again.Actor = again.At.Add(time.Duration(rapid.IntRange(-2, 2).Draw(t, "told"))*time.Second), "kim"
				facts = append(facts, fact{state: &again})
			}
		default:
			d := stateOf(l, rapid.SampledFrom(states).Draw(t, "state"), rapid.SampledFrom([]string{"run-1", "run-2"}).Draw(t, "run"))
			d.At = d.At.Add(time.Duration(rapid.IntRange(0, 2).Draw(t, "later")) * time.Second)
			d.Code = rapid.SampledFrom([]fault.Failure{"", fault.FailedCauseNotFixed}).Draw(t, "code")
			switch {
			case d.State == envelope.Quarantined:
				quarantines = append(quarantines, d.EventID)
			case d.State == envelope.Released && len(quarantines) > 0:
				d.Lifts = rapid.SampledFrom(quarantines).Draw(t, "lifts")
			}
			facts = append(facts, fact{state: d})
		}
	}
	return facts
}

// picture is all that a fold says.
func picture(f *replay.Fold) string {
	var b strings.Builder
	for c := range f.All() {
		fmt.Fprintf(&b, "%s %s g%d %v at %s copies %v steps %v root cause %q said %q\n",
			c.EnvelopeID, c.Root, c.Generation, c.Status(), c.At, c.Copies, c.Steps, c.RootCause(), c.Said())
	}
	o := f.Overview()
	fmt.Fprintf(&b, "%v %v %v %v %v %v %v", o.ByStatus, o.Open.Currencies, o.InFlight.Currencies, o.Conflicts, o.Orphans, o.Repeats, f.Unreadable())
	return b.String()
}

// Pitfalls R13, R18, R83, R84: letters and dispositions may be read in any order and any number of times.
func TestFoldIsTheSameInAnyOrderAndWithAnyRepeats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		facts := history(t)
		want := picture(foldOf(facts...))
		mixed := rapid.Permutation(append(slices.Clone(facts), rapid.SliceOf(rapid.SampledFrom(facts)).Draw(t, "repeats")...)).Draw(t, "order")
		if got := picture(foldOf(mixed...)); got != want {
			t.Fatalf("got\n%s\nwant\n%s", got, want)
		}
	})
}

func TestFoldAgreesWithAPlainModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		facts := history(t)
		f := foldOf(facts...)
		letters, byStatus := 0, 0
		for c := range f.All() {
			letters++
			if got, want := c.Status(), plainStatus(facts, c.Root, c.Generation); got != want {
				t.Fatalf("letter of %s generation %d is %s, want %s", c.Root, c.Generation, got, want)
			}
		}
		for _, n := range f.Overview().ByStatus {
			byStatus += n
		}
		if byStatus != letters || f.Overview().Letters != letters {
			t.Fatalf("%d letters by status, %d in all, %d listed", byStatus, f.Overview().Letters, letters)
		}
	})
}

// plainStatus is where a letter stands, straight from the words of the contract.
func plainStatus(facts []fact, root envelope.Coordinates, generation int) replay.Status {
	has := func(g int, s envelope.State) bool {
		return slices.ContainsFunc(facts, func(x fact) bool {
			d := x.state
			if d == nil || d.Root != root || d.Generation != g || d.State != s {
				return false
			}
			lifted := slices.ContainsFunc(facts, func(y fact) bool {
				return y.state != nil && y.state.Root == root && y.state.Generation == g && y.state.State == envelope.Released && y.state.Lifts == d.EventID
			})
			return s != envelope.Quarantined || !lifted
		})
	}
	order := []envelope.State{envelope.Confirmed, envelope.Resolved, envelope.JournalPosted, envelope.Quarantined, envelope.Suppressed}
	for _, s := range order {
		if has(generation, s) {
			return replay.Status(s)
		}
	}
	for _, x := range facts {
		if x.letter != nil && x.letter.Lineage.Root == root && x.letter.Lineage.Generation > generation {
			return replay.Replaced
		}
	}
	for _, s := range order {
		if !has(0, s) && !has(1, s) && !has(2, s) {
			continue
		}
		if s == envelope.Confirmed || s == envelope.Suppressed {
			return replay.Unrecorded
		}
		break
	}
	if has(generation, envelope.Reinjected) {
		return replay.InFlight
	}
	return replay.Open
}

func TestWhereALetterStands(t *testing.T) {
	l, child := letterOf(0, 0, 0), letterOf(0, 1, 0)
	quarantined := stateOf(l, envelope.Quarantined, "run-1")
	released := stateOf(l, envelope.Released, "run-2")
	released.Lifts = quarantined.EventID
	say := func(s ...envelope.State) (facts []fact) {
		for _, s := range s {
			facts = append(facts, fact{state: stateOf(l, s, "run-1")})
		}
		return facts
	}
	for name, row := range map[string]struct {
		facts     []fact
		want      replay.Status
		conflicts int
	}{
		"nothing said":               {nil, replay.Open, 0},
		"refused and acknowledged":   {say(envelope.Refused, envelope.Acknowledged), replay.Open, 0},
		"reinjected":                 {say(envelope.Reinjected), replay.InFlight, 0},
		"confirmed":                  {say(envelope.Reinjected, envelope.Confirmed), replay.Confirmed, 0},
		"failed again":               {append(say(envelope.Reinjected), fact{letter: child}), replay.Replaced, 0},
		"journal after a quarantine": {say(envelope.Quarantined, envelope.JournalPosted), replay.Journaled, 0},
		"confirmed and resolved":     {say(envelope.Resolved, envelope.Confirmed), replay.Confirmed, 1},
		"resolved and quarantined":   {say(envelope.Quarantined, envelope.Resolved), replay.Resolved, 1},
		"suppressed and quarantined": {say(envelope.Suppressed, envelope.Quarantined), replay.InQuarantine, 1},
		"released":                   {[]fact{{state: quarantined}, {state: released}}, replay.Open, 0},
		"its child is by hand":       {append(say(envelope.Confirmed), fact{letter: child}, fact{state: stateOf(child, envelope.Resolved, "run-1")}), replay.Confirmed, 1},
		"its child is confirmed":     {[]fact{{letter: child}, {state: stateOf(child, envelope.Confirmed, "")}}, replay.Replaced, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := foldOf(append(row.facts, fact{at: l.Lineage.Root, letter: l})...)
			c, ok := f.Case(l.EnvelopeID)
			if !ok || c.Status() != row.want {
				t.Errorf("status %s, want %s", c.Status(), row.want)
			}
			if got := f.Conflicts(); len(got) != row.conflicts {
				t.Errorf("conflicts %v, want %d", got, row.conflicts)
			}
		})
	}
}

// CONTRACT 9: a letter whose root posted is not open; a run writes what is missing.
func TestLetterOfARootThatPostedIsNotOpenButReplayable(t *testing.T) {
	l, late := letterOf(0, 0, 0), letterOf(0, 1, 0)
	f := foldOf(fact{at: l.Lineage.Root, letter: l}, fact{letter: late}, fact{state: stateOf(l, envelope.Confirmed, "")})
	c, _ := f.Case(late.EnvelopeID)
	if c.Status() != replay.Unrecorded || !c.Replayable() {
		t.Errorf("status %s, replayable %t; want unrecorded and replayable", c.Status(), c.Replayable())
	}
	if open := slices.Collect(f.Open()); len(open) != 0 {
		t.Errorf("%d letters are open, want none", len(open))
	}
}
