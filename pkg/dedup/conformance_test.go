package dedup_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"recon/internal/testkit"
	"recon/pkg/dedup"
	"recon/pkg/envelope"
)

// promises are kept by every store. Each gets a rig with a memory of its own.
var promises = []struct {
	name string
	test func(t *testing.T, r rig)
}{
	{"ClaimsFollowTheTable", claimsFollowTheTable},
	{"ReplaysFollowTheTrustRule", replaysFollowTheTrustRule},
	{"SettlementsFollowTheRule", settlementsFollowTheRule},
	{"PostingsAreWritten", postingsAreWritten},
	{"ReservationsFollowTheRule", reservationsFollowTheRule},
	{"MarksFollowTheRule", marksFollowTheRule},
	{"OneOfManyTakesAHash", oneOfManyTakesAHash},
	{"OneOfManyTakesOverAHash", oneOfManyTakesOver},
	{"OneOfManyReservesALetter", oneOfManyReserves},
	{"ARedeliveredRecordTakesItsClaimAgain", redeliveredTakesAgain},
	{"AClaimEndsWithItsLease", claimEndsWithLease},
	{"AnswersComeInOrder", answersComeInOrder},
	{"AHashTwiceInABatchIsJudgedInOrder", hashTwiceInABatch},
	{"ValuesLiveAsLongAsPromised", valuesLive},
	{"ReplayedRecordPostsOnce", replayedRecordPostsOnce},
	{"DeadLetterLetsACorrectedResendPost", correctedResend},
	{"ForgedReplayIsANewRoot", forgedReplay},
	{"LetterIsReservedOnce", reservedOnce},
	{"BadInputWritesNothing", badInput},
	{"NothingIsAnsweredBeforeOpen", notOpen},
	{"AnEmptiedStoreIsNeverAnsweredAsNew", emptiedStore},
	{"AReplacedStoreIsNeverAnsweredAsNew", replacedStore},
	{"GenerationIsMadeOnlyForANewGroup", generationRules},
	{"CancelledCallIsNoOutage", cancelled},
	{"SecondRunIsRefusedByName", secondRunIsRefused},
	{"LeaseOutlivesItsLifeByRenewal", leaseIsRenewed},
	{"LostLeaseStopsTheRun", lostLease},
}

func keepsItsPromises(t *testing.T, rig func(t testing.TB) rig) {
	t.Helper()
	for _, p := range promises {
		t.Run(p.name, func(t *testing.T) { t.Parallel(); p.test(t, rig(t)) })
	}
}

func TestMemoryKeepsItsPromises(t *testing.T) { t.Parallel(); keepsItsPromises(t, memoryRig) }

func TestRealRedisKeepsItsPromises(t *testing.T) {
	t.Parallel()
	url := testkit.Redis(t)
	raw := rawClient(t, url)
	keepsItsPromises(t, func(t testing.TB) rig { return redisRig(t, url, raw) })
}

// All keys of one decision share a slot: three masters refuse what does not.
func TestRealRedisClusterKeepsItsPromises(t *testing.T) {
	t.Parallel()
	url, raw := startCluster(t)
	keepsItsPromises(t, func(t testing.TB) rig { return redisRig(t, url, raw) })
}

// Pitfall R2: whoever asks at the same moment, one gets it and the others are told.
func oneOfManyTakesAHash(t *testing.T, r rig) { oneOfMany(t, r, func(string) {}) }

// The same where all of them take over what another root's dead letter left.
func oneOfManyTakesOver(t *testing.T, r rig) {
	dead := scene{here: hereA}.value(cell{"dead", oA, 0, 1, 1, pHere})
	oneOfMany(t, r, func(hash string) { r.put(t, kept{hash, dead, ttl}) })
}

func oneOfMany(t *testing.T, r rig, before func(hash string)) {
	t.Helper()
	stores := []dedup.Store{r.open(t), r.open(t)}
	for range 20 {
		hash := newHash("contended")
		before(hash)
		verdicts := atOnce(8, func(i int) dedup.Verdict {
			c := first(hash, at("recon.main", int32(i), 7))
			answers, err := stores[i%2].Claim(t.Context(), time.Minute, []dedup.Claim{c})
			if err != nil {
				t.Error(err)
				return 0
			}
			return answers[0].Verdict
		})
		slices.Sort(verdicts)
		want := slices.Repeat([]dedup.Verdict{dedup.Busy}, len(verdicts))
		want[0] = dedup.Fresh
		if !slices.Equal(verdicts, want) {
			t.Fatalf("got %v, want one fresh and the others busy", verdicts)
		}
	}
}

func oneOfManyReserves(t *testing.T, r rig) {
	stores := []dedup.Store{r.open(t), r.open(t)}
	for range 10 {
		hash := newHash("reserved")
		got := atOnce(4, func(i int) string {
			env := envelope.EnvelopeID(rootA, 0)
			a, err := stores[i%2].Reserve(t.Context(), dedup.Reservation{
				Hash: hash, EnvelopeID: env, ReplayID: envelope.ReplayID(env), Root: rootA,
			})
			return fmt.Sprint(a.Reserved, a.AlreadyMine, err)
		})
		slices.Sort(got)
		if want := []string{"false true <nil>", "false true <nil>", "false true <nil>", "true false <nil>"}; !slices.Equal(got, want) {
			t.Fatalf("got %v, want one reserved and the others told so", got)
		}
	}
}

// atOnce runs f n times at the same moment and gives what each answered.
func atOnce[T any](n int, f func(i int) T) []T {
	out, start := make([]T, n), make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			out[i] = f(i)
		})
	}
	close(start)
	wg.Wait()
	return out
}

// Pitfall R4: an answer that was lost on the way is asked for again, and finds itself.
func redeliveredTakesAgain(t *testing.T, r rig) {
	s, hash := r.open(t), "redelivered"
	wantVerdict(t, s, first(hash, rootA), dedup.Fresh)
	wantVerdict(t, r.open(t), first(hash, rootA), dedup.Resumed)
	r.put(t, kept{hash, stored(t, s, hash), time.Second})
	wantVerdict(t, s, first(hash, rootA), dedup.Resumed)
	if life := r.life(t, hash); life < 50*time.Second {
		t.Errorf("claimed again for a minute, and it lives %s", life)
	}
	second := first(hash, rootA)
	second.At = hereA
	wantVerdict(t, s, second, dedup.Busy)
}

// Pitfalls L26, R1, R3: who claims and dies holds the hash for the lease and no longer; no key is without a life.
func claimEndsWithLease(t *testing.T, r rig) {
	s, c := r.open(t), first("abandoned", rootA)
	if _, err := s.Claim(t.Context(), 50*time.Millisecond, []dedup.Claim{c}); err != nil {
		t.Fatal(err)
	}
	if life := r.life(t, c.Hash); life > 50*time.Millisecond {
		t.Errorf("claimed for 50 ms, and it lives %s", life)
	}
	eventually(t, "the lease to end", func() bool {
		return claimOne(t, s, first(c.Hash, rootB)).Verdict == dedup.Fresh
	})
}

func answersComeInOrder(t *testing.T, r rig) {
	s := r.open(t)
	kinds := []struct {
		before  cell
		verdict dedup.Verdict
	}{
		{cell{}, dedup.Fresh},
		{cell{"waiting", oA, 0, 1, 0, pHere}, dedup.Repeated},
		{cell{"posted", oB, 0, 1, 0, pThere}, dedup.Duplicate},
		{cell{"posted", oB, 0, 1, 1, pThere}, dedup.Conflict},
		{cell{"dead", oB, 0, 1, 1, pThere}, dedup.Fresh},
	}
	var batch []dedup.Claim
	var want []dedup.Verdict
	for i := range 250 {
		k, hash := kinds[i*7%len(kinds)], fmt.Sprintf("ordered-%04d", i)
		if k.before.st != "" {
			r.put(t, kept{hash, scene{here: rootA}.value(k.before), ttl})
		}
		batch, want = append(batch, first(hash, rootA)), append(want, k.verdict)
	}
	answers, err := s.Claim(t.Context(), time.Minute, batch)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range answers {
		if a.Verdict != want[i] {
			t.Errorf("answer %d: got %s, want %s", i, a.Verdict, want[i])
		}
	}
	if answers, err := s.Claim(t.Context(), time.Minute, nil); err != nil || len(answers) != 0 {
		t.Errorf("an empty batch: got %v, %v", answers, err)
	}
}

func hashTwiceInABatch(t *testing.T, r rig) {
	s := r.open(t)
	deadA := scene{here: hereA}.value(cell{"dead", oA, 0, 3, 0, pHere})
	a, b, replay := func(h string) dedup.Claim { return first(h, rootA) }, func(h string) dedup.Claim { return first(h, rootB) },
		func(h string) dedup.Claim {
			c := first(h, rootA)
			c.At, c.Generation, c.Replay, c.Envelope = onMain, 1, "this", envelope.EnvelopeID(rootA, 0)
			return c
		}
	rows := []struct {
		name   string
		before dedup.Value
		claims []func(string) dedup.Claim
		want   []dedup.Verdict
	}{
		{"new", dedup.Value{}, []func(string) dedup.Claim{a, b, a}, []dedup.Verdict{dedup.Fresh, dedup.Busy, dedup.Resumed}},
		{"taken over", deadA, []func(string) dedup.Claim{b, a, b}, []dedup.Verdict{dedup.Fresh, dedup.Busy, dedup.Resumed}},
		{"decided, then taken over", deadA, []func(string) dedup.Claim{a, b}, []dedup.Verdict{dedup.Repeated, dedup.Fresh}},
		{"replay first", dedup.Value{}, []func(string) dedup.Claim{replay, b}, []dedup.Verdict{dedup.Fresh, dedup.Busy}},
	}
	for _, row := range rows {
		hash := newHash("twice")
		if row.before.State != "" {
			r.put(t, kept{hash, row.before, ttl})
		}
		var batch []dedup.Claim
		for _, c := range row.claims {
			batch = append(batch, c(hash))
		}
		answers, err := s.Claim(t.Context(), time.Minute, batch)
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range answers {
			if got.Verdict != row.want[i] {
				t.Errorf("%s, claim %d: got %s, want %s", row.name, i, got.Verdict, row.want[i])
			}
		}
	}
	hash := newHash("twice")
	settle(t, s,
		dedup.Settlement{Claim: first(hash, rootA), State: dedup.Waiting, Due: time.Now()},
		dedup.Settlement{Claim: first(hash, rootA), State: dedup.Dead},
		dedup.Settlement{Claim: first(hash, rootA), State: dedup.Posted},
		dedup.Settlement{Claim: first(hash, rootA), State: dedup.Dead})
	if got := stored(t, s, hash).State; got != dedup.Posted {
		t.Errorf("settled waiting, dead, posted, dead: got %s, want posted", got)
	}
	hash = newHash("twice")
	r.put(t, kept{hash, deadA, ttl})
	settle(t, s,
		dedup.Settlement{Claim: first(hash, rootA), State: dedup.Posted, Owner: &envelope.AlreadyPosted{Root: rootB, Digest: digest}},
		dedup.Settlement{Claim: first(hash, rootA), State: dedup.Posted})
	if got := stored(t, s, hash).Root; got != rootA {
		t.Errorf("settled for %s, then for %s: got %s", rootB, rootA, got)
	}
}
