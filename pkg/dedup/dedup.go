// Package dedup is the one memory that all consumers and replayers share. Its promise: of all records that carry one
// source_hash, one at a time is at work, and what became of a hash is known for as long as the store is configured to
// keep it. A store that no longer knows says so; it never answers "new" because it forgot.
//
// There are two stores, Open for Redis and NewMemory for one process. Both only keep and compare values: every
// decision is a pure function of what is stored and what is asked (table.go, settle.go, reserve.go, mark.go).
package dedup

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Store is what both stores offer; all of it may be called from many goroutines. Who uses a part declares that part.
type Store interface {
	Claims
	Replays
	Lifetime
}

// Claims is the consumer's side. An error means that nothing is known about any item of the batch: some may have been
// written, and sending the same batch again is right (a claim finds itself and answers Resumed, a settlement repeats).
type Claims interface {
	// Claim asks for every record of the batch whether it may be handled now, and takes the hash for the lease where it
	// may. Answers come in the order of the batch; a hash that stands in it twice is judged in that order. Claiming again
	// from the same position renews the lease: Resumed, or Fresh where the lease had already run out.
	Claim(ctx context.Context, lease time.Duration, batch []Claim) ([]Answer, error)
	// Settle writes what became of claimed records, under the rules at Settlement. Where a rule keeps what is stored,
	// nothing is written and nothing is wrong.
	Settle(ctx context.Context, batch []Settlement) error
}

// Replays is the replayer's side.
type Replays interface {
	// Get tells what is stored for a hash, and whether anything is.
	Get(ctx context.Context, hash string) (Value, bool, error)
	// Reserved tells the replay id under which a letter was reserved, and whether it was.
	Reserved(ctx context.Context, hash, envelopeID string) (replayID string, ok bool, err error)
	// Reserve takes a letter for its one replay, in one step with the look at its hash.
	Reserve(ctx context.Context, r Reservation) (ReserveAnswer, error)
	// MarkSettled writes `settled` for the letter's root and generation: a person settled it, no record of this hash
	// may post any more.
	MarkSettled(ctx context.Context, m Mark) (MarkAnswer, error)
	// MarkDead writes `dead` with LastAttempt: late copies of this generation run no more, a corrected re-send may post.
	MarkDead(ctx context.Context, m Mark) (MarkAnswer, error)
	// Release turns `settled` of this root and generation back into what MarkDead writes.
	Release(ctx context.Context, m Mark) (MarkAnswer, error)
	// AcquireLease takes the lease of a replay run for owner, or answers ErrLeaseHeld with who holds it since when.
	AcquireLease(ctx context.Context, owner string) (*Lease, error)
}

// Lifetime begins and ends the use of a store.
type Lifetime interface {
	// Open reads, and for a group that has never committed an offset makes, the generation of the store; Claims and
	// Replays answer ErrNotOpen before. groupHasCommitted tells whether the consumer group has committed offsets,
	// fromStart accepts a group that has lost them. Besides ErrUnavailable it answers ErrMemoryLost, ErrGroupReset and
	// ErrEvicting. Opening again is allowed and never adopts another generation.
	Open(ctx context.Context, groupHasCommitted, fromStart bool) error
	// Join is Open for who reads and replays: it makes no generation. Where there is none, no consumer has begun with this
	// store, or it has lost its memory: ErrMemoryLost.
	Join(ctx context.Context, groupHasCommitted bool) error
	// MarkCommitted notes for ever that the group has committed an offset. Repeating it costs nothing.
	MarkCommitted(ctx context.Context) error
	// Ping answers nil where a Claim would be answered now, else what the Claim would answer.
	Ping(ctx context.Context) error
	// Close gives back connections. Values stay.
	Close() error
}

// Options are the same for both stores.
type Options struct {
	// Prefix begins every key. Default `recon`.
	Prefix string
	// TTL is how long what became of a hash is known. Default 30 days (720 h).
	TTL time.Duration
	// RunLease is how long a replay run's lease outlives its last renewal. Default 30 s.
	RunLease time.Duration
}

func (o Options) withDefaults() (Options, error) {
	if o.Prefix == "" {
		o.Prefix = "recon"
	}
	if o.TTL == 0 {
		o.TTL = 30 * 24 * time.Hour
	}
	if o.RunLease == 0 {
		o.RunLease = 30 * time.Second
	}
	switch {
	case !plain(o.Prefix) || strings.ContainsAny(o.Prefix, "{}"):
		return o, fmt.Errorf("dedup prefix %q: want visible ASCII characters without { and }", o.Prefix)
	case o.TTL < time.Second:
		return o, fmt.Errorf("dedup.ttl %s: want at least 1s", o.TTL)
	case o.RunLease < 10*time.Millisecond:
		return o, fmt.Errorf("lease of a replay run %s: want at least 10ms", o.RunLease)
	}
	return o, nil
}

// plain tells whether s is one word of visible ASCII: what a field of a stored value, or a key, may hold.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return s != ""
}
