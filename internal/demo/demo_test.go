package demo_test

import (
	"bytes"
	"strings"
	"testing"

	"recon/internal/demo"
)

// It opens sockets of loopback and lasts some seconds, so it belongs to the real suite; it needs no service.
func TestRealDemoTellsTheWholeLifeAndCloses(t *testing.T) {
	if testing.Short() {
		t.Skip("part of the real suite: it opens sockets")
	}
	var out bytes.Buffer
	if err := demo.Run(t.Context(), &out, demo.Options{}); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{
		"tiers: [200ms, 1s, 3s]", "waits on recon.retry.", "RATE_NOT_PUBLISHED at fx_conversion", "COUNTERPART_NOT_ARRIVED at counterpart",
		"CARRIER_UNREACHABLE at carrier_status", "AMOUNT_INVALID", "UNDECODABLE", "NO_IDENTITY", "CURRENCY_UNMAPPED",
		"23 posted, 1 suppressed, 6 dead letters", "selected 6 = reinjected 2 + suppressed 0 + quarantined 0 + refused 4 + failed 0 + untouched 0",
		"outcome", "ingested 30 = posted 25 + suppressed 1 + waiting in tiers 0 + open dead letters 4", "completeness closes",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the demo does not say %q", want)
		}
	}
	if strings.Contains(out.String(), "the ledger stays") {
		t.Error("the demo says that a ledger stays which it takes with it")
	}
	if t.Failed() {
		t.Log(out.String())
	}
}
