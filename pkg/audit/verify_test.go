package audit_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"recon/pkg/audit"
	"recon/pkg/envelope"
)

// chainOf writes n entries and closes.
func chainOf(t *testing.T, n int64) [][]byte {
	t.Helper()
	var p topic
	c := open(t, &p)
	for i := range n {
		if err := c.Append(t.Context(), entry(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p.stored
}

// successorOf opens a chain that names the head of values, and returns both.
func successorOf(t *testing.T, values [][]byte) [][]byte {
	t.Helper()
	cfg, p := config(), topic{stored: slices.Clone(values)}
	cfg.Predecessor = trail(values...).Chains[0].Head
	if _, err := audit.Open(t.Context(), cfg, &p); err != nil {
		t.Fatal(err)
	}
	return p.stored
}

// Pitfall R92: every byte counts, not ids alone. The last record of a chain is held by its successor's genesis.
func TestEveryFlippedByteIsFound(t *testing.T) {
	values := successorOf(t, chainOf(t, 2))
	if got := trail(values...); !got.Intact() {
		t.Fatal(got.Findings)
	}
	for i := range values[:len(values)-1] {
		for k := range values[i] {
			bit := [...]byte{0x01, 0x20, 0x80}[k%3]
			changed := slices.Clone(values)
			changed[i] = slices.Clone(values[i])
			changed[i][k] ^= bit
			if trail(changed...).Intact() {
				t.Fatalf("record %d, byte %d (%q), bit %#x: not found", i, k, values[i][k], bit)
			}
		}
	}
}

func TestTamperingIsNamed(t *testing.T) {
	values := chainOf(t, 4) // genesis, 1 to 4, closing 5
	other := chainOf(t, 4)
	forged := bytes.Replace(values[2], []byte(`"amount":"10.00"`), []byte(`"amount":"90.00"`), 1)
	moved := bytes.Replace(values[2], []byte(`"seq":2,`), []byte(`"seq":6,`), 1)
	foreign := bytes.ReplaceAll(other[2], []byte(trail(other...).Chains[0].ID), []byte(trail(values...).Chains[0].ID))
	with := func(i int, v []byte) [][]byte {
		vs := slices.Clone(values)
		vs[i] = v
		return vs
	}
	for _, row := range []struct {
		name   string
		values [][]byte
		want   string
	}{
		{"untouched", values, ""},
		{"all twice", append(slices.Clone(values), values...), ""},
		{"altered", with(2, forged), "broken link@3"},
		{"altered copy beside the true one", append(slices.Clone(values), forged), "fork@2"},
		{"removed", slices.Delete(slices.Clone(values), 2, 3), "gap@2"},
		{"two removed", slices.Delete(slices.Clone(values), 2, 4), "gap@2"},
		{"genesis removed", values[1:], "no genesis@0"},
		{"exchanged with another chain's", with(2, foreign), "broken link@2 broken link@3"},
		{"put in after the end", append(slices.Clone(values), moved), "after closing@6 broken link@6"},
		{"garbage", with(2, []byte("{}")), "undecodable@-1 gap@2"},
	} {
		if got := faults(trail(row.values...)); got != row.want {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}

// Two records that exchanged their places in the topic are no fault: the line is by seq. Two that exchanged their seq are.
func TestSwappedRecordsAreFound(t *testing.T) {
	values := chainOf(t, 4)
	inTopic := slices.Clone(values)
	inTopic[2], inTopic[3] = inTopic[3], inTopic[2]
	if got := trail(inTopic...); !got.Intact() {
		t.Errorf("exchanged in the topic: %v", got.Findings)
	}
	inLine := slices.Clone(values)
	inLine[2] = bytes.Replace(values[3], []byte(`"seq":3,`), []byte(`"seq":2,`), 1)
	inLine[3] = bytes.Replace(values[2], []byte(`"seq":2,`), []byte(`"seq":3,`), 1)
	if got := faults(trail(inLine...)); got != "broken link@2 broken link@3 broken link@4" {
		t.Errorf("exchanged in the line: got %q", got)
	}
}

// What a chain alone cannot show, as the package says: its tail cut off. The successor's genesis closes it.
func TestTruncatedTailIsSeenOnlyThroughTheSuccessor(t *testing.T) {
	values := chainOf(t, 3) // 5 records
	if got := trail(values[:3]...); !got.Intact() || got.Chains[0].Closed {
		t.Errorf("cut alone: got %+v; want nothing found, but not closed", got)
	}
	all := successorOf(t, values)
	for name, row := range map[string]struct {
		values [][]byte
		want   string
	}{
		"cut":        {append(slices.Clone(values[:3]), all[5]), "cut@4"},
		"whole gone": {all[5:], "cut@4"},
	} {
		if got := faults(trail(row.values...)); got != row.want {
			t.Errorf("%s: got %q, want %q", name, got, row.want)
		}
	}
	rewritten := bytes.Replace(values[4], []byte(`"at":"20`), []byte(`"at":"21`), 1)
	if got := faults(trail(append(append(slices.Clone(values[:4]), rewritten), all[5])...)); got != "cut@4" {
		t.Errorf("last record rewritten: got %q, want cut@4", got)
	}
}

// A chain that goes on after its successor saw its head was still closing: no fault.
func TestPredecessorThatWroteOnIsNoFault(t *testing.T) {
	var p topic
	c := open(t, &p)
	cfg := config()
	cfg.Predecessor = trail(p.stored...).Chains[0].Head
	if _, err := audit.Open(t.Context(), cfg, &p); err != nil {
		t.Fatal(err)
	}
	if err := c.Append(t.Context(), entry(1)); err != nil {
		t.Fatal(err)
	}
	if got := trail(p.stored...); !got.Intact() || len(got.Chains) != 2 {
		t.Errorf("got %+v", got)
	}
}

// Pitfall R91: a forgery beside the true record is named as the fork it is, and the links say which one the line
// goes on from, so that it cannot hide.
func TestForkNamesBothRecordsAndTheLineGoesOn(t *testing.T) {
	values := chainOf(t, 2)
	forged := bytes.Replace(values[1], []byte("MATCHED"), []byte("PARTIAL"), 1)
	got := trail(append(slices.Clone(values), forged)...)
	if faults(got) != "fork@1" {
		t.Fatalf("got %v", got.Findings)
	}
	text := got.Findings[0].Text
	if !strings.Contains(text, audit.Hash(forged)) || !strings.HasSuffix(text, "the line goes on from "+audit.Hash(values[1])) {
		t.Errorf("%q does not name %s, and %s as the one that the line goes on from", text, audit.Hash(forged), audit.Hash(values[1]))
	}
}

func TestOrderAndRepeatsChangeNoVerdict(t *testing.T) {
	values := successorOf(t, chainOf(t, 6))
	values = append(values[:4:4], values[5:]...) // one removed
	values = append(values, bytes.Replace(values[2], []byte("MATCHED"), []byte("PARTIAL"), 1), []byte("x"))
	want := fmt.Sprint(trail(values...))
	rapid.Check(t, func(rt *rapid.T) {
		order := rapid.SliceOfN(rapid.IntRange(0, len(values)-1), 0, 20).Draw(rt, "repeats")
		for i := range values {
			order = append(order, i)
		}
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		var v audit.Verifier
		for _, i := range order {
			v.Add(envelope.Coordinates{Topic: "recon.audit", Offset: int64(i)}, values[i])
		}
		if got := fmt.Sprint(v.Result()); got != want {
			rt.Fatalf("got %s\nwant %s", got, want)
		}
	})
}
