package consumer

import (
	"sync"

	"recon/pkg/dedup"
)

// inbox is where other goroutines leave what they have done for the loop. Leaving never blocks.
// What one goroutine leaves is taken in its order.
type inbox struct {
	wake chan struct{} // holds one token while something may wait

	mu sync.Mutex // guards mail
	mail
}

// mail is all that waits for the loop.
type mail struct {
	polls   []*poll
	claims  []*claimBatch
	handled []*delivery
	written []written
	settled []*settleBatch
	proven  []*proof
	calls   []func()
}

// claimBatch is one question to the store and its answers, in the same order. renewal: the claims are held already.
type claimBatch struct {
	seq     uint64
	renewal bool
	ds      []*delivery
	claims  []dedup.Claim
	answers []dedup.Answer
}

// settleBatch is a set of outcomes for the store.
type settleBatch struct {
	ds          []*delivery
	settlements []dedup.Settlement
}

// written is the broker's answer to one write: err means unknown.
type written struct {
	d   *delivery
	err error
}

func newInbox() *inbox { return &inbox{wake: make(chan struct{}, 1)} }

// leave adds to the mail under the inbox's lock and wakes the loop.
func (b *inbox) leave(add func(*mail)) {
	b.mu.Lock()
	add(&b.mail)
	b.mu.Unlock()
	b.ring()
}

// handledOne is leave for the one thing that comes for every record.
func (b *inbox) handledOne(d *delivery) {
	b.mu.Lock()
	b.handled = append(b.handled, d)
	b.mu.Unlock()
	b.ring()
}

func (b *inbox) ring() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// take exchanges the mail for the empty one in spare, whose slices are used again.
func (b *inbox) take(spare *mail) mail {
	b.mu.Lock()
	defer b.mu.Unlock()
	got := b.mail
	b.mail = *spare
	return got
}

// reset empties the mail and keeps its room.
func (m *mail) reset() {
	clear(m.polls)
	clear(m.claims)
	clear(m.handled)
	clear(m.written)
	clear(m.settled)
	clear(m.proven)
	clear(m.calls)
	*m = mail{
		polls: m.polls[:0], claims: m.claims[:0], handled: m.handled[:0], written: m.written[:0],
		settled: m.settled[:0], proven: m.proven[:0], calls: m.calls[:0],
	}
}
