package consumer

import (
	"context"
	"math"
	"time"

	"recon/pkg/envelope"
)

// loop is the way of every record: poll, dispatch, hold, claim, handle, route, settle, audit, mark, commit.
// One goroutine owns all of it; everything that waits for others (store, handler, broker, trail) happens elsewhere and
// comes back through the inbox. So no step needs a lock, and no step blocks another record.
type loop struct {
	e     *Engine
	inbox *inbox
	ended chan struct{} // closed when it turns no more
	now   time.Time     // of this turn

	work     context.Context // ends all work in hand
	stopWork context.CancelFunc
	pool     *pool
	claims   chan *claimBatch // to the claimers
	settles  chan *settleBatch
	proofs   chan *proof

	parts       map[source]*partition
	assignments uint64 // number of the latest one
	stale       int32  // the latest member epoch that a commit was refused for
	lanes       lanes[laneKey, *delivery]
	holds       map[string]*hold[*delivery] // by tier topic
	hashes      map[string][]*delivery      // hashes at work here, with those that wait behind, oldest first
	retries     *hold[func()]               // what is tried again after a pause

	toClaim   []*delivery
	claimsOut int
	claimSeq  uint64 // of the next batch asked
	claimNext uint64 // of the next batch answered
	early     map[uint64]*claimBatch
	claimed   claimList

	toStart   []*delivery
	starting  []*delivery // of this turn
	toWrite   []*delivery // letters and copies that no handler stands before
	running   int
	unsettled int // handled and not done; with running bounded by MaxUnsettled

	toSettle   []*delivery
	settlesOut int

	proofOut bool
	polling  *poll // admitted, and not yet answered: intake stands still
}

// source is one partition of main or of a tier.
type source struct {
	topic     string
	partition int32
}

// partition is one assignment of a source: its window, and what is at work for it.
type partition struct {
	source
	window   *window
	tier     bool
	ctx      context.Context // ends with the assignment
	cancel   context.CancelFunc
	paused   bool
	inHand   int         // deliveries from handler to done
	refused  int         // deliveries whose write failed and is tried again: meanwhile the partition begins nothing
	starts   []*delivery // what would begin then,
	letters  []*delivery // and what would be written without a handler
	draining bool        // nothing new may begin
	drains   []func()    // wait until nothing is in hand: a stop and a revoke may drain at once
	gone     bool        // revoked, lost, or the process stops: nothing of it moves on
}

// coordinates name the partition in events; the offset says nothing.
func (s source) coordinates() envelope.Coordinates {
	return envelope.Coordinates{Topic: s.topic, Partition: s.partition}
}

// laneKey is a key of a partition's assignment.
type laneKey struct {
	assignment uint64
	key        string
}

// settleBatchSize and claimBatchSize: pipelines of this size reached the store's own limit; larger ones only waited
// longer (MECHANICS e; bench/RESULTS.md).
const (
	claimBatchSize  = 200
	settleBatchSize = 200
	batchesOut      = 2
)

func newLoop(ctx context.Context, e *Engine) *loop {
	l := &loop{
		e: e, inbox: newInbox(), ended: make(chan struct{}),
		claims: make(chan *claimBatch, batchesOut), settles: make(chan *settleBatch, batchesOut), proofs: make(chan *proof, 1),
		parts: make(map[source]*partition), stale: math.MinInt32, holds: make(map[string]*hold[*delivery]),
		hashes: make(map[string][]*delivery), retries: newHold[func()](1 << 60), early: make(map[uint64]*claimBatch),
	}
	l.pool = newPool(e.cfg.Concurrency, func(d *delivery) {
		e.handle(d)
		l.inbox.handledOne(d)
	})
	l.work, l.stopWork = context.WithCancel(ctx)
	return l
}

// ask runs f in the loop and waits until it has run, or until the loop has ended.
func (l *loop) ask(f func()) {
	done := make(chan struct{})
	l.call(func() {
		f()
		close(done)
	})
	select {
	case <-done:
	case <-l.ended:
	}
}

// call has f run in the loop, unless the loop ends before.
func (l *loop) call(f func()) {
	l.inbox.leave(func(m *mail) { m.calls = append(m.calls, f) })
}

// run turns until done is closed.
func (l *loop) run(done <-chan struct{}) {
	defer close(l.ended)
	var spare mail
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-done:
			return
		case <-l.inbox.wake:
		case <-timer.C:
		}
		l.now = time.Now()
		got := l.inbox.take(&spare)
		l.turn(&got)
		got.reset()
		spare = got
		timer.Reset(l.nextTurn())
	}
}

// turn takes what came back and moves everything on that can move.
func (l *loop) turn(got *mail) {
	for _, call := range got.calls {
		call()
	}
	for _, p := range got.polls {
		l.admit(p)
	}
	for _, b := range got.claims {
		l.answered(b)
	}
	for _, d := range got.handled {
		l.handled(d)
	}
	for _, w := range got.written {
		l.written(w)
	}
	for _, b := range got.settled {
		l.settled(b)
	}
	for _, p := range got.proven {
		l.proven(p)
	}
	l.release()
	l.claim()
	l.start()
	l.settle()
	l.prove()
	l.drained()
	l.relax()
}

// nextTurn is how long the loop may sleep when nothing comes back.
func (l *loop) nextTurn() time.Duration {
	wait := l.e.cfg.Lease / 3
	for _, h := range l.holds {
		if _, w := h.peek(l.now); h.len() > 0 {
			wait = min(wait, w)
		}
	}
	if l.retries.len() > 0 {
		_, w := l.retries.peek(l.now)
		wait = min(wait, w)
	}
	return max(wait, 0)
}

// finish gives the record's outcome to its window and lets go of everything that it held.
func (l *loop) finish(d *delivery, end ending) {
	d.ending, d.ended = end, l.now
	d.part.window.finish(d.slot, outcome{end, d})
	l.e.observe(d.event(l.now))
	l.let(d)
	d.step = stepDone
}

// drop lets go of a record whose assignment is over. Nothing is counted, written or marked for it.
func (l *loop) drop(d *delivery) {
	if d.step >= stepHandle && d.step < stepDone {
		l.e.observe(Event{Kind: Abandoned, At: l.now, Record: d.at, Root: d.retry.Root, Message: d.msg, Attempt: d.retry.Attempt + 1})
	}
	l.let(d)
	d.step = stepDone
}

// let gives back what d occupies: its place among the unsettled, in its partition's hand, its claim's renewal, and
// the place of its hash, which goes to the next one behind it.
func (l *loop) let(d *delivery) {
	if d.counted {
		l.unpark(d)
		d.counted = false
		l.unsettled--
		d.part.inHand--
	}
	l.claimed.remove(d)
	if !d.occupies {
		return
	}
	d.occupies = false
	hash := d.claim.Hash
	for behind := l.hashes[hash]; len(behind) > 0; {
		next := behind[0]
		behind = behind[1:]
		if next.part.ending() {
			l.drop(next)
			continue
		}
		l.hashes[hash] = behind
		next.occupies = true
		l.toClaim = append(l.toClaim, next)
		return
	}
	delete(l.hashes, hash)
}

// hold counts d among those that are in hand: a stop or a revoke waits for them, and their number is bounded.
func (l *loop) hold(d *delivery) {
	if d.counted {
		return
	}
	d.counted = true
	l.unsettled++
	d.part.inHand++
}

// park holds d's partition while d's write is tried again. d gives its place among the unsettled to the others: it is
// bounded by its partition's standing still.
func (l *loop) park(d *delivery) {
	if d.parked {
		return
	}
	d.parked = true
	d.part.refused++
	l.unsettled--
}

// unpark lets the partition go on behind the last of its writes.
func (l *loop) unpark(d *delivery) {
	if !d.parked {
		return
	}
	d.parked = false
	l.unsettled++
	if d.part.refused--; d.part.refused == 0 {
		l.goOn(d.part)
	}
}

// goOn sends on what stood still behind a failed write.
func (l *loop) goOn(part *partition) {
	l.toStart, l.toWrite = append(l.toStart, part.starts...), append(l.toWrite, part.letters...)
	part.starts, part.letters = nil, nil
}

// after calls f in the loop after a pause that grows with n, unless the loop ends before.
func (l *loop) after(n int, f func()) {
	l.retries.put(l.now.Add(pause(n)), 0, f)
}

// pause is the wait before try n+1 of something that the process itself needs: 100 ms doubling up to 5 s. It has no
// jitter: what is tried again here is one process's own writes in their own order.
func pause(n int) time.Duration {
	return min(100*time.Millisecond<<min(n, 6), 5*time.Second)
}
