package period

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// format is the only version of the file that there is.
const format = "1"

// The states a period may have in the file.
const (
	inFuture  = "future"
	inOpen    = "open"
	inClosing = "closing"
	inClosed  = "closed"
	inSealed  = "sealed"
)

// matchingWindow is the form of `matching_window`: n business days after the day of the first failure.
var matchingWindow = regexp.MustCompile(`^T\+([0-9]{1,3}) business days$`)

// calendar reads the whole file.
func (r *reader) calendar(b []byte) *Calendar {
	root := r.root(b)
	if root == nil {
		return nil
	}
	f := r.fields(root, "", "version", "revision", "calendars", "entities", "default")
	if v := f.text("version"); v != "" && v != format {
		r.mistake(f.values["version"], "version", "this program reads version %s, the file says %s", format, v)
	}
	c := &Calendar{revision: f.text("revision"), entities: map[string]rule{}}
	books := r.books(f)
	for _, m := range r.members(f.values["entities"], "entities") {
		c.entities[m.key] = r.rule(m.value, "entities."+m.key, books)
	}
	if n := r.plain(f.values["default"], "default"); n != nil {
		c.fallback = &rule{book: r.fields(n, "default", "calendar").book(books), window: -1}
	}
	if len(c.entities) == 0 && c.fallback == nil {
		r.mistake(root, "entities", "no entity and no default is named: every record would be refused")
	}
	return c
}

// books reads all `calendars`, by id.
func (r *reader) books(f fields) map[string]*book {
	books := map[string]*book{}
	entries := f.list("calendars")
	if len(entries) == 0 {
		r.mistake(f.node, "calendars", "at least one calendar is needed")
	}
	for i, n := range entries {
		path := index("calendars", i)
		f := r.fields(n, path, "id", "timezone", "holidays", "periods")
		b := &book{id: f.text("id"), zone: f.zone("timezone"), holidays: f.days("holidays")}
		b.spans, b.special = f.periods(b.zone)
		if _, twice := books[b.id]; twice {
			r.mistake(n, path+".id", "two calendars are called %s", b.id)
		}
		books[b.id] = b
	}
	return books
}

// zone reads an IANA name. Neither an empty one nor Local will do: both would follow the machine, not the books.
func (f fields) zone(key string) *time.Location {
	name := f.text(key)
	if name == "" {
		return time.UTC
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		f.r.mistake(f.values[key], join(f.path, key), "%s is no zone of the IANA database, such as Europe/Berlin", name)
		return time.UTC
	}
	return zone
}

// days reads a list of dates.
func (f fields) days(key string) map[string]bool {
	set := map[string]bool{}
	for i, n := range f.list(key) {
		element := fields{r: f.r, node: n, path: f.path, values: map[string]ast.Node{index(key, i): n}}
		set[element.day(index(key, i))] = true
	}
	return set
}

// periods reads the periods and returns the ordinary ones in order, and the adjustment periods.
func (f fields) periods(zone *time.Location) (ordinary, special []span) {
	seen, sound := map[string]bool{}, true
	for i, n := range f.list("periods") {
		path := index(join(f.path, "periods"), i)
		p := f.r.fields(n, path, "id", "from", "to", "state", "soft_close_at", "hard_close_at", "adjustment")
		s, ok := p.span(zone)
		if seen[s.id] {
			f.r.mistake(n, path+".id", "two periods of this calendar are called %s", s.id)
		}
		seen[s.id] = s.id != ""
		if p.flag("adjustment") {
			special = append(special, s)
			continue
		}
		ordinary, sound = append(ordinary, s), sound && ok
	}
	if len(seen) == 0 {
		f.r.mistake(f.node, join(f.path, "periods"), "at least one period is needed")
	}
	slices.SortStableFunc(ordinary, func(a, b span) int { return strings.Compare(a.from, b.from) })
	if sound { // a day that cannot be read would only make gaps that are none
		f.contiguous(ordinary)
	}
	return ordinary, special
}

// span reads one period; ok is false when its days cannot be used to look for gaps.
func (f fields) span(zone *time.Location) (s span, ok bool) {
	before := len(f.r.mistakes)
	s = span{id: f.text("id"), from: f.day("from"), to: f.day("to"), state: f.text("state")}
	if s.from != "" && s.to != "" && s.to < s.from {
		f.r.mistake(f.node, f.path, "ends on %s, before it begins on %s", s.to, s.from)
	}
	ok = len(f.r.mistakes) == before
	states := []string{inFuture, inOpen, inClosing, inClosed, inSealed}
	if s.state != "" && !slices.Contains(states, s.state) {
		f.r.mistake(f.values["state"], f.path+".state", "%s is no state; there are: %s", s.state, strings.Join(states, ", "))
	}
	soft := f.clock("soft_close_at", zone)
	s.hard = f.clock("hard_close_at", zone)
	if s.state == inClosing && f.values["hard_close_at"] == nil {
		f.r.mistake(f.node, f.path+".hard_close_at", "a closing period needs the moment at which it closes")
	}
	if !soft.IsZero() && !s.hard.IsZero() && s.hard.Before(soft) {
		f.r.mistake(f.node, f.path+".hard_close_at", "lies before soft_close_at")
	}
	return s, ok
}

// contiguous reports gaps and overlaps: in a gap a record would have no period, in an overlap two.
func (f fields) contiguous(ordered []span) {
	for i := 1; i < len(ordered); i++ {
		last, next := ordered[i-1], ordered[i]
		switch day := after(last.to, 1); {
		case next.from > day:
			f.r.mistake(f.node, join(f.path, "periods"), "between %s and %s the days %s to %s are in no period", last.id, next.id, day, after(next.from, -1))
		case next.from < day:
			f.r.mistake(f.node, join(f.path, "periods"), "%s and %s overlap from %s on; mark one as adjustment if that is meant", last.id, next.id, next.from)
		}
	}
}

// rule reads one entity.
func (r *reader) rule(n ast.Node, path string, books map[string]*book) rule {
	f := r.fields(n, path, "calendar", "matching_window")
	e := rule{book: f.book(books), window: -1}
	window := f.optional("matching_window")
	if window == "" {
		return e
	}
	m := matchingWindow.FindStringSubmatch(window)
	if m == nil {
		r.mistake(f.values["matching_window"], path+".matching_window", "%s is no window; write T+n business days", window)
		return e
	}
	e.window, _ = strconv.Atoi(m[1]) // three digits at most, the expression says
	return e
}

// book finds the calendar that an entity names.
func (f fields) book(books map[string]*book) *book {
	id := f.text("calendar")
	b, ok := books[id]
	if !ok && id != "" {
		f.r.mistake(f.values["calendar"], join(f.path, "calendar"), "no calendar is called %s", id)
	}
	return b
}

func index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// after is the day n days later, computed on civil dates: a day may have 23 hours, or not exist as 24 of them.
func after(day string, n int) string {
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return day
	}
	return t.AddDate(0, 0, n).Format(time.DateOnly)
}
