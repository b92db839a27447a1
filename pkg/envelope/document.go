package envelope

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// ErrVersion says that a document carries a version that this program does not read: a newer one wrote it.
var ErrVersion = errors.New("a version that this program does not read")

// property is one member of a document of type T: what it is called, how it is written, how it is read.
// One list of properties is both the writer and the strict reader, so the two cannot drift apart.
type property[T any] struct {
	name  string
	write func(b []byte, v *T) ([]byte, error)
	read  func(dec *jsontext.Decoder, v *T) error
	omit  func(v *T) bool // nil: always written, and its absence is an error
}

// writeObject appends v as an object with its members in the order of props.
func writeObject[T any](b []byte, v *T, props []property[T]) ([]byte, error) {
	b = append(b, '{')
	first := true
	for i := range props {
		p := &props[i]
		if p.omit != nil && p.omit(v) {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(append(append(b, '"'), p.name...), '"', ':')
		var err error
		if b, err = p.write(b, v); err != nil {
			return b, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return append(b, '}'), nil
}

// readDocument reads b as one object and nothing after it: every member of props must be there unless it may be
// omitted, no other one may, none twice, all text valid UTF-8.
func readDocument[T any](b []byte, v *T, props []property[T]) error {
	dec := jsontext.NewDecoder(bytes.NewBuffer(b))
	if err := readObject(dec, v, props); err != nil {
		return err
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return errors.New("data after the document")
	}
	return nil
}

func readObject[T any](dec *jsontext.Decoder, v *T, props []property[T]) error {
	if err := expect(dec, '{'); err != nil {
		return err
	}
	var seen uint64 // no document has more than 64 members
	at := 0
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return damaged(err)
		}
		if at = indexOf(props, name.String(), at); at < 0 {
			return errors.New("a member that this version does not have")
		}
		if err := props[at].read(dec, v); err != nil {
			return fmt.Errorf("%s: %w", props[at].name, err)
		}
		seen |= 1 << at
		at++
	}
	if _, err := dec.ReadToken(); err != nil {
		return damaged(err)
	}
	for i := range props {
		if seen&(1<<i) == 0 && props[i].omit == nil {
			return fmt.Errorf("%s is missing", props[i].name)
		}
	}
	return nil
}

// indexOf finds a property; documents of our own make come in order, so it looks at the expected place first.
func indexOf[T any](props []property[T], name string, expected int) int {
	if expected < len(props) && props[expected].name == name {
		return expected
	}
	for i := range props {
		if props[i].name == name {
			return i
		}
	}
	return -1
}

// versioned makes a wrong version the error that is told, whatever else is wrong in such a document.
func versioned(b []byte, member string, version int, err error) error {
	if err == nil {
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(b))
	if expect(dec, '{') != nil {
		return err
	}
	for dec.PeekKind() == '"' {
		name, readErr := dec.ReadToken()
		if readErr != nil {
			return err
		}
		if name.String() != member {
			if dec.SkipValue() != nil {
				return err
			}
			continue
		}
		raw, readErr := dec.ReadValue()
		if n, convErr := strconv.Atoi(string(raw)); readErr == nil && convErr == nil && n != version {
			return fmt.Errorf("%s %d: %w (it reads %d)", member, n, ErrVersion, version)
		}
		return err
	}
	return err
}

// expect consumes the start of an object or array.
func expect(dec *jsontext.Decoder, kind jsontext.Kind) error {
	if got := dec.PeekKind(); got != kind && got != jsontext.KindInvalid {
		return mismatch(got, kindName(byte(kind)))
	}
	if _, err := dec.ReadToken(); err != nil {
		return damaged(err)
	}
	return nil
}

func mismatch(got jsontext.Kind, want string) error {
	return fmt.Errorf("is %s, want %s", kindName(byte(got)), want)
}

// damaged says where the JSON ends to be JSON, without repeating any of it.
func damaged(err error) error {
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return fmt.Errorf("a member name stands twice at byte %d", syntax.ByteOffset)
		}
		return fmt.Errorf("not valid JSON at byte %d", syntax.ByteOffset)
	}
	return errors.New("not valid JSON")
}

// readNull consumes a null if it comes next.
func readNull(dec *jsontext.Decoder) (bool, error) {
	if dec.PeekKind() != 'n' {
		return false, nil
	}
	if _, err := dec.ReadToken(); err != nil {
		return false, damaged(err)
	}
	return true, nil
}

func readText(dec *jsontext.Decoder) (string, error) {
	if kind := dec.PeekKind(); kind != '"' && kind != jsontext.KindInvalid {
		return "", mismatch(kind, "a string")
	}
	token, err := dec.ReadToken()
	if err != nil {
		return "", damaged(err)
	}
	return token.String(), nil
}

// readInteger takes whole numbers in plain digits only.
func readInteger(dec *jsontext.Decoder, least, most int64) (int64, error) {
	if kind := dec.PeekKind(); kind != '0' && kind != jsontext.KindInvalid {
		return 0, mismatch(kind, "a whole number")
	}
	raw, err := dec.ReadValue()
	if err != nil {
		return 0, damaged(err)
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("want a whole number from %d to %d", least, most)
	}
	return n, nil
}

// appendText appends s as a JSON string; what is not UTF-8 in it becomes U+FFFD.
func appendText(b []byte, s string) []byte {
	b, err := jsontext.AppendQuote(b, strings.ToValidUTF8(s, "\uFFFD"))
	if err != nil { // valid UTF-8 can always be quoted
		panic("envelope: quote: " + err.Error())
	}
	return b
}

var null = []byte("null")
