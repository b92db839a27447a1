package fault_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"recon/pkg/fault"
)

func TestDefaultsAreValid(t *testing.T) {
	if err := fault.Defaults().Validate(); err != nil {
		t.Error(err)
	}
	if err := (fault.Policies{}).Validate(); err != nil {
		t.Errorf("none given: %v", err)
	}
}

// Pitfall A9: negative limits are refused at start. All mistakes come together, each with its code.
func TestEveryMistakeOfAPolicyIsReportedTogether(t *testing.T) {
	p := fault.Policies{
		fault.RateLimited:           {fault.Transient, -1, 0, -s, "often", false},
		fault.CarrierUnreachable:    {fault.Poison, 101, s, m, fault.Fixed, false},
		fault.SchemaInvalid:         {fault.Poison, 3, 0, 0, "", false},
		fault.DuplicateInFlight:     {fault.Transient, 5, s, m, fault.FullJitter, true},
		fault.CounterpartNotArrived: {fault.Transient, 12, m, s, fault.FullJitter, true},
		"CODE_OF_NOBODY":            {fault.Transient, 5, s, m, fault.FullJitter, false},
	}
	err := p.Validate()
	if err == nil {
		t.Fatal("got no error")
	}
	want := []string{
		"CARRIER_UNREACHABLE: class is transient", "CARRIER_UNREACHABLE: max_attempts is 101",
		"CODE_OF_NOBODY: there is no such error code",
		"COUNTERPART_NOT_ARRIVED: cap 1s is below base_delay 1m0s",
		"DUPLICATE_IN_FLIGHT: max_attempts is 5", "DUPLICATE_IN_FLIGHT: no deadline ends it",
		"RATE_LIMITED: max_attempts is -1", "RATE_LIMITED: base_delay is 0s", "RATE_LIMITED: cap -1s is below", `RATE_LIMITED: spacing is "often"`,
		"SCHEMA_INVALID: max_attempts is 3",
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != len(want) {
		t.Errorf("got %d mistakes, want %d:\n%v", len(lines), len(want), err)
	}
	for _, part := range want {
		if !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, "policy of "+part) }) {
			t.Errorf("missing %q in:\n%v", part, err)
		}
	}
}

func TestADefaultCapIsCutToTheLargestTierAndAConfiguredOneRefused(t *testing.T) {
	p := fault.Defaults()
	cut, err := p.Fit(2*time.Minute, map[fault.Code]bool{fault.RateLimited: true, fault.LockContention: true})
	want := []fault.Code{
		fault.CarrierUnreachable, fault.CounterpartNotArrived, fault.DependencyTimeout,
		fault.DependencyUnavailable, fault.DuplicateInFlight, fault.RateNotPublished,
	}
	if !slices.Equal(cut, want) {
		t.Errorf("cut: got %v, want %v", cut, want)
	}
	if err == nil || !strings.Contains(err.Error(), "RATE_LIMITED: cap 5m0s is above the largest tier 2m0s") || strings.Contains(err.Error(), "LOCK") {
		t.Errorf("configured caps: got %v", err)
	}
	if got := p[fault.RateLimited].Cap; got != 5*m {
		t.Errorf("configured cap: got %s, want it left at 5m", got)
	}
	if got := p[fault.RateNotPublished]; got.Cap != 2*m || got.Base != 2*m {
		t.Errorf("default cap: got %s with base %s, want both 2m", got.Cap, got.Base)
	}
	if err := p.Validate(); err != nil {
		t.Errorf("after the cut: %v", err)
	}
}

func TestNothingIsCutWhereTheTiersSuffice(t *testing.T) {
	p := fault.Defaults()
	if cut, err := p.Fit(24*h, nil); cut != nil || err != nil {
		t.Errorf("got %v %v, want nothing", cut, err)
	}
	for _, row := range fault.Rows() {
		if p.For(row.Code) != row.Policy {
			t.Errorf("%s was changed", row.Code)
		}
	}
}

func TestFitAlsoCutsCodesThatTheMapLeavesToTheirDefault(t *testing.T) {
	p := fault.Policies{}
	if _, err := p.Fit(m, nil); err != nil {
		t.Fatal(err)
	}
	if got := p.For(fault.CarrierUnreachable).Cap; got != m {
		t.Errorf("got %s, want 1m", got)
	}
}

func TestTheTimeToTheDeadLettersIsTheSumOfTheWaits(t *testing.T) {
	p := fault.Defaults()
	p[fault.LockContention] = fault.Policy{Class: fault.Transient, MaxAttempts: 4, Base: 2 * s, Cap: 2 * s, Spacing: fault.Fixed}
	p[fault.RateLimited] = fault.Policy{Class: fault.Transient, MaxAttempts: 0, Base: s, Cap: m, Spacing: fault.FullJitter}
	p[fault.DependencyTimeout] = fault.Policy{Class: fault.Transient, MaxAttempts: 9, Base: math.MaxInt64 / 3, Cap: math.MaxInt64, Spacing: fault.Fixed}
	tests := []struct {
		code              fault.Code
		expected, longest time.Duration
		ends              bool
	}{
		{fault.CarrierUnreachable, 155 * s / 2, 155 * s, true}, // 5+10+20+40+80
		{fault.RateNotPublished, 21 * h, 42 * h, true},         // 6+12+24
		{fault.LockContention, 6 * s, 6 * s, true},
		{fault.RateLimited, 0, 0, true},
		{fault.SchemaInvalid, 0, 0, true},
		{fault.DependencyTimeout, math.MaxInt64, math.MaxInt64, true},
		{fault.DuplicateInFlight, 0, 0, false},
	}
	for _, tt := range tests {
		expected, longest, ends := p.TimeToDLQ(tt.code)
		if expected != tt.expected || longest != tt.longest || ends != tt.ends {
			t.Errorf("%s: got %s, %s, %t; want %s, %s, %t", tt.code, expected, longest, ends, tt.expected, tt.longest, tt.ends)
		}
	}
}

func TestACapThatIsNeverReachedIsTold(t *testing.T) {
	for _, tt := range []struct {
		attempts    int
		base, limit time.Duration
		spacing     fault.Spacing
		want        bool
	}{
		{6, 5 * s, 80 * s, fault.FullJitter, true},
		{6, 5 * s, 81 * s, fault.FullJitter, false},
		{2, 5 * s, 5 * s, fault.FullJitter, true},
		{1, 5 * s, 5 * s, fault.FullJitter, false},
		{9, 5 * s, 6 * s, fault.Fixed, false},
	} {
		p := fault.Policies{fault.RateLimited: {fault.Transient, tt.attempts, tt.base, tt.limit, tt.spacing, false}}
		if got := p.CapReached(fault.RateLimited); got != tt.want {
			t.Errorf("%+v: got %t", tt, got)
		}
	}
	if !fault.Defaults().CapReached(fault.DuplicateInFlight) || !fault.Defaults().CapReached(fault.CounterpartNotArrived) {
		t.Error("codes that go on until something ends them reach their cap")
	}
}
