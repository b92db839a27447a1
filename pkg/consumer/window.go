package consumer

import "github.com/twmb/franz-go/pkg/kgo"

// window is the ring of records that one assignment of one partition delivered and that are not committed yet,
// in the order of delivery, which is not the order of consecutive numbers: offsets have holes.
// Its proven head is the only thing that is ever marked.
//
// A window has one owner and holds no lock, clock or goroutine.
type window struct {
	assignment uint64
	ring       []entry // a power of two; entry of sequence s lies at s & (len-1)
	head       uint64  // first sequence not proven
	taken      uint64  // first sequence not taken into evidence; head <= taken <= tail
	tail       uint64  // sequence of the next admitted record
	undone     int     // admitted and not done
	limit      int     // full at so many undone
	span       int     // full at so many between head and tail
	last       int64   // offset of the latest admitted record
	next       int64   // where the next taken stretch begins: behind the last one, holes included
}

type entry struct {
	offset  int64
	epoch   int32
	done    bool
	outcome outcome
}

// slot names an admitted record in its window: the assignment it belongs to and its place in the order of delivery.
type slot struct {
	assignment, seq uint64
}

// stretch is a finished stretch of a partition, ready to be told to the audit trail and then marked.
type stretch struct {
	from, to int64 // offsets, half open; holes inside belong to it
	epoch    int32 // leader epoch of the last record
	outcomes []outcome
	begin    uint64
	end      uint64
}

// newWindow makes the window of one assignment. It counts as full at limit records that are not done,
// or at span records between its head and its tail.
func newWindow(assignment uint64, limit, span int) *window {
	return &window{assignment: assignment, ring: make([]entry, 64), limit: limit, span: span, last: -1, next: -1}
}

// admit takes a delivered record in. It is in even where the window is full: full only asks for no more.
// ok is false for an offset at or below the latest one: a record that this assignment has delivered before.
func (w *window) admit(offset int64, epoch int32) (s slot, ok bool) {
	if offset <= w.last {
		return slot{}, false
	}
	if int(w.tail-w.head) == len(w.ring) {
		w.grow()
	}
	s = slot{w.assignment, w.tail}
	*w.at(w.tail) = entry{offset: offset, epoch: epoch}
	w.tail++
	w.undone++
	w.last = offset
	return s, true
}

// finish notes how a record ended. late tells that the slot belongs to another assignment, or was done before: nothing changed.
func (w *window) finish(s slot, o outcome) (late bool) {
	if s.assignment != w.assignment || s.seq < w.taken || s.seq >= w.tail {
		return true
	}
	e := w.at(s.seq)
	if e.done {
		return true
	}
	e.done, e.outcome = true, o
	w.undone--
	return false
}

// take gives the finished stretch behind what was taken before, at most limit records of it.
// It is marked only after prove.
func (w *window) take(limit int) (r stretch, ok bool) {
	seq := w.taken
	for seq < w.tail && int(seq-w.taken) < limit && w.at(seq).done {
		seq++
	}
	if seq == w.taken {
		return stretch{}, false
	}
	if w.next < 0 {
		w.next = w.at(w.taken).offset
	}
	r = stretch{from: w.next, outcomes: make([]outcome, 0, seq-w.taken), begin: w.taken, end: seq}
	for ; w.taken < seq; w.taken++ {
		e := w.at(w.taken)
		r.outcomes = append(r.outcomes, e.outcome)
		r.to, r.epoch = e.offset+1, e.epoch
		e.outcome = outcome{}
	}
	w.next = r.to
	return r, true
}

// prove moves the head past a taken range whose evidence is acknowledged, and gives what may be marked.
// Ranges are proven in the order in which they were taken; ok is false for one that is not next or was proven before.
func (w *window) prove(r stretch) (head kgo.EpochOffset, ok bool) {
	if r.begin != w.head || r.end <= w.head || r.end > w.taken {
		return kgo.EpochOffset{}, false
	}
	w.head = r.end
	return kgo.EpochOffset{Epoch: r.epoch, Offset: r.to}, true
}

// full tells whether the partition should stop delivering.
func (w *window) full() bool {
	return w.undone >= w.limit || int(w.tail-w.head) >= w.span
}

// relaxed tells whether a full window has room enough again to go on: half of each limit.
func (w *window) relaxed() bool {
	return w.undone <= w.limit/2 && int(w.tail-w.head) <= w.span/2
}

// pending is the number of delivered records without an outcome.
func (w *window) pending() int { return w.undone }

// ready tells whether the head is finished and not taken yet.
func (w *window) ready() bool { return w.taken < w.tail && w.at(w.taken).done }

// unproven is the number of delivered records that are not ready to be marked.
func (w *window) unproven() int { return int(w.tail - w.head) }

func (w *window) at(seq uint64) *entry { return &w.ring[seq&uint64(len(w.ring)-1)] }

func (w *window) grow() {
	old := w.ring
	w.ring = make([]entry, 2*len(old))
	for seq := w.head; seq < w.tail; seq++ {
		*w.at(seq) = old[seq&uint64(len(old)-1)]
	}
}
