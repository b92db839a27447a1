package envelope

import (
	"fmt"
	"time"
)

// AlreadyPosted is what a handler returns when the ledger itself says that this source_hash has a posting.
// It is evidence, not a failure: the same root means posted, another root with the same digest means suppressed,
// another digest means IDENTITY_CONFLICT.
type AlreadyPosted struct {
	Root       Coordinates
	Generation int
	Digest     string    // 16 hex digits, CONTRACT 2
	ID         string    // the posting's id in the ledger
	At         time.Time // when it was posted, UTC
}

// Error names the posting that stands in the way.
func (p *AlreadyPosted) Error() string {
	return fmt.Sprintf("source_hash already posted as %s by %s generation %d", p.ID, p.Root, p.Generation)
}
