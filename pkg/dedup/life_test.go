package dedup_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"recon/pkg/dedup"
	"recon/pkg/envelope"
)

// Pitfall R5, R6: no value is without a life, and each life is the promised one.
func valuesLive(t *testing.T, r rig) {
	s := r.open(t)
	about := func(what string, got, want time.Duration) {
		t.Helper()
		if got > want || got < want-time.Minute {
			t.Errorf("%s lives %s, want %s", what, got, want)
		}
	}
	c := first("lives", rootA)
	wantVerdict(t, s, c, dedup.Fresh)
	about("a claim", r.life(t, c.Hash), time.Minute)
	settle(t, s, dedup.Settlement{Claim: c, State: dedup.Waiting, Due: time.Now().Add(6 * time.Hour)})
	about("waiting for 6 h", r.life(t, c.Hash), 30*time.Hour)
	settle(t, s, dedup.Settlement{Claim: c, State: dedup.Waiting, Due: time.Now().Add(-time.Hour)})
	about("waiting and overdue", r.life(t, c.Hash), 24*time.Hour)
	settle(t, s, dedup.Settlement{Claim: c, State: dedup.Waiting, Due: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)})
	about("waiting for ages", r.life(t, c.Hash), 367*24*time.Hour)
	settle(t, s, dedup.Settlement{Claim: c, State: dedup.Dead})
	about("dead", r.life(t, c.Hash), ttl)
	m := dedup.Mark{Hash: c.Hash, Digest: digest, Root: rootA}
	for what, mark := range map[string]func(context.Context, dedup.Mark) (dedup.MarkAnswer, error){
		"settled": s.MarkSettled, "released": s.Release, "marked dead": s.MarkDead,
	} {
		if _, err := mark(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		about(what, r.life(t, c.Hash), ttl)
	}
	env := envelope.EnvelopeID(rootA, 0)
	if _, err := s.MarkDead(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Reserve(t.Context(), dedup.Reservation{Hash: c.Hash, EnvelopeID: env, ReplayID: "r", Root: rootA}); err != nil {
		t.Fatal(err)
	}
	about("a replay key", r.replayLife(t, c.Hash, env), ttl)
	settle(t, s, dedup.Settlement{Claim: c, State: dedup.Posted})
	about("posted", r.life(t, c.Hash), ttl)
	settle(t, s, dedup.Settlement{Claim: c, State: dedup.Posted, Owner: &envelope.AlreadyPosted{Root: rootB, Digest: digest}})
	about("posted by the ledger's owner", r.life(t, c.Hash), ttl)
}

func cancelled(t *testing.T, r rig) {
	s := r.open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Claim(ctx, time.Minute, []dedup.Claim{first("cancelled", rootA)})
	if !errors.Is(err, context.Canceled) || errors.Is(err, dedup.ErrUnavailable) {
		t.Errorf("a cancelled claim: got %v, want context.Canceled and no outage", err)
	}
}
