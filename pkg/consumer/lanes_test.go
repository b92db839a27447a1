package consumer

import (
	"testing"

	"pgregory.net/rapid"
)

func TestLanesStartEachKeyInOrderAndOneAtATime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l lanes[string, int]
		queues := map[string][]int{} // per key: the one at work first, then those behind
		n := 0
		key := rapid.SampledFrom([]string{"a", "b", "c", ""})
		t.Repeat(map[string]func(*rapid.T){
			"offer": func(t *rapid.T) {
				k := key.Draw(t, "key")
				n++
				if start := l.offer(k, n); start != (len(queues[k]) == 0) {
					t.Fatalf("offer of %d under %q: start %v with %d before it", n, k, start, len(queues[k]))
				}
				queues[k] = append(queues[k], n)
			},
			"done": func(t *rapid.T) {
				k := key.Draw(t, "key")
				next, ok := l.done(k)
				if len(queues[k]) == 0 {
					if ok {
						t.Fatalf("a free key handed out %d", next)
					}
					return
				}
				queues[k] = queues[k][1:]
				if ok != (len(queues[k]) > 0) || ok && next != queues[k][0] {
					t.Fatalf("done %q gave %d %v, want the head of %v", k, next, ok, queues[k])
				}
			},
			"": func(t *rapid.T) {
				want, busy := 0, 0
				for _, q := range queues {
					want += max(len(q)-1, 0)
					busy += min(len(q), 1)
				}
				if l.waiting() != want || len(l.busy) != busy {
					t.Fatalf("waiting %d, keys %d, want %d, %d: a free key must not be remembered", l.waiting(), len(l.busy), want, busy)
				}
			},
		})
	})
}
