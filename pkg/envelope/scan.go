package envelope

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// member is one member's value as it lies in the record. The kind is the first byte of the JSON value, with all
// numbers as '0'; 0 is absent. For strings raw is what stands between the quotes.
type member struct {
	raw     []byte
	kind    byte
	escaped bool
}

// scanner reads one JSON object in a single pass without copying. It accepts exactly what RFC 8259 with RFC 7493's
// rules on names and UTF-8 accepts: FuzzMessage holds it against jsontext, which is three times slower here.
type scanner struct {
	b []byte
	i int

	members [fieldCount]member
	cased   string // a known name in wrong letter case, as it was written
	unknown names
}

// names are the unknown names seen so far; a message has a handful, an attack may have many.
type names struct {
	few  [16][]byte
	n    int
	many map[string]struct{}
}

// add reports whether name is new.
func (u *names) add(name []byte) bool {
	for _, seen := range u.few[:min(u.n, len(u.few))] {
		if bytes.Equal(seen, name) {
			return false
		}
	}
	if u.n < len(u.few) {
		u.few[u.n] = name
		u.n++
		return true
	}
	if _, seen := u.many[string(name)]; seen {
		return false
	}
	if u.many == nil {
		u.many = make(map[string]struct{})
	}
	u.many[string(name)] = struct{}{}
	return true
}

// object reads the whole value: one object and nothing after it.
func (s *scanner) object() error {
	if s.space(); s.i == len(s.b) {
		return errors.New("the value is empty")
	}
	if s.b[s.i] != '{' {
		return s.notAnObject()
	}
	s.i++
	if s.space(); s.next('}') {
		return s.end()
	}
	for {
		if err := s.member(); err != nil {
			return err
		}
		s.space()
		switch {
		case s.next(','):
			s.space()
		case s.next('}'):
			return s.end()
		default:
			return s.unexpected("a comma or } after a member")
		}
	}
}

// notAnObject tells JSON of another kind from what is no JSON at all.
func (s *scanner) notAnObject() error {
	if jsontext.Value(s.b).IsValid() {
		return errors.New("the value is JSON but not an object")
	}
	return errors.New("the value is not JSON")
}

// end makes sure that nothing but white space follows.
func (s *scanner) end() error {
	if s.space(); s.i < len(s.b) {
		return fmt.Errorf("data after the object at byte %d", s.i)
	}
	return nil
}

// member reads `"name": value`.
func (s *scanner) member() error {
	name, err := s.string()
	if err != nil {
		return fmt.Errorf("a member name: %w", err)
	}
	key := name.text()
	f := fieldNamed(key)
	if f == fieldUnknown {
		if !s.unknown.add(key) {
			return fmt.Errorf("a name stands twice before byte %d", s.i)
		}
		if s.cased == "" && fieldFolded(key) != fieldUnknown {
			s.cased = string(key)
		}
	} else if s.members[f].kind != 0 {
		return fmt.Errorf("%s stands twice", fieldNames[f])
	}
	if s.space(); !s.next(':') {
		return s.unexpected("a colon after a member name")
	}
	s.space()
	v, err := s.value()
	if f != fieldUnknown {
		s.members[f] = v
	}
	return err
}

// value reads any JSON value.
func (s *scanner) value() (member, error) {
	if s.i == len(s.b) {
		return member{}, s.unexpected("a value")
	}
	switch c := s.b[s.i]; c {
	case '"':
		return s.string()
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	case '{', '[':
		return s.composite()
	default:
		if c == '-' || isDigit(c) {
			return s.number()
		}
		return member{}, s.unexpected("a value")
	}
}

func (s *scanner) literal(word string) (member, error) {
	if !bytes.HasPrefix(s.b[s.i:], []byte(word)) {
		return member{}, s.unexpected("a value")
	}
	m := member{raw: s.b[s.i : s.i+len(word)], kind: word[0]}
	s.i += len(word)
	return m, nil
}

// number reads a number of RFC 8259; what may follow it is the caller's to check.
func (s *scanner) number() (member, error) {
	from := s.i
	s.next('-')
	if !s.next('0') && s.digits() == 0 {
		return member{}, s.unexpected("a digit")
	}
	if s.next('.') && s.digits() == 0 {
		return member{}, s.unexpected("a digit after the point")
	}
	if s.next('e') || s.next('E') {
		if !s.next('+') {
			s.next('-')
		}
		if s.digits() == 0 {
			return member{}, s.unexpected("a digit of the exponent")
		}
	}
	return member{raw: s.b[from:s.i], kind: '0'}, nil
}

func (s *scanner) digits() int {
	from := s.i
	for s.i < len(s.b) && isDigit(s.b[s.i]) {
		s.i++
	}
	return s.i - from
}

// composite skips an object or array, strictly, by the general decoder: messages of our own make have none.
func (s *scanner) composite() (member, error) {
	from := s.i
	dec := jsontext.NewDecoder(bytes.NewBuffer(s.b[from:]))
	if err := dec.SkipValue(); err != nil {
		return member{}, fmt.Errorf("a nested value that begins at byte %d is damaged or names a member twice", from)
	}
	s.i += int(dec.InputOffset())
	return member{raw: s.b[from:s.i], kind: s.b[from]}, nil
}

func (s *scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return
		}
	}
}

// next consumes c where it comes next.
func (s *scanner) next(c byte) bool {
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

func (s *scanner) unexpected(want string) error {
	if s.i == len(s.b) {
		return fmt.Errorf("the value ends at byte %d where %s should stand", s.i, want)
	}
	return fmt.Errorf("no %s at byte %d", want, s.i)
}
