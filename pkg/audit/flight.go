package audit

import (
	"context"
	"crypto/sha256"
	"sync"
)

// flight waits for the answers to one write. Answers that come after wait returned change nothing that anybody reads.
type flight struct {
	mu   sync.Mutex // guards the fields below
	errs []error
	done []bool
	open int
	all  chan struct{} // closed when every answer is there
}

func newFlight(n int) *flight {
	return &flight{errs: make([]error, n), done: make([]bool, n), open: n, all: make(chan struct{})}
}

// land takes the answer of record i.
func (f *flight) land(i int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done[i] {
		return
	}
	f.done[i], f.errs[i] = true, err
	if f.open--; f.open == 0 {
		close(f.all)
	}
}

// wait returns how many records from the first on are acknowledged, and why not all are: the first error, or ctx's.
func (f *flight) wait(ctx context.Context) (acked int, err error) {
	select {
	case <-f.all:
	case <-ctx.Done():
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, done := range f.done {
		if !done {
			return i, context.Cause(ctx)
		}
		if f.errs[i] != nil {
			return i, f.errs[i]
		}
	}
	return len(f.done), nil
}

// maxDoubts bounds what is remembered of entries whose caller never came back: their partition is somebody else's by
// now. One forgotten is at worst written twice, and its events fold by id.
const maxDoubts = 1024

// doubts are the entries that have a place in the chain although their Append failed, by their content.
type doubts struct {
	known map[[sha256.Size]byte]bool
	order [][sha256.Size]byte
}

// without gives the entries that have no place yet. Their content is hashed only when something is in doubt.
func (d *doubts) without(said [][]body) [][]body {
	if len(d.known) == 0 {
		return said
	}
	var fresh [][]body
	for _, bodies := range said {
		if !d.known[content(bodies)] {
			fresh = append(fresh, bodies)
		}
	}
	return fresh
}

func (d *doubts) add(said [][]body) {
	if d.known == nil {
		d.known = make(map[[sha256.Size]byte]bool)
	}
	for _, bodies := range said {
		sum := content(bodies)
		d.known[sum] = true
		d.order = append(d.order, sum)
	}
	for len(d.order) > maxDoubts {
		delete(d.known, d.order[0])
		d.order = d.order[1:]
	}
}

// drop forgets entries whose caller knows now that they are written.
func (d *doubts) drop(said [][]body) {
	if len(d.known) == 0 {
		return
	}
	for _, bodies := range said {
		delete(d.known, content(bodies))
	}
	if len(d.known) == 0 {
		d.order = nil
	}
}

// content is the hash of an entry's bytes without its place in the chain.
func content(bodies []body) [sha256.Size]byte {
	parts := make([][]byte, 0, 2*len(bodies))
	for _, b := range bodies {
		parts = append(parts, b.head, b.events)
	}
	return sum256(parts...)
}
