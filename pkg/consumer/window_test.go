package consumer

import (
	"testing"

	"pgregory.net/rapid"
)

// windowModel is the plain account of what a window may do: every delivered offset with whether it is done.
type windowModel struct {
	offsets []int64
	slots   []slot
	done    []bool
	taken   int
	proven  int
}

// Pitfalls L10, L16, L17, L19: completions in any order, holes, late ones; the mark never passes an unfinished record.
func TestWindowNeverMarksPastAnUnfinishedRecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, m := newWindow(7, 40, 100), windowModel{}
		var out []stretch // taken and not proven
		next := rapid.Int64Range(0, 1000).Draw(t, "first offset")
		t.Repeat(map[string]func(*rapid.T){
			"admit": func(t *rapid.T) {
				next += rapid.Int64Range(1, 3).Draw(t, "hole")
				s, ok := w.admit(next, 5)
				if !ok {
					t.Fatalf("admit %d refused", next)
				}
				m.offsets, m.slots, m.done = append(m.offsets, next), append(m.slots, s), append(m.done, false)
			},
			"admit again": func(t *rapid.T) {
				if len(m.offsets) == 0 {
					t.Skip("nothing delivered")
				}
				again := rapid.SampledFrom(m.offsets).Draw(t, "offset")
				if _, ok := w.admit(again, 5); ok {
					t.Fatalf("offset %d admitted twice", again)
				}
			},
			"finish": func(t *rapid.T) {
				if len(m.slots) == 0 {
					t.Skip("nothing delivered")
				}
				i := rapid.IntRange(0, len(m.slots)-1).Draw(t, "record")
				if late := w.finish(m.slots[i], outcome{ending: endPosted}); late != m.done[i] {
					t.Fatalf("finish of %d: late %v, done before %v", m.offsets[i], late, m.done[i])
				}
				m.done[i] = true
			},
			"finish of another assignment": func(t *rapid.T) {
				if len(m.slots) == 0 {
					t.Skip("nothing delivered")
				}
				s := rapid.SampledFrom(m.slots).Draw(t, "slot")
				s.assignment--
				if !w.finish(s, outcome{}) {
					t.Fatal("a completion of an earlier assignment counted")
				}
			},
			"take": func(t *rapid.T) {
				limit := rapid.IntRange(1, 20).Draw(t, "limit")
				want := 0
				for m.taken+want < len(m.done) && want < limit && m.done[m.taken+want] {
					want++
				}
				r, ok := w.take(limit)
				if ok != (want > 0) || len(r.outcomes) != want {
					t.Fatalf("took %d records, want %d", len(r.outcomes), want)
				}
				if !ok {
					return
				}
				m.taken += want
				if last := m.offsets[m.taken-1]; r.to != last+1 {
					t.Fatalf("stretch ends at %d, want %d", r.to, last+1)
				}
				if len(out) > 0 && out[len(out)-1].to != r.from {
					t.Fatalf("stretch begins at %d, the one before ended at %d", r.from, out[len(out)-1].to)
				}
				out = append(out, r)
			},
			"prove": func(t *rapid.T) {
				if len(out) == 0 {
					t.Skip("nothing taken")
				}
				if i := rapid.IntRange(0, len(out)-1).Draw(t, "which"); i > 0 {
					if _, ok := w.prove(out[i]); ok {
						t.Fatal("a stretch was proven before the one in front of it")
					}
					return
				}
				r := out[0]
				head, ok := w.prove(r)
				if !ok || head.Offset != r.to || head.Epoch != 5 {
					t.Fatalf("proved %+v %v, want offset %d epoch 5", head, ok, r.to)
				}
				if _, ok := w.prove(r); ok {
					t.Fatal("a stretch was proven twice")
				}
				out = out[1:]
				m.proven += len(r.outcomes)
				for i := range m.offsets {
					if m.offsets[i] < head.Offset && !m.done[i] {
						t.Fatalf("marked %d while %d is unfinished", head.Offset, m.offsets[i])
					}
				}
			},
			"": func(t *rapid.T) {
				undone := 0
				for _, d := range m.done {
					if !d {
						undone++
					}
				}
				if w.pending() != undone || w.unproven() != len(m.done)-m.proven {
					t.Fatalf("pending %d unproven %d, want %d %d", w.pending(), w.unproven(), undone, len(m.done)-m.proven)
				}
				if got, want := w.full(), undone >= 40 || len(m.done)-m.proven >= 100; got != want {
					t.Fatalf("full %v, want %v", got, want)
				}
				if got, want := w.ready(), m.taken < len(m.done) && m.done[m.taken]; got != want {
					t.Fatalf("ready %v, want %v", got, want)
				}
				if w.full() && w.relaxed() {
					t.Fatal("full and relaxed at once")
				}
			},
		})
	})
}

// Pitfall L10, PITFALLS F4: a partition that left and came back has a new window; what the old one began ends nowhere.
func TestLateDoneAfterReassignmentMarksNothing(t *testing.T) {
	old := newWindow(1, 10, 10)
	before, _ := old.admit(100, 0)
	back := newWindow(2, 10, 10)
	back.admit(100, 0)
	if !back.finish(before, outcome{ending: endPosted}) {
		t.Error("the completion of assignment 1 counted in assignment 2")
	}
	if _, ok := back.take(10); ok {
		t.Error("assignment 2 has a finished head that only assignment 1 finished")
	}
}

func TestWindowKeepsItsOrderWhenItGrows(t *testing.T) {
	w := newWindow(1, 10_000, 10_000)
	var slots []slot
	for i := range int64(1000) {
		s, _ := w.admit(i*2, 0)
		slots = append(slots, s)
		if i == 30 { // a head in the middle of the ring before it grows
			for _, s := range slots[:20] {
				w.finish(s, outcome{})
			}
			r, _ := w.take(100)
			w.prove(r)
		}
	}
	for i := len(slots) - 1; i >= 20; i-- {
		w.finish(slots[i], outcome{})
	}
	r, ok := w.take(5000)
	if !ok || r.from != 39 || r.to != 1999 || len(r.outcomes) != 980 {
		t.Errorf("took %v from %d to %d with %d records, want 39 to 1999 with 980", ok, r.from, r.to, len(r.outcomes))
	}
}

// Evidence is acknowledged in the order in which it was taken; an answer out of turn must not move the mark.
func TestStretchOutOfTurnProvesNothing(t *testing.T) {
	w := newWindow(1, 10, 10)
	var slots []slot
	for i := range int64(4) {
		s, _ := w.admit(i, 0)
		slots = append(slots, s)
	}
	for _, s := range slots {
		w.finish(s, outcome{ending: endPosted})
	}
	first, _ := w.take(2)
	second, _ := w.take(2)
	if head, ok := w.prove(second); ok {
		t.Errorf("the second stretch moved the mark to %d before the first was acknowledged", head.Offset)
	}
	if head, ok := w.prove(first); !ok || head.Offset != 2 {
		t.Errorf("first stretch: %v, mark %d, want 2", ok, head.Offset)
	}
	if head, ok := w.prove(second); !ok || head.Offset != 4 {
		t.Errorf("second stretch: %v, mark %d, want 4", ok, head.Offset)
	}
}
