package envelope

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// text is a string that is always there.
func text[T any, S ~string](name string, r rule, at func(*T) *S) property[T] {
	return property[T]{
		name: name,
		write: func(b []byte, v *T) ([]byte, error) {
			s := string(*at(v))
			if !r.ok(s) {
				return b, errors.New("want " + r.want)
			}
			return appendText(b, s), nil
		},
		read: func(dec *jsontext.Decoder, v *T) error {
			s, err := readText(dec)
			if err == nil && !r.ok(s) {
				err = errors.New("want " + r.want)
			}
			*at(v) = S(s)
			return err
		},
	}
}

// textOrNull is a string whose empty form is null.
func textOrNull[T any, S ~string](name string, r rule, at func(*T) *S) property[T] {
	return orNull(text(name, rule{r.want, func(s string) bool { return s != "" && r.ok(s) }}, at),
		func(v *T) bool { return *at(v) == "" })
}

// orNull makes null the form of what empty calls empty.
func orNull[T any](p property[T], empty func(*T) bool) property[T] {
	write, read := p.write, p.read
	p.write = func(b []byte, v *T) ([]byte, error) {
		if empty(v) {
			return append(b, null...), nil
		}
		return write(b, v)
	}
	p.read = func(dec *jsontext.Decoder, v *T) error {
		if isNull, err := readNull(dec); isNull || err != nil {
			return err
		}
		return read(dec, v)
	}
	return p
}

// number is a whole number from least to most.
func number[T any, N ~int | ~int32 | ~int64](name string, least, most int64, at func(*T) *N) property[T] {
	return property[T]{
		name: name,
		write: func(b []byte, v *T) ([]byte, error) {
			n := int64(*at(v))
			if n < least || n > most {
				return b, fmt.Errorf("%d, want %d to %d", n, least, most)
			}
			return strconv.AppendInt(b, n, 10), nil
		},
		read: func(dec *jsontext.Decoder, v *T) error {
			n, err := readInteger(dec, least, most)
			*at(v) = N(n)
			return err
		},
	}
}

// count is a number from 0 that fits everywhere.
func count[T any](name string, at func(*T) *int) property[T] {
	return number(name, 0, math.MaxInt32, at)
}

// version is the member that says by which rules the rest is read.
func version[T any](name string, n int) property[T] {
	return property[T]{
		name:  name,
		write: func(b []byte, _ *T) ([]byte, error) { return strconv.AppendInt(b, int64(n), 10), nil },
		read: func(dec *jsontext.Decoder, _ *T) error {
			_, err := readInteger(dec, int64(n), int64(n))
			return err
		},
	}
}

// moment is a time in TimeFormat.
func moment[T any](name string, at func(*T) *time.Time) property[T] {
	return property[T]{
		name: name,
		write: func(b []byte, v *T) ([]byte, error) {
			return append(appendTime(append(b, '"'), *at(v)), '"'), nil
		},
		read: func(dec *jsontext.Decoder, v *T) error {
			s, err := readText(dec)
			t, ok := ParseTime(s)
			if err == nil && !ok {
				err = errors.New("want a time such as 2026-01-31T09:00:00.000Z")
			}
			*at(v) = t
			return err
		},
	}
}

// momentOrNull is a time whose zero is null.
func momentOrNull[T any](name string, at func(*T) *time.Time) property[T] {
	return orNull(moment(name, at), func(v *T) bool { return at(v).IsZero() })
}

// millis is a duration in whole milliseconds; one that is negative (a clock was set back) is written as 0.
func millis[T any](name string, at func(*T) *time.Duration) property[T] {
	const most = math.MaxInt64 / int64(time.Millisecond)
	return property[T]{
		name: name,
		write: func(b []byte, v *T) ([]byte, error) {
			return strconv.AppendInt(b, max(0, at(v).Milliseconds()), 10), nil
		},
		read: func(dec *jsontext.Decoder, v *T) error {
			n, err := readInteger(dec, 0, most)
			*at(v) = time.Duration(n) * time.Millisecond
			return err
		},
	}
}

// coordinates is a record's place in the form of Coordinates.String.
func coordinates[T any](name string, at func(*T) *Coordinates) property[T] {
	return property[T]{
		name: name,
		write: func(b []byte, v *T) ([]byte, error) {
			s := at(v).String()
			if _, err := ParseCoordinates(s); err != nil {
				return b, err
			}
			return appendText(b, s), nil
		},
		read: func(dec *jsontext.Decoder, v *T) error {
			s, err := readText(dec)
			if err == nil {
				*at(v), err = ParseCoordinates(s)
			}
			return err
		},
	}
}

// object is a nested object.
func object[T, U any](name string, props []property[U], at func(*T) *U) property[T] {
	return property[T]{
		name:  name,
		write: func(b []byte, v *T) ([]byte, error) { return writeObject(b, at(v), props) },
		read:  func(dec *jsontext.Decoder, v *T) error { return readObject(dec, at(v), props) },
	}
}

// objectOrNull is a nested object whose nil is null.
func objectOrNull[T, U any](name string, props []property[U], at func(*T) **U) property[T] {
	p := object(name, props, func(v *T) *U {
		if *at(v) == nil {
			*at(v) = new(U)
		}
		return *at(v)
	})
	return orNull(p, func(v *T) bool { return *at(v) == nil })
}

// list is an array of objects; nil and empty are both [].
func list[T, U any](name string, props []property[U], at func(*T) *[]U) property[T] {
	return property[T]{
		name: name,
		write: func(b []byte, v *T) ([]byte, error) {
			b = append(b, '[')
			for i := range *at(v) {
				if i > 0 {
					b = append(b, ',')
				}
				var err error
				if b, err = writeObject(b, &(*at(v))[i], props); err != nil {
					return b, fmt.Errorf("entry %d: %w", i, err)
				}
			}
			return append(b, ']'), nil
		},
		read: func(dec *jsontext.Decoder, v *T) error {
			return readArray(dec, func(i int) error {
				var u U
				if err := readObject(dec, &u, props); err != nil {
					return fmt.Errorf("entry %d: %w", i, err)
				}
				*at(v) = append(*at(v), u)
				return nil
			})
		},
	}
}

// texts is an array of strings.
func texts[T any](name string, r rule, at func(*T) *[]string) property[T] {
	return property[T]{
		name: name,
		write: func(b []byte, v *T) ([]byte, error) {
			b = append(b, '[')
			for i, s := range *at(v) {
				if i > 0 {
					b = append(b, ',')
				}
				if !r.ok(s) {
					return b, fmt.Errorf("entry %d: want %s", i, r.want)
				}
				b = appendText(b, s)
			}
			return append(b, ']'), nil
		},
		read: func(dec *jsontext.Decoder, v *T) error {
			return readArray(dec, func(i int) error {
				s, err := readText(dec)
				if err == nil && !r.ok(s) {
					err = errors.New("want " + r.want)
				}
				if err != nil {
					return fmt.Errorf("entry %d: %w", i, err)
				}
				*at(v) = append(*at(v), s)
				return nil
			})
		},
	}
}

// readArray calls entry for each entry of an array.
func readArray(dec *jsontext.Decoder, entry func(i int) error) error {
	if err := expect(dec, '['); err != nil {
		return err
	}
	for i := 0; dec.PeekKind() != ']'; i++ {
		if err := entry(i); err != nil {
			return err
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return damaged(err)
	}
	return nil
}

// bytesOrNull is base64 (RFC 4648, section 4, with padding): nil is null and empty is "".
func bytesOrNull[T any](name string, at func(*T) *[]byte) property[T] {
	p := property[T]{
		name: name,
		write: func(b []byte, v *T) ([]byte, error) {
			b = base64.StdEncoding.AppendEncode(append(b, '"'), *at(v))
			return append(b, '"'), nil
		},
		read: func(dec *jsontext.Decoder, v *T) (err error) {
			*at(v), err = readBytes(dec)
			return err
		},
	}
	return orNull(p, func(v *T) bool { return *at(v) == nil })
}

// readBytes decodes the one spelling that a string of bytes has in base64. The result is never nil.
func readBytes(dec *jsontext.Decoder) ([]byte, error) {
	s, err := readText(dec)
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, base64.StdEncoding.DecodedLen(len(s)))
	b, err = base64.StdEncoding.Strict().AppendDecode(b, []byte(s))
	if err != nil || base64.StdEncoding.EncodedLen(len(b)) != len(s) { // line breaks would be skipped
		return nil, errors.New("want base64 with padding, without line breaks")
	}
	return b, nil
}
