package audit_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"recon/pkg/audit"
	"recon/pkg/envelope"
)

// Two genesis records of one chain are a fork; which predecessor was cut is told for both, in whatever order they lie.
func TestForkedGenesisGivesOneVerdictInAnyOrder(t *testing.T) {
	values := successorOf(t, chainOf(t, 2))
	genesis := values[len(values)-1]
	var forged []byte
	for _, field := range bytes.SplitAfter(genesis, []byte(`"hash":"`)) {
		if forged != nil {
			field = append([]byte(strings.Repeat("0", 64)), field[64:]...)
		}
		forged = append(forged, field...)
	}
	with := func(last ...[]byte) string {
		return fmt.Sprint(trail(append(slices.Clone(values[:len(values)-1]), last...)...))
	}
	one, two := with(genesis, forged), with(forged, genesis)
	if one != two {
		t.Errorf("the order of reading changes the verdict:\n%s\n%s", one, two)
	}
	if !strings.Contains(one, string(audit.Fork)) || !strings.Contains(one, string(audit.Cut)) {
		t.Errorf("got %s, want the fork, and what the forged one says of its predecessor", one)
	}
}

// The trail and the ledger are written by others: nothing of theirs steers the terminal of who reads the result.
func TestPrintedResultSteersNoTerminal(t *testing.T) {
	b := audit.NewBooks("recon.main", true)
	root := envelope.Coordinates{Topic: "recon.main"}
	b.Ingested(audit.Arrival{At: root, SourceHash: "hash-0001", Money: audit.MoneyOf("EUR", "1")})
	b.Posted(audit.Posting{SourceHash: "hash\x1b[2J\u009b1m", Root: root, Money: audit.MoneyOf("E\x1b]0;x\x07", "1")})
	var page strings.Builder
	if err := b.Result().Print(&page); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(page.String(), "\x1b\x07\u009b") || !strings.Contains(page.String(), "the amount differs") {
		t.Errorf("got %q", page.String())
	}
}
