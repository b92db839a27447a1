package envelope

// State is what a disposition says of a letter.
type State string

// The states of CONTRACT 6.
const (
	Acknowledged  State = "acknowledged"   // a person owns it
	Refused       State = "refused"        // not now: the code says by which gate
	Reinjected    State = "reinjected"     // the original is on main again: in flight
	Confirmed     State = "confirmed"      // the replayed record posted, or its root had posted already
	Suppressed    State = "suppressed"     // this hash is posted by another root
	Quarantined   State = "quarantined"    // awaits a manual journal
	JournalPosted State = "journal_posted" // the manual journal exists
	Released      State = "released"       // out of quarantine again
	Resolved      State = "resolved"       // settled by a person
)

// States lists every state, in the order of the contract.
func States() []State {
	return []State{
		Acknowledged, Refused, Reinjected, Confirmed, Suppressed,
		Quarantined, JournalPosted, Released, Resolved,
	}
}

// Terminal tells whether a letter in state s is open no longer.
func Terminal(s State) bool { return Precedence(s) > 0 }

// Precedence orders the terminal states of one letter: the highest is its outcome, whatever order they were read in.
// confirmed > resolved > quarantined (with or without its journal) > suppressed; 0 for states that end nothing.
func Precedence(s State) int {
	switch s {
	case Confirmed:
		return 5
	case Resolved:
		return 4
	case JournalPosted:
		return 3
	case Quarantined:
		return 2
	case Suppressed:
		return 1
	default:
		return 0
	}
}
