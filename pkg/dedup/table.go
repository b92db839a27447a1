package dedup

import (
	"fmt"
	"time"

	"recon/pkg/envelope"
)

// Claim is one record that asks to be handled.
type Claim struct {
	Hash       string
	Digest     string // of the message; never empty
	Root       envelope.Coordinates
	Generation int
	Attempt    int                  // the one it wants: attempts made + 1. Always 1 on main, whatever the headers say
	At         envelope.Coordinates // where it was read
	// Replay and Envelope are what a record on main says of itself: the replay id and the letter it replays. With a
	// Replay the record's Root and Generation are believed only under the trust rule (Answer.Trusted).
	Replay, Envelope string
}

// AsNew is the claim that remains of one whose headers are not believed: its own position is its root.
func (c Claim) AsNew() Claim {
	return Claim{Hash: c.Hash, Digest: c.Digest, Root: c.At, Attempt: 1, At: c.At}
}

// Verdict is the answer to a claim.
type Verdict uint8

// The verdicts. Only Fresh and Resumed take the hash.
const (
	Fresh         Verdict = iota + 1 // taken: handle it
	Resumed                          // taken again: redelivered after a crash, or the holder renewed
	Repeated                         // a copy of what is already settled, or a stale one: drop it
	Done                             // this root has posted: no handler
	Closed                           // this root is settled by hand: no handler, nothing emitted
	Duplicate                        // another root has posted the same transaction: suppress
	Busy                             // DUPLICATE_IN_FLIGHT: another record or another copy is at work or waiting
	Conflict                         // IDENTITY_CONFLICT: another transaction under this hash
	SettledByHand                    // SETTLED_MANUALLY: another root of this hash is settled by hand
)

var verdicts = [...]string{"unknown", "fresh", "resumed", "repeated", "done", "closed", "duplicate", "busy", "conflict", "settled_by_hand"}

// String gives the word for logs and metrics.
func (v Verdict) String() string {
	if int(v) >= len(verdicts) {
		v = 0
	}
	return verdicts[v]
}

// Taken tells whether the record now holds the hash and may be handled.
func (v Verdict) Taken() bool { return v == Fresh || v == Resumed }

// Answer is what a claim got.
type Answer struct {
	Verdict Verdict
	Stored  Value // what stood there before; its State is empty where nothing did
	// Trusted tells, for a claim with Replay, whether its root and generation were believed. Where they were not, the
	// claim was judged, and taken, as Claim.AsNew: settle that one.
	Trusted bool
}

// judge is the whole answer to c, and c as it was believed. replayID is what the replay key of the claim's letter holds.
func judge(stored Value, replayID string, c Claim) (Answer, Claim) {
	a := Answer{Stored: stored}
	if c.Replay != "" {
		a.Trusted = c.trusted(stored, replayID)
		if !a.Trusted {
			c = c.AsNew()
		}
	}
	a.Verdict = decide(stored, c)
	return a, c
}

// trusted is the trust rule: the replay key of the claim's letter names this replay, or the store has already seen
// this root at this generation or beyond (a late copy). A replay carries its root's own bytes: what has another digest
// than the store knows of that root is no copy of it, whatever its headers say.
func (c *Claim) trusted(stored Value, replayID string) bool {
	if c.checkLineage("") != nil {
		return false
	}
	if stored.Root == c.Root && stored.Digest != "" && stored.Digest != c.Digest {
		return false
	}
	return c.namesItsLetter() && replayID == c.Replay ||
		stored.State != "" && stored.Root == c.Root && stored.Generation >= c.Generation
}

// namesItsLetter tells whether the envelope id is the one that the claimed root and generation come from; without
// this a true replay's ids could lend belief to any root.
func (c *Claim) namesItsLetter() bool {
	return c.Replay != "" && c.Generation > 0 && c.Envelope == envelope.EnvelopeID(c.Root, c.Generation-1)
}

// decide is the table. The first rule that fits counts.
func decide(stored Value, c Claim) Verdict {
	switch {
	case stored.State == "":
		return Fresh
	case stored.Root == c.Root:
		return decideSameRoot(stored, c)
	default:
		return decideOtherRoot(stored, c)
	}
}

func decideSameRoot(stored Value, c Claim) Verdict {
	switch {
	case stored.State == Posted:
		return Done
	case stored.State == Settled:
		return Closed
	case c.Generation < stored.Generation:
		return Repeated
	case c.Generation > stored.Generation || c.Attempt > stored.Attempt:
		return Fresh // ahead of the store: it proves that the store is behind
	case c.Attempt < stored.Attempt || stored.State != Claimed:
		return Repeated
	case c.At == stored.At:
		return Resumed
	default:
		return Busy // a second copy: the holder may be a stopped process whose record is committed
	}
}

func decideOtherRoot(stored Value, c Claim) Verdict {
	switch {
	case stored.State == Dead:
		return Fresh // a corrected re-send
	case stored.State == Settled && stored.Digest == "":
		return SettledByHand // what was settled was not readable: nothing says that this is another transaction
	case c.Digest != stored.Digest:
		return Conflict
	case stored.State == Posted:
		return Duplicate
	case stored.State == Settled:
		return SettledByHand
	default:
		return Busy
	}
}

// value is what a taken claim writes.
func (c *Claim) value(now time.Time) Value {
	return Value{State: Claimed, Root: c.Root, Generation: c.Generation, Attempt: c.Attempt, Digest: c.Digest, At: c.At, Time: now}
}

// checkClaims refuses what the caller built wrongly. Lineage that a record only says of itself is a matter of trust.
func checkClaims(lease time.Duration, batch []Claim) error {
	if lease < time.Millisecond {
		return fmt.Errorf("claim lease %s: want at least 1ms", lease)
	}
	known := ""
	for i := range batch {
		if err := batch[i].check(known); err != nil {
			return fmt.Errorf("claim: %w", err)
		}
		known = batch[i].At.Topic
	}
	return nil
}

// check tells whether c can be written, and for a replay, whether AsNew can. known is a topic found good before.
func (c *Claim) check(known string) error {
	err := checkHash(c.Hash)
	if err == nil {
		err = checkPlace("position", &c.At, known)
	}
	if err == nil {
		err = checkDigest(c.Digest)
	}
	if err == nil && c.Replay == "" {
		err = c.checkLineage(c.At.Topic)
	}
	if err != nil {
		return fmt.Errorf("source_hash %.200s: %w", c.Hash, err)
	}
	return nil
}

func (c *Claim) checkLineage(known string) error {
	if c.Attempt < 1 {
		return fmt.Errorf("attempt %d: want at least 1", c.Attempt)
	}
	return checkLineage(&c.Root, c.Generation, c.Attempt, known)
}
