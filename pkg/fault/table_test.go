package fault_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
	"time"

	"recon/pkg/fault"
)

const (
	ms = time.Millisecond
	s  = time.Second
	m  = time.Minute
	h  = time.Hour
)

func TestEachPolicyIsTheContracts(t *testing.T) {
	want := map[fault.Code]fault.Policy{
		fault.CarrierUnreachable:    {fault.Transient, 6, 5 * s, 5 * m, fault.FullJitter, false},
		fault.DependencyTimeout:     {fault.Transient, 6, 5 * s, 5 * m, fault.FullJitter, false},
		fault.DependencyUnavailable: {fault.Transient, 6, 5 * s, 5 * m, fault.FullJitter, false},
		fault.LockContention:        {fault.Transient, 5, 200 * ms, 30 * s, fault.FullJitter, false},
		fault.RateLimited:           {fault.Transient, 6, 2 * s, 5 * m, fault.FullJitter, false},
		fault.RateNotPublished:      {fault.Transient, 4, 6 * h, 24 * h, fault.FullJitter, false},
		fault.CounterpartNotArrived: {fault.Transient, 12, 30 * s, 6 * h, fault.FullJitter, true},
		fault.DuplicateInFlight:     {fault.Transient, 0, 2 * s, 5 * m, fault.FullJitter, false},
	}
	for _, row := range fault.Rows() {
		expected, transient := want[row.Code]
		if !transient {
			expected = fault.Policy{Class: fault.Poison, MaxAttempts: 1}
		}
		if got := fault.Defaults().For(row.Code); got != expected {
			t.Errorf("policy of %s: got %+v, want %+v", row.Code, got, expected)
		}
		delete(want, row.Code)
	}
	if len(want) != 0 {
		t.Errorf("codes without a row: %v", want)
	}
}

func TestFirstOccurrenceLeadsWhereTheContractSays(t *testing.T) {
	unrecoverable := map[fault.Code]bool{fault.Undecodable: true, fault.NoIdentity: true}
	for _, row := range fault.Rows() {
		want := fault.FailedPoison
		switch {
		case row.Policy.Class == fault.Transient:
			want = ""
		case unrecoverable[row.Code]:
			want = fault.FailedUnrecoverable
		}
		if row.First != want {
			t.Errorf("%s: first occurrence leads to %q, want %q", row.Code, row.First, want)
		}
	}
}

func TestEveryCodeAndFailureHasExactlyOneRow(t *testing.T) {
	codes, failures := declared(t)
	for _, row := range fault.Rows() {
		codes[string(row.Code)]--
		if !strings.HasSuffix(row.Meaning, ".") || !strings.HasSuffix(row.Action, ".") {
			t.Errorf("%s: meaning and action are sentences, got %q and %q", row.Code, row.Meaning, row.Action)
		}
	}
	for _, o := range fault.Outcomes() {
		failures[string(o.Failure)]--
		if !strings.HasSuffix(o.Meaning, ".") || o.On == "" {
			t.Errorf("%s: want a sentence and a carrier, got %q on %q", o.Failure, o.Meaning, o.On)
		}
	}
	for name, missing := range codes {
		if missing != 0 {
			t.Errorf("code %s: %d rows too few", name, missing)
		}
	}
	for name, missing := range failures {
		if missing != 0 {
			t.Errorf("failure %s: %d rows too few", name, missing)
		}
	}
}

// declared reads the constants of type Code and Failure out of the package's source.
func declared(t *testing.T) (codes, failures map[string]int) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "fault.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes, failures = map[string]int{}, map[string]int{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		switch spec.Type.(*ast.Ident).Name {
		case "Code":
			codes[value]++
		case "Failure":
			failures[value]++
		}
		return true
	})
	if len(codes) != 20 || len(failures) != 17 {
		t.Fatalf("got %d codes and %d failures declared, want 20 and 17", len(codes), len(failures))
	}
	return codes, failures
}

func TestTheTableCannotBeChangedFromOutside(t *testing.T) {
	fault.Rows()[0].Meaning = "changed"
	fault.Outcomes()[0].Meaning = "changed"
	delete(fault.Defaults(), fault.LockContention)
	if fault.Rows()[0].Meaning == "changed" || fault.Outcomes()[0].Meaning == "changed" {
		t.Error("a caller's change reached the table")
	}
	if got, want := fault.Defaults().For(fault.LockContention).MaxAttempts, 5; got != want {
		t.Errorf("max attempts after another caller's delete: got %d, want %d", got, want)
	}
}

func TestStagesAreTheContractsAndThoseRegistered(t *testing.T) {
	want := []fault.Stage{"decode", "dedup", "currency", "period", "counterpart", "fx_conversion", "post"}
	got := fault.Stages()
	if len(got) < len(want) {
		t.Fatalf("got %v, want at least %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("stage %d: got %s, want %s", i, got[i], want[i])
		}
	}
	before := len(fault.Register("stage_of_this_test")) + len(fault.Stages())
	fault.Register("stage_of_this_test")
	if after := len("stage_of_this_test") + len(fault.Stages()); after != before {
		t.Errorf("registering twice: got %d, want %d", after, before)
	}
}

func TestMalformedStagesAreRefusedWhenTheyAreRegistered(t *testing.T) {
	for _, name := range []fault.Stage{"", "Carrier", "carrier status", "9lives", "_x", "stufe_ä", "a-b", fault.Stage(strings.Repeat("a", 41))} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("stage %q: registered, want a panic", string(name))
				}
			}()
			fault.Register(name)
		}()
	}
	fault.Register(fault.Stage(strings.Repeat("a", 40)))
}
