package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// fake is a database that keeps what it was given. Every posting takes a second of the bubble's time.
type fake struct {
	database // what the queue never calls
	mu       sync.Mutex
	batches  [][]string
	now, max int                         // transactions at the same time
	fail     func(hashes []string) error // nil: nothing fails
	shared   bool                        // a failure concerns the whole database
}

var (
	errRow  = errors.New("this row is wrong")
	errFile = errors.New("the file is locked")
)

func (f *fake) post(ctx context.Context, entries []*entry) ([]facts, error) {
	var hashes []string
	for _, e := range entries {
		hashes = append(hashes, e.m.SourceHash)
	}
	f.mu.Lock()
	f.batches = append(f.batches, hashes)
	f.now++
	f.max = max(f.max, f.now)
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.now--
		f.mu.Unlock()
	}()
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if f.fail != nil {
		if err := f.fail(hashes); err != nil {
			return nil, err
		}
	}
	found := make([]facts, len(entries))
	for i, e := range entries {
		found[i] = facts{inserted: true, base: e.m.SourceHash} // the base tells whose answer it is
	}
	return found, nil
}

func (f *fake) blame(error) (fault.Code, bool) { return "", f.shared }
func (f *fake) splits(error) bool              { return !f.shared }

func (f *fake) posted() (all []string) {
	for _, b := range f.batches {
		all = append(all, b...)
	}
	slices.Sort(all)
	return all
}

func named(i int) *entry {
	return &entry{m: envelope.Message{SourceHash: fmt.Sprintf("hash-%04d", i)}}
}

func TestEachEntryIsPostedOnceInSortedBatchesOfDifferentHashes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const entries = 1000
		f := &fake{}
		q := &queue{db: f, free: lanes}
		var all sync.WaitGroup
		for i := range entries {
			all.Go(func() {
				e := named((i * 7919) % entries) // any order
				got, err := q.post(t.Context(), e)
				if err != nil || !got.inserted || got.base != e.m.SourceHash {
					t.Errorf("%s: got %+v, %v", e.m.SourceHash, got, err)
				}
			})
		}
		all.Wait()
		q.drain()
		for _, b := range f.batches {
			if len(b) > most || !slices.IsSorted(b) || len(slices.Compact(slices.Clone(b))) != len(b) {
				t.Errorf("got a batch of %d: %v", len(b), b)
			}
		}
		if got := len(f.posted()); got != entries || len(slices.Compact(f.posted())) != entries {
			t.Errorf("got %d entries posted, want %d different ones", got, entries)
		}
		if f.max != lanes {
			t.Errorf("got %d transactions at once, want %d", f.max, lanes)
		}
		if len(f.batches) > 2*lanes+entries/most {
			t.Errorf("got %d transactions for %d entries: they do not share", len(f.batches), entries)
		}
	})
}

func TestEntriesOfOneHashNeverShareATransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const entries = 3 * lanes
		f := &fake{}
		q := &queue{db: f, free: lanes}
		var all sync.WaitGroup
		for range entries {
			all.Go(func() {
				if _, err := q.post(t.Context(), named(1)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		q.drain()
		if got := len(f.batches); got != entries {
			t.Errorf("got %d transactions, want one for each of %d", got, entries)
		}
	})
}

func TestAnEntryWhoseHandlerHasGoneIsNotPosted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		q := &queue{db: f, free: 1}
		ctx, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { _, _ = q.post(t.Context(), named(0)) })
		synctest.Wait() // the only lane is busy
		for i := 1; i <= 2; i++ {
			all.Go(func() {
				if _, err := q.post(ctx, named(i)); !errors.Is(err, context.Canceled) {
					t.Errorf("got %v", err)
				}
			})
		}
		all.Go(func() { _, _ = q.post(t.Context(), named(3)) })
		synctest.Wait()
		leave()
		all.Wait()
		q.drain()
		if got, want := f.posted(), []string{"hash-0000", "hash-0003"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestATransactionIsCutOffOnlyWhenAllItsHandlersHaveGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		q := &queue{db: f, free: 1}
		gone, leave := context.WithCancel(t.Context())
		stays, end := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { _, _ = q.post(t.Context(), named(0)) })
		synctest.Wait()
		all.Go(func() { _, _ = q.post(gone, named(1)) })
		all.Go(func() {
			if got, err := q.post(stays, named(2)); err != nil || !got.inserted {
				t.Errorf("who stayed: got %+v, %v", got, err)
			}
		})
		time.Sleep(1500 * time.Millisecond) // bubble time: the two are at work together
		leave()
		all.Wait()
		end()
		if got := len(f.batches); got != 2 {
			t.Errorf("got %d transactions, want 2: who left cut off who stayed", got)
		}

		begin := time.Now()
		alone, cut := context.WithCancel(t.Context())
		all.Go(func() { _, _ = q.post(alone, named(3)) })
		synctest.Wait()
		cut()
		all.Wait()
		q.drain()
		if took := time.Since(begin); took != 0 {
			t.Errorf("a transaction without handlers went on for %s", took)
		}
	})
}

func TestOnlyTheEntryThatIsWrongFailsUnlessTheDatabaseIs(t *testing.T) {
	for _, row := range []struct {
		name   string
		err    error
		shared bool
		want   int // entries that fail of the ten that share a transaction with the wrong one
	}{
		{"one row", errRow, false, 1},
		{"the whole file", errFile, true, 10},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{shared: row.shared, fail: func(hashes []string) error {
					if slices.Contains(hashes, "hash-0005") {
						return row.err
					}
					return nil
				}}
				q := &queue{db: f, free: 1}
				var all sync.WaitGroup
				all.Go(func() { _, _ = q.post(t.Context(), named(0)) })
				synctest.Wait()
				var mu sync.Mutex
				failed := 0
				for i := 1; i <= 10; i++ {
					all.Go(func() {
						if _, err := q.post(t.Context(), named(i)); err != nil {
							mu.Lock()
							failed++
							mu.Unlock()
							if !errors.Is(err, row.err) {
								t.Errorf("%d: got %v", i, err)
							}
						}
					})
				}
				all.Wait()
				q.drain()
				if failed != row.want {
					t.Errorf("got %d failed, want %d", failed, row.want)
				}
			})
		})
	}
}

func TestADrainedQueueTakesNothing(t *testing.T) {
	f := &fake{}
	q := &queue{db: f, free: lanes}
	q.drain()
	if _, err := q.post(t.Context(), named(1)); !errors.Is(err, errClosed) || len(f.batches) != 0 {
		t.Errorf("got %v and %v", err, f.batches)
	}
}
