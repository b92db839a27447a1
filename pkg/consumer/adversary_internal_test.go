package consumer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"pgregory.net/rapid"

	"recon/pkg/audit"
	"recon/pkg/broker"
	"recon/pkg/dedup"
	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/topics"
)

// bench is a loop without goroutines: the test plays store, handler, broker, trail and clock, in any order.
type bench struct {
	t     *rapid.T
	e     *Engine
	l     *loop
	now   time.Time
	store *dedup.Memory

	claims   []*claimBatch
	settles  []*settleBatch
	proofs   []*proof
	writes   []benchWrite
	pooled   chan *delivery
	handling []*delivery

	offsets  map[source]int64
	drains   map[source][]*bool // who waits for a drain, and whether each was told
	finished map[envelope.Coordinates]int
	mu       sync.Mutex // guards finished
}

type benchWrite struct {
	rec  *kgo.Record
	done func(*kgo.Record, error)
}

// Produce keeps a write until the test ends it.
func (b *bench) Produce(_ context.Context, r *kgo.Record, done func(*kgo.Record, error)) {
	b.writes = append(b.writes, benchWrite{r, done})
}

// Append is never called: the test answers proofs itself.
func (b *bench) Append(context.Context, ...audit.Entry) error { return errors.New("not asked") }

func newBench(t *rapid.T, client *kgo.Client, order Order) *bench {
	b := &bench{
		t: t, now: time.Now(), pooled: make(chan *delivery, 64),
		offsets: map[source]int64{}, drains: map[source][]*bool{}, finished: map[envelope.Coordinates]int{},
	}
	var err error
	if b.store, err = dedup.NewMemory(dedup.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := b.store.Open(context.Background(), false, false); err != nil {
		t.Fatal(err)
	}
	p := fault.Defaults()
	for code, row := range p {
		if row.Class == fault.Transient {
			row.Base, row.Cap = min(row.Base, time.Second), min(row.Cap, time.Second)
			p[code] = row
		}
	}
	never := HandlerFunc(func(context.Context, *envelope.Message) error { return nil })
	b.e, err = New(Config{
		Broker: broker.Config{Seeds: []string{"127.0.0.1:1"}}, Tiers: topics.Ladder{time.Second}, Policies: p,
		Concurrency: 3, MaxUnsettled: 5, MaxInFlight: 1000, Order: order, Lease: time.Minute,
	}, never, b.store, WithJournal(b), WithObserve(b.observe))
	if err != nil {
		t.Fatal(err)
	}
	b.e.client, b.e.producer = client, b
	b.e.tiers = map[string]struct{}{b.e.cfg.Topics.Tier(time.Second): {}}
	b.e.journal = b
	b.l = b.e.loop.Load()
	b.l.pool = newPool(3, func(d *delivery) { b.pooled <- d })
	return b
}

func (b *bench) close() {
	b.l.stopWork()
	b.l.pool.stop(time.Minute)
}

func (b *bench) observe(ev Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ev.Kind == Posted || ev.Kind == Suppressed || ev.Kind == DeadLettered || ev.Kind == RetryScheduled || ev.Kind == Repeated {
		b.finished[ev.Record]++
	}
}

// turn runs the loop once over what came back, and takes what it gave out.
func (b *bench) turn() {
	var spare mail
	b.l.now = b.now
	got := b.l.inbox.take(&spare)
	b.l.turn(&got)
	for {
		select {
		case c := <-b.l.claims:
			b.claims = append(b.claims, c)
			continue
		case s := <-b.l.settles:
			b.settles = append(b.settles, s)
			continue
		case p := <-b.l.proofs:
			b.proofs = append(b.proofs, p)
			continue
		default:
		}
		break
	}
	for len(b.handling) < b.l.running {
		b.handling = append(b.handling, <-b.pooled)
	}
	b.consistent()
}

// consistent holds the counters against what they count.
func (b *bench) consistent() {
	c := b.l.counters()
	if c.Running < 0 || c.Unsettled < 0 || c.InHand < 0 || c.InHand > c.Unsettled+c.Refused || c.ClaimsOut != len(b.claims) || c.SettlesOut != len(b.settles) {
		b.t.Fatalf("counters %+v with %d claims, %d settles out", c, len(b.claims), len(b.settles))
	}
	if behind := 0; c.LaneWaiting >= 0 {
		for _, q := range b.l.lanes.busy {
			behind += len(q)
		}
		if behind != c.LaneWaiting {
			b.t.Fatalf("lanes say %d wait, %d do", c.LaneWaiting, behind)
		}
	}
	seen := map[*delivery]string{}
	for _, q := range []struct {
		name string
		ds   []*delivery
	}{{"claim", b.l.toClaim}, {"start", b.l.toStart}, {"write", b.l.toWrite}, {"settle", b.l.toSettle}, {"handler", b.handling}} {
		for _, d := range q.ds {
			if was, twice := seen[d]; twice {
				b.t.Fatalf("%s stands in queues %s and %s", d.at, was, q.name)
			}
			seen[d] = q.name
		}
	}
}

func (b *bench) source(which int) source {
	names := []string{b.e.cfg.Topics.Main(), b.e.cfg.Topics.Main(), b.e.cfg.Topics.Tier(time.Second)}
	return source{names[which], int32(which % 2)}
}

func set(src source) map[string][]int32 { return map[string][]int32{src.topic: {src.partition}} }

// deliver hands the loop one record of a source; n makes its hash, and so does its key.
func (b *bench) deliver(src source, hash, key int, bad bool) {
	off := b.offsets[src]
	b.offsets[src]++
	value := fmt.Sprintf(`{"source_hash":"hash-%04d","ledger_entity":"ACME","currency":"EUR","amount":"1.50","match_decision":"MATCHED"}`, hash)
	if bad {
		value = "not JSON"
	}
	r := &kgo.Record{Topic: src.topic, Partition: src.partition, Offset: off, Value: []byte(value), Key: fmt.Append(nil, key), Timestamp: b.now}
	_, tier := b.e.tiers[src.topic]
	if tier {
		root := envelope.Coordinates{Topic: b.e.cfg.Topics.Main(), Partition: 9, Offset: off}
		retry := envelope.Retry{Root: root, Origin: root, Attempt: 1, Due: b.now.Add(time.Second).UTC(), FirstSeen: b.now.UTC()}
		r.Headers = retry.Append(nil)
	}
	p := &poll{admitted: make(chan struct{}), taken: make(chan struct{})}
	p.batches = []batch{{src, b.e.prepare([]*kgo.Record{r}, tier, b.now)}}
	b.l.inbox.leave(func(m *mail) { m.polls = append(m.polls, p) })
}

// pick takes one of several out.
func pick[T any](t *rapid.T, from *[]T, what string) (v T, ok bool) {
	if len(*from) == 0 {
		return v, false
	}
	i := rapid.IntRange(0, len(*from)-1).Draw(t, what)
	v = (*from)[i]
	*from = append((*from)[:i:i], (*from)[i+1:]...)
	return v, true
}

func (b *bench) answerClaim(c *claimBatch) {
	var err error
	if c.answers, err = b.store.Claim(b.t.Context(), time.Hour, c.claims); err != nil {
		b.t.Fatal(err)
	}
	b.l.inbox.leave(func(m *mail) { m.claims = append(m.claims, c) })
}

func (b *bench) answerSettle(s *settleBatch) {
	if err := b.store.Settle(b.t.Context(), s.settlements); err != nil {
		b.t.Fatal(err)
	}
	b.l.inbox.leave(func(m *mail) { m.settled = append(m.settled, s) })
}

func (b *bench) answerProof(p *proof) {
	p.told = true
	b.l.inbox.leave(func(m *mail) { m.proven = append(m.proven, p) })
}

func (b *bench) endWrite(w benchWrite, err error) { w.done(w.rec, err) }

// endAttempt ends an attempt with err, as the handler's goroutine does.
func (b *bench) endAttempt(d *delivery, err error) {
	b.e.handler = HandlerFunc(func(context.Context, *envelope.Message) error { return err })
	b.e.handle(d)
	b.l.inbox.handledOne(d)
}

// Whatever comes back in whatever order while assignments come, drain and go: nothing that is counted, queued, held or
// kept in order is ever left behind, and every record of a living assignment reaches its mark.
func TestLoopLeavesNothingBehind(t *testing.T) {
	client, err := kgo.NewClient(kgo.SeedBrokers("127.0.0.1:1"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, order := range []Order{OrderKey, OrderNone} {
		t.Run(string(order), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { leavesNothing(t, client, order) })
		})
	}
}

func leavesNothing(t *rapid.T, client *kgo.Client, order Order) {
	b := newBench(t, client, order)
	defer b.close()
	for which := range 3 {
		b.l.assign(set(b.source(which)))
	}
	which := rapid.IntRange(0, 2)
	deliver := func(t *rapid.T, n int) {
		src := b.source(which.Draw(t, "source"))
		for range n {
			b.deliver(src, rapid.IntRange(0, 4).Draw(t, "hash"), rapid.IntRange(0, 2).Draw(t, "key"), rapid.IntRange(0, 9).Draw(t, "bad") == 0)
		}
	}
	t.Repeat(map[string]func(*rapid.T){
		"deliver one":  func(t *rapid.T) { deliver(t, 1) },
		"deliver some": func(t *rapid.T) { deliver(t, 5) },
		"deliver twins": func(t *rapid.T) {
			for hash := range rapid.IntRange(1, 5).Draw(t, "hashes") {
				b.deliver(b.source(0), hash, 7, false)
				b.deliver(b.source(1), hash, 8, false)
			}
		},
		"claims": func(t *rapid.T) {
			if c, ok := pick(t, &b.claims, "claim batch"); ok {
				b.answerClaim(c)
			}
		},
		"claim lost": func(t *rapid.T) {
			if c, ok := pick(t, &b.claims, "claim batch"); ok {
				b.answerClaim(c)
				for i := range c.answers {
					if c.renewal {
						c.answers[i].Verdict = dedup.Busy
					}
				}
			}
		},
		"attempt": func(t *rapid.T) {
			d, ok := pick(t, &b.handling, "attempt")
			if !ok {
				return
			}
			b.endAttempt(d, rapid.SampledFrom([]error{
				nil, nil, errors.New("unknown"), fault.New(fault.LockContention, "lock"), fault.New(fault.CurrencyUnmapped, "map"),
				&envelope.AlreadyPosted{Root: d.retry.Root, Digest: d.msg.Digest},
				&envelope.AlreadyPosted{Root: envelope.Coordinates{Topic: "other", Offset: 7}, Digest: d.msg.Digest},
				&envelope.AlreadyPosted{Root: envelope.Coordinates{Topic: "other", Offset: 8}, Digest: "0000000000000000"},
			}).Draw(t, "result"))
		},
		"write": func(t *rapid.T) {
			if w, ok := pick(t, &b.writes, "write"); ok {
				b.endWrite(w, rapid.SampledFrom([]error{nil, nil, errors.New("refused")}).Draw(t, "answer"))
			}
		},
		"settles": func(t *rapid.T) {
			if s, ok := pick(t, &b.settles, "settle batch"); ok {
				b.answerSettle(s)
			}
		},
		"proof": func(t *rapid.T) {
			if p, ok := pick(t, &b.proofs, "proof"); ok {
				b.answerProof(p)
			}
		},
		"time": func(t *rapid.T) {
			b.now = b.now.Add(time.Duration(rapid.IntRange(1, 30).Draw(t, "seconds")) * time.Second)
		},
		"drain": func(t *rapid.T) {
			src := b.source(which.Draw(t, "source"))
			if b.l.parts[src] != nil {
				told := new(bool)
				b.drains[src] = append(b.drains[src], told)
				b.l.drain(set(src), func() { *told = true })
			}
		},
		"leave": func(t *rapid.T) {
			src := b.source(which.Draw(t, "source"))
			b.l.leave(set(src), Revoked)
			for _, told := range b.drains[src] {
				if !*told {
					t.Fatalf("%v left while it drained, and somebody who waits for it was not told", src)
				}
			}
			delete(b.drains, src)
		},
		"assign": func(t *rapid.T) {
			src := b.source(which.Draw(t, "source"))
			if b.l.parts[src] == nil {
				b.offsets[src] = max(0, b.offsets[src]-int64(rapid.IntRange(0, 5).Draw(t, "again")))
				b.l.assign(set(src))
			}
		},
		"": func(t *rapid.T) { b.turn() },
	})
	b.settle()
}

// settle answers everything well until nothing moves, and looks at what is left.
func (b *bench) settle() {
	for which := range 3 {
		src := b.source(which)
		if part := b.l.parts[src]; part != nil && part.draining {
			b.l.leave(set(src), Revoked) // a drain is always followed by this
		}
	}
	for range 2000 {
		b.turn()
		moved := false
		for _, c := range b.claims {
			b.answerClaim(c)
			moved = true
		}
		for _, d := range b.handling {
			b.endAttempt(d, nil)
			moved = true
		}
		writes := b.writes
		for _, s := range b.settles {
			b.answerSettle(s)
			moved = true
		}
		for _, p := range b.proofs {
			b.answerProof(p)
			moved = true
		}
		b.claims, b.handling, b.writes, b.settles, b.proofs = nil, nil, nil, nil, nil
		for _, w := range writes {
			b.endWrite(w, nil)
			moved = true
		}
		if moved {
			continue
		}
		if err := b.l.counters().Idle(); err == nil {
			return
		}
		b.now = b.now.Add(time.Second) // for what waits
	}
	b.t.Fatalf("everything was answered, and still there: %v", b.l.counters().Idle())
}
