package envelope_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"testing"

	"recon/pkg/envelope"
)

// digestByHand is CONTRACT 2's sentence, once more. A nil part is absent.
func digestByHand(parts ...any) string {
	h := sha256.New()
	for _, p := range parts {
		s, ok := p.(string)
		n := uint32(len(s))
		if !ok {
			n = 0xFFFFFFFF
		}
		_ = binary.Write(h, binary.BigEndian, n)
		h.Write([]byte(s))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func TestDigestIsTheContracts(t *testing.T) {
	rows := []struct {
		value []byte
		want  string
	}{
		{message(), digestByHand("DE01", "EUR", "10.5", nil, nil, "false")},
		{message("reversal", "false", "amount", `"10.5"`), digestByHand("DE01", "EUR", "10.5", nil, nil, "false")},
		{message("amount", `"10"`), digestByHand("DE01", "EUR", "10", nil, nil, "false")},
		{message("amount", `"0.00"`), digestByHand("DE01", "EUR", "0", nil, nil, "false")},
		{message("amount", `"-10.10"`, "reversal", "true"), digestByHand("DE01", "EUR", "-10.1", nil, nil, "true")},
		{message("booking_date", `"2026-01-31"`), digestByHand("DE01", "EUR", "10.5", "2026-01-31", nil, "false")},
		{message("value_date", `"2026-01-31"`), digestByHand("DE01", "EUR", "10.5", nil, "2026-01-31", "false")},
		{message("ledger_entity", `"\u00e9"`, "value_date", `"2026-01-31"`), digestByHand("é", "EUR", "10.5", nil, "2026-01-31", "false")},
		// What does not belong to the transaction does not change its digest.
		{message("message_id", `"0b0f6c1e-8e0c-4a53-9a3f-0d8a7c1f2e11"`, "source_hash", `"hash-0002"`, "match_decision", `"PARTIAL"`, "x", "1"), digestByHand("DE01", "EUR", "10.5", nil, nil, "false")},
		{message("ledger_entity", `"`+longEntity+`"`, "amount", `"-999999999999999999.99"`, "booking_date", `"2026-01-31"`, "value_date", `"2026-01-31"`), digestByHand(longEntity, "EUR", "-999999999999999999.99", "2026-01-31", "2026-01-31", "false")},
	}
	for _, r := range rows {
		m, err := envelope.Decode(r.value, nil)
		if err != nil {
			t.Fatalf("%s: %v", r.value, err)
		}
		if m.Digest != r.want {
			t.Errorf("%s: got %s, want %s", r.value, m.Digest, r.want)
		}
		if got := envelope.DigestOf(m); got != r.want {
			t.Errorf("%s: DigestOf: got %s, want %s", r.value, got, r.want)
		}
	}
}

// 64 characters of four bytes each: the longest entity there is.
const longEntity = "😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀"

// The value is public (ledgers, dedup store, Recon-Digest): it never changes.
func TestDigestOfVersionOneNeverChanges(t *testing.T) {
	m, err := envelope.Decode(typical, nil)
	if want := "b1bc131460918b4d"; err != nil || m.Digest != want {
		t.Errorf("got %s, %v, want %s", m.Digest, err, want)
	}
}
