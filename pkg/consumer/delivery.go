package consumer

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/dedup"
	"recon/pkg/envelope"
)

// step is where a delivery stands on its way. It only moves forward, but for a claim that was lost.
type step uint8

const (
	stepAdmitted step = iota // in the window, held or queued
	stepClaim                // asked of the store
	stepLane                 // claimed; waits for its key, then for a goroutine
	stepHandle               // the handler has it
	stepWrite                // its copy or letter is on the way to the broker
	stepSettle               // its outcome is on the way to the store
	stepReport               // its disposition is on the way to the broker
	stepDone                 // its outcome is in the window
)

// delivery is one record on its way through the loop. The loop owns it, but for the time between push and the answer,
// when the handler's goroutine does.
type delivery struct {
	part *partition
	slot slot
	at   envelope.Coordinates

	key, value []byte
	own        []kgo.RecordHeader // the record's own headers, in order, ours taken out
	epoch      int32
	stamp      time.Time

	retry envelope.Retry // from the headers on a tier; made at dispatch on main
	msg   *envelope.Message
	bad   error // why the value could not be decoded

	step     step
	claim    dedup.Claim
	stored   dedup.Value // what the store held when the claim was not granted
	claimed  time.Time   // when the claim was last written; zero: no claim is held
	lost     bool        // the claim is somebody else's by now
	began    time.Time   // when the handler began
	took     time.Duration
	ended    time.Time // when its outcome went into the window
	err      error     // what the handler said
	route    *route    // where it goes when it failed; nil: nowhere yet
	ending   ending
	writes   int // writes of this step that did not succeed
	older    *delivery
	newer    *delivery
	parked   bool // its write failed and is tried again
	counted  bool // among those handled and not yet settled
	occupies bool // holds the place of its hash in this process
}

// claimable tells whether the record has an identity to claim and settle: whether its value could be decoded.
func (d *delivery) claimable() bool { return d.bad == nil }

// detach copies key, value and headers out of the fetched batch, which a record would otherwise pin as a whole while
// it waits, and returns the bytes that it occupies now.
func (d *delivery) detach() int {
	var size int
	d.key, d.value, d.own, size = copied(d.key, d.value, d.own)
	return size + deliverySize + len(d.own)*headerSize
}

// copied gives key, value and headers in a memory of their own, nulls kept, and its size in bytes.
func copied(key, value []byte, own []kgo.RecordHeader) (k, v []byte, hs []kgo.RecordHeader, size int) {
	size = len(key) + len(value)
	for _, h := range own {
		size += len(h.Key) + len(h.Value)
	}
	block := make([]byte, 0, size)
	move := func(b []byte) []byte {
		if b == nil {
			return nil
		}
		from := len(block)
		block = append(block, b...)
		return block[from:len(block):len(block)]
	}
	k, v, hs = move(key), move(value), make([]kgo.RecordHeader, len(own))
	for i, h := range own {
		hs[i] = kgo.RecordHeader{Key: string(move([]byte(h.Key))), Value: move(h.Value)}
	}
	return k, v, hs, size
}

// What a waiting delivery occupies beside its bytes: the struct with its retry state and the entries in heap and
// window; a header's two slices. Measured with BenchmarkHoldMemory, rounded up.
const (
	deliverySize = 1200
	headerSize   = 48
)

// untrust turns a record whose replay headers the store did not believe into what it is: a new record of main.
func (d *delivery) untrust(now time.Time) {
	d.retry = firstSeen(d.at, d.retry.OriginRecord, now.UTC())
	d.decode() // ids that the body does not bring come from the root
}

// firstSeen is the retry state of a record that is seen on main for the first time.
func firstSeen(at envelope.Coordinates, as envelope.Recorded, now time.Time) envelope.Retry {
	return envelope.Retry{Root: at, Origin: at, OriginRecord: as, FirstSeen: now}
}

// recorded is what the broker keeps of r beside its bytes.
func recorded(r *kgo.Record) envelope.Recorded {
	o := envelope.OriginOf(r)
	return envelope.Recorded{LeaderEpoch: o.LeaderEpoch, TimestampMS: o.TimestampMS, TimestampType: o.TimestampType}
}
