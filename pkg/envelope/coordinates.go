package envelope

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Coordinates name one record of one topic partition.
// A record's first coordinates on main are its root: the name under which it is counted, whatever happens to it later.
type Coordinates struct {
	Topic     string
	Partition int32
	Offset    int64
}

// CoordinatesOf says where a record that was read lies.
func CoordinatesOf(r *kgo.Record) Coordinates {
	return Coordinates{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}
}

// Compare orders coordinates by topic, partition and offset.
func (c Coordinates) Compare(other Coordinates) int {
	return cmp.Or(strings.Compare(c.Topic, other.Topic), cmp.Compare(c.Partition, other.Partition), cmp.Compare(c.Offset, other.Offset))
}

// String gives `topic/partition@offset`, the form of headers, letters, dedup values and ids.
func (c Coordinates) String() string {
	b := make([]byte, 0, len(c.Topic)+24)
	return string(c.AppendText(b))
}

// AppendText appends the form of String to b.
func (c Coordinates) AppendText(b []byte) []byte {
	b = append(b, c.Topic...)
	b = append(b, '/')
	b = strconv.AppendInt(b, int64(c.Partition), 10)
	b = append(b, '@')
	return strconv.AppendInt(b, c.Offset, 10)
}

// IsZero tells whether c names no record at all.
func (c Coordinates) IsZero() bool { return c == Coordinates{} }

// ParseCoordinates reads the form of String. Topic names hold neither `/` nor `@` on Kafka, so the form is unambiguous.
// Signs, leading zeros and blanks are refused, and topic names that Kafka refuses: one record has one spelling.
func ParseCoordinates(s string) (Coordinates, error) {
	topic, rest, ok := strings.Cut(s, "/")
	part, off, ok2 := strings.Cut(rest, "@")
	if !ok || !ok2 || !isTopic(topic) {
		return Coordinates{}, fmt.Errorf("coordinates %q: want topic/partition@offset", clip(s))
	}
	p, err := parseNatural(part, 32)
	if err != nil {
		return Coordinates{}, fmt.Errorf("coordinates %q: partition: %w", clip(s), err)
	}
	o, err := parseNatural(off, 64)
	if err != nil {
		return Coordinates{}, fmt.Errorf("coordinates %q: offset: %w", clip(s), err)
	}
	return Coordinates{Topic: topic, Partition: int32(p), Offset: o}, nil
}

// isTopic tells whether Kafka would take s as a topic name: 1 to 249 of a-z, A-Z, 0-9, dot, underscore and hyphen.
func isTopic(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'z') && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return s != "" && len(s) <= 249
}

// clip keeps what an error repeats short: s comes from outside.
func clip(s string) string { return s[:min(len(s), 80)] }

// parseNatural reads a decimal number from 0 that has exactly one spelling.
func parseNatural(s string, bits int) (int64, error) {
	n, err := strconv.ParseInt(s, 10, bits)
	if err != nil {
		return 0, fmt.Errorf("%q: %w", clip(s), errors.Unwrap(err))
	}
	if n < 0 || strconv.FormatInt(n, 10) != s {
		return 0, fmt.Errorf("%q is not a plain number from 0", clip(s))
	}
	return n, nil
}
