package replay

import (
	"context"
	"time"

	"recon/pkg/audit"
)

// scribe writes the evidence of several lanes as one line: whoever waits while a write is under way rides along in the
// next one.
type scribe struct {
	journal Journal
	limit   time.Duration // of one write
	told    chan told
}

// told is one event, and where its answer goes.
type told struct {
	event audit.Event
	done  chan error
}

func newScribe(j Journal, limit time.Duration) *scribe {
	return &scribe{journal: j, limit: limit, told: make(chan told)}
}

// tell returns nil once the event is acknowledged. An error means that nobody knows.
func (s *scribe) tell(ctx context.Context, e audit.Event) error {
	t := told{e, make(chan error, 1)}
	select {
	case s.told <- t:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-t.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// most is how many events one entry takes.
const most = 500

// write appends what is told until close.
func (s *scribe) write(ctx context.Context) {
	for first := range s.told {
		batch := append([]told{first}, s.waiting()...)
		var e audit.Entry
		for _, t := range batch {
			e.Tell(t.event)
		}
		limited, cancel := context.WithTimeout(ctx, s.limit)
		err := s.journal.Append(limited, e)
		cancel()
		for _, t := range batch {
			t.done <- err
		}
	}
}

// waiting takes who is waiting already.
func (s *scribe) waiting() []told {
	var batch []told
	for len(batch) < most {
		select {
		case t, ok := <-s.told:
			if !ok {
				return batch
			}
			batch = append(batch, t)
		default:
			return batch
		}
	}
	return batch
}

// close ends write. Nobody may tell anything any more.
func (s *scribe) close() { close(s.told) }
