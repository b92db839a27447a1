package replay

import (
	"context"
	"time"

	"recon/pkg/fault"
	"recon/pkg/period"
)

// Temporal passes a letter whose accounting period takes postings now.
type Temporal struct {
	Calendar *period.Calendar // nil: no calendar, nothing is refused for its period
}

// Name is `temporal`.
func (Temporal) Name() string { return "temporal" }

// Unasked is the code when it cannot be asked.
func (Temporal) Unasked() fault.Failure { return fault.FailedPeriodUnknown }

// Check refuses with PERIOD_CLOSED, PERIOD_STRADDLES, or PERIOD_UNKNOWN where the calendar names no entity or no period,
// and for a period that is still to come.
func (g Temporal) Check(_ context.Context, o *Opened) (Check, error) {
	if c, ok := o.unreadable(); ok {
		return c, nil
	}
	now, m := time.Now(), o.Message
	if fact, yes := g.Calendar.Straddles(m, now); yes {
		return Check{Code: fault.FailedPeriodStraddles, Fact: fact}, nil
	}
	standing := g.Calendar.Standing(m.LedgerEntity, g.Calendar.AccountingDate(m), now)
	switch standing.State {
	case period.Open:
		return Check{Pass: true, Fact: standing.Fact}, nil
	case period.Closed:
		return Check{Code: fault.FailedPeriodClosed, Fact: standing.Fact}, nil
	default:
		return Check{Code: fault.FailedPeriodUnknown, Fact: standing.Fact}, nil
	}
}
