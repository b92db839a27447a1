package period_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/period"
)

func TestStandingFollowsPeriodStateAndClosingTime(t *testing.T) {
	c := load(t)
	for _, row := range []struct {
		name, entity, date, now string
		state                   period.State
		period, fact            string
	}{
		{"open", "ACME-DE", "2026-12-15", "2026-12-15T12:00:00Z", period.Open, "2026-12", "which is open"},
		{"first day", "ACME-DE", "2026-12-01", "2026-12-15T12:00:00Z", period.Open, "2026-12", "which is open"},
		{"last day, an adjustment period on it", "ACME-DE", "2026-12-31", "2026-12-15T12:00:00Z", period.Open, "2026-12", "which is open"},
		{"closed", "ACME-DE", "2026-10-31", "2026-12-15T12:00:00Z", period.Closed, "2026-10", "period 2026-10 of calendar gregorian-monthly (revision 2026-11-30.1), which is closed"},
		{"sealed", "ACME-DE", "2026-09-30", "2026-12-15T12:00:00Z", period.Closed, "2026-09", "which is sealed"},
		{"future", "ACME-DE", "2027-01-01", "2026-12-15T12:00:00Z", period.Future, "2027-01", "still in the future"},
		{"closing, before its end in Berlin", "ACME-DE", "2026-11-30", "2026-12-07T16:59:59Z", period.Open, "2026-11", "open until 2026-12-07T18:00:00+01:00"},
		{"closing, at its end in Berlin", "ACME-DE", "2026-11-30", "2026-12-07T17:00:00Z", period.Closed, "2026-11", "closed since 2026-12-07T18:00:00+01:00"},
		{"open with an end, before it", "ACME-BR", "2018-06-01", "2019-01-31T13:59:59Z", period.Open, "2018", "open until"},
		{"open with an end, after it", "ACME-BR", "2018-06-01", "2019-01-31T14:00:00Z", period.Closed, "2018", "closed since"},
		{"before all periods", "ACME-DE", "2026-08-31", "2026-12-15T12:00:00Z", period.Unknown, "", "has no period for 2026-08-31"},
		{"after all periods", "ACME-DE", "2027-02-01", "2026-12-15T12:00:00Z", period.Unknown, "", "has no period for 2027-02-01"},
		{"no date", "ACME-DE", "2026-12-32", "2026-12-15T12:00:00Z", period.Unknown, "", "has no period for 2026-12-32"},
		{"unknown entity", "ACME-US", "2026-12-15", "2026-12-15T12:00:00Z", period.Unknown, "", "names neither the entity ACME-US nor a default"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := c.Standing(row.entity, row.date, at(t, row.now))
			if got.State != row.state || got.Period != row.period || !strings.Contains(got.Fact, row.fact) {
				t.Errorf("got %+v, want %s %q with %q", got, row.state, row.period, row.fact)
			}
		})
	}
}

func TestTheDefaultStandsForEntitiesThatAreNotNamed(t *testing.T) {
	c := load(t, "entities:", "default: {calendar: gregorian-monthly}\nentities:")
	now := at(t, "2026-12-15T12:00:00Z")
	if got := c.Standing("ACME-US", "2026-10-01", now); got.State != period.Closed || got.Period != "2026-10" {
		t.Errorf("got %+v, want closed 2026-10", got)
	}
	if got := c.Standing("ACME-BR", "2026-10-01", now); got.State != period.Unknown {
		t.Errorf("got %+v: the default covered a period that a named entity does not have", got)
	}
}

func TestAccountingDateIsBookingThenValueThenTheLocalDayFirstSeen(t *testing.T) {
	seen := at(t, "2026-11-30T23:30:00Z") // December in Berlin
	for _, row := range []struct {
		name string
		c    *period.Calendar
		m    envelope.Message
		want string
	}{
		{"booking date", load(t), envelope.Message{LedgerEntity: "ACME-DE", BookingDate: "2026-11-02", ValueDate: "2026-11-01", FirstSeen: seen}, "2026-11-02"},
		{"value date", load(t), envelope.Message{LedgerEntity: "ACME-DE", ValueDate: "2026-11-01", FirstSeen: seen}, "2026-11-01"},
		{"first seen, Berlin", load(t), envelope.Message{LedgerEntity: "ACME-DE", FirstSeen: seen}, "2026-12-01"},
		{"first seen, São Paulo", load(t), envelope.Message{LedgerEntity: "ACME-BR", FirstSeen: seen}, "2026-11-30"},
		{"first seen, entity not named", load(t), envelope.Message{LedgerEntity: "ACME-US", FirstSeen: seen}, "2026-11-30"},
		{"first seen, no calendar", nil, envelope.Message{LedgerEntity: "ACME-DE", FirstSeen: seen}, "2026-11-30"},
	} {
		if got := row.c.AccountingDate(&row.m); got != row.want {
			t.Errorf("%s: got %s, want %s", row.name, got, row.want)
		}
	}
}

// Pitfall R95: the consumer's own gate, before any handler. Pitfall R96: each check looks at the date it is given.
func TestCheckRefusesWhatMayNotBePostedWithItsCode(t *testing.T) {
	c := load(t)
	now := at(t, "2026-12-15T12:00:00Z")
	for _, row := range []struct {
		name, entity, booking string
		want                  fault.Code
	}{
		{"open", "ACME-DE", "2026-12-01", ""},
		{"closed", "ACME-DE", "2026-10-01", fault.PeriodClosed},
		{"sealed", "ACME-DE", "2026-09-01", fault.PeriodClosed},
		{"closing and over", "ACME-DE", "2026-11-01", fault.PeriodClosed},
		{"future", "ACME-DE", "2027-01-02", fault.PeriodNotOpen},
		{"no period", "ACME-DE", "2031-01-02", fault.PeriodNotOpen},
		{"no entity", "ACME-US", "2026-12-01", fault.PeriodNotOpen},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := c.Check(&envelope.Message{LedgerEntity: row.entity, BookingDate: row.booking}, now)
			if (err == nil) != (row.want == "") {
				t.Fatalf("got %v, want %q", err, row.want)
			}
			if err == nil {
				return
			}
			v := fault.Of(err)
			if v.Code != row.want || v.Stage != fault.StagePeriod || v.Class != fault.Poison {
				t.Errorf("got %+v, want %s at the period stage", v, row.want)
			}
			if want := c.Standing(row.entity, row.booking, now).Fact; v.Detail != want {
				t.Errorf("detail: got %s, want the fact %s", v.Detail, want)
			}
		})
	}
}

// Pitfall R97: re-opening is believed at once, and closing again as well.
func TestReopeningAPeriodLetsItPostAgain(t *testing.T) {
	m := &envelope.Message{LedgerEntity: "ACME-DE", BookingDate: "2026-10-05"}
	now := at(t, "2026-12-15T12:00:00Z")
	if err := load(t).Check(m, now); fault.Of(err).Code != fault.PeriodClosed {
		t.Errorf("closed: got %v", err)
	}
	if err := load(t, "state: closed}", "state: open}").Check(m, now); err != nil {
		t.Errorf("re-opened: got %v", err)
	}
}

func TestNoCalendarRefusesNothing(t *testing.T) {
	var none *period.Calendar
	m := &envelope.Message{LedgerEntity: "ANY", BookingDate: "1999-01-01", ValueDate: "2026-01-01"}
	if err := none.Check(m, time.Now()); err != nil {
		t.Errorf("check: got %v", err)
	}
	if got := none.Standing("ANY", "1999-01-01", time.Now()); got != (period.Standing{State: period.Open, Fact: "no calendar"}) {
		t.Errorf("standing: got %+v", got)
	}
	if fact, yes := none.Straddles(m, time.Now()); yes {
		t.Errorf("straddles: got %s", fact)
	}
}

// Pitfall R99: a record whose two dates lie in two periods is named when one of them is closed.
func TestStraddlingNeedsTwoPeriodsOfWhichOneIsClosed(t *testing.T) {
	c := load(t)
	now := at(t, "2026-12-05T12:00:00Z")
	for _, row := range []struct {
		name, booking, value string
		want                 bool
	}{
		{"booked in open, value in closed", "2026-11-02", "2026-10-30", true},
		{"booked in closed, value in open", "2026-10-30", "2026-11-02", true},
		{"two closed ones", "2026-10-01", "2026-09-30", true},
		{"two open ones", "2026-12-01", "2026-11-30", false},
		{"one closed", "2026-10-01", "2026-10-02", false},
		{"open and unknown", "2026-12-01", "2031-01-01", false},
		{"closed and unknown", "2026-10-01", "2031-01-01", false},
		{"closed and future", "2026-10-01", "2027-01-01", true},
		{"no value date", "2026-10-01", "", false},
		{"no booking date", "", "2026-10-01", false},
	} {
		fact, got := c.Straddles(&envelope.Message{LedgerEntity: "ACME-DE", BookingDate: row.booking, ValueDate: row.value}, now)
		if got != row.want {
			t.Errorf("%s: got %v %s", row.name, got, fact)
		}
		if got && (!strings.Contains(fact, row.booking) || !strings.Contains(fact, row.value)) {
			t.Errorf("%s: the fact names not both days: %s", row.name, fact)
		}
	}
}

func TestBusinessDaysKnowWeekendsAndTheEntitysHolidays(t *testing.T) {
	c := load(t)
	var none *period.Calendar
	for _, row := range []struct {
		c           *period.Calendar
		entity, day string
		want        bool
	}{
		{c, "ACME-DE", "2026-12-24", true},
		{c, "ACME-DE", "2026-12-25", false},
		{c, "ACME-DE", "2026-12-26", false}, // Saturday
		{c, "ACME-DE", "2026-12-27", false}, // Sunday
		{c, "ACME-US", "2026-12-25", true},  // not named: no holidays
		{none, "ACME-DE", "2026-12-25", true},
		{none, "ACME-DE", "2026-12-26", false},
		{c, "ACME-DE", "yesterday", false},
	} {
		if got := row.c.BusinessDay(row.entity, row.day); got != row.want {
			t.Errorf("%s %s: got %v", row.entity, row.day, got)
		}
	}
}

func TestMatchDeadlineIsTheEndOfTheNthBusinessDayInTheEntitysZone(t *testing.T) {
	c := load(t)
	for _, row := range []struct{ name, entity, failed, want string }{
		{"three days", "ACME-DE", "2026-12-07T10:00:00Z", "2026-12-10T23:00:00Z"},
		{"over Christmas and a weekend", "ACME-DE", "2026-12-23T10:00:00Z", "2026-12-29T23:00:00Z"},
		{"late evening UTC is the next day in Berlin", "ACME-DE", "2026-12-07T23:30:00Z", "2026-12-11T23:00:00Z"},
		{"T+0 on a business day", "ACME-BR", "2018-11-01T12:00:00Z", "2018-11-02T03:00:00Z"},
		{"T+0 on a Saturday: Monday's end", "ACME-BR", "2018-11-10T12:00:00Z", "2018-11-13T02:00:00Z"},
	} {
		got, ok := c.MatchDeadline(row.entity, at(t, row.failed))
		if !ok || !got.Equal(at(t, row.want)) || got.Location() != time.UTC {
			t.Errorf("%s: got %v %v, want %s", row.name, got, ok, row.want)
		}
	}
	for _, entity := range []string{"ACME-US", ""} {
		if got, ok := c.MatchDeadline(entity, time.Now()); ok {
			t.Errorf("entity %q has no window, got %v", entity, got)
		}
	}
}

func TestADayWhoseMidnightDoesNotExistBeginsWhenTheClocksHaveMoved(t *testing.T) {
	// São Paulo set its clocks forward at midnight on Tuesday 2 November 2004: Monday ended at 03:00 UTC, not an hour earlier.
	got, ok := load(t).MatchDeadline("ACME-BR", at(t, "2004-11-01T12:00:00Z"))
	if want := at(t, "2004-11-02T03:00:00Z"); !ok || !got.Equal(want) {
		t.Errorf("got %v %v, want %v", got, ok, want)
	}
}

func TestEveryDayOfACalendarLiesInExactlyOnePeriodAndNoneOutside(t *testing.T) {
	c := load(t)
	now := at(t, "2026-12-15T12:00:00Z")
	lengths := map[string]int{}
	for day := at(t, "2026-08-01T00:00:00Z"); day.Before(at(t, "2027-03-01T00:00:00Z")); day = day.AddDate(0, 0, 1) {
		lengths[c.Standing("ACME-DE", day.Format(time.DateOnly), now).Period]++
	}
	want := map[string]int{"2026-09": 30, "2026-10": 31, "2026-11": 30, "2026-12": 31, "2027-01": 31, "": 31 + 28}
	if !maps.Equal(lengths, want) {
		t.Errorf("got %v, want %v", lengths, want)
	}
}
