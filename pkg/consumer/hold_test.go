package consumer

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Pitfalls T1, S3: never early, earliest first, whatever is put in between.
func TestHoldNeverGivesEarlyAndAlwaysTheEarliest(t *testing.T) {
	base := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		h, now, bytes := newHold[int](500), base, 0
		type item struct {
			due  time.Time
			size int
		}
		in := map[int]item{}
		n := 0
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				n++
				it := item{now.Add(time.Duration(rapid.IntRange(-5, 50).Draw(t, "wait")) * time.Second), rapid.IntRange(1, 90).Draw(t, "size")}
				in[n] = it
				bytes += it.size
				if full := h.put(it.due, it.size, n); full != (bytes >= 500) {
					t.Fatalf("full %v at %d of 500 bytes", full, bytes)
				}
			},
			"time passes": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(1, 20).Draw(t, "seconds")) * time.Second)
			},
			"next": func(t *rapid.T) {
				earliest := time.Time{}
				for _, it := range in {
					if earliest.IsZero() || it.due.Before(earliest) {
						earliest = it.due
					}
				}
				v, ok, wait := h.next(now)
				switch {
				case len(in) == 0:
					if ok || wait != 0 {
						t.Fatal("an empty hold gave something")
					}
				case earliest.After(now):
					if ok || wait != earliest.Sub(now) {
						t.Fatalf("gave %v, wait %s; the earliest is due in %s", ok, wait, earliest.Sub(now))
					}
				default:
					if !ok || !in[v].due.Equal(earliest) {
						t.Fatalf("gave %d due %s, want the one due %s", v, in[v].due, earliest)
					}
					bytes -= in[v].size
					delete(in, v)
				}
			},
			"drop": func(t *rapid.T) {
				odd := rapid.IntRange(2, 4).Draw(t, "every")
				want := 0
				for v, it := range in {
					if v%odd == 0 {
						want++
						bytes -= it.size
						delete(in, v)
					}
				}
				if got := h.drop(func(v int) bool { return v%odd == 0 }); got != want {
					t.Fatalf("dropped %d, want %d", got, want)
				}
			},
			"": func(t *rapid.T) {
				if h.len() != len(in) || h.size() != bytes {
					t.Fatalf("holds %d in %d bytes, want %d in %d", h.len(), h.size(), len(in), bytes)
				}
				if h.full() && h.relaxed() {
					t.Fatal("full and relaxed at once")
				}
			},
		})
	})
}

func TestHoldGivesAllOfOneMomentInTurn(t *testing.T) {
	h := newHold[int](1 << 20)
	due := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	for i := range 100 {
		h.put(due, 1, i)
	}
	if _, ok, wait := h.next(due.Add(-time.Nanosecond)); ok || wait != time.Nanosecond {
		t.Errorf("a nanosecond before: gave %v, wait %s", ok, wait)
	}
	var got []int
	for v, ok, _ := h.next(due); ok; v, ok, _ = h.next(due) {
		got = append(got, v)
	}
	slices.Sort(got)
	if len(got) != 100 || got[99] != 99 || h.size() != 0 {
		t.Errorf("gave %d values, %d bytes left, want 100 and 0", len(got), h.size())
	}
}
