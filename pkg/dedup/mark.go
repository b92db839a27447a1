package dedup

import (
	"fmt"
	"time"

	"recon/pkg/envelope"
)

// Mark is a dead letter whose fate a person decides.
type Mark struct {
	Hash       string
	Digest     string // empty where the message is not readable
	Root       envelope.Coordinates
	Generation int
	At         envelope.Coordinates // where its record was read last; zero where that is not known
}

// MarkAnswer is what a mark got. Where it is refused nothing was written.
type MarkAnswer struct {
	Refused bool
	Stored  Value // what stood there before; its State is empty where nothing did
}

// act is which of the three marks is asked for.
type act uint8

const (
	actSettle act = iota
	actBury
	actRelease
)

func (a act) String() string { return [...]string{"mark as settled", "mark as dead", "release"}[a] }

// judge answers act a on what is stored: refused, or to be written, or neither because it is as asked already.
func (m Mark) judge(a act, stored Value) (answer MarkAnswer, write bool) {
	answer.Stored = stored
	own := stored.Root == m.Root && stored.Generation == m.Generation
	switch {
	case stored.State == Claimed || stored.State == Waiting || stored.State == Posted:
		answer.Refused = true // a record of this hash is at work, will be, or has posted
	case a == actSettle:
		return answer, true
	case stored.State == Dead && stored.Root == m.Root && stored.Generation > m.Generation:
		answer.Refused = true // a later generation has its own letter: this one is not the root's latest word
	case stored.State == Settled && !own && a == actRelease:
		answer.Refused = true // another letter's settlement is not ours to take back
	case stored.State == Settled && stored.Root != m.Root:
		return answer, false // another root's settlement holds late copies back as well, and must go on to
	default:
		return answer, true
	}
	return answer, false
}

// value is what act a writes.
func (m Mark) value(a act, now time.Time) Value {
	v := Value{State: Dead, Root: m.Root, Generation: m.Generation, Attempt: LastAttempt, Digest: m.Digest, At: m.At, Time: now}
	if a == actSettle {
		v.State, v.Attempt = Settled, 0
	}
	return v
}

func (m Mark) check(a act) error {
	err := checkHash(m.Hash)
	if err == nil {
		v := m.value(a, time.Time{})
		err = v.check()
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", a, m.Hash, err)
	}
	return nil
}
