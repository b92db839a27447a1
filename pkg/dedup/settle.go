package dedup

import (
	"fmt"
	"time"

	"recon/pkg/envelope"
)

const (
	// afterDue is how long a `waiting` value outlives its due time: longer than any lateness of a tier that still works.
	afterDue = 24 * time.Hour
	// longestWait bounds the life of a `waiting` value whatever a due time says.
	longestWait = 366 * 24 * time.Hour
)

// Settlement is what became of a claimed record.
//
// Waiting and Dead are not written over `posted`, `settled`, another root, or a higher generation and attempt.
// Posted without Owner means that the ledger inserted just now, and overwrites whatever is there. Posted with Owner
// means that the ledger named an earlier posting, and writes that one.
type Settlement struct {
	Claim Claim
	State State     // Waiting, Dead or Posted
	Due   time.Time // for Waiting: when the tier hands the record out again
	Owner *envelope.AlreadyPosted
}

// keeps tells whether what is stored must stay as it is.
func (s *Settlement) keeps(stored Value) bool {
	switch {
	case stored.State == "":
		return false
	case s.State == Posted:
		o := s.Owner // the same posting, written by who inserted it, knows more than the ledger names
		return o != nil && stored.State == Posted && stored.Root == o.Root && stored.Generation == o.Generation
	case stored.State == Posted || stored.State == Settled || stored.Root != s.Claim.Root:
		return true
	default:
		return stored.Generation > s.Claim.Generation ||
			stored.Generation == s.Claim.Generation && stored.Attempt > s.Claim.Attempt
	}
}

// value is what the settlement writes.
func (s *Settlement) value(now time.Time) Value {
	v := s.Claim.value(now)
	v.State = s.State
	if o := s.Owner; o != nil {
		v = Value{State: Posted, Root: o.Root, Generation: o.Generation, Digest: o.Digest, Time: o.At}
	}
	return v
}

// life is how long that value is kept.
func (s *Settlement) life(now time.Time, ttl time.Duration) time.Duration {
	if s.State != Waiting {
		return ttl
	}
	return min(max(s.Due.Sub(now), 0), longestWait) + afterDue
}

// blind tells whether the settlement is written over whatever is there.
func (s *Settlement) blind() bool { return s.State == Posted && s.Owner == nil }

func checkSettlements(batch []Settlement) error {
	known := ""
	for i := range batch {
		if err := batch[i].check(known); err != nil {
			return fmt.Errorf("settle: %w", err)
		}
		known = batch[i].Claim.At.Topic
	}
	return nil
}

func (s *Settlement) check(known string) error {
	c := &s.Claim
	if err := c.check(known); err != nil {
		return err
	}
	if err := c.checkLineage(c.At.Topic); err != nil { // also of a replay: it was believed, or this is AsNew
		return fmt.Errorf("source_hash %s: %w", c.Hash, err)
	}
	switch {
	case s.State != Waiting && s.State != Dead && s.State != Posted:
		return fmt.Errorf("source_hash %s: state %q is not one that a consumer settles", c.Hash, s.State)
	case s.State == Waiting && s.Due.IsZero():
		return fmt.Errorf("source_hash %s as waiting: no due time", c.Hash)
	case s.State != Posted && s.Owner != nil:
		return fmt.Errorf("source_hash %s as %s: only posted has an owner", c.Hash, s.State)
	case s.Owner != nil:
		v := s.value(time.Time{})
		if err := v.check(); err != nil {
			return fmt.Errorf("source_hash %s: the ledger's owner: %w", c.Hash, err)
		}
	}
	return nil
}
