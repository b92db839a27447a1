package replay

import (
	"context"
	"fmt"
	"time"

	"recon/pkg/dedup"
	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// Idempotency passes a letter of whose hash nothing has posted, is at work, or was settled: by the dedup store, and by
// the ledger where that can be asked.
type Idempotency struct {
	Store interface {
		Get(ctx context.Context, hash string) (dedup.Value, bool, error)
	}
	Ledger Postings // nil: it cannot be asked
}

// Name is `idempotency`.
func (Idempotency) Name() string { return "idempotency" }

// Unasked is the code when it cannot be asked: that the hash has not posted is not proved.
func (Idempotency) Unasked() fault.Failure { return fault.FailedDedupHorizon }

// Check refuses with IN_FLIGHT_ELSEWHERE, SETTLED_MANUALLY and IDENTITY_CONFLICT, and with DEDUP_HORIZON where the store
// says posted and the ledger says not. It suppresses as REPLAY_DUPLICATE what another root has posted, and confirms or
// completes what the letter's own root has done already.
func (g Idempotency) Check(ctx context.Context, o *Opened) (Check, error) {
	if c, ok := byRoot(o.Case); ok {
		return c, nil
	}
	if c, ok := o.unreadable(); ok {
		return c, nil
	}
	stored, _, err := g.Store.Get(ctx, o.Message.SourceHash)
	if err != nil {
		return Check{}, err
	}
	c := stands(stored, o)
	if g.Ledger == nil || !c.Pass && c.Evidence == nil {
		return c, nil
	}
	posted, err := g.Ledger.Lookup(ctx, o.Message.SourceHash)
	switch {
	case err != nil:
		return Check{}, fmt.Errorf("look up %s in the ledger: %w", o.Message.SourceHash, err)
	case posted != nil:
		return posting(o, "the ledger", posted.Root, posted.Digest, posted.ID, posted.At), nil
	case c.Pass:
		c.Fact += "; not in the ledger"
		return c, nil
	default: // whoever believed the store would drop a record that nobody has booked
		return Check{Code: fault.FailedDedupHorizon, Fact: c.Fact + "; but it is not in the ledger"}, nil
	}
}

// byRoot answers from the topics alone where another letter of the root has told its end.
func byRoot(c *Case) (Check, bool) {
	if c.Status() != Unrecorded {
		return Check{}, false
	}
	ended := c.line.terminal()
	for _, other := range c.line.cases {
		switch state := other.terminal(); {
		case state != ended:
		case state == envelope.Confirmed:
			return Check{Instead: Confirm, Fact: "its root has posted: letter " + other.EnvelopeID + " is confirmed"}, true
		case state == envelope.Suppressed:
			return Check{
				Instead: Suppress, Code: fault.FailedReplayDuplicate,
				Fact: "its root was suppressed: letter " + other.EnvelopeID + " says so",
			}, true
		}
	}
	return Check{}, false
}

// stands answers from what the dedup store holds for the letter's hash. It is asked by the gate, and again by the
// reservation, which sees the store at the moment of taking.
func stands(v dedup.Value, o *Opened) Check {
	c, own := o.Case, v.Root == o.Case.Root
	replayed := own && v.Generation > c.Generation
	switch {
	case v.State == dedup.Posted:
		return posting(o, "the dedup store", v.Root, v.Digest, "", v.Time)
	case v.State == dedup.Settled:
		return Check{Code: fault.FailedSettledManually, Fact: fmt.Sprintf("settled by hand for %s generation %d at %s", v.Root, v.Generation, envelope.FormatTime(v.Time))}
	case replayed && v.Generation == c.Generation+1:
		return Check{Instead: Complete, Fact: fmt.Sprintf("its replay was seen: %s generation %d is %s since %s", v.Root, v.Generation, v.State, envelope.FormatTime(v.Time))}
	case replayed, v.State == dedup.Claimed, v.State == dedup.Waiting:
		return Check{Code: fault.FailedInFlightElsewhere, Fact: fmt.Sprintf("%s generation %d is %s since %s", v.Root, v.Generation, v.State, envelope.FormatTime(v.Time))}
	case v.State == dedup.Dead:
		return Check{Pass: true, Fact: fmt.Sprintf("not posted: %s generation %d is dead", v.Root, v.Generation)}
	default:
		return Check{Pass: true, Fact: "not posted: the dedup store holds nothing"}
	}
}

// posting answers for a hash that has posted: by the letter's own root, by another one the same transaction, or by
// another one another transaction, which is never suppressed.
func posting(o *Opened, who string, root envelope.Coordinates, digest, id string, at time.Time) Check {
	said := fmt.Sprintf("%s says posted by %s at %s", who, root, envelope.FormatTime(at))
	if id != "" {
		said += " as " + id
	}
	evidence := &envelope.Evidence{PostingID: id, PostedAt: at, Root: root}
	switch {
	case root == o.Case.Root:
		return Check{Instead: Confirm, Fact: said + ", the letter's own root", Evidence: evidence}
	case digest == o.Message.Digest:
		return Check{Instead: Suppress, Code: fault.FailedReplayDuplicate, Fact: said + ", the same transaction", Evidence: evidence}
	default:
		return Check{
			Code: fault.FailedIdentityConflict, Evidence: evidence,
			Fact: fmt.Sprintf("%s, another transaction: digest %s, the letter's is %s", said, digest, o.Message.Digest),
		}
	}
}
