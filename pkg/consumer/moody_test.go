package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/consumer"
	"recon/pkg/dedup"
	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// draw is a generator of its own for one decision, the same in every run of the seed.
func (c *chaos) draw(what string, n int) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprint(h, what, n)
	return rand.New(rand.NewPCG(c.seed, h.Sum64()))
}

// script is what a handler's attempt comes to.
func (c *chaos) script(ctx context.Context, m *envelope.Message) error {
	c.note(m.Root, m, "handler begins, %d made", m.Attempt)
	err := c.attempt(ctx, m)
	c.note(m.Root, m, "handler says %v (%v)", err, ctx.Err())
	return err
}

func (c *chaos) attempt(ctx context.Context, m *envelope.Message) error {
	rng := c.draw(m.SourceHash, m.Attempt)
	if rng.IntN(3) == 0 {
		if err := wait(ctx, time.Duration(rng.IntN(3000))*time.Millisecond); err != nil {
			return err
		}
	}
	switch k := rng.IntN(20); {
	case c.zombies && c.ledger.has(m.SourceHash):
		return nil // a ledger that has it says so, whatever else is wrong
	case k < 3:
		return fault.New(fault.LockContention, "lock is held")
	case k == 3:
		return fault.RetryAfter(time.Duration(rng.IntN(20))*time.Second, fault.New(fault.RateLimited, "slow down"))
	case k == 4:
		return fault.New(fault.CurrencyUnmapped, "no mapping")
	case k == 5 && m.Attempt == 0:
		panic("a handler that panics")
	case k == 6:
		return errUnknown
	case k == 7 && m.Attempt == 0 && c.zombies:
		c.ledger.insert(m) // and yet it fails
		return fault.New(fault.DependencyTimeout, "the answer did not come")
	case k == 8 && m.Attempt == 0 && c.zombies && c.on.Load():
		<-ctx.Done()
		return ctx.Err()
	}
	return ctx.Err()
}

// has tells whether the ledger has a posting of hash.
func (l *ledger) has(hash string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rows[hash] != nil
}

// insert posts m although the handler will say otherwise.
func (l *ledger) insert(m *envelope.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rows[m.SourceHash] == nil {
		l.inserts[m.SourceHash]++
		l.rows[m.SourceHash] = &envelope.AlreadyPosted{Root: m.Root, Generation: m.Generation, Digest: m.Digest, ID: "x", At: time.Now().UTC()}
	}
}

// moodyStore fails as a store over a network can: away, slow, or with its answer lost.
type moodyStore struct {
	dedup.Store
	mood atomic.Int64
	n    atomic.Int64
}

const (
	well = iota
	away
	lostAnswers
	slowly
)

var errAway = fmt.Errorf("dial: %w", dedup.ErrUnavailable)

func (s *moodyStore) Claim(ctx context.Context, lease time.Duration, b []dedup.Claim) (a []dedup.Answer, err error) {
	err = s.moody(func() error { a, err = s.Store.Claim(ctx, lease, b); return err })
	return a, err
}

func (s *moodyStore) Settle(ctx context.Context, b []dedup.Settlement) error {
	return s.moody(func() error { return s.Store.Settle(ctx, b) })
}

func (s *moodyStore) moody(do func() error) error {
	n := s.n.Add(1)
	switch s.mood.Load() {
	case away:
		return errAway
	case lostAnswers:
		if err := do(); err != nil {
			return err
		}
		if n%2 == 0 {
			return errAway
		}
		return nil
	case slowly:
		time.Sleep(time.Duration(n%7) * 300 * time.Millisecond)
		err := do()
		time.Sleep(time.Duration(n%5) * 300 * time.Millisecond)
		return err
	}
	return do()
}

// moodyProducer refuses, hangs, and loses the broker's acknowledgement.
type moodyProducer struct {
	consumer.Producer
	c *chaos
	n atomic.Int64
}

func (p *moodyProducer) Produce(ctx context.Context, r *kgo.Record, done func(*kgo.Record, error)) {
	n := int(p.n.Add(1))
	rng := p.c.draw(r.Topic, n)
	k := rng.IntN(12)
	if !p.c.on.Load() || k > 4 {
		p.Producer.Produce(ctx, r, done)
		return
	}
	switch k {
	case 0, 1: // refused
		go func() {
			time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond)
			done(r, errors.New("refused"))
		}()
	case 2: // applied, and the answer lost
		p.Producer.Produce(ctx, r, func(r *kgo.Record, _ error) { done(r, context.DeadlineExceeded) })
	case 3: // hangs, and is not applied
		go func() { <-ctx.Done(); done(r, ctx.Err()) }()
	case 4: // hangs, and is applied when nobody expects it any more
		late := *r
		go func() {
			<-ctx.Done()
			done(r, ctx.Err())
			time.Sleep(time.Duration(rng.IntN(1000)) * time.Millisecond)
			p.Producer.Produce(context.WithoutCancel(ctx), &late, func(*kgo.Record, error) {})
		}()
	}
}
