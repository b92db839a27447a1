package dedup_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"recon/pkg/dedup"
	"recon/pkg/envelope"
)

// The cast of most tests: two roots of one hash, and places where their records were read.
var (
	rootA  = at("recon.main", 0, 10)
	rootB  = at("recon.main", 1, 20)
	hereA  = at("recon.retry.2s", 0, 5)
	thereA = at("recon.retry.2s", 0, 6)
	onMain = at("recon.main", 0, 99)
)

const (
	digest      = "3f1c0a9be27d5486"
	otherDigest = "00000000000000ff"
)

func at(topic string, partition int32, offset int64) envelope.Coordinates {
	return envelope.Coordinates{Topic: topic, Partition: partition, Offset: offset}
}

// first is the claim of a record read from main for the first time.
func first(hash string, root envelope.Coordinates) dedup.Claim {
	return dedup.Claim{Hash: hash, Digest: digest, Root: root, Attempt: 1, At: root}
}

// claimOne claims one record and gives its answer.
func claimOne(t testing.TB, s dedup.Claims, c dedup.Claim) dedup.Answer {
	t.Helper()
	answers, err := s.Claim(t.Context(), time.Minute, []dedup.Claim{c})
	if err != nil {
		t.Fatalf("claim: %v", err)
	}
	return answers[0]
}

func wantVerdict(t testing.TB, s dedup.Claims, c dedup.Claim, want dedup.Verdict) dedup.Answer {
	t.Helper()
	a := claimOne(t, s, c)
	if a.Verdict != want {
		t.Fatalf("claim of %s by %s: got %s over %q, want %s", c.Hash, c.Root, a.Verdict, a.Stored, want)
	}
	return a
}

func settle(t testing.TB, s dedup.Claims, batch ...dedup.Settlement) {
	t.Helper()
	if err := s.Settle(t.Context(), batch); err != nil {
		t.Fatalf("settle: %v", err)
	}
}

// stored gives what stands for a hash, without its time.
func stored(t testing.TB, s dedup.Replays, hash string) dedup.Value {
	t.Helper()
	v, _, err := s.Get(t.Context(), hash)
	if err != nil {
		t.Fatalf("get %s: %v", hash, err)
	}
	v.Time = time.Time{}
	return v
}

var counted atomic.Int64

// newHash gives a hash that no other test of this process has.
func newHash(what string) string { return fmt.Sprintf("%s-%06d", what, counted.Add(1)) }

// eventually polls until f is true; a minute is how long a busy machine may take, not a promise.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); !f(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("waited a minute for %s", what)
		}
	}
}
