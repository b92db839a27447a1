package audit_test

import (
	"bytes"
	"os"
	"testing"

	"recon/pkg/audit"
	"recon/pkg/envelope"
)

// FuzzDecode: whatever lies in the audit topic, reading it ends, and what is read has its place and its own hash.
func FuzzDecode(f *testing.F) {
	chain, err := os.ReadFile(goldenChain)
	if err != nil {
		f.Fatal(err)
	}
	for _, v := range bytes.Split(chain, []byte("\n")) {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		r, err := audit.Decode(value)
		if err != nil {
			return
		}
		if r.Hash != audit.Hash(value) || r.Chain == "" || r.Seq < 0 || r.Part < 1 || r.Part > r.Parts {
			t.Errorf("got %+v of %q", r, value)
		}
		kinds := 0
		for _, is := range []bool{r.Genesis != nil, r.Entry != nil, r.Closing} {
			if is {
				kinds++
			}
		}
		if kinds != 1 {
			t.Errorf("%d kinds at once: %+v", kinds, r)
		}
		var v audit.Verifier
		if _, err := v.Add(envelope.Coordinates{}, value); err != nil {
			t.Errorf("the verifier reads it otherwise: %v", err)
		}
		v.Result()
	})
}
