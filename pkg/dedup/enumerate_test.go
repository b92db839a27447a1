package dedup_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"recon/pkg/dedup"
	"recon/pkg/envelope"
)

// cells are all stored values that differ to some rule, and nothing. The position decides only over a claim, and the
// digest only over another root; once each they differ where they must not matter.
func cells(roots int) []cell {
	all := []cell{{}}
	for _, st := range []string{"claimed", "waiting", "dead", "posted", "settled"} {
		for root := range roots {
			for gen := range 3 {
				for att := 1; att <= 3; att++ {
					once := gen == 1 && att == 2
					all = append(all, cell{st, root, gen, att, 0, pThere})
					if st == "claimed" || once {
						all = append(all, cell{st, root, gen, att, 0, pHere})
					}
					if root != oA || once {
						all = append(all, cell{st, root, gen, att, 1, pThere})
					}
					if st == "settled" && once {
						all = append(all, cell{st, root, gen, att, unread, pThere})
					}
				}
			}
		}
	}
	return all
}

// scene gives the oracle's small numbers their coordinates and digests.
type scene struct{ here envelope.Coordinates }

func (s scene) root(n int) envelope.Coordinates {
	return []envelope.Coordinates{rootA, rootB, s.here}[n]
}

func (s scene) value(k cell) dedup.Value {
	v := dedup.Value{
		State: dedup.State(k.st), Root: s.root(k.root), Generation: k.gen, Attempt: k.att,
		Digest: []string{digest, otherDigest, ""}[k.dig],
		At:     []envelope.Coordinates{{}, s.here, thereA}[k.pos],
		Time:   time.Date(2026, 3, 31, 22, 15, 4, 7e6, time.UTC),
	}
	if k.att == last {
		v.Attempt = dedup.LastAttempt
	}
	return v
}

// putAll stores the cells under hashes of their own.
func (s scene) putAll(t *testing.T, r rig, cells []cell) []string {
	t.Helper()
	out := make([]string, len(cells))
	var values []kept
	for i, k := range cells {
		out[i] = newHash("enumerated")
		if k.st != "" {
			values = append(values, kept{out[i], s.value(k), ttl})
		}
	}
	r.put(t, values...)
	return out
}

// wantKept compares what the store holds with what the oracle says; what is not written stays as it was to the byte.
func (s scene) wantKept(t *testing.T, got kept, what string, after cell, writes bool) {
	t.Helper()
	want := dedup.Value{}
	if after.st != "" {
		want = s.value(after)
	}
	if writes {
		want.Time = got.value.Time
	}
	if got.value != want {
		t.Errorf("%s: the store holds %q, want %q", what, got.value, want)
	}
}

// claimsFollowTheTable: every stored value against every arriving record.
func claimsFollowTheTable(t *testing.T, r rig) {
	s := scene{here: hereA}
	var stored []cell
	var recs []rec
	for _, k := range cells(2) {
		for gen := range 3 {
			for made := range 3 {
				stored, recs = append(stored, k), append(recs, rec{oA, gen, made, 0})
			}
		}
	}
	claims := make([]dedup.Claim, len(recs))
	for i, hash := range s.putAll(t, r, stored) {
		claims[i] = dedup.Claim{
			Hash: hash, Digest: digest, Root: rootA, Generation: recs[i].gen, Attempt: recs[i].made + 1, At: hereA,
		}
	}
	checkClaims(t, r, s, claims, stored, func(i int) (string, cell, bool) { return oracleClaim(stored[i], recs[i]) })
}

// checkClaims claims in batches and compares answers, stored values and lives.
func checkClaims(t *testing.T, r rig, s scene, claims []dedup.Claim, before []cell, want func(i int) (string, cell, bool)) {
	t.Helper()
	store, lease := r.open(t), time.Hour
	var answers []dedup.Answer
	for batch := range slices.Chunk(claims, 250) {
		got, err := store.Claim(t.Context(), lease, batch)
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, got...)
	}
	hashes := make([]string, len(claims))
	for i := range claims {
		hashes[i] = claims[i].Hash
	}
	now := r.load(t, hashes...)
	for i, c := range claims {
		verdict, after, takes := want(i)
		a := answers[i]
		if a.Verdict.String() != verdict {
			t.Errorf("%+v over %+v: got %s, want %s", c, before[i], a.Verdict, verdict)
		}
		wantStored := dedup.Value{}
		if before[i].st != "" {
			wantStored = s.value(before[i])
		}
		if a.Stored != wantStored {
			t.Errorf("%+v over %+v: told %q as stored before", c, before[i], a.Stored)
		}
		s.wantKept(t, now[i], verdict, after, takes)
		if takes != a.Verdict.Taken() || takes != (now[i].life <= lease) {
			t.Errorf("%+v over %+v: %s leaves a life of %s, the lease is %s", c, before[i], a.Verdict, now[i].life, lease)
		}
	}
}

// replaysFollowTheTrustRule: every stored value, replay key and header against each other. Pitfall S11: forged
// headers on main steer nothing.
func replaysFollowTheTrustRule(t *testing.T, r rig) {
	s := scene{here: onMain}
	type replay struct {
		key    string // what the letter's replay key holds: "", this replay, another
		forged bool   // the header names another letter
		gen    int
	}
	var stored []cell
	var said []replay
	for _, k := range cells(3) {
		for _, key := range []string{"", "this", "another"} {
			for _, forged := range []bool{false, true} {
				for gen := 1; gen <= 2; gen++ {
					stored, said = append(stored, k), append(said, replay{key, forged, gen})
				}
			}
		}
	}
	var keys []replayKey
	claims := make([]dedup.Claim, len(said))
	for i, hash := range s.putAll(t, r, stored) {
		env := envelope.EnvelopeID(rootA, said[i].gen-1)
		if said[i].forged {
			env = envelope.EnvelopeID(rootB, said[i].gen-1) // a true letter, with a true replay key, of another root
		}
		claims[i] = dedup.Claim{
			Hash: hash, Digest: digest, Root: rootA, Generation: said[i].gen, Attempt: 1, At: onMain,
			Replay: "this", Envelope: env,
		}
		if said[i].key != "" {
			keys = append(keys, replayKey{hash, env, said[i].key})
		}
	}
	r.putReplay(t, keys...)
	checkClaims(t, r, s, claims, stored, func(i int) (string, cell, bool) {
		it := rec{oA, said[i].gen, 0, 0}
		if !oracleTrusted(stored[i], it, said[i].key == "this" && !said[i].forged) {
			it = rec{oAlias, 0, 0, 0}
		}
		return oracleClaim(stored[i], it)
	})
}

// reservationsFollowTheRule: every stored value, with and without the letter's own replay key.
func reservationsFollowTheRule(t *testing.T, r rig) {
	s, store := scene{here: hereA}, r.open(t)
	for gen := range 2 {
		env := envelope.EnvelopeID(rootA, gen)
		id := envelope.ReplayID(env)
		all := cells(2)
		hashes := s.putAll(t, r, append(slices.Clone(all), all...))
		for i, hash := range hashes {
			k, again := all[i%len(all)], i >= len(all)
			if again {
				r.putReplay(t, replayKey{hash, env, id})
			}
			a, err := store.Reserve(t.Context(), dedup.Reservation{Hash: hash, EnvelopeID: env, ReplayID: id, Root: rootA, Generation: gen})
			if err != nil {
				t.Fatal(err)
			}
			free := oracleReserve(k, oA, gen)
			want := dedup.ReserveAnswer{Refused: !free, Reserved: free && !again, AlreadyMine: free && again, Stored: a.Stored}
			if a != want {
				t.Errorf("letter generation %d over %+v, key there %t: got %+v, want %+v", gen, k, again, a, want)
			}
			key, ok, err := store.Reserved(t.Context(), hash, env)
			if err != nil || ok != (free || again) || ok && key != id {
				t.Errorf("letter generation %d over %+v: its replay key holds %q, %t, %v", gen, k, key, ok, err)
			}
		}
		for i, got := range r.load(t, hashes...) {
			s.wantKept(t, got, "reserve", all[i%len(all)], false)
		}
	}
}

// marksFollowTheRule: a person's three steps over every stored value.
func marksFollowTheRule(t *testing.T, r rig) {
	s, store := scene{here: hereA}, r.open(t)
	acts := map[string]func(dedup.Mark) (dedup.MarkAnswer, error){
		"settled": func(m dedup.Mark) (dedup.MarkAnswer, error) { return store.MarkSettled(t.Context(), m) },
		"dead":    func(m dedup.Mark) (dedup.MarkAnswer, error) { return store.MarkDead(t.Context(), m) },
		"release": func(m dedup.Mark) (dedup.MarkAnswer, error) { return store.Release(t.Context(), m) },
	}
	for act, mark := range acts {
		for gen := range 2 {
			all := cells(2)
			hashes := s.putAll(t, r, all)
			for i, hash := range hashes {
				refused, _, _ := oracleMark(all[i], act, oA, gen)
				a, err := mark(dedup.Mark{Hash: hash, Digest: digest, Root: rootA, Generation: gen})
				if err != nil {
					t.Fatal(err)
				}
				if a.Refused != refused || all[i].st != "" && a.Stored != s.value(all[i]) {
					t.Errorf("%s generation %d over %+v: got %+v, want refused %t", act, gen, all[i], a, refused)
				}
			}
			for i, got := range r.load(t, hashes...) {
				_, after, writes := oracleMark(all[i], act, oA, gen)
				s.wantKept(t, got, fmt.Sprintf("%s generation %d over %+v", act, gen, all[i]), after, writes)
			}
		}
	}
}
