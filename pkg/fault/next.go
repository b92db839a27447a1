package fault

import (
	"math"
	"time"
)

// Try is one failed attempt, as far as the decision needs it.
type Try struct {
	Code     Code
	Failures int           // earlier failures of this code in this generation; 0 for the first
	Attempts int           // attempts made in this generation over all codes, the failed one included
	Now      time.Time     // when it failed
	Deadline time.Time     // match deadline; zero: none
	AtLeast  time.Duration // Retry-After, already cut to the largest tier by the caller; 0: none
}

// Next decides what follows a failed attempt: a wait (dead is empty), or giving up (dead says why). u is the draw for
// the jitter, uniform in [0,1).
//
// Poison is given up at once. A failure at or after the deadline closes the matching window, also when it spent the
// budget. A wait that would pass the deadline ends at it; since the attempt after it fails at or after the deadline,
// that happens once. DuplicateInFlight always waits. Times are compared to the millisecond, the precision of headers.
func (p Policies) Next(t Try, u float64) (wait time.Duration, dead Failure) {
	r, _ := row(t.Code)
	own := p.For(t.Code)
	if own.Class == Poison {
		return 0, r.First
	}
	wait = max(own.draw(t.Failures, u), t.AtLeast)
	if r.waitOnly() {
		return wait, ""
	}
	deadline := t.Deadline.Truncate(time.Millisecond)
	if !t.Deadline.IsZero() && !t.Now.Before(deadline) {
		return 0, FailedWindowClosed
	}
	failures := min(max(t.Failures, 0), Ceiling) + 1
	if dead = p.Spent(t.Code, failures, t.Attempts, t.Deadline); dead != "" {
		return 0, dead
	}
	if !t.Deadline.IsZero() {
		wait = min(wait, t.Deadline.Sub(t.Now))
	}
	return wait, ""
}

// Spent answers, for a record that waits, whether today's limits still allow its next attempt: FailedExhausted or
// empty. failures counts the failures so far of the code that sent it waiting (recon-budget), attempts those over all
// codes (recon-attempt). The clock does not count here: an attempt that begins at the deadline is allowed.
func (p Policies) Spent(code Code, failures, attempts int, deadline time.Time) Failure {
	r, _ := row(code)
	own := p.For(code)
	if r.waitOnly() || own.Class == Poison {
		return ""
	}
	if failures >= own.limit(!deadline.IsZero()) || attempts >= Ceiling {
		return FailedExhausted
	}
	return ""
}

// TimeToDLQ returns the expected and the longest time from the first failure of a code to its dead letter when every
// attempt fails with it, without the time that the attempts take and without a deadline or a Retry-After. ok is false
// for a code that never leads to a dead letter by itself.
func (p Policies) TimeToDLQ(code Code) (expected, longest time.Duration, ok bool) {
	r, _ := row(code)
	own := p.For(code)
	for n := range own.limit(false) - 1 {
		if longest += own.Bound(n); longest < 0 {
			longest = math.MaxInt64
			break
		}
	}
	if expected = longest; own.Spacing != Fixed {
		expected = longest / 2
	}
	return expected, longest, !r.waitOnly()
}

// CapReached reports whether some wait of the code can be as long as its cap; a cap that is never reached was
// probably meant otherwise.
func (p Policies) CapReached(code Code) bool {
	r, _ := row(code)
	own := p.For(code)
	last := own.limit(own.UntilDeadline) - 2
	if r.waitOnly() {
		last = Ceiling
	}
	return last >= 0 && own.Bound(last) >= own.Cap
}
