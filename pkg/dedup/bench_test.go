package dedup_test

import (
	"strconv"
	"testing"
	"time"

	"recon/internal/testkit"
	"recon/pkg/dedup"
)

// A record costs one claim and one settlement; batches of 250, every hash new.
func BenchmarkMemoryClaimAndSettle(b *testing.B) {
	benchClaimAndSettle(b, openMemory(b, dedup.Options{}), 0)
}

// The same where every tenth record is in its second attempt and fails again.
func BenchmarkMemoryClaimAndSettleWithRetries(b *testing.B) {
	benchClaimAndSettle(b, openMemory(b, dedup.Options{}), 10)
}

func BenchmarkRealRedisClaimAndSettle(b *testing.B) {
	benchClaimAndSettle(b, benchRedis(b), 0)
}

func BenchmarkRealRedisClaimAndSettleWithRetries(b *testing.B) {
	benchClaimAndSettle(b, benchRedis(b), 10)
}

func benchRedis(b *testing.B) dedup.Store {
	b.Helper()
	s, err := dedup.Open(testkit.Redis(b), dedup.Options{Prefix: testkit.Prefix(b), TTL: time.Minute})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	if err := s.Open(b.Context(), false, false); err != nil {
		b.Fatal(err)
	}
	return s
}

func benchClaimAndSettle(b *testing.B, s dedup.Store, retried int) {
	b.Helper()
	const size = 250
	claims, settled := make([]dedup.Claim, size), make([]dedup.Settlement, size)
	hash := []byte("0123456789abcdef0123456789abcdef-")
	b.ReportAllocs()
	for n := 0; n < b.N; n += size {
		for i := range claims {
			c := first(string(strconv.AppendInt(hash, int64(n+i), 10)), at("recon.main", int32(i%12), int64(n+i)))
			claims[i], settled[i] = c, dedup.Settlement{Claim: c, State: dedup.Posted}
			if retried > 0 && i%retried == 0 {
				settled[i].State, settled[i].Due = dedup.Waiting, time.Now()
			}
		}
		round(b, s, claims, settled)
		if retried == 0 {
			continue
		}
		var again []dedup.Claim
		var dead []dedup.Settlement
		for i := 0; i < size; i += retried {
			c := claims[i]
			c.Attempt, c.At = 2, at("recon.retry.2s", 0, int64(n+i))
			again, dead = append(again, c), append(dead, dedup.Settlement{Claim: c, State: dedup.Dead})
		}
		round(b, s, again, dead)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

func round(b *testing.B, s dedup.Store, claims []dedup.Claim, settled []dedup.Settlement) {
	b.Helper()
	answers, err := s.Claim(b.Context(), time.Minute, claims)
	if err != nil {
		b.Fatal(err)
	}
	for i := range answers {
		if !answers[i].Verdict.Taken() {
			b.Fatalf("%s: %s", claims[i].Hash, answers[i].Verdict)
		}
	}
	if err := s.Settle(b.Context(), settled); err != nil {
		b.Fatal(err)
	}
}
