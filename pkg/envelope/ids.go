package envelope

import (
	"crypto/sha1"
	"strconv"

	"github.com/google/uuid"
)

// Namespace is the UUIDv5 namespace of every id of the service: UUIDv5(URL namespace, "recon/v1").
var Namespace = uuid.NewSHA1(uuid.NameSpaceURL, []byte("recon/v1"))

// MessageID is the id of a message that brings none: the same for every redelivery, since the root never changes.
func MessageID(root Coordinates) string {
	b := nameOf("message")
	return b.coordinates(root).id()
}

// EnvelopeID is the id of the letter that generation of root may have: writing a letter twice gives the same id.
func EnvelopeID(root Coordinates, generation int) string {
	b := nameOf("envelope")
	return b.coordinates(root).number(generation).id()
}

// ReplayID is the id of the one replay that a letter may have: every repeat carries it, so repeats collapse.
func ReplayID(envelopeID string) string {
	b := nameOf("replay")
	return b.text(envelopeID).id()
}

// EventID is the id of an audit event. attempt is part of it for `retry_scheduled`, and below 0 where it is not.
func EventID(root Coordinates, generation int, outcome string, attempt int) string {
	b := nameOf("event")
	b.coordinates(root).number(generation).text(outcome)
	if attempt >= 0 {
		b.number(attempt)
	}
	return b.id()
}

// DispositionID is the event id of a disposition. runOrReplayID is the replay id where the change belongs to the one
// replay of the letter (so that a second run repeats the same event), else the run id.
func DispositionID(envelopeID string, state State, runOrReplayID string) string {
	b := nameOf("disposition")
	return b.text(envelopeID).text(string(state)).text(runOrReplayID).id()
}

// name is what is hashed: the namespace, the kind, and the parts, each after a line feed.
// The parts hold no line feed of their own (UUIDs, numbers, Kafka topic names, outcomes), so two lists never meet.
type name struct {
	buf   []byte
	space [256]byte // enough for a long topic name: no allocation on the hot path
}

func nameOf(kind string) *name {
	n := new(name)
	n.buf = append(n.space[:0], Namespace[:]...)
	n.buf = append(n.buf, kind...)
	return n
}

func (n *name) text(s string) *name {
	n.buf = append(n.buf, '\n')
	n.buf = append(n.buf, s...)
	return n
}

func (n *name) number(i int) *name {
	n.buf = append(n.buf, '\n')
	n.buf = strconv.AppendInt(n.buf, int64(i), 10)
	return n
}

func (n *name) coordinates(c Coordinates) *name {
	n.buf = append(n.buf, '\n')
	n.buf = c.AppendText(n.buf)
	return n
}

// id gives the UUIDv5 (RFC 9562, section 5.5) of the name, lower-case with hyphens.
func (n *name) id() string {
	sum := sha1.Sum(n.buf)
	var u uuid.UUID
	copy(u[:], sum[:])
	u[6] = u[6]&0x0f | 0x50
	u[8] = u[8]&0x3f | 0x80
	return u.String()
}
