package period

import "time"

// BusinessDay tells whether the day, YYYY-MM-DD, is one for the entity: Monday to Friday and no holiday of its
// calendar. Without a calendar, or for an entity that it does not name, every Monday to Friday is one. Text that is no
// date is none.
func (c *Calendar) BusinessDay(entity, day string) bool {
	t, err := time.Parse(time.DateOnly, day)
	if err != nil || t.Weekday() == time.Saturday || t.Weekday() == time.Sunday {
		return false
	}
	r := c.rule(entity)
	return r == nil || !r.book.holidays[day]
}

// MatchDeadline is the end of the entity's matching window for a record that failed first at the moment failed: the
// end, in the entity's zone, of the n-th business day after that day. ok is false when the calendar gives no window.
func (c *Calendar) MatchDeadline(entity string, failed time.Time) (deadline time.Time, ok bool) {
	r := c.rule(entity)
	if r == nil || r.window < 0 {
		return time.Time{}, false
	}
	day := failed.In(r.book.zone).Format(time.DateOnly)
	for left := r.window; left > 0 || !c.BusinessDay(entity, day); {
		day = after(day, 1)
		if c.BusinessDay(entity, day) {
			left--
		}
	}
	return begin(after(day, 1), r.book.zone).UTC(), true
}

// begin is the first moment of a day. Where clocks are set forward at midnight that is one o'clock, not the last hour
// of the day before, which is what time.Date makes of a midnight that does not exist.
func begin(day string, zone *time.Location) time.Time {
	t, err := time.ParseInLocation(time.DateOnly, day, zone)
	for err == nil && t.Format(time.DateOnly) < day {
		t = t.Add(30 * time.Minute)
	}
	return t
}
