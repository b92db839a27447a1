package consumer

import (
	"container/heap"
	"time"
)

// hold keeps what is not due yet, ordered by due time, within a budget of bytes.
// Nothing leaves it before its due time by the clock of the caller.
//
// A hold has one owner and holds no lock, clock or goroutine.
type hold[T any] struct {
	items  holdHeap[T]
	bytes  int
	budget int
}

// newHold makes a hold that reports itself full at so many bytes.
func newHold[T any](budget int) *hold[T] { return &hold[T]{budget: budget} }

// put keeps v until due. size is what v occupies, in bytes. full tells that no more should be fetched for now;
// v is in all the same.
func (h *hold[T]) put(due time.Time, size int, v T) (full bool) {
	heap.Push(&h.items, held[T]{due: due, size: size, v: v})
	h.bytes += size
	return h.full()
}

// next gives one value whose time has come. Where ok is false, wait tells when to ask again: the time to the earliest
// due time, or zero when nothing is held.
func (h *hold[T]) next(now time.Time) (v T, ok bool, wait time.Duration) {
	if len(h.items) == 0 {
		return v, false, 0
	}
	if first := h.items[0].due; first.After(now) {
		return v, false, first.Sub(now)
	}
	it := heap.Pop(&h.items).(held[T])
	h.bytes -= it.size
	return it.v, true, 0
}

// peek tells whether something is due at now, and otherwise the time until something is; zero where nothing is held.
func (h *hold[T]) peek(now time.Time) (due bool, wait time.Duration) {
	if len(h.items) == 0 {
		return false, 0
	}
	wait = h.items[0].due.Sub(now)
	return wait <= 0, max(wait, 0)
}

// drop takes out everything that gone tells of, in no order, and returns how many that were.
func (h *hold[T]) drop(gone func(T) bool) int {
	kept := h.items[:0]
	dropped := 0
	for _, it := range h.items {
		if gone(it.v) {
			h.bytes -= it.size
			dropped++
			continue
		}
		kept = append(kept, it)
	}
	clear(h.items[len(kept):])
	h.items = kept
	heap.Init(&h.items)
	return dropped
}

// full tells whether the budget is used up.
func (h *hold[T]) full() bool { return h.bytes >= h.budget }

// relaxed tells whether a full hold has room enough again: three quarters of its budget.
func (h *hold[T]) relaxed() bool { return h.bytes <= h.budget/4*3 }

// len is the number of values held.
func (h *hold[T]) len() int { return len(h.items) }

// size is the size of all values held, as told to put.
func (h *hold[T]) size() int { return h.bytes }

type held[T any] struct {
	due  time.Time
	size int
	v    T
}

type holdHeap[T any] []held[T]

func (h holdHeap[T]) Len() int           { return len(h) }
func (h holdHeap[T]) Less(i, j int) bool { return h[i].due.Before(h[j].due) }
func (h holdHeap[T]) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *holdHeap[T]) Push(x any)        { *h = append(*h, x.(held[T])) }
func (h *holdHeap[T]) Pop() any {
	old := *h
	n := len(old) - 1
	it := old[n]
	old[n] = held[T]{}
	*h = old[:n]
	return it
}
