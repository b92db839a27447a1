package dedup_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"recon/pkg/dedup"
	"recon/pkg/envelope"
)

// walk is one hash in a store and in the oracle, side by side.
type walk struct {
	store dedup.Store
	scene scene
	hash  string
	cell  cell
}

var walkActs = []string{"waiting", "dead", "posted", "reserve", "settled", "mark dead", "release"}

// Pitfall R13: whatever the order of claims, settlements, reservations and marks, the store stands where the rules
// put it, and once a hash has posted no record of it is ever granted again.
func TestAnyOrderOfCallsFollowsTheRules(t *testing.T) {
	m := newMemory(t)
	if err := m.Open(t.Context(), false, false); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		w := &walk{store: m, scene: scene{here: hereA}, hash: newHash("walk")}
		posted := false
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			r := rec{rapid.IntRange(oA, oB).Draw(t, "root"), rapid.IntRange(0, 2).Draw(t, "gen"), rapid.IntRange(0, 2).Draw(t, "made"), 0}
			verdict := w.claim(t, r)
			if posted && verdict.Taken() {
				t.Fatalf("%s after the hash had posted", verdict)
			}
			w.act(t, r, rapid.SampledFrom(walkActs).Draw(t, "act"))
			posted = posted || w.cell.st == "posted"
		}
	})
}

func (w *walk) record(r rec) dedup.Claim {
	return dedup.Claim{
		Hash: w.hash, Digest: digest, Root: w.scene.root(r.root), Generation: r.gen, Attempt: r.made + 1, At: w.scene.here,
	}
}

func (w *walk) claim(t *rapid.T, r rec) dedup.Verdict {
	answers, err := w.store.Claim(t.Context(), time.Minute, []dedup.Claim{w.record(r)})
	if err != nil {
		t.Fatal(err)
	}
	want, after, _ := oracleClaim(w.cell, r)
	if got := answers[0].Verdict.String(); got != want {
		t.Fatalf("claim of %+v over %+v: got %s, want %s", r, w.cell, got, want)
	}
	w.stands(t, after)
	return answers[0].Verdict
}

// act does what a consumer, the replayer or a person may do next; a posting happens only in the hands of the holder.
func (w *walk) act(t *rapid.T, r rec, act string) {
	c, after := w.record(r), w.cell
	mark := dedup.Mark{Hash: w.hash, Digest: digest, Root: c.Root, Generation: r.gen}
	var err error
	switch act {
	case "waiting", "dead":
		after, _ = oracleSettle(w.cell, act, r.root, r.gen, r.made+1)
		err = w.store.Settle(t.Context(), []dedup.Settlement{{Claim: c, State: dedup.State(act), Due: time.Now()}})
	case "posted":
		if w.cell != (cell{"claimed", r.root, r.gen, r.made + 1, 0, pHere}) {
			return
		}
		after = cell{"posted", r.root, r.gen, r.made + 1, 0, pHere}
		err = w.store.Settle(t.Context(), []dedup.Settlement{{Claim: c, State: dedup.Posted}})
	case "reserve":
		env := envelope.EnvelopeID(c.Root, r.gen)
		var a dedup.ReserveAnswer
		a, err = w.store.Reserve(t.Context(), dedup.Reservation{
			Hash: w.hash, EnvelopeID: env, ReplayID: envelope.ReplayID(env), Root: c.Root, Generation: r.gen,
		})
		if a.Refused == oracleReserve(w.cell, r.root, r.gen) {
			t.Fatalf("reserve %+v over %+v: got %+v", r, w.cell, a)
		}
	case "settled":
		_, after, _ = oracleMark(w.cell, act, r.root, r.gen)
		_, err = w.store.MarkSettled(t.Context(), mark)
	case "mark dead":
		_, after, _ = oracleMark(w.cell, act, r.root, r.gen)
		_, err = w.store.MarkDead(t.Context(), mark)
	case "release":
		_, after, _ = oracleMark(w.cell, act, r.root, r.gen)
		_, err = w.store.Release(t.Context(), mark)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.stands(t, after)
}

// stands compares the store with the cell that the oracle expects.
func (w *walk) stands(t *rapid.T, after cell) {
	got, _, err := w.store.Get(t.Context(), w.hash)
	if err != nil {
		t.Fatal(err)
	}
	w.cell = after
	want := dedup.Value{}
	if after.st != "" {
		want = w.scene.value(after)
		want.Time = got.Time
	}
	if got != want {
		t.Fatalf("the store holds %q, want %q", got, want)
	}
}
