package dedup_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"recon/pkg/dedup"
)

func openMemory(t testing.TB, o dedup.Options) *dedup.Memory {
	t.Helper()
	m, err := dedup.NewMemory(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Open(t.Context(), false, false); err != nil {
		t.Fatal(err)
	}
	return m
}

// In a bubble time is exact: a value is there until its last moment and gone at it.
func TestMemoryKeepsEveryValueForExactlyItsLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := openMemory(t, dedup.Options{TTL: 10 * 24 * time.Hour})
		c, twin := first("exact-life", rootA), first("exact-life", rootB)
		expect := func(life time.Duration) {
			t.Helper()
			time.Sleep(life - time.Millisecond)
			if a := claimOne(t, m, twin); a.Verdict != dedup.Busy && a.Verdict != dedup.Duplicate {
				t.Fatalf("a millisecond before the end: got %s", a.Verdict)
			}
			time.Sleep(time.Millisecond)
			if got := stored(t, m, c.Hash); got.State != "" {
				t.Fatalf("at the end there is still %q", got)
			}
		}
		wantVerdict(t, m, c, dedup.Fresh)
		expect(time.Minute)

		wantVerdict(t, m, c, dedup.Fresh)
		time.Sleep(40 * time.Second)
		wantVerdict(t, m, c, dedup.Resumed) // renewed
		expect(time.Minute)

		settle(t, m, dedup.Settlement{Claim: c, State: dedup.Waiting, Due: time.Now().Add(6 * time.Hour)})
		expect(30 * time.Hour)
		settle(t, m, dedup.Settlement{Claim: c, State: dedup.Posted})
		expect(10 * 24 * time.Hour)
	})
}

// A reservation ends with the ttl like everything else; its replay is then a record like any other.
func TestMemoryKeepsAReservationForExactlyItsLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := openMemory(t, dedup.Options{TTL: time.Hour})
		for wait, trusted := range map[time.Duration]bool{time.Hour - time.Millisecond: true, time.Hour: false} {
			hash := newHash("reserved")
			reserve(t, m, hash, rootA, 0)
			time.Sleep(wait)
			if a := wantVerdict(t, m, replayOf(hash, rootA, 0, onMain), dedup.Fresh); a.Trusted != trusted {
				t.Errorf("after %s: trusted %t", wait, a.Trusted)
			}
		}
	})
}

// What has run out does not pile up, and nothing runs to take it away.
func TestMemorySweepsWhatHasRunOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := openMemory(t, dedup.Options{TTL: time.Hour})
		for round := range 20 {
			var batch []dedup.Claim
			for i := range 1000 {
				hash := fmt.Sprintf("swept-%d-%d", round, i)
				batch = append(batch, first(hash, at("recon.main", int32(round), int64(i))))
				reserve(t, m, hash, rootA, 0)
			}
			if _, err := m.Claim(t.Context(), time.Second, batch); err != nil {
				t.Fatal(err)
			}
			for _, c := range batch {
				if got := stored(t, m, c.Hash); got.Root != c.Root {
					t.Fatalf("%s was claimed by %s and holds %q", c.Hash, c.Root, got)
				}
			}
			time.Sleep(2 * time.Hour)
		}
		if hashes, replays := m.Size(); hashes+replays > 8000 {
			t.Errorf("%d hashes and %d replay keys are held, 2000 at most were alive at once", hashes, replays)
		}
	})
}

// A hash or a digest that is cut out of a message must not keep the message.
func TestMemoryKeepsNoPieceOfAMessage(t *testing.T) {
	m := openMemory(t, dedup.Options{})
	const batches, size = 64, 1 << 20
	before := heap()
	for i := range batches {
		body := strings.Repeat("x", size) + fmt.Sprintf("pinned-%04d", i) + digest
		hash, dig := body[size:size+11], body[size+11:]
		c := dedup.Claim{Hash: hash, Digest: dig, Root: rootA, Attempt: 1, At: rootA}
		wantVerdict(t, m, c, dedup.Fresh)
		settle(t, m, dedup.Settlement{Claim: c, State: dedup.Dead})
	}
	if grown := int64(heap()) - int64(before); grown > batches*size/4 {
		t.Errorf("%d small values hold %d bytes", batches, grown)
	}
	if got := stored(t, m, "pinned-0001"); got.State != dedup.Dead {
		t.Errorf("stored %q", got)
	}
}

func TestOptionsThatNoStoreCanHaveAreRefused(t *testing.T) {
	for name, o := range map[string]dedup.Options{
		"prefix with a brace":   {Prefix: "re{con"},
		"prefix with a blank":   {Prefix: "re con"},
		"negative ttl":          {TTL: -1},
		"ttl below a second":    {TTL: time.Millisecond},
		"negative lease":        {RunLease: -time.Second},
		"lease below its ticks": {RunLease: time.Millisecond},
	} {
		if _, err := dedup.NewMemory(o); err == nil {
			t.Errorf("memory with %s: no error", name)
		}
		if _, err := dedup.Open("redis://127.0.0.1:6379", o); err == nil {
			t.Errorf("Redis with %s: no error", name)
		}
	}
}

func heap() uint64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}
