package ledger

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// lanes is how many transactions post at the same time, and most how many entries one of them takes. While no more than
// lanes handlers are at work each posts alone and at once; above that the entries that wait share a transaction, and with
// it a round trip and a flush to disk.
const (
	lanes = 4
	most  = 128
)

var errClosed = errors.New("the ledger was closed")

// queue gathers what many handlers post at the same time.
type queue struct {
	db      database
	mu      sync.Mutex // guards the three below
	free    int        // lanes that do nothing
	waiting []*job
	closed  bool
	work    sync.WaitGroup
}

// job is one entry on its way. facts and err are set before done is closed.
type job struct {
	ctx   context.Context
	e     entry
	facts facts
	err   error
	done  chan struct{}
}

// post is database.post for one entry, possibly in one transaction with others'. It returns when ctx ends; then the
// outcome is unknown.
func (q *queue) post(ctx context.Context, e *entry) (facts, error) {
	j := &job{ctx: ctx, e: *e, done: make(chan struct{})}
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return facts{}, errClosed
	}
	q.waiting = append(q.waiting, j)
	if q.free > 0 {
		q.free--
		q.work.Go(q.lane)
	}
	q.mu.Unlock()
	select {
	case <-j.done:
		return j.facts, j.err
	case <-ctx.Done():
		return facts{}, ctx.Err()
	}
}

// drain takes nothing more and waits until nothing is posted any more.
func (q *queue) drain() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.work.Wait()
}

// lane posts until nothing waits.
func (q *queue) lane() {
	for batch := q.take(); len(batch) > 0; batch = q.take() {
		q.run(batch)
	}
}

// take removes the next batch from the queue, ascending by hash. Of two entries with one hash the second stays: inside one
// transaction nobody could say which of them was inserted. Entries whose handler has gone are dropped. An empty batch
// gives the lane back.
func (q *queue) take() []*job {
	q.mu.Lock()
	defer q.mu.Unlock()
	var batch, rest []*job
	hashes := make(map[string]bool, len(q.waiting))
	for _, j := range q.waiting {
		switch hash := j.e.m.SourceHash; {
		case j.ctx.Err() != nil:
		case len(batch) == most || hashes[hash]:
			rest = append(rest, j)
		default:
			hashes[hash] = true
			batch = append(batch, j)
		}
	}
	q.waiting = rest
	if len(batch) == 0 {
		q.free++
	}
	slices.SortFunc(batch, func(a, b *job) int { return strings.Compare(a.e.m.SourceHash, b.e.m.SourceHash) })
	return batch
}

// run posts a batch and tells its jobs. Where the whole failed for a reason that may be one entry's own, each is tried by
// itself: nobody pays for a neighbour.
func (q *queue) run(batch []*job) {
	err := q.try(batch)
	if err == nil || len(batch) == 1 {
		return
	}
	if !q.db.splits(err) {
		finish(batch, nil, err)
		return
	}
	var all sync.WaitGroup
	for _, j := range batch {
		all.Go(func() { _ = q.try([]*job{j}) })
	}
	all.Wait()
}

// try posts a batch in one transaction, which is cut off when every handler of it has gone. Its error has been told to the
// job where there is only one.
func (q *queue) try(batch []*job) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var left atomic.Int32
	left.Store(int32(len(batch)))
	entries := make([]*entry, len(batch))
	for i, j := range batch {
		entries[i] = &j.e
		defer context.AfterFunc(j.ctx, func() {
			if left.Add(-1) == 0 {
				cancel()
			}
		})()
	}
	found, err := q.db.post(ctx, entries)
	if err == nil || len(batch) == 1 {
		finish(batch, found, err)
	}
	return err
}

func finish(batch []*job, found []facts, err error) {
	for i, j := range batch {
		if j.err = err; err == nil {
			j.facts = found[i]
		}
		close(j.done)
	}
}
