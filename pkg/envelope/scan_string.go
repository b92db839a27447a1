package envelope

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// string reads a string and checks its escapes and its UTF-8.
func (s *scanner) string() (member, error) {
	if !s.next('"') {
		return member{}, s.unexpected("a string")
	}
	b, i := s.b, s.i
	m := member{kind: '"'}
	for i < len(b) {
		switch c := b[i]; {
		case plain[c]:
			i++
		case c == '"':
			m.raw = b[s.i:i]
			s.i = i + 1
			return m, nil
		case c == '\\':
			n := escapeLen(b[i:])
			if n == 0 {
				return member{}, fmt.Errorf("an escape that is none at byte %d", i)
			}
			m.escaped = true
			i += n
		case c < utf8.RuneSelf:
			return member{}, fmt.Errorf("a control character in a string at byte %d", i)
		default:
			r, n := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && n == 1 {
				return member{}, fmt.Errorf("invalid UTF-8 at byte %d", i)
			}
			i += n
		}
	}
	return member{}, errors.New("a string that does not end")
}

// plain are the bytes that stand for themselves in a JSON string.
var plain = func() (t [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// escapeLen measures the escape that b begins with; a surrogate pair is one. 0: not an escape.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		switch r := hex4(b); {
		case r < 0 || 0xDC00 <= r && r < 0xE000:
			return 0
		case r < 0xD800 || r >= 0xE000:
			return 6
		}
		if low := hex4(b[6:]); 0xDC00 <= low && low < 0xE000 {
			return 12
		}
	}
	return 0
}

// hex4 reads `\uXXXX`; below 0 when b does not begin so.
func hex4(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	var r rune
	for _, c := range b[2:6] {
		switch {
		case isDigit(c):
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return -1
		}
	}
	return r
}

// text is the content of a string member, with its escapes resolved.
func (m member) text() []byte {
	if !m.escaped {
		return m.raw
	}
	quoted := make([]byte, 0, len(m.raw)+2)
	quoted = append(append(append(quoted, '"'), m.raw...), '"')
	b, err := jsontext.AppendUnquote(make([]byte, 0, len(m.raw)), quoted)
	if err != nil { // string has checked the escapes
		panic("envelope: unquote of a checked string: " + err.Error())
	}
	return b
}
