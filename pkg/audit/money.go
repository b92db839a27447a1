package audit

import (
	"github.com/shopspring/decimal"

	"recon/pkg/envelope"
)

// Money is a signed amount in a currency, or the fact that one cannot be read. Credit to the account holder is positive.
type Money struct {
	Currency string // empty: unreadable
	Amount   decimal.Decimal
	Readable bool // both are known; false: Amount means nothing
}

// MoneyOf reads currency and amount as messages, letters and events carry them: decimal text by the rule of
// CONTRACT 2, empty where unreadable. An amount without a currency is not readable: it belongs to no total.
func MoneyOf(currency, amount string) Money {
	d, ok := envelope.ParseAmount(amount)
	if !ok || currency == "" {
		return Money{Currency: currency}
	}
	return Money{Currency: currency, Amount: d, Readable: true}
}

// Equal tells whether m and n are the same sum in the same currency, however it is spelled.
func (m Money) Equal(n Money) bool {
	return m.Readable == n.Readable && m.Currency == n.Currency && (!m.Readable || m.Amount.Equal(n.Amount))
}

// String is the currency and the canonical amount.
func (m Money) String() string {
	switch {
	case m.Readable:
		return m.Currency + " " + envelope.CanonicalAmount(m.Amount)
	case m.Currency != "":
		return m.Currency + " unreadable"
	default:
		return "unreadable"
	}
}

// Total is the gross sums of one currency: debits and credits apart, both as positive figures, and how many amounts
// they are made of. Nil-decimals are zero, so the zero value is an empty total.
type Total struct {
	Debit, Credit decimal.Decimal
	Count         int
}

// Plus is t with m in it. What is not readable changes nothing.
func (t Total) Plus(m Money) Total {
	if !m.Readable {
		return t
	}
	if m.Amount.Sign() < 0 {
		t.Debit = t.Debit.Add(m.Amount.Neg())
	} else {
		t.Credit = t.Credit.Add(m.Amount)
	}
	t.Count++
	return t
}
