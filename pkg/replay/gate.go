package replay

import (
	"context"
	"errors"
	"fmt"

	"recon/pkg/audit"
	"recon/pkg/dedup"
	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// Gate is one question that a letter must pass on its way back. Gates are independent of each other, and all of them
// are asked. An error means that the question could not be asked: the letter is refused, never passed.
type Gate interface {
	Name() string
	Check(ctx context.Context, o *Opened) (Check, error)
}

// Check is a gate's answer.
type Check struct {
	Pass     bool
	Code     fault.Failure      // why not; empty with Pass
	Fact     string             // one line: what is behind the answer
	Instead  Outcome            // what is done where it does not pass; empty: the letter is refused
	Evidence *envelope.Evidence // the posting that stands in the way, nil without one
}

// Outcome is what a letter comes to, by the gates.
type Outcome string

// The outcomes. All but Refuse and Reinject complete what is so already, and only lacks its disposition.
const (
	Reinject Outcome = "reinject" // its original goes back to main
	Refuse   Outcome = "refuse"   // not now: it stays open
	Suppress Outcome = "suppress" // another root of its hash has posted the same transaction
	Confirm  Outcome = "confirm"  // its own root has posted
	Complete Outcome = "complete" // its replay is on main already: `reinjected` was never written
)

// outcomes lists them all.
var outcomes = []Outcome{Reinject, Complete, Confirm, Suppress, Refuse}

// Named is a gate's answer under the gate's name.
type Named struct {
	Gate string
	Check
}

// verdict is what all gates together come to.
type verdict struct {
	outcome  Outcome
	code     fault.Failure
	fact     string
	evidence *envelope.Evidence
	gates    []Named
	fatal    error // the error of a gate that makes going on impossible
}

// judge asks every gate. That a record is posted, or its replay under way, outweighs a refusal: nothing comes back
// then, and what is missing is only the word for it. Of several refusals the first gate's is the letter's.
func judge(ctx context.Context, gates []Gate, o *Opened) verdict {
	v := verdict{outcome: Reinject}
	for _, g := range gates {
		c, err := g.Check(ctx, o)
		if err != nil {
			c = Check{Code: unasked(g), Fact: fmt.Sprintf("could not ask: %v", err)}
			if v.fatal == nil && (ExitOf(err) == ExitPrecondition || errors.Is(err, dedup.ErrUnavailable)) {
				v.fatal = err
			}
		}
		v.gates = append(v.gates, Named{g.Name(), c})
		if !c.Pass {
			v.weigh(c)
		}
	}
	return v
}

// weigh takes in an answer that is no pass.
func (v *verdict) weigh(c Check) {
	if c.Instead == "" {
		c.Instead = Refuse
	}
	if v.outcome == Reinject || v.outcome == Refuse && c.Instead != Refuse {
		v.outcome, v.code, v.fact, v.evidence = c.Instead, c.Code, c.Fact, c.Evidence
	}
}

// unasked is the code of a gate whose question could not be asked: for all that is known, it holds.
func unasked(g Gate) fault.Failure {
	if u, ok := g.(interface{ Unasked() fault.Failure }); ok {
		return u.Unasked()
	}
	return fault.FailedCauseNotFixed
}

// unreadable is the answer of gates that need a message where there is none that today's rules take.
func (o *Opened) unreadable() (Check, bool) {
	if o.Err == nil && o.Invalid == nil {
		return Check{}, false
	}
	return Check{Code: fault.FailedStillInvalid, Fact: "not asked: the message cannot be read"}, true
}

// Integrity passes a letter whose original is the one that was dead-lettered and valid by today's rules.
type Integrity struct{}

// Name is `integrity`.
func (Integrity) Name() string { return "integrity" }

// Unasked is the code when it cannot be asked.
func (Integrity) Unasked() fault.Failure { return fault.FailedStillInvalid }

// Check refuses with STILL_INVALID.
func (Integrity) Check(_ context.Context, o *Opened) (Check, error) {
	refused := func(format string, args ...any) (Check, error) {
		return Check{Code: fault.FailedStillInvalid, Fact: fmt.Sprintf(format, args...)}, nil
	}
	if o.Err != nil {
		return refused("%v", o.Err)
	}
	if err := o.Letter.Intact(); err != nil {
		return refused("%v", err)
	}
	if o.Case.differs {
		return refused("the copies of this letter in the DLQ disagree about the original")
	}
	if o.Invalid != nil {
		return refused("%s: %v", fault.Of(o.Invalid).Code, o.Invalid)
	}
	if field, said, says := o.contradiction(); field != "" {
		return refused("the letter is of %s %s, its original says %s", field, said, says)
	}
	return Check{Pass: true, Fact: "decodes and validates; its value has the SHA-256 that the letter names"}, nil
}

// contradiction names a field of which the letter says something else than its original. Plans show, total and are
// confirmed by what letters say; what a letter could not read it does not say.
func (o *Opened) contradiction() (field, said, says string) {
	l, m := o.Letter.Message, o.Message.Facts()
	if a, b := audit.MoneyOf(m.Currency, l.Amount), audit.MoneyOf(m.Currency, m.Amount); l.Amount != "" && !a.Equal(b) {
		return "amount", l.Amount, m.Amount
	}
	for _, f := range [...]struct{ name, said, says string }{
		{"source_hash", l.SourceHash, m.SourceHash},
		{"ledger_entity", l.LedgerEntity, m.LedgerEntity},
		{"currency", l.Currency, m.Currency},
		{"match_decision", l.MatchDecision, m.MatchDecision},
		{"booking_date", l.BookingDate, m.BookingDate},
		{"value_date", l.ValueDate, m.ValueDate},
	} {
		if f.said != "" && f.said != f.says {
			return f.name, f.said, f.says
		}
	}
	return "", "", ""
}

// Cause passes a letter whose handler says that it would post the message now.
type Cause struct {
	Handler Prechecker // nil: the cause is not checkable, and every readable letter passes
}

// Name is `cause`.
func (Cause) Name() string { return "cause" }

// Unasked is the code when it cannot be asked.
func (Cause) Unasked() fault.Failure { return fault.FailedCauseNotFixed }

// Check refuses with CAUSE_NOT_FIXED, and with PERIOD_CLOSED where the ledger says that on its own.
func (g Cause) Check(ctx context.Context, o *Opened) (Check, error) {
	if c, ok := o.unreadable(); ok {
		return c, nil
	}
	if g.Handler == nil {
		return Check{Pass: true, Fact: "not checkable: the handler offers no check"}, nil
	}
	err := g.ask(ctx, o.Message)
	var posted *envelope.AlreadyPosted
	switch {
	case err == nil:
		return Check{Pass: true, Fact: "the handler would post it now"}, nil
	case ctx.Err() != nil:
		return Check{}, context.Cause(ctx)
	case errors.As(err, &posted):
		return Check{Pass: true, Fact: "the handler says that the hash is posted; the idempotency gate decides"}, nil
	}
	v := fault.Of(err)
	code := fault.FailedCauseNotFixed
	if v.Code == fault.PeriodClosed {
		code = fault.FailedPeriodClosed
	}
	return Check{Code: code, Fact: fmt.Sprintf("%s: %s", v.Code, v.Detail)}, nil
}

// ask puts the question. A panic is an answer, too: of this letter it is not known that its cause is gone, and the run
// goes on with the others.
func (g Cause) ask(ctx context.Context, m *envelope.Message) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fault.New(fault.HandlerPanic, "the handler's check panicked: %v", r)
		}
	}()
	err = g.Handler.Precheck(ctx, m)
	fault.Of(err) // an error that panics when it is read, a nil one of a type, does so here
	if p, ok := errors.AsType[*envelope.AlreadyPosted](err); ok && p == nil {
		return fault.New(fault.Unclassified, "the handler's check names a posting, and the posting is nil")
	}
	return err
}
