package replay

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"recon/pkg/audit"
	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/period"
)

// Selection chooses letters. Every field that is set must fit; of a list one entry must. The zero value fits all.
type Selection struct {
	Codes          []fault.Failure
	ErrorCodes     []fault.Code
	Classes        []fault.Class
	Stages         []fault.Stage
	Fingerprints   []string
	RootCauses     []string
	Entities       []string
	Currencies     []string
	MatchDecisions []string
	MinAmount      decimal.Decimal // without its sign; an unreadable amount does not fit. Zero: any
	Periods        []string        // by Calendar; without one the month of the accounting date, YYYY-MM
	SourceSystems  []string
	SourceHashes   []string
	TraceIDs       []string
	MessageIDs     []string
	IDs            []string // envelope ids
	ExcludeIDs     []string
	Roots          []string // topic/partition@offset
	Generations    []int
	States         []string  // a Status, or what was said last of an open letter: acknowledged, refused, released
	Since, Until   time.Time // of dead_lettered_at: from Since on, and before Until
	Limit          int       // the first so many, in the order of the plan; 0: all
	All            bool      // nothing is selected on purpose

	Calendar *period.Calendar
}

// Match tells whether c fits. It does not look at Limit.
func (s *Selection) Match(c *Case) bool {
	return anyOf(s.Codes, c.FailureCode) && anyOf(s.ErrorCodes, c.ErrorCode) && anyOf(s.Classes, c.FailureClass) &&
		anyOf(s.Stages, c.Stage) && anyOf(s.Fingerprints, c.Fingerprint) && anyOf(s.RootCauses, c.RootCause()) &&
		anyOf(s.Entities, c.LedgerEntity) && anyOf(s.Currencies, c.Currency) && anyOf(s.MatchDecisions, c.MatchDecision) &&
		anyOf(s.SourceSystems, c.SourceSystem) && anyOf(s.SourceHashes, c.SourceHash) && anyOf(s.TraceIDs, c.TraceID) &&
		anyOf(s.MessageIDs, c.messageID()) && anyOf(s.IDs, c.EnvelopeID) && !slices.Contains(s.ExcludeIDs, c.EnvelopeID) &&
		anyOf(s.Roots, c.Root.String()) && anyOf(s.Generations, c.Generation) &&
		s.matchMoney(c) && s.matchPeriod(c) && s.matchState(c) &&
		!c.DeadLettered.Before(s.Since) && (s.Until.IsZero() || c.DeadLettered.Before(s.Until))
}

// messageID is that of the message, or the one its root gives where the message cannot be read.
func (c *Case) messageID() string {
	if c.MessageID != "" {
		return c.MessageID
	}
	return envelope.MessageID(c.Root)
}

func anyOf[T comparable](wanted []T, have T) bool {
	return len(wanted) == 0 || slices.Contains(wanted, have)
}

func (s *Selection) matchMoney(c *Case) bool {
	if s.MinAmount.IsZero() {
		return true
	}
	m := audit.MoneyOf(c.Currency, c.Amount)
	return m.Readable && m.Amount.Abs().GreaterThanOrEqual(s.MinAmount)
}

func (s *Selection) matchPeriod(c *Case) bool {
	if len(s.Periods) == 0 {
		return true
	}
	m := &envelope.Message{LedgerEntity: c.LedgerEntity, BookingDate: c.BookingDate, ValueDate: c.ValueDate, FirstSeen: c.FirstSeen}
	date := s.Calendar.AccountingDate(m)
	if s.Calendar == nil {
		return slices.Contains(s.Periods, date[:len("2006-01")])
	}
	return slices.Contains(s.Periods, s.Calendar.Standing(c.LedgerEntity, date, time.Now()).Period)
}

func (s *Selection) matchState(c *Case) bool {
	if len(s.States) == 0 {
		return true
	}
	status := c.Status()
	return slices.Contains(s.States, string(status)) || status == Open && slices.Contains(s.States, string(c.Said()))
}

// Of yields the letters of f that fit, in the order of plans, at most Limit.
func (s *Selection) Of(f *Fold) []*Case { return s.pick(f, func(*Case) bool { return true }) }

// pick is Of for the letters that also pass another test.
func (s *Selection) pick(f *Fold, too func(*Case) bool) []*Case {
	var picked []*Case
	for c := range f.All() {
		if !s.Match(c) || !too(c) {
			continue
		}
		if picked = append(picked, c); s.Limit > 0 && len(picked) == s.Limit {
			break
		}
	}
	return picked
}

// Empty tells whether nothing narrows the selection; ExcludeIDs and Limit do not.
func (s *Selection) Empty() bool { return s.words(false) == "" }

// Validate reports all mistakes together, each by its flag. The error is ErrUsage.
func (s *Selection) Validate() error {
	var errs []error
	wrong := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	for _, c := range s.Classes {
		wrong(c == fault.Transient || c == fault.Poison, "--class %q: want %s or %s", c, fault.Transient, fault.Poison)
	}
	for _, d := range s.MatchDecisions {
		wrong(d == envelope.Matched || d == envelope.Partial || d == envelope.Unmatched,
			"--match-decision %q: want %s, %s or %s", d, envelope.Matched, envelope.Partial, envelope.Unmatched)
	}
	for _, state := range s.States {
		wrong(isState(state), "--state %q: want one of %s", state, strings.Join(states(), ", "))
	}
	for _, r := range s.Roots {
		_, err := envelope.ParseCoordinates(r)
		wrong(err == nil, "--root: %v", err)
	}
	for _, g := range s.Generations {
		wrong(g >= 0, "--generation %d: want a number from 0", g)
	}
	wrong(s.MinAmount.Sign() >= 0, "--min-amount %s: want an amount without a sign", envelope.CanonicalAmount(s.MinAmount))
	wrong(s.Limit >= 0, "--limit %d: want a number from 0", s.Limit)
	wrong(s.Until.IsZero() || s.Since.Before(s.Until), "--until %s is not after --since %s", envelope.FormatTime(s.Until), envelope.FormatTime(s.Since))
	if len(errs) > 0 {
		return fmt.Errorf("%w: %w", ErrUsage, errors.Join(errs...))
	}
	return nil
}

// ValidateForWriting is Validate for a command that writes: it wants a selection, or All.
func (s *Selection) ValidateForWriting() error {
	if err := s.Validate(); err != nil {
		return err
	}
	if s.Empty() && !s.All {
		return fmt.Errorf("%w: no selection; name what to select, or say --all", ErrUsage)
	}
	return nil
}

func states() []string {
	var all []string
	for _, s := range Statuses() {
		all = append(all, string(s))
	}
	return append(all, string(envelope.Acknowledged), string(envelope.Refused), string(envelope.Released))
}

func isState(s string) bool { return slices.Contains(states(), s) }
