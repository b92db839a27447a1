package period

import (
	"fmt"
	"sort"
	"time"

	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// State says whether a date may be posted to.
type State string

// The states. A closing period is Open until its hard_close_at and Closed from then on; a sealed one is Closed.
const (
	Open    State = "open"
	Closed  State = "closed"
	Future  State = "future"
	Unknown State = "unknown" // the calendar names neither the entity nor a default, or no period for the date
)

// Standing is the calendar's answer about one entity and one date.
type Standing struct {
	State  State
	Period string // the period's id, empty when Unknown and without a calendar
	Fact   string // one line for evidence and refusals: what the calendar says, and of which revision
}

// Standing answers for the accounting date (YYYY-MM-DD) of an entity at the moment now. Adjustment periods are for
// people: no date falls into one. Without a calendar everything is Open and the fact is "no calendar".
func (c *Calendar) Standing(entity, date string, now time.Time) Standing {
	if c == nil {
		return Standing{State: Open, Fact: "no calendar"}
	}
	r := c.rule(entity)
	if r == nil {
		return Standing{State: Unknown, Fact: fmt.Sprintf("the calendar (revision %s) names neither the entity %s nor a default", c.revision, entity)}
	}
	s := r.book.find(date)
	if s == nil {
		return Standing{State: Unknown, Fact: fmt.Sprintf("calendar %s (revision %s) has no period for %s", r.book.id, c.revision, date)}
	}
	state, why := s.standing(now)
	return Standing{State: state, Period: s.id, Fact: fmt.Sprintf("%s lies in period %s of calendar %s (revision %s), which is %s", date, s.id, r.book.id, c.revision, why)}
}

// AccountingDate is the day, YYYY-MM-DD, that decides on m's period: its booking date, else its value date, else the
// day on which it was first seen in the entity's zone (UTC without a calendar).
func (c *Calendar) AccountingDate(m *envelope.Message) string {
	switch {
	case m.BookingDate != "":
		return m.BookingDate
	case m.ValueDate != "":
		return m.ValueDate
	}
	return m.FirstSeen.In(c.zone(m.LedgerEntity)).Format(time.DateOnly)
}

// Check refuses a message whose accounting date may not be posted to now: PERIOD_CLOSED, or PERIOD_NOT_OPEN for a
// future period and where the calendar names no entity or no period. nil means: open, or no calendar.
func (c *Calendar) Check(m *envelope.Message, now time.Time) error {
	if c == nil {
		return nil
	}
	date := c.AccountingDate(m)
	if r := c.rule(m.LedgerEntity); r != nil { // the common case, without the text of a fact
		if s := r.book.find(date); s != nil && s.open(now) {
			return nil
		}
	}
	code := fault.PeriodNotOpen
	at := c.Standing(m.LedgerEntity, date, now)
	if at.State == Closed {
		code = fault.PeriodClosed
	}
	return fault.At(fault.StagePeriod, fault.New(code, "%s", at.Fact))
}

// Straddles tells whether m's booking date and value date lie in two different periods of which at least one is
// closed at the moment now: then no period of its own is left, and a person must decide. fact says which two.
func (c *Calendar) Straddles(m *envelope.Message, now time.Time) (fact string, yes bool) {
	if c == nil || m.BookingDate == "" || m.ValueDate == "" {
		return "", false
	}
	booked, valued := c.Standing(m.LedgerEntity, m.BookingDate, now), c.Standing(m.LedgerEntity, m.ValueDate, now)
	if booked.Period == "" || valued.Period == "" || booked.Period == valued.Period {
		return "", false
	}
	if booked.State != Closed && valued.State != Closed {
		return "", false
	}
	return fmt.Sprintf("booked on %s; value date: %s", booked.Fact, valued.Fact), true
}

// find returns the ordinary period that holds the date, nil when there is none or the date is no date.
func (b *book) find(date string) *span {
	if !isDay(date) {
		return nil
	}
	i := sort.Search(len(b.spans), func(i int) bool { return b.spans[i].to >= date })
	if i == len(b.spans) || b.spans[i].from > date {
		return nil
	}
	return &b.spans[i]
}

// standing is the period's state at the moment now, and the words for it.
func (s *span) standing(now time.Time) (State, string) {
	switch {
	case s.state == inClosed, s.state == inSealed:
		return Closed, s.state
	case s.state == inFuture:
		return Future, "still in the future"
	case !s.open(now):
		return Closed, "closed since " + s.hard.Format(time.RFC3339)
	case s.hard.IsZero():
		return Open, "open"
	}
	return Open, "open until " + s.hard.Format(time.RFC3339)
}

// open tells whether the period takes postings. A hard_close_at that has passed counts also where the state still
// says open: posting into closed books is the worse mistake.
func (s *span) open(now time.Time) bool {
	return (s.state == inOpen || s.state == inClosing) && (s.hard.IsZero() || now.Before(s.hard))
}
