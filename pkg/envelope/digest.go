package envelope

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// digestInput is what makes two messages the same transaction under one source_hash. Nil is absent.
type digestInput struct {
	entity, currency, amount, booking, value []byte // amount is canonical
	reversal                                 bool
}

// DigestOf is the digest of CONTRACT 2 for a message that was not decoded but made in the process: 16 hex digits of
// SHA-256 over entity, currency, canonical amount, booking date, value date and reversal. Empty texts are absent.
func DigestOf(m *Message) string {
	in := digestInput{
		entity: present(m.LedgerEntity), currency: present(m.Currency), amount: []byte(CanonicalAmount(m.Amount)),
		booking: present(m.BookingDate), value: present(m.ValueDate), reversal: m.Reversal,
	}
	var out [16]byte
	return string(in.appendHex(out[:0]))
}

func present(s string) []byte {
	if s == "" {
		return nil
	}
	return []byte(s)
}

// appendHex appends the digest. Each part is framed by its length, so no two lists of parts share their bytes.
func (in *digestInput) appendHex(b []byte) []byte {
	var space [384]byte // the longest valid message takes 337
	buf := space[:0]
	for _, part := range [...][]byte{in.entity, in.currency, in.amount, in.booking, in.value} {
		if part == nil {
			buf = binary.BigEndian.AppendUint32(buf, 0xFFFFFFFF)
			continue
		}
		buf = binary.BigEndian.AppendUint32(buf, uint32(len(part)))
		buf = append(buf, part...)
	}
	word := "false"
	if in.reversal {
		word = "true"
	}
	buf = binary.BigEndian.AppendUint32(buf, uint32(len(word)))
	buf = append(buf, word...)
	sum := sha256.Sum256(buf)
	return hex.AppendEncode(b, sum[:8])
}
