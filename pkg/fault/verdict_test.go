package fault_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"recon/pkg/fault"
)

// deep wraps err five times, as layers of a program do.
func deep(err error) error {
	for i := range 5 {
		err = fmt.Errorf("layer %d: %w", i, err)
	}
	return err
}

// Pitfall A12: the verdict is that of the real cause, through any wrapping and joining.
func TestTheMostSpecificCodeWins(t *testing.T) {
	lock := fault.New(fault.LockContention, "deadlock")
	rate := fault.New(fault.RateNotPublished, "no rate")
	poison := fault.New(fault.SchemaInvalid, "bad date")
	none := errors.New("something")
	tests := []struct {
		name  string
		err   error
		want  fault.Code
		known bool
	}{
		{"plain", lock, fault.LockContention, true},
		{"five wrappers", deep(lock), fault.LockContention, true},
		{"no code", none, fault.Unclassified, false},
		{"no code, five wrappers", deep(none), fault.Unclassified, false},
		{"inner code beats outer", fault.Wrap(fault.DependencyUnavailable, deep(rate)), fault.RateNotPublished, true},
		{"inner by two", fault.Wrap(fault.CarrierUnreachable, fault.Wrap(fault.DependencyTimeout, fault.Wrap(fault.LockContention, none))), fault.LockContention, true},
		{"Unclassified inside a code", fault.Wrap(fault.RateLimited, fault.Wrap(fault.Unclassified, none)), fault.RateLimited, true},
		{"code inside Unclassified", fault.Wrap(fault.Unclassified, rate), fault.RateNotPublished, true},
		{"Unclassified alone", fault.New(fault.Unclassified, "x"), fault.Unclassified, false},
		{"join: known after unknown", errors.Join(none, poison), fault.SchemaInvalid, true},
		{"join: first of equals", errors.Join(rate, poison), fault.RateNotPublished, true},
		{"join: first of equals, turned", errors.Join(poison, rate), fault.SchemaInvalid, true},
		{"join: wrapping adds nothing", errors.Join(lock, deep(rate)), fault.LockContention, true},
		{"join: more codes around it", errors.Join(lock, fault.Wrap(fault.DependencyTimeout, rate)), fault.RateNotPublished, true},
		{"join below a code", fault.Wrap(fault.DependencyTimeout, errors.Join(none, deep(rate))), fault.RateNotPublished, true},
		{"two %w", fmt.Errorf("%w, and then %w", none, lock), fault.LockContention, true},
		{"context error beside", errors.Join(context.Canceled, deep(lock)), fault.LockContention, true},
		{"context error inside", fault.Wrap(fault.DependencyTimeout, deep(context.DeadlineExceeded)), fault.DependencyTimeout, true},
		{"context error alone", deep(context.Canceled), fault.Unclassified, false},
		{"code of nobody", fault.New("CODE_OF_NOBODY", "x"), fault.Unclassified, false},
		{"code of nobody around a known one", fault.Wrap("CODE_OF_NOBODY", lock), fault.LockContention, true},
		{"code from an argument", fault.New(fault.DependencyUnavailable, "posting: %w", deep(rate)), fault.RateNotPublished, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := fault.Of(deep(tt.err))
			if got.Code != tt.want || got.Known != tt.known {
				t.Errorf("got %s known=%t, want %s known=%t", got.Code, got.Known, tt.want, tt.known)
			}
			if want := fault.Defaults().For(tt.want).Class; got.Class != want {
				t.Errorf("class: got %s, want %s", got.Class, want)
			}
		})
	}
}

func TestNothingIsNoFailure(t *testing.T) {
	if got := fault.Of(nil); got != (fault.Verdict{}) {
		t.Errorf("Of(nil): got %+v, want the zero verdict", got)
	}
	for name, err := range map[string]error{
		"Wrap": fault.Wrap(fault.RateLimited, nil), "At": fault.At(fault.StagePost, nil),
		"On": fault.On("x", nil), "RetryAfter": fault.RetryAfter(time.Second, nil),
	} {
		if err != nil {
			t.Errorf("%s(nil): got %v, want nil", name, err)
		}
	}
}

type nilly struct{}

func (nilly) Error() string   { return "several" }
func (nilly) Unwrap() []error { return []error{nil, fault.At(fault.StageFX, io.EOF), nil} }

func TestNilsInsideForeignErrorsAreSteppedOver(t *testing.T) {
	if got := fault.Of(nilly{}).Stage; got != fault.StageFX {
		t.Errorf("got %s, want %s", got, fault.StageFX)
	}
}

// Pitfall A11: a fatal error is a letter at its first failure, with the failure code of its kind.
func TestPoisonSaysItsFailureAndTransientNone(t *testing.T) {
	tests := []struct {
		code fault.Code
		want fault.Failure
	}{
		{fault.Undecodable, fault.FailedUnrecoverable},
		{fault.NoIdentity, fault.FailedUnrecoverable},
		{fault.AmountInvalid, fault.FailedPoison},
		{fault.HandlerPanic, fault.FailedPoison},
		{fault.Unclassified, fault.FailedPoison},
		{fault.RateLimited, ""},
	}
	for _, tt := range tests {
		if got := fault.Of(fault.New(tt.code, "x")).Failure; got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.code, got, tt.want)
		}
	}
}

func TestStageAndDependencyAreTheInnermost(t *testing.T) {
	carrier := fault.Register("carrier_status")
	tests := []struct {
		name  string
		err   error
		stage fault.Stage
		on    string
	}{
		{"none named: the code's own", fault.New(fault.RateNotPublished, "x"), fault.StageFX, ""},
		{"around the code", fault.At(carrier, fault.On("carrier", fault.New(fault.CarrierUnreachable, "x"))), carrier, "carrier"},
		{"two around: the inner", fault.At(fault.StagePost, deep(fault.At(carrier, fault.New(fault.RateLimited, "x")))), carrier, ""},
		{"below the code beats around", fault.At(fault.StagePost, fault.Wrap(fault.RateLimited, fault.On("fx", fault.At(fault.StageFX, io.EOF)))), fault.StageFX, "fx"},
		{"of the chosen branch only", errors.Join(fault.At(carrier, fault.On("no", io.EOF)), fault.At(fault.StagePeriod, fault.New(fault.PeriodClosed, "x"))), fault.StagePeriod, ""},
		{"without a code", fault.At(carrier, fault.On("carrier", io.EOF)), carrier, "carrier"},
		{"not registered", fault.At("no_such_stage", fault.New(fault.LockContention, "x")), fault.StagePost, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := fault.Of(deep(tt.err))
			if got.Stage != tt.stage || got.Dependency != tt.on {
				t.Errorf("got stage %s on %q, want %s on %q", got.Stage, got.Dependency, tt.stage, tt.on)
			}
		})
	}
}

func TestWhatCannotStandInEvidenceStaysInTheText(t *testing.T) {
	if got, want := fault.Of(fault.At("no_such_stage", io.EOF)).Detail, "no_such_stage: EOF"; got != want {
		t.Errorf("stage not registered: got %q, want %q", got, want)
	}
	if got, want := fault.Of(fault.New("CODE_OF_NOBODY", "no")).Detail, "code CODE_OF_NOBODY: no"; got != want {
		t.Errorf("unknown code: got %q, want %q", got, want)
	}
}

func TestTheLongestRetryAfterIsKept(t *testing.T) {
	for _, pair := range [][2]time.Duration{{3 * s, 7 * s}, {7 * s, 3 * s}} {
		err := fault.RetryAfter(pair[0], fault.New(fault.RateLimited, "%w", fault.RetryAfter(pair[1], io.EOF)))
		if got := fault.Of(deep(err)).AtLeast; got != 7*s {
			t.Errorf("%v: got %s, want 7s", pair, got)
		}
	}
	if got := fault.Of(fault.New(fault.RateLimited, "x")).AtLeast; got != 0 {
		t.Errorf("none asked for: got %s, want 0", got)
	}
}

func TestTheChainStaysOpenToErrorsIs(t *testing.T) {
	err := fault.At(fault.StagePost, fault.On("db", fault.RetryAfter(time.Second, fault.Wrap(fault.LockContention, deep(os.ErrNotExist)))))
	if !errors.Is(err, os.ErrNotExist) {
		t.Error("errors.Is does not find the cause")
	}
	if !errors.Is(fault.New(fault.RateLimited, "reading: %w", io.ErrUnexpectedEOF), io.ErrUnexpectedEOF) {
		t.Error("errors.Is does not find the cause behind New")
	}
}

func TestTextIsRedactedWhenTheErrorIsMade(t *testing.T) {
	const card, secret = "4111111111111111", "Jane Doe"
	cause := fmt.Errorf("payer %q with card %s", secret, card)
	made := []error{
		fault.New(fault.SchemaInvalid, "payer %q with card %s", secret, card),
		fault.New(fault.SchemaInvalid, "decode: %w", cause),
		fault.Wrap(fault.LockContention, cause),
		fault.At(fault.StagePost, cause),
		fault.At("no_such_stage", cause),
		fault.On("db", cause),
		fault.RetryAfter(time.Second, cause),
	}
	for i, err := range made {
		for _, text := range []string{err.Error(), fault.Of(err).Detail, fault.Of(fmt.Errorf("card %s: %w", card, err)).Detail} {
			if strings.Contains(text, card) || strings.Contains(text, secret) {
				t.Errorf("error %d still tells: %q", i, text)
			}
		}
	}
	if detail := fault.Of(cause).Detail; strings.Contains(detail, card) || strings.Contains(detail, secret) {
		t.Errorf("error without code still tells: %q", detail)
	}
}
