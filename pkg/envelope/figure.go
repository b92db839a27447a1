package envelope

import (
	"strings"

	"github.com/shopspring/decimal"
)

// Figure writes an amount for people: all decimals that it has, and at least those of its currency.
func Figure(d decimal.Decimal, currency string) string {
	whole, decimals, _ := strings.Cut(CanonicalAmount(d), ".")
	digits, _ := MinorUnits(currency)
	if decimals += strings.Repeat("0", max(0, digits-len(decimals))); decimals == "" {
		return whole
	}
	return whole + "." + decimals
}

// Grouped puts commas between the thousands of a number in decimal text.
func Grouped(number string) string {
	whole, decimals, point := strings.Cut(number, ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if !point {
		return whole
	}
	return whole + "." + decimals
}
