package consumer

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestClaimListKeepsTheLongestUnrenewedFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l claimList
		var want []*delivery
		now := time.Unix(1, 0)
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				d := &delivery{}
				now = now.Add(time.Second)
				l.add(d, now)
				want = append(want, d)
			},
			"renew": func(t *rapid.T) {
				if len(want) == 0 {
					t.Skip("empty")
				}
				i := rapid.IntRange(0, len(want)-1).Draw(t, "which")
				now = now.Add(time.Second)
				d := want[i]
				l.renewed(d, now)
				want = append(slices.Delete(want, i, i+1), d)
			},
			"remove": func(t *rapid.T) {
				if len(want) == 0 {
					t.Skip("empty")
				}
				i := rapid.IntRange(0, len(want)-1).Draw(t, "which")
				d := want[i]
				l.remove(d)
				l.remove(d) // once more changes nothing
				want = slices.Delete(want, i, i+1)
			},
			"": func(t *rapid.T) {
				var got []*delivery
				for d := l.oldest; d != nil; d = d.newer {
					got = append(got, d)
				}
				if !slices.Equal(got, want) {
					t.Fatalf("list holds %d in another order than the %d wanted", len(got), len(want))
				}
				if len(want) > 0 && l.newest != want[len(want)-1] {
					t.Fatal("newest is not the last")
				}
			},
		})
	})
}
