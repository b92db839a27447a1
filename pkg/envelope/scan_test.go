package envelope_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// The reader of messages is written by hand for its speed; the strict library is its oracle on thirty thousand
// texts that are nearly JSON. FuzzMessage goes on from here.
func TestReaderAcceptsExactlyWhatTheStrictLibraryAccepts(t *testing.T) {
	pieces := []string{
		`{`, `}`, `[`, `]`, `,`, `:`, `"`, `\`, ` `, "\n", "\t", "\x00", "\x1f", "\x7f", `"a"`, `"b"`, `"a":1`, `"b":"x"`, `"amount"`, `"\u0061"`, `"c":{"d":1,"d":2}`, `"c":[{}]`,
		`\u0041`, `\ud834\udd1e`, `\ud834`, `\udd1e`, `\uD83`, `\n`, `\/`, `\x`, "é", "😀", "\xff", "\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\uFEFF",
		`0`, `-`, `-0`, `01`, `1.5`, `.`, `1.`, `e`, `1e5`, `1E+`, `1e-07`, `+`, `true`, `tru`, `false`, `null`, `nul`, `NaN`, `Infinity`, `//`, `'`,
	}
	rng := rand.New(rand.NewPCG(5, 6))
	accepted := 0
	for range 30_000 {
		var b strings.Builder
		b.WriteString(`{`)
		switch rng.IntN(4) {
		case 0:
			b.WriteString(`"k":`)
		case 1:
			b.WriteString(`"k":"`)
		case 2:
			b.WriteString(`"k":1,`)
		}
		for range rng.IntN(6) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
		}
		b.WriteString([]string{`}`, `}`, `"}`, ``, `1}`}[rng.IntN(5)])
		text := []byte(b.String())
		_, err := envelope.Decode(text, nil)
		got, want := code(err) != fault.Undecodable, isStrictObject(text)
		if got != want {
			t.Fatalf("%q: read %v (%v), the library %v", text, got, err, want)
		}
		if got {
			accepted++
		}
	}
	if accepted < 1000 {
		t.Errorf("only %d of the texts were JSON: the pieces prove little", accepted)
	}
}
