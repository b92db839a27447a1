package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/consumer"
	"recon/pkg/dedup"
	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// ours are the names of the headers that this service sets on a tier.
var ours = []string{
	envelope.HeaderRoot, envelope.HeaderOrigin, envelope.HeaderGeneration, envelope.HeaderMessageID, envelope.HeaderAttempt,
	envelope.HeaderBudget, envelope.HeaderMaxAttempts, envelope.HeaderFirstSeenAt, envelope.HeaderNextRetryAt, envelope.HeaderMatchDeadline,
	envelope.HeaderStage, envelope.HeaderFailureClass, envelope.HeaderErrorCode, envelope.HeaderError, envelope.HeaderHistory,
	envelope.HeaderReplay, envelope.HeaderEnvelope, "recon-", "recon-unknown",
}

// hostileHeader is one header as nobody should write it, or as somebody does.
func hostileHeader(rng *rand.Rand) kgo.RecordHeader {
	uuid := "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
	values := []string{
		"", "\x00", "\xff\xfe\xfd", "-1", "0", "1", "7", "99", "100", "101", "128", "2147483647", "2147483648", "9223372036854775808",
		"-9223372036854775808", "1e9", "NaN", " 3", "recon.main/0@0", "recon.main/2@9223372036854775807", "recon.main/-1@-1", "a b/0@0",
		"/0@0", "x/2147483647@0", strings.Repeat("t", 249) + "/0@0", uuid, strings.ToUpper(uuid), "2026-01-31T09:00:00.000Z", "0000-01-01T00:00:00.000Z",
		"9999-12-31T23:59:59.999Z", "-0001-01-01T00:00:00.000Z", "2000-01-01T00:00:10.000Z", "LOCK_CONTENTION=1", "LOCK_CONTENTION=99999999999",
		"DUPLICATE_IN_FLIGHT=2147483647", "LOCK_CONTENTION=-5,LOCK_CONTENTION=3", ",,,=,", "LOCK_CONTENTION", "DUPLICATE_IN_FLIGHT", "UNCLASSIFIED",
		"NOT_A_CODE", "post", "dedup", "Post", "transient", "poison", "fatal", "[]", "{}", `[{"attempt":1}]`, `[{"attempt":-1,"at":"x"}]`, "null",
		`[{"attempt":1,"at":"2026-01-31T09:00:00.000Z","stage":"post","failure_class":"transient","error_code":"LOCK_CONTENTION","error_detail":"x","waited_ms":9223372036854775807,"took_ms":-1,"instance":"i"}]`,
		strings.Repeat("[", 5000), strings.Repeat("ß", 4000), strings.Repeat("a=1,", 2000),
	}
	h := kgo.RecordHeader{Key: ours[rng.IntN(len(ours))]}
	if rng.IntN(20) > 0 {
		h.Value = []byte(values[rng.IntN(len(values))])
	}
	return h
}

// Pitfalls S9, S10, A1, A9, T5: whatever stands in the headers of a record on a tier or on main, it has an outcome, and
// so have all records behind it.
func TestHostileHeadersNeverStopAPartition(t *testing.T) {
	for seed := range seeds(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 1))
				w := newWorld(t, short)
				w.ledger.script = func(_ context.Context, m *envelope.Message) error {
					switch m.SourceHash[len(m.SourceHash)-1] {
					case '1', '2', '3':
						return fault.New(fault.LockContention, "lock is held")
					case '4':
						return errUnknown
					case '5':
						return fault.New(fault.DuplicateInFlight, "a handler that says so itself")
					}
					return nil
				}
				m := w.start([]func(*consumer.Config){func(c *consumer.Config) { c.Policies = quick() }})
				const n = 120
				var recs []*kgo.Record
				for i := range n {
					r := message(i)
					if rng.IntN(8) == 0 {
						r.Value = [][]byte{nil, {}, []byte("x")}[rng.IntN(3)]
					}
					for range 1 + rng.IntN(8) {
						r.Headers = append(r.Headers, hostileHeader(rng))
					}
					r.Topic, r.Partition = w.names.Tier(short[rng.IntN(2)]), int32(rng.IntN(partitions))
					if rng.IntN(3) == 0 {
						r.Topic = w.names.Main()
					}
					recs = append(recs, r)
				}
				if err := w.out.ProduceSync(t.Context(), recs...).FirstErr(); err != nil {
					t.Fatal(err)
				}
				last := messages(n+10, n+16)
				w.send(last...)
				until := time.Now().Add(20 * time.Minute)
				for time.Now().Before(until) && (w.ledger.posted() == 0 || w.lag() > 0) {
					time.Sleep(10 * time.Second)
					if m.gone() {
						t.Fatalf("the engine ended: %v", m.err)
					}
					if time.Until(until) < 13*time.Minute {
						w.ledger.setScript(nil) // what waits for ever by its handler's word ends now
					}
				}
				if lag := w.lag(); lag != 0 {
					t.Errorf("lag %d after 20 minutes: %v", lag, m.Counters().Idle())
				}
				if n := w.count(consumer.WriteRefused); n > 0 {
					t.Errorf("%d writes that no broker refused: %v", n, w.of(consumer.WriteRefused)[0].Err)
				}
				if err := m.Counters().Idle(); err != nil {
					t.Errorf("idle, and still there: %v", err)
				}
				m.end(t)
				for _, l := range w.letters() {
					if l.EnvelopeID == "" {
						t.Error("a letter without an id")
					}
				}
			})
		})
	}
}

// gone tells whether the member's Run has returned.
func (m *member) gone() bool {
	select {
	case <-m.done:
		return true
	default:
		return false
	}
}

// quick are policies whose waits are seconds.
func quick() fault.Policies {
	p := fault.Defaults()
	for code, row := range p {
		if row.Class == fault.Transient {
			row.Base, row.Cap = min(row.Base, 2*time.Second), min(row.Cap, 20*time.Second)
			p[code] = row
		}
	}
	return p
}

// seeds are 1 to n, or as many as SEEDS says, from SEED on.
func seeds(n uint64) iter.Seq[uint64] {
	first := uint64(1)
	if v, err := strconv.ParseUint(os.Getenv("SEEDS"), 10, 64); err == nil {
		n = v
	}
	if v, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64); err == nil {
		first, n = v, 1
	}
	return func(yield func(uint64) bool) {
		for i := range n {
			if !yield(first + i) {
				return
			}
		}
	}
}

// keyed is message n on a partition under a key.
func keyed(n int, partition int32, key string) *kgo.Record {
	r := message(n)
	r.Partition, r.Key = partition, []byte(key)
	return r
}

// put writes records to main exactly where they say.
func (w *world) put(recs ...*kgo.Record) {
	w.t.Helper()
	for _, r := range recs {
		r.Topic = w.names.Main()
	}
	if err := w.out.ProduceSync(w.t.Context(), recs...).FirstErr(); err != nil {
		w.t.Fatal(err)
	}
}

// assigned waits until somebody has partitions.
func (w *world) assigned() {
	w.t.Helper()
	w.until(time.Minute, "assignment", func() bool { return w.count(consumer.Assigned) > 0 })
}

func named(name string) []func(*consumer.Config) {
	return []func(*consumer.Config){func(c *consumer.Config) { c.Instance = name }}
}

// Pitfalls L14, S2, S5: records that wait behind their key when their partition is revoked are all handed back: none is
// kept, and none stands still when the partition comes back.
func TestRecordsBehindTheirKeyAreHandedBackAtARevoke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		w.ledger.script = func(ctx context.Context, _ *envelope.Message) error { return wait(ctx, 20*time.Second) }
		one := w.start([]func(*consumer.Config){func(c *consumer.Config) { c.Concurrency = 1 }})
		w.assigned()
		w.put(keyed(0, 0, "busy"))
		w.until(time.Minute, "the handler", func() bool { return w.ledger.tries("hash-000000") == 1 })
		n := 1
		for p := range int32(partitions) {
			for range 3 {
				w.put(keyed(n, p, "same"))
				n++
			}
		}
		w.until(time.Minute, "lanes", func() bool { return one.Counters().LaneWaiting > 0 })
		two := w.start(named("two"))
		w.until(3*time.Minute, "a revoke", func() bool { return w.count(consumer.Revoked) > 0 })
		two.end(t)
		w.ledger.setScript(nil)
		w.until(10*time.Minute, "all posted and committed", func() bool { return w.ledger.posted() == n && w.lag() == 0 })
		if err := one.Counters().Idle(); err != nil {
			t.Errorf("idle, and still there: %v", err)
		}
		one.end(t)
	})
}

// As above, for records of another partition that wait behind a hash.
func TestRecordsBehindAHashGoOnWhenItsPartitionIsRevoked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		store := &faulty{Store: w.store}
		w.store = store
		away := fmt.Errorf("dial: %w", dedup.ErrUnavailable)
		one := w.start(nil)
		w.assigned()
		store.fail.Store(&away)
		for n := range 2 { // two batches are on the way, and stay there
			w.put(keyed(1000+n, 1, "on the way"))
			w.until(time.Minute, "a batch", func() bool { return one.Counters().ClaimsOut == n+1 })
		}
		const twins = 5
		for n := range twins {
			for _, p := range []int32{int32(n % partitions), int32((n + 1) % partitions)} {
				w.put(keyed(n, p, "twin"))
				time.Sleep(time.Second)
			}
		}
		two := w.start(named("two"))
		w.until(3*time.Minute, "a revoke", func() bool { return w.count(consumer.Revoked) > 0 })
		store.fail.Store(nil)
		w.until(10*time.Minute, "all posted and committed", func() bool { return w.ledger.posted() == twins+2 && w.lag() == 0 })
		for _, m := range []*member{one, two} {
			if err := m.Counters().Idle(); err != nil {
				t.Errorf("idle, and still there: %v", err)
			}
			m.end(t)
		}
	})
}

// A trail that cannot be begun ends the start; the group, which has assigned partitions by then, does not hold it up.
func TestTrailThatCannotBeOpenedEndsTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		left := new(atomic.Int64)
		left.Store(1 << 40)
		m := w.start(nil, consumer.WithProducer(func(p consumer.Producer) consumer.Producer { return refusing{p, "recon.audit", left, false} }))
		select {
		case <-m.done:
		case <-time.After(10 * time.Minute):
			t.Fatal("Run still hangs after 10 minutes")
		}
		if !errors.Is(m.err, context.DeadlineExceeded) {
			t.Errorf("Run returned %v, want the broker's answer", m.err)
		}
	})
}

// A stop and a revoke that drain the same partitions at once end as soon as the work in hand has ended.
func TestStopAndRevokeAtOnceWaitForTheWorkAlone(t *testing.T) {
	for _, first := range []string{"stop", "revoke"} {
		t.Run(first+" first", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, short)
				w.ledger.script = func(ctx context.Context, _ *envelope.Message) error { return wait(ctx, 8*time.Second) }
				one := w.start([]func(*consumer.Config){func(c *consumer.Config) { c.Grace = time.Minute }})
				w.assigned()
				w.put(keyed(0, 0, "a"), keyed(1, 1, "b"), keyed(2, 2, "c"))
				w.until(time.Minute, "all in hand", func() bool { return len(w.ledger.calls()) == 3 })
				began := time.Now()
				if first == "stop" {
					one.stop()
				}
				time.Sleep(500 * time.Millisecond)
				two := w.start(named("two"))
				if first == "revoke" {
					w.until(time.Minute, "a drain", func() bool { return one.Counters().Draining })
				}
				one.end(t)
				if took := time.Since(began); took > 12*time.Second {
					t.Errorf("the stop took %s for handlers of 8 s", took)
				}
				w.until(time.Minute, "lag 0", func() bool { return w.lag() == 0 })
				if n := len(w.ledger.calls()); n != 3 {
					t.Errorf("%d attempts, want 3: all were in hand when the stop began", n)
				}
				two.end(t)
			})
		})
	}
}

// slow answers claims late.
type slow struct {
	dedup.Store
	delay atomic.Int64
}

func (s *slow) Claim(ctx context.Context, lease time.Duration, batch []dedup.Claim) ([]dedup.Answer, error) {
	answers, err := s.Store.Claim(ctx, lease, batch)
	time.Sleep(time.Duration(s.delay.Load()))
	return answers, err
}

// A claim that is answered while the engine drains begins no attempt.
func TestNoAttemptBeginsWhileTheEngineDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		store := &slow{Store: w.store}
		w.store = store
		m := w.start(nil)
		w.assigned()
		w.ledger.setScript(func(ctx context.Context, _ *envelope.Message) error { return wait(ctx, 4*time.Second) })
		w.put(keyed(0, 0, "long"))
		w.until(time.Minute, "the handler", func() bool { return w.ledger.tries("hash-000000") == 1 })
		store.delay.Store(int64(2 * time.Second))
		w.send(messages(1, 30)...)
		w.until(time.Minute, "a claim on the way", func() bool { return m.Counters().ClaimsOut > 0 })
		m.end(t)
		if n := len(w.ledger.calls()); n != 1 {
			t.Errorf("%d attempts, want the one that was in hand", n)
		}
		if n := w.count(consumer.Abandoned); n != 0 {
			t.Errorf("%d attempts abandoned, want none", n)
		}
	})
}

// A claim that another record has taken while ours waited behind its key is asked for anew: the handler is not called.
func TestClaimLostBehindItsKeyRunsNoHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		shared := w.store
		store := &faulty{Store: w.store}
		w.store = store
		w.ledger.script = func(ctx context.Context, m *envelope.Message) error {
			if m.SourceHash == "hash-000001" {
				return wait(ctx, 5*time.Minute)
			}
			return nil
		}
		long := func(c *consumer.Config) { c.Lease, c.HandlerTimeout = 30*time.Second, time.Hour }
		m := w.start([]func(*consumer.Config){long})
		w.assigned()
		w.put(keyed(1, 1, "k"))
		w.put(keyed(2, 1, "k"))
		w.until(time.Minute, "the lane", func() bool { return m.Counters().LaneWaiting == 1 })
		away := fmt.Errorf("dial: %w", dedup.ErrUnavailable)
		store.fail.Store(&away)
		time.Sleep(time.Minute) // the lease runs out, and another member's twin posts
		twin, err := envelope.Decode(message(2).Value, nil)
		if err != nil {
			t.Fatal(err)
		}
		at := envelope.Coordinates{Topic: "recon.main", Partition: 7, Offset: 1}
		c := dedup.Claim{Hash: twin.SourceHash, Digest: twin.Digest, Root: at, Attempt: 1, At: at}
		if _, err := shared.Claim(t.Context(), time.Minute, []dedup.Claim{c}); err != nil {
			t.Fatal(err)
		}
		if err := shared.Settle(t.Context(), []dedup.Settlement{{Claim: c, State: dedup.Posted}}); err != nil {
			t.Fatal(err)
		}
		store.fail.Store(nil)
		w.until(10*time.Minute, "lag 0", func() bool { return w.lag() == 0 })
		if n := w.ledger.tries("hash-000002"); n != 0 {
			t.Errorf("%d attempts of a record whose claim was lost, want none", n)
		}
		if n := w.count(consumer.Suppressed); n != 1 {
			t.Errorf("%d suppressed, want 1", n)
		}
		m.end(t)
	})
}

// twiceLost answers its second and third question late, and both as lost.
type twiceLost struct {
	dedup.Store
	asked atomic.Int64
}

func (s *twiceLost) Claim(ctx context.Context, lease time.Duration, batch []dedup.Claim) ([]dedup.Answer, error) {
	n := s.asked.Add(1)
	answers, err := s.Store.Claim(ctx, lease, batch)
	if n == 2 || n == 3 {
		time.Sleep(30 * time.Second)
		answers[0].Verdict = dedup.Busy
	}
	return answers, err
}

// A claim that is told lost by two renewals is asked for anew once.
func TestClaimLostTwiceIsAskedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		w.store = &twiceLost{Store: w.store}
		w.ledger.blind = true
		w.ledger.script = func(ctx context.Context, _ *envelope.Message) error { return wait(ctx, 41*time.Second) }
		m := w.start([]func(*consumer.Config){func(c *consumer.Config) { c.Lease, c.HandlerTimeout = 30*time.Second, time.Hour }})
		w.put(keyed(1, 1, "k"))
		w.until(10*time.Minute, "lag 0", func() bool { return w.ledger.posted() == 1 && w.lag() == 0 })
		m.end(t)
		if n := w.ledger.tries("hash-000001"); n != 2 {
			t.Errorf("%d attempts, want 2: the one that lost its claim, and one more", n)
		}
	})
}

// Pitfalls S7, H7, H12, M5: values, keys and headers of a megabyte, nested without end or in no encoding, each have an
// outcome, and the record behind them too.
func TestHostileBodiesHaveAnOutcomeEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		w.ledger.script = func(_ context.Context, m *envelope.Message) error {
			if m.Attempt == 0 {
				return fault.New(fault.LockContention, "lock is held")
			}
			return nil
		}
		m := w.start(nil)
		big, deep := strings.Repeat("x", 900_000), strings.Repeat("[", 400_000)
		valid := func(n int, more string) []byte {
			return fmt.Appendf(nil, `{"source_hash":"hash-big-%d","ledger_entity":"A","currency":"EUR","amount":"1","match_decision":"MATCHED"%s}`, n, more)
		}
		recs := []*kgo.Record{
			{Value: []byte(deep)},
			{Value: []byte(`{"a":` + deep + `}`)},
			{Value: []byte(`{"source_hash":"` + big + `"}`)},
			{Value: valid(1, `,"trace_id":"`+big+`"`)},
			{Value: valid(2, `,"of the feed's own":"`+big+`"`)}, // posts
			{Key: []byte(big), Value: []byte("x")},
			{Key: []byte(big), Value: valid(3, "")}, // posts
			{Value: []byte("x"), Headers: []kgo.RecordHeader{{Key: big}}},
			{Value: []byte("x"), Headers: []kgo.RecordHeader{{Key: "source_hash", Value: []byte(big)}}},
			{Value: []byte("x"), Headers: []kgo.RecordHeader{{Key: "traceparent", Value: []byte(big)}}},
			{Value: []byte("{"), Headers: []kgo.RecordHeader{{Key: "\xff\xfe", Value: []byte{0xff}}}},
		}
		for _, r := range recs {
			r.Partition = 1
			w.put(r)
		}
		w.put(keyed(1, 1, "behind"))
		w.until(10*time.Minute, "lag 0", func() bool { return w.ledger.posted() == 3 && w.lag() == 0 })
		m.end(t)
		if got, want := len(w.letters()), len(recs)-2; got != want {
			t.Errorf("%d letters, want %d", got, want)
		}
		if n := w.count(consumer.WriteRefused); n != 0 {
			t.Errorf("%d writes failed, want none: %v", n, w.of(consumer.WriteRefused)[0].Err)
		}
	})
}
