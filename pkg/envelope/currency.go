package envelope

import (
	"sort"

	"github.com/bojanz/currency"
)

// iso is the table of ISO 4217 currencies that have a minor unit, taken once: the library's own table can be changed
// by anyone in the process (currency.Register), and two instances must not judge one message differently.
// Version 1.5.1 of the library holds exactly the 165 active codes with a minor unit; withdrawn codes, metals, XDR, XTS
// and XXX are not in it (TestCurrencyTableIsISO4217 holds that against later versions).
var iso = func() map[string]minorUnit {
	t := make(map[string]minorUnit, 165)
	for _, code := range currency.GetCurrencyCodes() {
		if digits, ok := currency.GetDigits(code); ok && digits != currency.DefaultDigits {
			t[code] = minorUnit{code, int(digits)}
		}
	}
	return t
}()

type minorUnit struct {
	code   string
	digits int
}

// MinorUnits gives the number of decimals of an ISO 4217 currency. ok is false for codes that are unknown, withdrawn,
// or without a minor unit (XAU, XXX).
func MinorUnits(code string) (digits int, ok bool) {
	u, ok := iso[code]
	return u.digits, ok
}

// Currencies lists the codes that messages may carry, sorted.
func Currencies() []string {
	codes := make([]string, 0, len(iso))
	for code := range iso {
		codes = append(codes, code)
	}
	sort.Strings(codes)
	return codes
}

// isCurrencyCode checks the form alone: three capital letters.
func isCurrencyCode[T string | []byte](s T) bool {
	if len(s) != 3 {
		return false
	}
	for i := range 3 {
		if s[i] < 'A' || s[i] > 'Z' {
			return false
		}
	}
	return true
}
