package fault_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"recon/pkg/fault"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// nearlyOne is the largest draw there is.
var nearlyOne = math.Nextafter(1, 0)

func TestTheWaitIsDrawnBelowTheDoublingBound(t *testing.T) {
	tests := []struct {
		code     fault.Code
		failures int
		bound    time.Duration
	}{
		{fault.CarrierUnreachable, 0, 5 * s},
		{fault.CarrierUnreachable, 1, 10 * s},
		{fault.CarrierUnreachable, 4, 80 * s},
		{fault.LockContention, 3, 1600 * ms},
		{fault.RateNotPublished, 1, 12 * h},
		{fault.RateNotPublished, 2, 24 * h},
		{fault.DuplicateInFlight, 7, 256 * s},
		{fault.DuplicateInFlight, 8, 5 * m},
		{fault.DuplicateInFlight, -3, 2 * s},
	}
	for _, tt := range tests {
		try := fault.Try{Code: tt.code, Failures: tt.failures, Now: noon}
		for _, draw := range []struct {
			u    float64
			want time.Duration
		}{{0, 0}, {0.5, tt.bound / 2}, {nearlyOne, tt.bound}, {1, tt.bound}, {17, tt.bound}, {1e300, tt.bound}, {-1, 0}, {math.NaN(), 0}} {
			wait, dead := fault.Defaults().Next(try, draw.u)
			if off := (wait - draw.want).Abs(); off > time.Microsecond || wait > tt.bound || dead != "" {
				t.Errorf("%s after %d, u=%v: got %s %q, want %s", tt.code, tt.failures, draw.u, wait, dead, draw.want)
			}
		}
	}
}

// Pitfall A1: no number of failures overflows anything.
func TestManyFailuresNeverOverflow(t *testing.T) {
	p := fault.Defaults()
	counts := []int{30, 62, 63, 64, 126, 127, 128, 129, 255, 256, 257, 300, 32_768, 65_536, 1_000_000, math.MaxInt32, math.MaxInt}
	for _, n := range counts {
		if wait, dead := p.Next(fault.Try{Code: fault.DuplicateInFlight, Failures: n, Attempts: n, Now: noon}, nearlyOne); wait <= 4*m || wait > 5*m || dead != "" {
			t.Errorf("waiting only, %d failures: got %s %q, want about 5m and no failure", n, wait, dead)
		}
		if wait, dead := p.Next(fault.Try{Code: fault.RateLimited, Failures: n, Now: noon}, 0.5); wait != 0 || dead != fault.FailedExhausted {
			t.Errorf("limited, %d failures: got %s %q, want exhausted", n, wait, dead)
		}
	}
}

func TestTheBudgetCountsAttemptsTheFirstIncluded(t *testing.T) {
	for _, row := range fault.Rows() {
		limit := row.Policy.MaxAttempts
		if row.Policy.Class == fault.Poison || row.Code == fault.DuplicateInFlight {
			continue
		}
		for failures := range limit {
			_, dead := fault.Defaults().Next(fault.Try{Code: row.Code, Failures: failures, Attempts: failures + 1, Now: noon}, 0.5)
			want := fault.Failure("")
			if failures+1 == limit {
				want = fault.FailedExhausted
			}
			if dead != want {
				t.Errorf("%s, attempt %d of %d: got %q, want %q", row.Code, failures+1, limit, dead, want)
			}
		}
	}
}

// Pitfall A11: poison never waits, whatever the rest says.
func TestPoisonIsGivenUpAtOnce(t *testing.T) {
	for _, code := range []fault.Code{fault.SchemaInvalid, fault.Unclassified, "CODE_OF_NOBODY"} {
		try := fault.Try{Code: code, Attempts: 1, Now: noon, Deadline: noon.Add(h), AtLeast: m}
		if wait, dead := fault.Defaults().Next(try, 0.5); wait != 0 || dead != fault.FailedPoison {
			t.Errorf("%s: got %s %q, want 0 %s", code, wait, dead, fault.FailedPoison)
		}
	}
	if _, dead := fault.Defaults().Next(fault.Try{Code: fault.Undecodable, Now: noon}, 0); dead != fault.FailedUnrecoverable {
		t.Errorf("undecodable: got %q, want %q", dead, fault.FailedUnrecoverable)
	}
}

// Pitfall A9: a budget of 0 goes straight to the dead letters, with a deadline too.
func TestABudgetOfZeroNeverRetries(t *testing.T) {
	for _, attempts := range []int{0, 1} {
		p := fault.Defaults()
		zero := p[fault.RateLimited]
		zero.MaxAttempts = attempts
		p[fault.RateLimited] = zero
		if _, dead := p.Next(fault.Try{Code: fault.RateLimited, Attempts: 1, Now: noon}, 0.5); dead != fault.FailedExhausted {
			t.Errorf("max_attempts %d: got %q, want %q", attempts, dead, fault.FailedExhausted)
		}
	}
	p := fault.Policies{fault.CounterpartNotArrived: {fault.Transient, 0, s, m, fault.FullJitter, true}}
	if _, dead := p.Next(fault.Try{Code: fault.CounterpartNotArrived, Now: noon, Deadline: noon.Add(h)}, 0.5); dead != fault.FailedExhausted {
		t.Errorf("max_attempts 0 with a deadline: got %q, want %q", dead, fault.FailedExhausted)
	}
}

func TestTheDeadlineCutsOnceAndThenCloses(t *testing.T) {
	deadline := noon.Add(10*m + 300*time.Microsecond)
	tests := []struct {
		name     string
		code     fault.Code
		failures int
		now      time.Time
		u        float64
		atLeast  time.Duration
		wait     time.Duration
		dead     fault.Failure
	}{
		{"far away: as drawn", fault.CarrierUnreachable, 0, noon, 0.5, 0, 2500 * ms, ""},
		{"would pass it: ends at it", fault.RateNotPublished, 0, noon, 0.5, 0, deadline.Sub(noon), ""},
		{"Retry-After would pass it", fault.RateLimited, 0, noon, 0, h, deadline.Sub(noon), ""},
		{"failed just before", fault.RateNotPublished, 1, deadline.Add(-2 * ms), nearlyOne, 0, 2 * ms, ""},
		{"failed at it", fault.RateNotPublished, 1, deadline, 0.5, 0, 0, fault.FailedWindowClosed},
		{"failed within its millisecond", fault.RateNotPublished, 1, deadline.Truncate(ms), 0.5, 0, 0, fault.FailedWindowClosed},
		{"failed after it", fault.CarrierUnreachable, 0, deadline.Add(h), 0.5, 0, 0, fault.FailedWindowClosed},
		{"failed after it, budget spent as well", fault.CarrierUnreachable, 5, deadline.Add(h), 0.5, 0, 0, fault.FailedWindowClosed},
		{"budget spent before it", fault.CarrierUnreachable, 5, noon, 0.5, 0, 0, fault.FailedExhausted},
		{"poison after it stays poison", fault.SchemaInvalid, 0, deadline.Add(h), 0.5, 0, 0, fault.FailedPoison},
		{"nothing ends a duplicate", fault.DuplicateInFlight, 500, deadline.Add(h), nearlyOne, 0, 5 * m, ""},
		{"nothing cuts a duplicate", fault.DuplicateInFlight, 500, deadline.Add(-s), nearlyOne, 0, 5 * m, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			try := fault.Try{Code: tt.code, Failures: tt.failures, Attempts: tt.failures + 1, Now: tt.now, Deadline: deadline, AtLeast: tt.atLeast}
			wait, dead := fault.Defaults().Next(try, tt.u)
			if (wait-tt.wait).Abs() > time.Microsecond || dead != tt.dead {
				t.Errorf("got %s %q, want %s %q", wait, dead, tt.wait, tt.dead)
			}
		})
	}
}

func TestTheCounterpartIsAwaitedUntilTheDeadlineAndTwelveTimesWithoutOne(t *testing.T) {
	p := fault.Defaults()
	try := fault.Try{Code: fault.CounterpartNotArrived, Failures: 11, Attempts: 12, Now: noon}
	if _, dead := p.Next(try, 0.5); dead != fault.FailedExhausted {
		t.Errorf("twelfth failure without a deadline: got %q, want %q", dead, fault.FailedExhausted)
	}
	try.Deadline = noon.Add(1000 * h)
	if wait, dead := p.Next(try, 0.5); dead != "" || wait != 3*h {
		t.Errorf("twelfth failure with a deadline: got %s %q, want 3h", wait, dead)
	}
	try.Failures, try.Attempts = 99, 100
	if _, dead := p.Next(try, 0.5); dead != fault.FailedExhausted {
		t.Errorf("hundredth failure with a deadline: got %q, want %q", dead, fault.FailedExhausted)
	}
}

func TestTheCeilingHoldsOverAllCodes(t *testing.T) {
	try := fault.Try{Code: fault.RateLimited, Failures: 0, Attempts: 99, Now: noon}
	if _, dead := fault.Defaults().Next(try, 0.5); dead != "" {
		t.Errorf("attempt 99: got %q, want a wait", dead)
	}
	try.Attempts = 100
	if _, dead := fault.Defaults().Next(try, 0.5); dead != fault.FailedExhausted {
		t.Errorf("attempt 100: got %q, want %q", dead, fault.FailedExhausted)
	}
	try.Code = fault.DuplicateInFlight
	if _, dead := fault.Defaults().Next(try, 0.5); dead != "" {
		t.Errorf("a duplicate at attempt 100: got %q, want a wait", dead)
	}
}

func TestRetryAfterIsTheLeastWaitEvenAboveTheCap(t *testing.T) {
	for _, tt := range []struct {
		u             float64
		atLeast, want time.Duration
	}{{0, s, s}, {0.75, s, 1500 * ms}, {0.5, 10 * m, 10 * m}, {0.5, -h, s}} {
		wait, dead := fault.Defaults().Next(fault.Try{Code: fault.RateLimited, Now: noon, AtLeast: tt.atLeast}, tt.u)
		if wait != tt.want || dead != "" {
			t.Errorf("u=%v at least %s: got %s %q, want %s", tt.u, tt.atLeast, wait, dead, tt.want)
		}
	}
}

// Pitfall T5: a wait of days is kept.
func TestThreeDaysAreWaitedThreeDays(t *testing.T) {
	p := fault.Policies{fault.RateNotPublished: {fault.Transient, 9, 72 * h, 72 * h, fault.Fixed, false}}
	for failures := range 3 {
		wait, dead := p.Next(fault.Try{Code: fault.RateNotPublished, Failures: failures, Now: noon}, 0.1)
		if wait != 72*h || dead != "" {
			t.Errorf("after %d failures: got %s %q, want 72h", failures, wait, dead)
		}
	}
}

func TestWhatWaitsIsCheckedAgainAgainstTodaysLimits(t *testing.T) {
	p := fault.Defaults()
	deadline := noon.Add(-h)
	tests := []struct {
		name               string
		code               fault.Code
		failures, attempts int
		deadline           time.Time
		want               fault.Failure
	}{
		{"within", fault.RateLimited, 5, 5, time.Time{}, ""},
		{"lowered since", fault.RateLimited, 6, 6, time.Time{}, fault.FailedExhausted},
		{"ceiling", fault.RateLimited, 1, 100, time.Time{}, fault.FailedExhausted},
		{"the attempt at the deadline is allowed", fault.RateLimited, 1, 1, deadline, ""},
		{"until the deadline", fault.CounterpartNotArrived, 50, 50, deadline, ""},
		{"twelve without", fault.CounterpartNotArrived, 12, 12, time.Time{}, fault.FailedExhausted},
		{"a duplicate", fault.DuplicateInFlight, 900, 900, deadline, ""},
	}
	for _, tt := range tests {
		if got := p.Spent(tt.code, tt.failures, tt.attempts, tt.deadline); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestEveryChainOfFailuresEndsWithinItsLongestTime(t *testing.T) {
	p := fault.Defaults()
	rapid.Check(t, func(t *rapid.T) {
		row := rapid.SampledFrom(fault.Rows()).Draw(t, "row")
		expected, longest, ends := p.TimeToDLQ(row.Code)
		if !ends {
			t.Skip("only waits")
		}
		now, failures := noon, 0
		for {
			wait, dead := p.Next(fault.Try{Code: row.Code, Failures: failures, Attempts: failures + 1, Now: now}, rapid.Float64Range(0, 1).Draw(t, "u"))
			if dead != "" {
				break
			}
			if failures++; failures > fault.Ceiling {
				t.Fatalf("%s never ends", row.Code)
			}
			now = now.Add(wait)
		}
		if took := now.Sub(noon); took > longest || expected > longest {
			t.Fatalf("%s took %s, longest %s, expected %s", row.Code, took, longest, expected)
		}
	})
}
