package consumer

// ending is how a record ended for this process: what its offset may be committed for.
type ending uint8

const (
	endControl    ending = iota // a transaction's marker, no record
	endPosted                   // the ledger has it
	endSuppressed               // another root of the same hash and digest has posted
	endWaiting                  // a copy is on a tier
	endDead                     // a letter is in the DLQ
	endRepeated                 // the store knew its outcome already: told again with the same ids
	endClosed                   // settled by a person: nothing is told
)

// names of the endings, as the counts of audit entries have them.
var endingNames = [...]string{"control", "posted", "suppressed", "waiting", "dead", "repeated", "closed"}

func (e ending) String() string { return endingNames[e] }

// outcome is an ending with the delivery that it belongs to, which holds the facts for the evidence.
type outcome struct {
	ending ending
	d      *delivery // nil for a control record
}
