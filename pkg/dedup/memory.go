package dedup

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Memory is the store of one process: the demo, tests, and runs without Redis. It answers as the Redis store does and
// forgets with its process. It has no goroutine of its own: what has run out is swept when it is written to.
type Memory struct {
	opt Options

	mu      sync.Mutex // held for a whole batch, never over I/O
	gen     generation
	opened  string // id of the generation that Open saw
	hashes  shelf
	replays map[letterKey]reserved
	lease   string
	leaseAt time.Time // when the lease runs out
	sweepIn int       // writes until the next sweep
}

// NewMemory makes an empty store. The error tells of Options that no store can have.
func NewMemory(o Options) (*Memory, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Memory{opt: o, hashes: newShelf(), replays: map[letterKey]reserved{}}, nil
}

// Open is Lifetime.Open.
func (m *Memory) Open(ctx context.Context, groupHasCommitted, fromStart bool) error {
	return m.open(ctx, groupHasCommitted, fromStart, true)
}

// Join is Lifetime.Join.
func (m *Memory) Join(ctx context.Context, groupHasCommitted bool) error {
	return m.open(ctx, groupHasCommitted, false, false)
}

func (m *Memory) open(ctx context.Context, groupHasCommitted, fromStart, begins bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("open the in-process dedup store: %w", err)
	}
	if err := admit(m.opened, m.gen, groupHasCommitted, fromStart, begins); err != nil {
		return fmt.Errorf("open the in-process dedup store: %w", err)
	}
	if m.gen.id == "" {
		m.gen = newGeneration(false)
	}
	m.gen.committed = m.gen.committed || groupHasCommitted
	m.opened = m.gen.id
	return nil
}

// MarkCommitted is Lifetime.MarkCommitted.
func (m *Memory) MarkCommitted(ctx context.Context) error {
	return m.do(ctx, "note the first commit", func(time.Time) error {
		m.gen.committed = true
		return nil
	})
}

// Ping is Lifetime.Ping.
func (m *Memory) Ping(ctx context.Context) error {
	return m.do(ctx, "ping", func(time.Time) error { return nil })
}

// Close is Lifetime.Close. There is nothing to give back.
func (m *Memory) Close() error { return nil }

// Claim is Claims.Claim.
func (m *Memory) Claim(ctx context.Context, lease time.Duration, batch []Claim) ([]Answer, error) {
	if err := checkClaims(lease, batch); err != nil || len(batch) == 0 {
		return nil, err
	}
	answers := make([]Answer, len(batch))
	err := m.do(ctx, "claim", func(now time.Time) error {
		for i := range batch {
			answers[i] = m.claim(&batch[i], now, lease)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return answers, nil
}

func (m *Memory) claim(c *Claim, now time.Time, lease time.Duration) Answer {
	slot, there := m.hashes.find(c.Hash, now)
	if !there && c.Replay == "" {
		m.put(c.Hash, slot, c.value(now), now, lease)
		return Answer{Verdict: Fresh}
	}
	var stored Value
	if there {
		stored = m.hashes.value(slot)
	}
	replayID := ""
	if c.Replay != "" && c.namesItsLetter() {
		replayID = m.replayID(c.Hash, c.Envelope, now)
	}
	answer, believed := judge(stored, replayID, *c)
	if answer.Verdict.Taken() {
		m.put(c.Hash, slot, believed.value(now), now, lease)
	}
	return answer
}

// Settle is Claims.Settle.
func (m *Memory) Settle(ctx context.Context, batch []Settlement) error {
	if err := checkSettlements(batch); err != nil || len(batch) == 0 {
		return err
	}
	return m.do(ctx, "settle", func(now time.Time) error {
		for i := range batch {
			s := &batch[i]
			slot, there := m.hashes.find(s.Claim.Hash, now)
			if there && !s.blind() && s.keeps(m.hashes.value(slot)) {
				continue
			}
			m.put(s.Claim.Hash, slot, s.value(now), now, s.life(now, m.opt.TTL))
		}
		return nil
	})
}

// do runs f alone, in a store that remembers.
func (m *Memory) do(ctx context.Context, what string, f func(now time.Time) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s in the in-process dedup store: %w", what, ctx.Err())
	case m.opened == "":
		return fmt.Errorf("%s: %w", what, ErrNotOpen)
	case m.opened != m.gen.id:
		return fmt.Errorf("%s: %w", what, lost(m.opened, m.gen.id))
	}
	return f(time.Now())
}

// put stores v in the slot that find gave for hash.
func (m *Memory) put(hash string, slot int, v Value, now time.Time, life time.Duration) {
	m.hashes.put(hash, slot, &v, now.Add(life))
	m.written(now)
}

// get answers what is stored for hash; its State is empty where nothing is.
func (m *Memory) get(hash string, now time.Time) Value {
	if slot, there := m.hashes.find(hash, now); there {
		return m.hashes.value(slot)
	}
	return Value{}
}

// letterKey names the replay key of a letter.
type letterKey struct{ hash, envelopeID string }

type reserved struct {
	replayID string
	expires  int64 // Unix milliseconds
}

func (m *Memory) replayID(hash, envelopeID string, now time.Time) string {
	r, ok := m.replays[letterKey{hash, envelopeID}]
	if !ok || r.expires <= now.UnixMilli() {
		return ""
	}
	return r.replayID
}

// written sweeps what has run out, once in as many writes as there were values: a constant cost for each write, and
// never more than about twice what is alive.
func (m *Memory) written(now time.Time) {
	if m.sweepIn--; m.sweepIn > 0 {
		return
	}
	m.hashes.sweep(now)
	for k, r := range m.replays {
		if r.expires <= now.UnixMilli() {
			delete(m.replays, k)
		}
	}
	m.sweepIn = len(m.hashes.index) + len(m.replays) + 1024
}
