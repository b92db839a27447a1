package dedup_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"recon/pkg/dedup"
)

func golden(t testing.TB, name string) []string {
	t.Helper()
	b, err := os.ReadFile("testdata/golden/v1/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

// The stored form of version 1: what is in a Redis today is read tomorrow.
func TestStoredValuesKeepTheBytesOfVersion1(t *testing.T) {
	const d = "3f1c0a9be27d5486"
	utc := func(y int, m time.Month, day, h, min, s, ms int) time.Time {
		return time.Date(y, m, day, h, min, s, ms*1e6, time.UTC)
	}
	main, zero := at("recon.main", 3, 1234), at("recon.main", 0, 0)
	values := []dedup.Value{
		{State: dedup.Claimed, Root: main, Attempt: 1, Digest: d, At: main, Time: utc(2026, 3, 31, 22, 15, 4, 7)},
		{State: dedup.Waiting, Root: main, Attempt: 2, Digest: d, At: at("recon.retry.5m", 3, 88), Time: utc(2026, 3, 31, 22, 15, 5, 0)},
		{State: dedup.Dead, Root: main, Attempt: 6, Digest: d, At: at("recon.retry.6h", 3, 9007199254740993), Time: utc(2026, 4, 1, 0, 0, 0, 999)},
		{State: dedup.Dead, Root: main, Generation: 1, Attempt: dedup.LastAttempt, Time: utc(2026, 4, 2, 8, 0, 0, 0)},
		{State: dedup.Posted, Root: zero, Generation: 2, Attempt: 1, Digest: d, At: at("recon.main", 0, 71), Time: utc(2026, 4, 3, 8, 0, 0, 120)},
		{State: dedup.Posted, Root: zero, Generation: 2, Digest: d, Time: utc(2026, 4, 3, 8, 0, 0, 120)},
		{
			State: dedup.Settled, Root: at("recon.main", 11, 5), Generation: 1, Digest: "00000000000000ff",
			At: at("recon.main", 11, 6), Time: utc(2026, 12, 31, 23, 59, 59, 999),
		},
	}
	lines := golden(t, "dedup-values.txt")
	if len(lines) != len(values) {
		t.Fatalf("%d golden lines for %d values", len(lines), len(values))
	}
	for i, v := range values {
		if got := v.String(); got != lines[i] {
			t.Errorf("written %q, want %q", got, lines[i])
		}
		got, err := dedup.ParseValue(lines[i])
		if err != nil || got != v {
			t.Errorf("%q read as %+v, %v, want %+v", lines[i], got, err, v)
		}
	}
	for _, line := range golden(t, "generations.txt") {
		if got, err := dedup.ParseGeneration(line); err != nil || got != line {
			t.Errorf("generation %q read as %q, %v", line, got, err)
		}
	}
}

func TestValueIsWrittenInUTCAndMilliseconds(t *testing.T) {
	zone := time.FixedZone("CET", 3600)
	v := dedup.Value{State: dedup.Dead, Root: rootA, Time: time.Date(2026, 1, 1, 0, 30, 0, 1_999_999, zone)}
	if got, want := v.String(), "dead recon.main/0@10 0 0 - - 2025-12-31T23:30:00.001Z"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// An unreadable value is an error, whatever is wrong with it; nothing else is ever taken for a value or for nothing.
func TestUnreadableValueIsAnError(t *testing.T) {
	good := golden(t, "dedup-values.txt")[0]
	spoil := func(old, new string) string { return strings.Replace(good, old, new, 1) }
	for name, s := range map[string]string{
		"empty":              "",
		"one word":           "claimed",
		"a field too few":    spoil(" 0 1 ", " 1 "),
		"a field too many":   good + " more",
		"two blanks":         spoil(" 0 1", "  0 1"),
		"line feed":          good + "\n",
		"unknown state":      spoil("claimed", "taken"),
		"state in capitals":  spoil("claimed", "Claimed"),
		"no root":            spoil("recon.main/3@1234", "-"),
		"root without parts": spoil("recon.main/3@1234", "recon.main"),
		"negative offset":    spoil("@1234", "@-1"),
		"leading zero":       spoil(" 0 1 ", " 00 1 "),
		"plus sign":          spoil(" 0 1 ", " +0 1 "),
		"negative":           spoil(" 0 1 ", " -1 1 "),
		"attempt too large":  spoil(" 0 1 ", " 0 2147483648 "),
		"time without zone":  spoil("07Z", "07"),
		"other zone":         spoil("Z", "+01:00"),
		"no milliseconds":    spoil(".007Z", "Z"),
		"microseconds":       spoil(".007Z", ".007000Z"),
		"no such day":        spoil("03-31", "02-30"),
		"long digest":        spoil("3f1c0a9be27d5486", strings.Repeat("f", 17)),
		"not ASCII":          spoil("3f1c0a9be27d5486", "ä"),
	} {
		if v, err := dedup.ParseValue(s); err == nil {
			t.Errorf("%s: %q read as %+v", name, s, v)
		}
	}
	for _, s := range []string{"", "id", "id 2026-03-31T22:15:04.007Z", "id yesterday committed", "id 2026-03-31T22:15:04.007Z maybe"} {
		if _, err := dedup.ParseGeneration(s); err == nil {
			t.Errorf("generation %q: no error", s)
		}
	}
}

func FuzzParseValue(f *testing.F) {
	for _, line := range golden(f, "dedup-values.txt") {
		f.Add(line)
	}
	f.Add("claimed a b/0@0 0 1 - - 0000-01-01T00:00:00.000Z")
	f.Fuzz(func(t *testing.T, s string) {
		v, err := dedup.ParseValue(s)
		if err != nil {
			if v != (dedup.Value{}) {
				t.Errorf("%q: an error, and yet the value %+v", s, v)
			}
			return
		}
		if got := v.String(); got != s {
			t.Errorf("%q reads as %+v, which is written %q", s, v, got)
		}
	})
}

func TestVerdictsHaveOneWordEach(t *testing.T) {
	seen := map[string]bool{}
	for v := dedup.Fresh; v <= dedup.SettledByHand; v++ {
		if s := v.String(); s == "unknown" || seen[s] {
			t.Errorf("verdict %d is called %q", v, s)
		} else {
			seen[s] = true
		}
		if got, want := v.Taken(), v == dedup.Fresh || v == dedup.Resumed; got != want {
			t.Errorf("%s: taken %t", v, got)
		}
	}
	if got := dedup.Verdict(200).String(); got != "unknown" || dedup.Verdict(0).Taken() {
		t.Errorf("what is no verdict is called %q", got)
	}
}

func TestClaimThatIsNotBelievedIsItsOwnRoot(t *testing.T) {
	c := replayOf("some-hash", rootA, 3, onMain)
	want := dedup.Claim{Hash: "some-hash", Digest: digest, Root: onMain, Attempt: 1, At: onMain}
	if got := c.AsNew(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
