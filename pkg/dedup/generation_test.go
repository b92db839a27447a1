package dedup_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"recon/pkg/dedup"
)

// everyCall does each thing that a store can be asked.
func everyCall(ctx context.Context, s dedup.Store) map[string]error {
	c := first("any-hash", rootA)
	mark := dedup.Mark{Hash: c.Hash, Root: rootA}
	errs := map[string]error{"settle": s.Settle(ctx, []dedup.Settlement{{Claim: c, State: dedup.Posted}}), "ping": s.Ping(ctx)}
	_, errs["claim"] = s.Claim(ctx, time.Minute, []dedup.Claim{c})
	_, _, errs["get"] = s.Get(ctx, c.Hash)
	_, _, errs["reserved"] = s.Reserved(ctx, c.Hash, "e")
	_, errs["reserve"] = s.Reserve(ctx, dedup.Reservation{Hash: c.Hash, EnvelopeID: "e", ReplayID: "r", Root: rootA})
	_, errs["settled"] = s.MarkSettled(ctx, mark)
	_, errs["dead"] = s.MarkDead(ctx, mark)
	_, errs["release"] = s.Release(ctx, mark)
	l, err := s.AcquireLease(ctx, "someone")
	if err == nil {
		err = l.Release(ctx)
	}
	errs["lease"] = err
	errs["committed"] = s.MarkCommitted(ctx)
	return errs
}

func notOpen(t *testing.T, r rig) {
	for call, err := range everyCall(t.Context(), r.handle(t)) {
		if !errors.Is(err, dedup.ErrNotOpen) {
			t.Errorf("%s before Open: got %v, want ErrNotOpen", call, err)
		}
	}
}

// Pitfall R7: a store that was emptied, or replaced, answers nothing more, least of all "new".
func emptiedStore(t *testing.T, r rig)  { lostStore(t, r, r.forget) }
func replacedStore(t *testing.T, r rig) { lostStore(t, r, r.another) }

func lostStore(t *testing.T, r rig, lose func(testing.TB)) {
	s := r.open(t)
	wantVerdict(t, s, first("before", rootA), dedup.Fresh)
	lose(t)
	for call, err := range everyCall(t.Context(), s) {
		if !errors.Is(err, dedup.ErrMemoryLost) || errors.Is(err, dedup.ErrUnavailable) {
			t.Errorf("%s: got %v, want ErrMemoryLost", call, err)
		} else if !strings.Contains(err.Error(), "replayer dedup rebuild") {
			t.Errorf("%s: %q names no way out", call, err)
		}
	}
	if err := s.Open(t.Context(), false, true); !errors.Is(err, dedup.ErrMemoryLost) {
		t.Errorf("open again: got %v, want ErrMemoryLost", err)
	}
}

func generationRules(t *testing.T, r rig) {
	open := func(groupHasCommitted, fromStart bool) error {
		t.Helper()
		return r.handle(t).Open(t.Context(), groupHasCommitted, fromStart)
	}
	if err := open(true, false); !errors.Is(err, dedup.ErrMemoryLost) {
		t.Errorf("a group with offsets, a store without memory: got %v, want ErrMemoryLost", err)
	}
	if err := open(true, true); !errors.Is(err, dedup.ErrMemoryLost) {
		t.Errorf("the same with --from-start: got %v, want ErrMemoryLost", err)
	}
	for _, groupHasCommitted := range []bool{false, true} { // a group whose name is mistyped has no offsets
		if err := r.handle(t).Join(t.Context(), groupHasCommitted); !errors.Is(err, dedup.ErrMemoryLost) {
			t.Errorf("joining a store that nobody has begun with: got %v, want ErrMemoryLost", err)
		}
	}
	if err := open(true, false); !errors.Is(err, dedup.ErrMemoryLost) {
		t.Errorf("a group with offsets, after somebody joined: got %v, want ErrMemoryLost still", err)
	}
	if err := open(false, false); err != nil {
		t.Errorf("a new group, a new store: %v", err)
	}
	if err := r.handle(t).Join(t.Context(), false); err != nil {
		t.Errorf("joining a store that was begun with: %v", err)
	}
	if err := open(false, false); err != nil {
		t.Errorf("a second process of a new group: %v", err)
	}
	s := r.open(t)
	for range 2 {
		if err := s.MarkCommitted(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := open(true, false); err != nil {
		t.Errorf("a group with offsets, a store that knows it: %v", err)
	}
	err := open(false, false)
	if !errors.Is(err, dedup.ErrGroupReset) || !strings.Contains(err.Error(), "--from-start") {
		t.Errorf("a group that lost its offsets: got %v, want ErrGroupReset that names --from-start", err)
	}
	if err := open(false, true); err != nil {
		t.Errorf("a group that lost its offsets, with --from-start: %v", err)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("ping: %v", err)
	}
}

// That a group has committed is also learnt at Open: the process that committed may have died before it said so.
func TestOpenOfACommittedGroupIsRemembered(t *testing.T) {
	r := memoryRig(t)
	r.open(t)
	if err := r.handle(t).Open(t.Context(), true, false); err != nil {
		t.Fatal(err)
	}
	if err := r.handle(t).Open(t.Context(), false, false); !errors.Is(err, dedup.ErrGroupReset) {
		t.Errorf("got %v, want ErrGroupReset", err)
	}
}
