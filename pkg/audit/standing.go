package audit

import (
	"recon/pkg/envelope"
)

// Standing is the one outcome of a root. The smaller one wins where more than one applies.
type Standing uint8

// The outcomes of CONTRACT 9, in their order, and AsMissing for a root that has none.
const (
	AsPosted      Standing = iota // in the ledger
	AsResolved                    // settled by a person
	AsJournaled                   // quarantined, and the manual journal is posted
	AsQuarantined                 // awaits its manual journal
	AsSuppressed                  // another root of the same hash is posted
	AsOpen                        // an open dead letter
	AsWaiting                     // on a tier
	AsMissing                     // below the committed position without an outcome: lost
	standings     = iota
)

var standingNames = [standings]string{
	"posted", "resolved", "quarantined (journal posted)", "quarantined (awaiting journal)",
	"suppressed", "open dead letters", "waiting in tiers", "missing",
}

// String is the name as the completeness line has it.
func (s Standing) String() string { return standingNames[s] }

// standing gives the outcome of a, and what the source of that outcome says of the amount.
func (b *Books) standing(a *account) (Standing, claim) {
	switch {
	case b.posted(a):
		if a.posting != nil {
			return AsPosted, claim{true, a.posting.SourceHash, a.posting.Money}
		}
		return AsPosted, a.event
	case a.hand.any(envelope.Resolved):
		return AsResolved, a.hand.claim
	case a.hand.any(envelope.JournalPosted):
		return AsJournaled, a.hand.claim
	case a.hand.quarantined(""):
		return AsQuarantined, a.hand.claim
	case a.toldSuppressed:
		return AsSuppressed, a.event
	case a.hand.any(envelope.Suppressed):
		return AsSuppressed, a.hand.claim
	}
	if l := b.open(a); l != nil {
		return AsOpen, l.claim
	}
	if a.wait.any {
		return AsWaiting, a.wait
	}
	return AsMissing, claim{}
}

// posted asks the ledger where it could be asked, else the trail and the dispositions.
func (b *Books) posted(a *account) bool {
	if b.ledger {
		return a.posting != nil
	}
	return a.toldPosted || a.hand.any(envelope.Confirmed)
}

// open gives the open letter of the highest generation, nil for none.
func (b *Books) open(a *account) *letter {
	var last *letter
	for _, l := range a.letters {
		if !b.parents[l.envelopeID] && !a.hand.settled(l.envelopeID) && (last == nil || l.generation > last.generation) {
			last = l
		}
	}
	return last
}

// any tells whether a letter of the root has ever been in state s.
func (h *hand) any(s envelope.State) bool {
	if h == nil {
		return false
	}
	for _, states := range h.states {
		if states[s] {
			return true
		}
	}
	return false
}

// quarantined tells whether a quarantine of this letter, or of any one for "", stands.
func (h *hand) quarantined(envelopeID string) bool {
	if h == nil {
		return false
	}
	for id, of := range h.quarantines {
		if !h.lifted[id] && (envelopeID == "" || envelopeID == of) {
			return true
		}
	}
	return false
}

// settled tells whether a letter has a terminal state that stands.
func (h *hand) settled(envelopeID string) bool { return len(h.terminal(envelopeID)) > 0 }

// terminal gives the terminal states of a letter that stand, in the contract's order. A journal belongs to its
// quarantine and is not counted as a second one.
func (h *hand) terminal(envelopeID string) []envelope.State {
	if h == nil {
		return nil
	}
	var ss []envelope.State
	for _, s := range [...]envelope.State{envelope.Confirmed, envelope.Resolved, envelope.JournalPosted, envelope.Suppressed} {
		if h.states[envelopeID][s] {
			ss = append(ss, s)
		}
	}
	if !h.states[envelopeID][envelope.JournalPosted] && h.quarantined(envelopeID) {
		ss = append(ss, envelope.Quarantined)
	}
	return ss
}

// copyOf tells whether the record at is a copy that a replay put on main: see Books.
func (b *Books) copyOf(a *account) bool {
	if a.arrival == nil || a.arrival.Replay == nil || a.named {
		return false
	}
	r := a.arrival.Replay
	if r.EnvelopeID != envelope.EnvelopeID(r.Root, r.Generation-1) || r.ReplayID != envelope.ReplayID(r.EnvelopeID) {
		return false
	}
	l := b.letters[r.EnvelopeID]
	if l == nil || l.sha != r.ValueSHA256 {
		return false
	}
	of := b.roots[r.Root]
	return of.reached >= r.Generation || of.hand.settledByHand() && of.hand.states[r.EnvelopeID][envelope.Reinjected]
}

// settledByHand tells whether a person has settled a letter of the root: then the consumer drops its copies in silence.
func (h *hand) settledByHand() bool {
	return h.any(envelope.Resolved) || h.any(envelope.JournalPosted) || h.quarantined("")
}
