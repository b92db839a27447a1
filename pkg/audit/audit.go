// Package audit keeps the evidence: a hash chain of what one process did, written to the audit topic, and the fold that
// proves from the topics that every record that came in is accounted for.
//
// Its promise: nil from Append means that the broker has acknowledged the evidence, so what it covers may be marked;
// and no byte of it can be changed, taken out or put in later without the verifier naming the place.
// What it cannot see alone is a tail cut off: whoever holds the topic can drop the last records of a chain, and they
// leave no gap. The successor's genesis record names its predecessor's head, which closes that for every chain but the
// last of its instance; for that one a head kept in another place is needed.
package audit

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/envelope"
)

// Version is the audit_version that is written, and the only one that Decode reads.
const Version = 1

// domain separates these hashes from all others: no other document of the service begins with it.
const domain = "recon.audit/v1\n"

// ErrClosed is what Append answers once Close was called.
var ErrClosed = errors.New("audit chain is closed: nothing more can be written to it")

// Producer writes records; *kgo.Client is one. An error given to done means unknown, never "not written".
// The client must place records by their key, or a chain would lie in several partitions.
type Producer interface {
	Produce(ctx context.Context, r *kgo.Record, done func(*kgo.Record, error))
}

// Head names the last record of a chain: who knows it can tell whether the chain was cut or rewritten since.
// The zero value is no head.
type Head struct {
	Chain string
	Seq   int64
	Hash  string    // of the record's bytes, 64 hex digits
	At    time.Time // when the record was made, by the clock of its writer
}

// Hash is the hash of one record: SHA-256 over the domain tag `recon.audit/v1`, a line feed, and exactly the bytes that
// were published, as 64 hex digits. Nothing is ever marshalled anew to verify it.
func Hash(value []byte) string {
	sum := sum256(value)
	return hex.EncodeToString(sum[:])
}

func sum256(parts ...[]byte) (sum [sha256.Size]byte) {
	h := sha256.New()
	h.Write([]byte(domain))
	for _, p := range parts {
		h.Write(p)
	}
	h.Sum(sum[:0])
	return sum
}

// RootHash is what one root adds to a hash total: the first 8 bytes, big-endian, of the SHA-256 of its coordinates
// as text. Sums of it wrap at 2⁶⁴ (CONTRACT 9).
func RootHash(root envelope.Coordinates) uint64 {
	var space [128]byte
	sum := sha256.Sum256(root.AppendText(space[:0]))
	return binary.BigEndian.Uint64(sum[:8])
}
