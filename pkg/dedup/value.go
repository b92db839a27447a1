package dedup

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"recon/pkg/envelope"
)

// State is what a hash is in.
type State string

// The states of a stored value, as they are written.
const (
	Claimed State = "claimed" // at work, for the length of a lease
	Waiting State = "waiting" // on a tier until its due time
	Dead    State = "dead"    // dead-lettered: this root and generation run no more
	Posted  State = "posted"  // in the ledger
	Settled State = "settled" // settled by a person: nothing of this hash posts
)

// LastAttempt is the attempt of a `dead` value that no late copy of its generation can be ahead of.
const LastAttempt = math.MaxInt32

// Value is what the store keeps for a hash.
type Value struct {
	State      State
	Root       envelope.Coordinates
	Generation int
	Attempt    int                  // 0 where the ledger named the owner, LastAttempt where a person ended the generation
	Digest     string               // empty where the message was not readable
	At         envelope.Coordinates // the record at work or last at work; zero where none is known
	Time       time.Time            // when it was written, or when the ledger posted; UTC, milliseconds
}

const (
	absent    = "-" // a field of a stored value that has no content
	stamp     = "2006-01-02T15:04:05.000Z"
	maxDigest = 16
)

// String gives the stored form: `<state> <root> <generation> <attempt> <digest> <position> <time>`.
func (v Value) String() string {
	return string(v.appendTime(v.appendBeforeTime(make([]byte, 0, 160))))
}

// appendBeforeTime appends everything up to and with the blank before the time: what a renewal leaves as it is.
func (v Value) appendBeforeTime(b []byte) []byte {
	b = append(append(b, v.State...), ' ')
	b = append(v.Root.AppendText(b), ' ')
	b = append(strconv.AppendInt(b, int64(v.Generation), 10), ' ')
	b = append(strconv.AppendInt(b, int64(v.Attempt), 10), ' ')
	if v.Digest == "" {
		b = append(b, absent...)
	}
	b = append(append(b, v.Digest...), ' ')
	if v.At.IsZero() {
		return append(append(b, absent...), ' ')
	}
	return append(v.At.AppendText(b), ' ')
}

func (v Value) appendTime(b []byte) []byte { return v.Time.UTC().AppendFormat(b, stamp) }

// ParseValue reads the stored form. Every value has exactly one spelling; any other text is an error, and never
// taken for nothing.
func ParseValue(s string) (Value, error) {
	f := strings.Split(s, " ")
	if len(f) != 7 {
		return Value{}, fmt.Errorf("dedup value %.200q: want 7 fields, found %d", s, len(f))
	}
	v := Value{State: State(f[0])}
	var errs [5]error
	v.Root, errs[0] = envelope.ParseCoordinates(f[1])
	v.Generation, errs[1] = parseCount(f[2])
	v.Attempt, errs[2] = parseCount(f[3])
	if f[4] != absent {
		v.Digest = f[4]
	}
	if f[5] != absent {
		v.At, errs[3] = envelope.ParseCoordinates(f[5])
	}
	v.Time, errs[4] = time.Parse(stamp, f[6])
	for _, err := range errs {
		if err != nil {
			return Value{}, fmt.Errorf("dedup value %.200q: %w", s, err)
		}
	}
	if err := v.check(); err != nil {
		return Value{}, fmt.Errorf("dedup value %.200q: %w", s, err)
	}
	if v.String() != s {
		return Value{}, fmt.Errorf("dedup value %.200q: not in its one spelling %q", s, v.String())
	}
	return v, nil
}

// check tells whether v can be written and read back as it is.
func (v *Value) check() error {
	switch v.State {
	case Claimed, Waiting, Dead, Posted, Settled:
	default:
		return fmt.Errorf("unknown state %q", v.State)
	}
	if y := v.Time.UTC().Year(); y < 0 || y > 9999 {
		return fmt.Errorf("time in the year %d: want 0 to 9999", y)
	}
	if v.Digest != "" {
		if err := checkDigest(v.Digest); err != nil {
			return err
		}
	}
	if !v.At.IsZero() {
		if err := checkPlace("position", &v.At, ""); err != nil {
			return err
		}
	}
	return checkLineage(&v.Root, v.Generation, v.Attempt, "")
}

// checkLineage refuses a root, generation and attempt that a stored value could not hold. known is a topic found good.
func checkLineage(root *envelope.Coordinates, generation, attempt int, known string) error {
	switch {
	case generation < 0 || generation > math.MaxInt32:
		return fmt.Errorf("generation %d: want 0 to %d", generation, math.MaxInt32)
	case attempt < 0 || attempt > LastAttempt:
		return fmt.Errorf("attempt %d: want 0 to %d", attempt, LastAttempt)
	default:
		return checkPlace("root", root, known)
	}
}

// checkPlace refuses coordinates that a stored value could not hold. known is a topic found good.
func checkPlace(what string, c *envelope.Coordinates, known string) error {
	good := c.Topic == known && known != "" || plain(c.Topic) && strings.IndexByte(c.Topic, '/') < 0
	if !good || c.Partition < 0 || c.Offset < 0 {
		return fmt.Errorf("%s %q: want coordinates of a record", what, c)
	}
	return nil
}

func checkDigest(digest string) error {
	if digest == absent || len(digest) > maxDigest || !plain(digest) {
		return fmt.Errorf("digest %.80q: want one word of at most %d visible ASCII characters", digest, maxDigest)
	}
	return nil
}

// checkHash refuses what would break the key's Cluster hash tag or its line in a log.
func checkHash(hash string) error {
	if !plain(hash) || strings.IndexByte(hash, '{') >= 0 || strings.IndexByte(hash, '}') >= 0 {
		return fmt.Errorf("source_hash %.200q: want visible ASCII characters without { and }", hash)
	}
	return nil
}

func parseCount(s string) (int, error) {
	n, err := strconv.ParseInt(s, 10, 32)
	return int(n), err
}
