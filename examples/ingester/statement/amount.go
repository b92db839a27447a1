package statement

import (
	"strings"

	"github.com/shopspring/decimal"

	"recon/pkg/envelope"
)

// amount is a figure twice: as it travels and as it counts.
type amount struct {
	text  string          // the message's spelling; of what is no figure, the file's own
	value decimal.Decimal // signed
	ok    bool            // value can be relied on
}

// maxDigits is where a figure ends to be one. ISO 20022 has 18 digits, SWIFT 15, BAI2 names no limit.
const maxDigits = 30

// unsigned reads digits with at most one point. Zeros in front go, decimals stay as many as were written.
func unsigned(s string, point string) amount {
	s = strings.TrimSpace(s)
	whole, frac, _ := strings.Cut(s, point)
	if len(s) > maxDigits || whole+frac == "" || !digits(whole+frac) {
		return amount{text: s}
	}
	text := strings.TrimLeft(whole, "0")
	if text == "" {
		text = "0"
	}
	if frac != "" {
		text += "." + frac
	}
	return amount{text: text, value: parse(whole+frac, len(frac)), ok: true}
}

// minor reads a count of a currency's smallest units, such as cents.
func minor(s string, decimals int) amount {
	if s == "" || !digits(s) || len(s) > maxDigits {
		return amount{text: s}
	}
	if pad := decimals + 1 - len(s); pad > 0 {
		s = strings.Repeat("0", pad) + s
	}
	return unsigned(s[:len(s)-decimals]+"."+s[len(s)-decimals:], ".")
}

// asWritten keeps a figure as it stands, sign and all: what breaks the message's rule is not repaired, it becomes a letter.
func asWritten(s string) amount {
	d, ok := envelope.ParseAmount(s)
	return amount{text: s, value: d, ok: ok}
}

// debit turns a figure into money that leaves the account. Zero has no sign.
func (a amount) debit() amount {
	if !a.ok || a.value.IsZero() {
		return a
	}
	return amount{text: "-" + a.text, value: a.value.Neg(), ok: true}
}

// parse makes a figure of digits, of which the last ones are decimals.
func parse(s string, decimals int) decimal.Decimal {
	d, err := decimal.NewFromString(s)
	if err != nil { // callers pass digits only
		panic("statement: digits " + s + ": " + err.Error())
	}
	return d.Shift(int32(-decimals))
}

// digits tells whether s has nothing but ASCII digits. The empty text has.
func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// money is a figure for people: at least the currency's decimals, and its code.
func money(d decimal.Decimal, currency string) string {
	return strings.TrimSpace(envelope.Figure(d, currency) + " " + currency)
}
