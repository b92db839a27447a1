package dedup

import (
	"fmt"

	"recon/pkg/envelope"
)

// Reservation takes one dead letter for its one replay.
type Reservation struct {
	Hash       string
	EnvelopeID string
	ReplayID   string
	Root       envelope.Coordinates
	Generation int // the letter's; the replay is generation + 1
}

// ReserveAnswer is what a reservation got. Exactly one of Reserved, AlreadyMine and Refused is true.
type ReserveAnswer struct {
	Reserved    bool  // taken now: produce the replay
	AlreadyMine bool  // taken before under the same replay id, and nothing of it is in the store: produce it again with the same ids
	Refused     bool  // Stored stands in the way
	Stored      Value // what the store has for the hash; its State is empty where it has nothing
}

// judge answers the reservation from what is stored for the hash and what its replay key holds. The error tells of a
// key that holds another id than this letter's only one.
func (r Reservation) judge(stored Value, replayID string) (ReserveAnswer, error) {
	a := ReserveAnswer{Stored: stored}
	switch {
	case r.blocked(stored):
		a.Refused = true
	case replayID == "":
		a.Reserved = true
	case replayID == r.ReplayID:
		a.AlreadyMine = true
	default:
		return a, fmt.Errorf("reserve letter %s: its replay key names %.80q, its replay is %s", r.EnvelopeID, replayID, r.ReplayID)
	}
	return a, nil
}

// blocked tells whether another record of the hash is at work or has ended it, or the replay has been seen already.
func (r Reservation) blocked(stored Value) bool {
	switch stored.State {
	case Claimed, Waiting, Posted, Settled:
		return true
	case Dead:
		return stored.Root == r.Root && stored.Generation > r.Generation
	default:
		return false
	}
}

func (r Reservation) check() error {
	if err := checkHash(r.Hash); err != nil {
		return err
	}
	if err := checkPlace("root", &r.Root, ""); err != nil {
		return fmt.Errorf("reservation of %s: %w", r.Hash, err)
	}
	if r.Generation < 0 || !plain(r.EnvelopeID) || !plain(r.ReplayID) {
		return fmt.Errorf("reservation of %s: generation %d, envelope id %q, replay id %q: want a number from 0 and two ids",
			r.Hash, r.Generation, r.EnvelopeID, r.ReplayID)
	}
	return nil
}
