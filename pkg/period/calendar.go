// Package period holds the accounting calendar: one file that says for every ledger entity which periods are open.
//
// Promise: consumer and replayer ask the same calendar the same question and get the same answer, with the fact behind
// it; a file with a mistake is refused whole, and every mistake in it is named at once.
package period

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
	_ "time/tzdata" // period edges are local midnights: the zones travel with the binary

	"github.com/goccy/go-yaml/ast"
)

// Calendar is one loaded calendar file. It never changes and may be asked by any number of goroutines.
// A nil *Calendar means that none is configured: nothing is refused for its period.
type Calendar struct {
	name     string
	revision string
	digest   string
	entities map[string]rule
	fallback *rule // nil: entities that the file does not name are Unknown
}

// rule is what the file says about one entity.
type rule struct {
	book   *book
	window int // business days until the matching window closes, -1 for none
}

// book is one `calendars` entry: a zone, its holidays and the periods in order.
type book struct {
	id       string
	zone     *time.Location
	holidays map[string]bool
	spans    []span // ordinary ones, ascending, without gaps or overlaps
	special  []span // adjustment periods: never chosen by a date
}

// span is one period. Its days are inclusive and compared as text: YYYY-MM-DD sorts as dates do.
type span struct {
	id       string
	from, to string
	state    string    // as in the file: future, open, closing, closed, sealed
	hard     time.Time // hard_close_at; zero for none
}

// Load reads a calendar file, YAML or JSON; name is only used to say which file a mistake is in. A file with mistakes,
// unknown keys and unreal dates among them, is refused with all of them, each with its line and path.
func Load(name string, b []byte) (*Calendar, error) {
	r := &reader{anchors: map[string]ast.Node{}}
	c := r.calendar(b)
	if err := r.verdict(name); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b)
	c.name, c.digest = name, hex.EncodeToString(sum[:])
	return c, nil
}

// Name is the name given to Load, empty without a calendar.
func (c *Calendar) Name() string {
	if c == nil {
		return ""
	}
	return c.name
}

// Revision is the file's own revision, as evidence and reports show it; empty without a calendar.
func (c *Calendar) Revision() string {
	if c == nil {
		return ""
	}
	return c.revision
}

// Digest is the SHA-256 of the file's bytes, 64 hex digits; empty without a calendar.
func (c *Calendar) Digest() string {
	if c == nil {
		return ""
	}
	return c.digest
}

// rule finds what the file says about an entity, by name or by default; nil when it says nothing.
func (c *Calendar) rule(entity string) *rule {
	if c == nil {
		return nil
	}
	if r, ok := c.entities[entity]; ok {
		return &r
	}
	return c.fallback
}

// zone is the zone in which the entity's days begin; UTC where the calendar does not say.
func (c *Calendar) zone(entity string) *time.Location {
	if r := c.rule(entity); r != nil {
		return r.book.zone
	}
	return time.UTC
}
