package consumer_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"recon/pkg/consumer"
	"recon/pkg/envelope"
)

type typedNil struct{ what string }

func (e *typedNil) Error() string { return e.what }

// noCalendar panics when it is asked.
type noCalendar struct{ consumer.Periods }

// Whatever a handler or a calendar returns in place of an error: it is one letter, never the end of the process, and the
// record behind it posts.
func TestErrorsThatCannotBeReadAreLetters(t *testing.T) {
	cases := map[string]func(m *envelope.Message) error{
		"nil error of a type":    func(*envelope.Message) error { var e *typedNil; return e },
		"nil posting":            func(*envelope.Message) error { var p *envelope.AlreadyPosted; return p },
		"posting without root":   func(m *envelope.Message) error { return &envelope.AlreadyPosted{Digest: m.Digest, ID: "7"} },
		"posting without digest": func(m *envelope.Message) error { return &envelope.AlreadyPosted{Root: m.Root, ID: "7"} },
		"digest of another kind": func(m *envelope.Message) error {
			return &envelope.AlreadyPosted{Root: m.Root, Digest: "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}
		},
		"digest with a blank": func(m *envelope.Message) error { return &envelope.AlreadyPosted{Root: m.Root, Digest: "two words"} },
		"year 10001": func(m *envelope.Message) error {
			return &envelope.AlreadyPosted{Root: m.Root, Digest: m.Digest, At: time.Date(10001, 1, 1, 0, 0, 0, 0, time.UTC)}
		},
		"endless generation": func(m *envelope.Message) error {
			return &envelope.AlreadyPosted{Root: m.Root, Digest: m.Digest, Generation: 1 << 40}
		},
		"posting of generation -1": func(m *envelope.Message) error {
			return &envelope.AlreadyPosted{Root: m.Root, Digest: m.Digest, Generation: -1}
		},
	}
	for name, result := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, short)
				w.ledger.script = func(_ context.Context, m *envelope.Message) error {
					if m.SourceHash == "hash-000001" {
						return result(m)
					}
					return nil
				}
				m := w.start(nil)
				w.put(keyed(1, 1, "k"), keyed(2, 1, "k"))
				w.until(time.Minute, "letter and posting", func() bool { return w.count(consumer.DeadLettered) == 1 && w.ledger.posted() == 1 })
				w.until(time.Minute, "lag 0", func() bool { return w.lag() == 0 })
				m.end(t)
			})
		})
	}
	t.Run("calendar that panics", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, short)
			m := w.start([]func(*consumer.Config){func(c *consumer.Config) { c.Periods = noCalendar{windows{}} }})
			w.send(message(1))
			w.until(time.Minute, "the letter", func() bool { return w.count(consumer.DeadLettered) == 1 })
			m.end(t)
		})
	})
}

// Check is the one that panics.
func (noCalendar) Check(*envelope.Message, time.Time) error { panic("no calendar") }
