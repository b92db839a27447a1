package dedup

import (
	"strings"
	"time"

	"recon/pkg/envelope"
)

// shelf holds the values of the in-process store: millions of them cost the garbage collector nothing but their
// hashes, since what it keeps has no pointers.
type shelf struct {
	index  map[string]int // slot of each hash
	slots  []entry
	free   []int // slots without a hash
	topics []string
	number map[string]int32 // of each topic
	recent int32            // number of the topic asked for last: most of the time the next one, too
}

// entry is a Value in 80 bytes.
type entry struct {
	time, expires       int64 // Unix milliseconds
	root, at            place
	generation, attempt int32
	digest              [maxDigest]byte // zeros after its end
	state               stateNumber
}

type place struct {
	offset    int64
	partition int32
	topic     int32
}

// stateNumber is a State as a number.
type stateNumber uint8

var states = [...]State{"", Claimed, Waiting, Dead, Posted, Settled}

func newShelf() shelf {
	return shelf{index: map[string]int{}, topics: []string{""}, number: map[string]int32{"": 0}}
}

// find gives the slot of hash, -1 where it has none, and whether what stands there has not run out.
func (s *shelf) find(hash string, now time.Time) (slot int, there bool) {
	slot, ok := s.index[hash]
	if !ok {
		return -1, false
	}
	return slot, s.slots[slot].expires > now.UnixMilli()
}

func (s *shelf) value(slot int) Value {
	e := &s.slots[slot]
	n := len(e.digest)
	for n > 0 && e.digest[n-1] == 0 {
		n--
	}
	return Value{
		State: states[e.state], Root: s.coordinates(e.root), Generation: int(e.generation), Attempt: int(e.attempt),
		Digest: string(e.digest[:n]), At: s.coordinates(e.at), Time: time.UnixMilli(e.time).UTC(),
	}
}

// put stores v in a slot that find gave. It copies the hash: the caller's may be a piece of a whole message.
func (s *shelf) put(hash string, slot int, v *Value, expires time.Time) {
	if slot < 0 {
		slot = s.take()
		s.index[strings.Clone(hash)] = slot
	}
	e := &s.slots[slot]
	*e = entry{
		time: v.Time.UnixMilli(), expires: expires.UnixMilli(), root: s.place(&v.Root), at: s.place(&v.At),
		generation: int32(v.Generation), attempt: int32(v.Attempt), state: numberOf(v.State),
	}
	copy(e.digest[:], v.Digest)
}

func (s *shelf) take() int {
	if n := len(s.free); n > 0 {
		slot := s.free[n-1]
		s.free = s.free[:n-1]
		return slot
	}
	s.slots = append(s.slots, entry{})
	return len(s.slots) - 1
}

// sweep takes away what has run out.
func (s *shelf) sweep(now time.Time) {
	ms := now.UnixMilli()
	for hash, slot := range s.index {
		if s.slots[slot].expires <= ms {
			delete(s.index, hash)
			s.free = append(s.free, slot)
		}
	}
}

func (s *shelf) place(c *envelope.Coordinates) place {
	if c.Topic != s.topics[s.recent] {
		n, ok := s.number[c.Topic]
		if !ok {
			n = int32(len(s.topics))
			topic := strings.Clone(c.Topic)
			s.topics, s.number[topic] = append(s.topics, topic), n
		}
		s.recent = n
	}
	return place{c.Offset, c.Partition, s.recent}
}

func (s *shelf) coordinates(p place) envelope.Coordinates {
	return envelope.Coordinates{Topic: s.topics[p.topic], Partition: p.partition, Offset: p.offset}
}

func numberOf(state State) stateNumber {
	for n, s := range states {
		if s == state {
			return stateNumber(n)
		}
	}
	return 0
}
