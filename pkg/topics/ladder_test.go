package topics_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"recon/pkg/topics"
)

const (
	ms = time.Millisecond
	s  = time.Second
	m  = time.Minute
	h  = time.Hour
)

func TestASuffixIsTheDelayInItsLargestUnits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		2 * s: "2s", 30 * s: "30s", 5 * m: "5m", 90 * s: "1m30s", h: "1h", 24 * h: "24h", 36 * h: "36h", 200 * ms: "200ms",
		1500 * ms: "1s500ms", 90 * m: "1h30m", h + ms: "1h1ms", 60 * s: "1m", 1000 * ms: "1s", 0: "",
	} {
		if got := topics.Suffix(d); got != want {
			t.Errorf("%s: got %q, want %q", d, got, want)
		}
	}
}

func TestEachDelayHasOneSpelling(t *testing.T) {
	for _, text := range []string{"", "60s", "1.5s", "2S", " 2s", "2s ", "02s", "+2s", "-2s", "0s", "1m0s", "1s1m", "2", "s", "1000ms", "1us", "2s2s", "300h60m"} {
		if got, err := topics.ParseSuffix(text); err == nil {
			t.Errorf("%q: got %s, want an error", text, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(1, int64(10*365*24*h/ms)).Draw(t, "ms")) * ms
		if got, err := topics.ParseSuffix(topics.Suffix(d)); err != nil || got != d {
			t.Fatalf("%s written as %q: read as %s, %v", d, topics.Suffix(d), got, err)
		}
	})
}

// Pitfall A2: the tier is chosen for the wait that lies ahead.
func TestTheTierIsTheSmallestThatHoldsTheWait(t *testing.T) {
	l := topics.DefaultLadder()
	for wait, want := range map[time.Duration]time.Duration{
		-h: 2 * s, 0: 2 * s, 2 * s: 2 * s, 2*s + 1: 30 * s, 30 * s: 30 * s, 4 * m: 5 * m, h + 1: 6 * h, 24 * h: 24 * h, 24*h + 1: 24 * h, 1000 * h: 24 * h,
	} {
		if got := l.Choose(wait); got != want {
			t.Errorf("a wait of %s: got %s, want %s", wait, got, want)
		}
	}
	if got := (topics.Ladder{}).Choose(s) + (topics.Ladder{}).Largest(); got != 0 {
		t.Errorf("no tiers: got %s, want 0", got)
	}
}

func TestTheDefaultLadderIsTheContracts(t *testing.T) {
	want := topics.Ladder{2 * s, 30 * s, 5 * m, h, 6 * h, 24 * h}
	got, err := topics.ParseLadder("2s,30s,5m,1h,6h,24h")
	if err != nil || !slices.Equal(got, want) || !slices.Equal(topics.DefaultLadder(), want) || want.Validate() != nil {
		t.Errorf("got %v, %v and %v, want %v", got, err, topics.DefaultLadder(), want)
	}
}

func TestALadderIsReadInAnyOrderAndSpelling(t *testing.T) {
	got, err := topics.ParseLadder(" 90s, 200ms ,1h ")
	if want := (topics.Ladder{200 * ms, 90 * s, h}); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

func TestEveryMistakeOfALadderIsReportedTogether(t *testing.T) {
	tests := []struct {
		text string
		want []string
	}{
		{"", []string{`"" is no delay`}},
		{"2s,soon,5m,60s,1m,-1s,1us", []string{`"soon" is no delay`, "1m stands there twice", "-1s: want whole", "1µs: want whole"}},
		{"2s,100000h", []string{"100000h0m0s: want whole milliseconds, at least 1ms and at most 87600h"}},
	}
	for _, tt := range tests {
		_, err := topics.ParseLadder(tt.text)
		if err == nil || len(strings.Split(err.Error(), "\n")) != len(tt.want) {
			t.Errorf("%q: got %v, want %d mistakes", tt.text, err, len(tt.want))
		}
		for _, part := range tt.want {
			if err == nil || !strings.Contains(err.Error(), part) || !strings.Contains(err.Error(), "retry.tiers") {
				t.Errorf("%q: missing %q in %v", tt.text, part, err)
			}
		}
	}
	for _, l := range []topics.Ladder{nil, {2 * s, s}, {s, s}, {0}, {s, 1}} {
		if l.Validate() == nil {
			t.Errorf("%v: want an error", l)
		}
	}
}
