package audit_test

import (
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"recon/pkg/audit"
	"recon/pkg/envelope"
)

func TestMoneyIsReadableOnlyWithBoth(t *testing.T) {
	for _, row := range []struct {
		currency, amount string
		readable         bool
		want             string
	}{
		{"EUR", "10.50", true, "EUR 10.5"},
		{"EUR", "-0.01", true, "EUR -0.01"},
		{"EUR", "", false, "EUR unreadable"},
		{"EUR", "-0", false, "EUR unreadable"},
		{"EUR", "1e3", false, "EUR unreadable"},
		{"EUR", "1,50", false, "EUR unreadable"},
		{"", "10.50", false, "unreadable"},
		{"", "", false, "unreadable"},
	} {
		m := audit.MoneyOf(row.currency, row.amount)
		if m.Readable != row.readable || m.String() != row.want {
			t.Errorf("%q %q: got %v, readable %v; want %q, %v", row.currency, row.amount, m, m.Readable, row.want, row.readable)
		}
	}
}

func TestMoneyIsEqualHoweverSpelled(t *testing.T) {
	for _, row := range []struct {
		a, b audit.Money
		want bool
	}{
		{audit.MoneyOf("EUR", "1.5"), audit.MoneyOf("EUR", "1.500000000"), true},
		{audit.MoneyOf("EUR", "0"), audit.MoneyOf("EUR", "0.00"), true},
		{audit.MoneyOf("EUR", "1.5"), audit.MoneyOf("EUR", "-1.5"), false},
		{audit.MoneyOf("EUR", "1.5"), audit.MoneyOf("USD", "1.5"), false},
		{audit.MoneyOf("EUR", "0"), audit.MoneyOf("EUR", ""), false},
		{audit.MoneyOf("EUR", ""), audit.MoneyOf("EUR", "x"), true},
	} {
		if got := row.a.Equal(row.b); got != row.want {
			t.Errorf("%v, %v: got %v, want %v", row.a, row.b, got, row.want)
		}
	}
}

// To the cent, whatever the order and however many: gross sums are exact.
func TestTotalsAreExactInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cents := rapid.SliceOfN(rapid.Int64Range(-1e15, 1e15), 0, 50).Draw(t, "cents")
		var forward, backward audit.Total
		var debit, credit int64
		for i := range cents {
			forward = forward.Plus(money(cents[i]))
			backward = backward.Plus(money(cents[len(cents)-1-i]))
			if cents[i] < 0 {
				debit -= cents[i]
			} else {
				credit += cents[i]
			}
		}
		want := audit.Total{Debit: money(debit).Amount, Credit: money(credit).Amount, Count: len(cents)}
		for _, got := range []audit.Total{forward, backward} {
			if !got.Debit.Equal(want.Debit) || !got.Credit.Equal(want.Credit) || got.Count != want.Count {
				t.Fatalf("got %+v, want %+v", got, want)
			}
		}
		if unread := forward.Plus(audit.MoneyOf("EUR", "")); unread.Count != forward.Count {
			t.Fatalf("an unreadable amount was counted: %+v", unread)
		}
	})
}

func money(cents int64) audit.Money {
	return audit.MoneyOf("EUR", envelope.CanonicalAmount(decimal.New(cents, -2)))
}
