package dedup_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"recon/pkg/dedup"
	"recon/pkg/envelope"
)

// settlementsFollowTheRule: waiting and dead over every stored value.
func settlementsFollowTheRule(t *testing.T, r rig) {
	s := scene{here: hereA}
	type outcome struct {
		st       string
		gen, att int
	}
	var stored []cell
	var outcomes []outcome
	for _, k := range cells(2) {
		for _, st := range []string{"waiting", "dead"} {
			for gen := range 3 {
				for att := 1; att <= 3; att++ {
					stored, outcomes = append(stored, k), append(outcomes, outcome{st, gen, att})
				}
			}
		}
	}
	batch := make([]dedup.Settlement, len(outcomes))
	hashes := s.putAll(t, r, stored)
	for i, o := range outcomes {
		batch[i] = dedup.Settlement{State: dedup.State(o.st), Claim: dedup.Claim{
			Hash: hashes[i], Digest: digest, Root: rootA, Generation: o.gen, Attempt: o.att, At: hereA,
		}}
		if o.st == "waiting" {
			batch[i].Due = time.Now().Add(time.Hour)
		}
	}
	store := r.open(t)
	for part := range slices.Chunk(batch, 250) {
		settle(t, store, part...)
	}
	for i, got := range r.load(t, hashes...) {
		o := outcomes[i]
		after, writes := oracleSettle(stored[i], o.st, oA, o.gen, o.att)
		s.wantKept(t, got, fmt.Sprintf("%+v over %+v", o, stored[i]), after, writes)
	}
}

// postingsAreWritten: an insertion over everything; the ledger's owner over everything but itself.
func postingsAreWritten(t *testing.T, r rig) {
	s := scene{here: hereA}
	store := r.open(t)
	posted := time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)
	for root := range 2 {
		for gen := range 2 {
			owner := &envelope.AlreadyPosted{Root: s.root(root), Generation: gen, Digest: digest, ID: "p-1", At: posted}
			var batch []dedup.Settlement
			all := cells(2)
			hashes := s.putAll(t, r, append(slices.Clone(all), all...))
			for i, hash := range hashes {
				batch = append(batch, dedup.Settlement{State: dedup.Posted, Claim: dedup.Claim{
					Hash: hash, Digest: digest, Root: rootA, Generation: 1, Attempt: 2, At: hereA,
				}})
				if i >= len(all) {
					batch[i].Owner = owner
				}
			}
			settle(t, store, batch...)
			for i, got := range r.load(t, hashes...) {
				k := all[i%len(all)]
				after, writes := cell{"posted", oA, 1, 2, 0, pHere}, true
				if batch[i].Owner != nil {
					after = cell{"posted", root, gen, 0, 0, pNone}
					if writes = k.st != "posted" || k.root != root || k.gen != gen; !writes {
						after = k
					}
				}
				s.wantKept(t, got, "posted", after, writes)
				if batch[i].Owner != nil && writes && !got.value.Time.Equal(posted) {
					t.Errorf("owner written with the time %s, want the ledger's %s", got.value.Time, posted)
				}
			}
		}
	}
}
