package dedup_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"recon/pkg/dedup"
	"recon/pkg/envelope"
)

// replayOf is the claim of the replayed record of root's letter, read at p.
func replayOf(hash string, root envelope.Coordinates, generation int, p envelope.Coordinates) dedup.Claim {
	env := envelope.EnvelopeID(root, generation)
	return dedup.Claim{
		Hash: hash, Digest: digest, Root: root, Generation: generation + 1, Attempt: 1, At: p,
		Replay: envelope.ReplayID(env), Envelope: env,
	}
}

func reserve(t testing.TB, s dedup.Replays, hash string, root envelope.Coordinates, generation int) dedup.ReserveAnswer {
	t.Helper()
	env := envelope.EnvelopeID(root, generation)
	a, err := s.Reserve(t.Context(), dedup.Reservation{
		Hash: hash, EnvelopeID: env, ReplayID: envelope.ReplayID(env), Root: root, Generation: generation,
	})
	if err != nil {
		t.Fatalf("reserve: %v", err)
	}
	return a
}

// Pitfalls G15, R12, R13, R29: a letter's replay runs the handler though its hash has been claimed before, passes the
// same check as a live record, fails into the next generation, and everything that comes after the posting is known.
func replayedRecordPostsOnce(t *testing.T, r rig) {
	s, hash := r.open(t), "replayed"
	wantVerdict(t, s, first(hash, rootA), dedup.Fresh)
	settle(t, s, dedup.Settlement{Claim: first(hash, rootA), State: dedup.Dead})
	if a := reserve(t, s, hash, rootA, 0); !a.Reserved {
		t.Fatalf("reserve the letter: got %+v", a)
	}
	c := replayOf(hash, rootA, 0, onMain)
	if a := wantVerdict(t, s, c, dedup.Fresh); !a.Trusted {
		t.Error("the reserved replay is not believed")
	}
	if a := reserve(t, s, hash, rootA, 0); !a.Refused {
		t.Errorf("reserve the letter whose replay is at work: got %+v", a)
	}
	settle(t, s, dedup.Settlement{Claim: c, State: dedup.Dead})
	late := replayOf(hash, rootA, 0, at("recon.main", 0, 120)) // the same replay, written twice
	if a := wantVerdict(t, s, late, dedup.Repeated); !a.Trusted {
		t.Error("a late copy of a replay is not believed")
	}
	reserve(t, s, hash, rootA, 1)
	c = replayOf(hash, rootA, 1, at("recon.main", 0, 130))
	wantVerdict(t, s, c, dedup.Fresh)
	settle(t, s, dedup.Settlement{Claim: c, State: dedup.Posted})
	wantVerdict(t, s, late, dedup.Done)
	wantVerdict(t, s, first(hash, rootA), dedup.Done)
	wantVerdict(t, s, first(hash, rootB), dedup.Duplicate)
	if a := reserve(t, s, hash, rootB, 0); !a.Refused || a.Stored.State != dedup.Posted {
		t.Errorf("reserve a twin's letter after the posting: got %+v", a)
	}
}

// Pitfalls R15, R18: an open dead letter blocks neither a corrected record of the same hash nor that one's own letter.
func correctedResend(t *testing.T, r rig) {
	s, hash := r.open(t), "corrected"
	wantVerdict(t, s, first(hash, rootA), dedup.Fresh)
	settle(t, s, dedup.Settlement{Claim: first(hash, rootA), State: dedup.Dead})
	c := first(hash, rootB)
	c.Digest = otherDigest
	wantVerdict(t, s, c, dedup.Fresh)
	settle(t, s, dedup.Settlement{Claim: first(hash, rootA), State: dedup.Dead}) // the first letter, settled late
	if got := stored(t, s, hash); got.Root != rootB || got.State != dedup.Claimed {
		t.Errorf("a late settlement of another root wrote %q", got)
	}
	settle(t, s, dedup.Settlement{Claim: c, State: dedup.Posted})
	wantVerdict(t, s, first(hash, rootA), dedup.Conflict)
}

// Pitfall S11: what anyone may write on main steers nothing.
func forgedReplay(t *testing.T, r rig) {
	s := r.open(t)
	rows := []struct {
		name  string
		forge func(c *dedup.Claim)
	}{
		{"no such replay", func(*dedup.Claim) {}},
		{"another replay id", func(c *dedup.Claim) {
			r.putReplay(t, replayKey{c.Hash, c.Envelope, c.Replay})
			c.Replay = "11111111-1111-5111-8111-111111111111"
		}},
		{"a true letter, another root", func(c *dedup.Claim) {
			r.putReplay(t, replayKey{c.Hash, c.Envelope, c.Replay})
			c.Root = rootB
		}},
		{"a true letter, a higher generation", func(c *dedup.Claim) {
			r.putReplay(t, replayKey{c.Hash, c.Envelope, c.Replay})
			c.Generation = 7
		}},
		{"no envelope", func(c *dedup.Claim) { c.Envelope = "" }},
		{"a root that no record has", func(c *dedup.Claim) { c.Root = at("not a topic", 0, 1) }},
		{"a negative generation", func(c *dedup.Claim) { c.Generation = -1 }},
		{"an endless generation", func(c *dedup.Claim) { c.Generation = math.MaxInt64 }},
		{"a true replay without its attempt", func(c *dedup.Claim) {
			r.putReplay(t, replayKey{c.Hash, c.Envelope, c.Replay})
			c.Attempt = 0
		}},
	}
	for i, row := range rows {
		c := replayOf("forged-"+strings.ReplaceAll(row.name, " ", "-"), rootA, 0, at("recon.main", 2, int64(i)))
		row.forge(&c)
		a := wantVerdict(t, s, c, dedup.Fresh)
		want := dedup.Value{State: dedup.Claimed, Root: c.At, Attempt: 1, Digest: digest, At: c.At}
		if got := stored(t, s, c.Hash); a.Trusted || got != want {
			t.Errorf("%s: trusted %t, stored %q, want %q", row.name, a.Trusted, got, want)
		}
		wantVerdict(t, s, c, dedup.Resumed)
		settle(t, s, dedup.Settlement{Claim: c.AsNew(), State: dedup.Posted})
		wantVerdict(t, s, c, dedup.Done)
	}
}

// Pitfalls R2, R17: whoever reserves again learns that the letter is taken, and by which replay.
func reservedOnce(t *testing.T, r rig) {
	s, hash, env := r.open(t), "reserved", envelope.EnvelopeID(rootA, 0)
	if _, ok, err := s.Reserved(t.Context(), hash, env); ok || err != nil {
		t.Fatalf("reserved before anyone asked: %t, %v", ok, err)
	}
	if a := reserve(t, s, hash, rootA, 0); !a.Reserved || a.AlreadyMine || a.Refused {
		t.Errorf("first reservation: got %+v", a)
	}
	if a := reserve(t, r.open(t), hash, rootA, 0); !a.AlreadyMine || a.Reserved || a.Refused {
		t.Errorf("second reservation: got %+v", a)
	}
	if id, ok, err := s.Reserved(t.Context(), hash, env); id != envelope.ReplayID(env) || !ok || err != nil {
		t.Errorf("reserved under %q, %t, %v", id, ok, err)
	}
	_, err := s.Reserve(t.Context(), dedup.Reservation{Hash: hash, EnvelopeID: env, ReplayID: "another", Root: rootA})
	if err == nil || !strings.Contains(err.Error(), env) {
		t.Errorf("a letter under another replay id: got %v, want an error that names the letter", err)
	}
}

func badInput(t *testing.T, r rig) {
	s, ok := r.open(t), first("good", rootA)
	claims := map[string]func(c *dedup.Claim){
		"hash with a brace": func(c *dedup.Claim) { c.Hash = "a}b" },
		"hash with a blank": func(c *dedup.Claim) { c.Hash = "a b" },
		"no hash":           func(c *dedup.Claim) { c.Hash = "" },
		"no digest":         func(c *dedup.Claim) { c.Digest = "" },
		"digest of a dash":  func(c *dedup.Claim) { c.Digest = "-" },
		"digest in words":   func(c *dedup.Claim) { c.Digest = "two words" },
		"no root":           func(c *dedup.Claim) { c.Root = envelope.Coordinates{} },
		"no position":       func(c *dedup.Claim) { c.At = envelope.Coordinates{} },
		"negative offset":   func(c *dedup.Claim) { c.At.Offset = -1 },
		"no attempt":        func(c *dedup.Claim) { c.Attempt = 0 },
		"attempt too large": func(c *dedup.Claim) { c.Attempt = math.MaxInt32 + 1 },
		"generation below":  func(c *dedup.Claim) { c.Generation = -1 },
	}
	for name, spoil := range claims {
		c := first("bad", rootA)
		spoil(&c)
		if _, err := s.Claim(t.Context(), time.Minute, []dedup.Claim{ok, c}); err == nil {
			t.Errorf("claim with %s: no error", name)
		}
		if err := s.Settle(t.Context(), []dedup.Settlement{{Claim: ok, State: dedup.Dead}, {Claim: c, State: dedup.Dead}}); err == nil {
			t.Errorf("settlement with %s: no error", name)
		}
	}
	owner := &envelope.AlreadyPosted{Root: rootA, Digest: digest}
	for name, bad := range map[string]dedup.Settlement{
		"no state":              {Claim: ok},
		"claimed":               {Claim: ok, State: dedup.Claimed},
		"settled":               {Claim: ok, State: dedup.Settled},
		"waiting until never":   {Claim: ok, State: dedup.Waiting},
		"dead with an owner":    {Claim: ok, State: dedup.Dead, Owner: owner},
		"an owner with no root": {Claim: ok, State: dedup.Posted, Owner: &envelope.AlreadyPosted{Digest: digest}},
	} {
		if err := s.Settle(t.Context(), []dedup.Settlement{{Claim: ok, State: dedup.Dead}, bad}); err == nil {
			t.Errorf("settlement with %s: no error", name)
		}
	}
	badRequests(t, s, ok)
	if got := stored(t, s, ok.Hash); got.State != "" {
		t.Errorf("a refused batch wrote %q", got)
	}
}

func badRequests(t *testing.T, s dedup.Store, ok dedup.Claim) {
	t.Helper()
	if _, err := s.Claim(t.Context(), 0, []dedup.Claim{ok}); err == nil {
		t.Error("claim for no time: no error")
	}
	if _, err := s.Reserve(t.Context(), dedup.Reservation{Hash: "bad{", EnvelopeID: "e", ReplayID: "r", Root: rootA}); err == nil {
		t.Error("reservation of a bad hash: no error")
	}
	if _, err := s.Reserve(t.Context(), dedup.Reservation{Hash: ok.Hash, Root: rootA}); err == nil {
		t.Error("reservation without ids: no error")
	}
	if _, err := s.MarkSettled(t.Context(), dedup.Mark{Hash: ok.Hash}); err == nil {
		t.Error("mark without a root: no error")
	}
	if _, _, err := s.Get(t.Context(), "bad hash"); err == nil {
		t.Error("look up a bad hash: no error")
	}
	if _, _, err := s.Reserved(t.Context(), "bad hash", "e"); err == nil {
		t.Error("look up a replay of a bad hash: no error")
	}
	if _, err := s.AcquireLease(t.Context(), "two\nlines"); err == nil {
		t.Error("a lease for an owner of two lines: no error")
	}
}
