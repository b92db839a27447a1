package consumer_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/consumer"
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
