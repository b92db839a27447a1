package envelope

import (
	"strconv"
	"strings"

	"github.com/shopspring/decimal"
)

// maxIntegerDigits and maxDecimals are the limits of the amount rule in CONTRACT 2.
const (
	maxIntegerDigits = 18
	maxDecimals      = 9
)

// CanonicalAmount is the one spelling of an amount: optional minus, no plus, no exponent, no leading zeros, no trailing
// zeros after the point, zero is `0`. It is built from coefficient and exponent, since decimal's String follows package
// variables that any import may change.
func CanonicalAmount(d decimal.Decimal) string {
	digits := d.Coefficient().String()
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	if digits == "0" {
		return "0"
	}
	exp := int(d.Exponent())
	if exp >= 0 {
		return sign + digits + strings.Repeat("0", exp)
	}
	if pad := -exp - len(digits) + 1; pad > 0 {
		digits = strings.Repeat("0", pad) + digits
	}
	whole, frac := digits[:len(digits)+exp], strings.TrimRight(digits[len(digits)+exp:], "0")
	if frac == "" {
		return sign + whole
	}
	return sign + whole + "." + frac
}

// ParseAmount reads an amount by the rule of CONTRACT 2 (`-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,9})?`, never `-0`).
// ok is false for everything else; how many decimals the currency has is not looked at.
func ParseAmount(s string) (d decimal.Decimal, ok bool) {
	a, ok := scanAmount([]byte(s))
	if !ok {
		return decimal.Decimal{}, false
	}
	return a.decimal(), true
}

// amountText is an amount that keeps the rule, still as text.
type amountText struct {
	text     []byte
	point    int // index of the point, or len(text)
	decimals int // digits after the point without trailing zeros: what the currency must have
}

// scanAmount checks b against the rule.
func scanAmount(b []byte) (amountText, bool) {
	i, negative := 0, false
	if i < len(b) && b[i] == '-' {
		i, negative = 1, true
	}
	start := i
	for i < len(b) && isDigit(b[i]) {
		i++
	}
	whole := i - start
	if whole == 0 || whole > maxIntegerDigits || whole > 1 && b[start] == '0' {
		return amountText{}, false
	}
	a := amountText{text: b, point: i}
	if i < len(b) {
		frac := b[i+1:]
		if b[i] != '.' || len(frac) == 0 || len(frac) > maxDecimals {
			return amountText{}, false
		}
		for j, c := range frac {
			if !isDigit(c) {
				return amountText{}, false
			}
			if c != '0' {
				a.decimals = j + 1
			}
		}
	}
	if negative && b[start] == '0' && a.decimals == 0 {
		return amountText{}, false
	}
	return a, true
}

// canonical is CanonicalAmount of a, as a part of its own text.
func (a amountText) canonical() []byte {
	if a.decimals == 0 {
		return a.text[:a.point]
	}
	return a.text[:a.point+1+a.decimals]
}

// decimal gives the value with as many decimals as were written.
func (a amountText) decimal() decimal.Decimal {
	exp := 0
	if a.point < len(a.text) {
		exp = len(a.text) - a.point - 1
	}
	var space [32]byte
	digits := append(space[:0], a.text[:a.point]...)
	if exp > 0 {
		digits = append(digits, a.text[a.point+1:]...)
	}
	if len(digits) <= maxIntegerDigits { // fits an int64 with its sign
		n, err := strconv.ParseInt(string(digits), 10, 64)
		if err == nil {
			return decimal.New(n, int32(-exp))
		}
	}
	d, err := decimal.NewFromString(string(a.text))
	if err != nil { // the rule is narrower than what decimal reads
		panic("envelope: amount " + string(a.text) + ": " + err.Error())
	}
	return d
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
