package ledger

import (
	"github.com/bojanz/currency"
	"github.com/shopspring/decimal"

	"recon/pkg/fault"
)

// rate is a row of table rates: one unit of its base buys value units of its quote.
type rate struct {
	id      int64
	value   decimal.Decimal
	inverse bool // its quote is the entity's base currency, not its base
}

func (r rate) same(other rate) bool { return r.id == other.id && r.value.Equal(other.value) }

// conversion is an amount in the entity's base currency, and the rate that made it.
type conversion struct {
	base   string
	amount decimal.Decimal
	rate   rate
}

// convert makes the base amount of e.
func (f facts) convert(e *entry) (*conversion, error) {
	digits, ok := currency.GetDigits(f.base)
	if !ok {
		return nil, fault.At(fault.StageCurrency, fault.New(fault.CurrencyUnmapped, "base currency %s of entity %s is no ISO 4217 currency with a minor unit", f.base, e.m.LedgerEntity))
	}
	if f.rate == nil {
		return nil, fault.At(fault.StageFX, fault.New(fault.RateNotPublished, "no %s rate %s/%s of %s is in the ledger's table rates", e.want.kind, f.base, e.m.Currency, e.want.day))
	}
	c := &conversion{base: f.base, rate: *f.rate}
	if f.rate.inverse {
		c.amount = e.amount.Mul(f.rate.value).RoundBank(int32(digits))
	} else {
		c.amount = divide(e.amount, f.rate.value, int32(digits))
	}
	return c, nil
}

// divide returns a/b with the given number of decimals, rounded once, half to even, on the exact quotient: an
// intermediate result of any fixed precision could move a quotient onto the half, or off it.
func divide(a, b decimal.Decimal, digits int32) decimal.Decimal {
	unit := decimal.New(1, -digits)
	quotient, rest := a.QuoRem(b, digits) // truncated; a = quotient·b + rest
	switch rest.Abs().Mul(decimal.NewFromInt(2)).Cmp(b.Abs().Mul(unit)) {
	case -1:
		return quotient
	case 0:
		if quotient.Shift(digits).BigInt().Bit(0) == 0 {
			return quotient
		}
	}
	if a.Sign()*b.Sign() < 0 {
		return quotient.Sub(unit)
	}
	return quotient.Add(unit)
}
