package replay_test

import (
	"bytes"
	"testing"

	"recon/pkg/replay"
)

// Whatever a file holds, reading it as a plan neither fails badly nor accepts what does not write back the same.
func FuzzDecodePlan(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `null`, `{"plan_version":1}`, `{"plan_version":1,"letters":[{"root":"a/0@0","gates":[{}]}],"totals":[{"debit":"1e9"}]}`,
		`{"plan_version":1,"id":"x","created_at":"2000-01-01T00:00:00.000Z","expires_at":"2000-01-01T00:00:00.000Z","totals":[],"letters":[]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := replay.DecodePlan(b)
		if p == nil {
			if err == nil {
				t.Fatal("neither a plan nor an error")
			}
			return
		}
		first, err := p.Encode()
		if err != nil {
			return // text that is no UTF-8 never comes out of the decoder
		}
		again, _ := replay.DecodePlan(first)
		if again == nil {
			t.Fatalf("what was written cannot be read: %s", first)
		}
		if second, err := again.Encode(); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("written twice it differs:\n%s\n%s", first, second)
		}
	})
}
