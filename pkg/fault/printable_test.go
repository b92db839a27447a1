package fault_test

import (
	"testing"

	"recon/pkg/fault"
)

func TestNothingPrintedSteersATerminal(t *testing.T) {
	for text, want := range map[string]string{
		"Müller & Söhne, 12,50 €":        "Müller & Söhne, 12,50 €",
		"a\nb":                           "a\nb",
		"\x1b[2Ja\r\tb\x00":              "\uFFFD[2Ja\uFFFD\uFFFDb\uFFFD",
		"\u009b31m \u202e \u200b \u2028": "\uFFFD31m \uFFFD \uFFFD \uFFFD",
		"\xff":                           "\uFFFD",
	} {
		if got := fault.Printable(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
