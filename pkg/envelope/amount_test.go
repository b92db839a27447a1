package envelope_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/bojanz/currency"
	"github.com/shopspring/decimal"

	"recon/pkg/envelope"
)

// The rule as CONTRACT 2 writes it is the oracle of the hand-written one.
var amountRule = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,9})?$`)

func amountIsValid(s string) bool {
	return amountRule.MatchString(s) && (!strings.HasPrefix(s, "-") || strings.Trim(s, "-0.") != "")
}

func TestAmountRuleIsTheContracts(t *testing.T) {
	for _, s := range []string{
		"0", "0.0", "0.000000000", "1", "-1", "10", "-0.01", "999999999999999999", "-999999999999999999.999999999",
		"-0", "-0.0", "-0.000000000", "", "-", ".", "1.", ".5", "01", "-01", "00", "+1", "1e3", "1E3", "1,5", "1 ", " 1",
		"1.0000000000", "1000000000000000000", "0x10", "--1", "1-", "1.2.3", "NaN", "Inf", "١", "1_000", "−1", "1\n", "1\x00",
	} {
		checkAmount(t, s)
	}
	signs := "-+.0123456789e ,"
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50_000 {
		b := make([]byte, rng.IntN(31))
		for i := range b {
			b[i] = signs[rng.IntN(len(signs))]
			if rng.IntN(3) > 0 {
				b[i] = '0' + byte(rng.IntN(10))
			}
		}
		checkAmount(t, string(b))
	}
}

func checkAmount(t *testing.T, s string) {
	t.Helper()
	d, ok := envelope.ParseAmount(s)
	if want := amountIsValid(s); ok != want {
		t.Fatalf("%q: got %v, want %v", s, ok, want)
	}
	if ok && !d.Equal(decimal.RequireFromString(s)) {
		t.Fatalf("%q: got %s", s, d)
	}
}

// reference/audit-hash-inputs 2.2, rule 2. Pitfall R53: large and small amounts keep every digit.
func TestCanonicalAmountIsOneSpellingPerValue(t *testing.T) {
	rows := []struct{ in, want string }{
		{"1.10", "1.1"},
		{"1.1", "1.1"},
		{"1.1000", "1.1"},
		{"0", "0"},
		{"0.00", "0"},
		{"-0.00", "0"},
		{"-0.50", "-0.5"},
		{"0.05", "0.05"},
		{"-0.000000001", "-0.000000001"},
		{"100", "100"},
		{"1e3", "1000"},
		{"-1.5e2", "-150"},
		{"9007199254740993", "9007199254740993"},
		{"0.1", "0.1"},
		{"18.150", "18.15"},
		{"999999999999999999.999999999", "999999999999999999.999999999"},
		{"1000", "1000"},
		{"10.00", "10"},
	}
	for _, r := range rows {
		if got := envelope.CanonicalAmount(decimal.RequireFromString(r.in)); got != r.want {
			t.Errorf("%s: got %s, want %s", r.in, got, r.want)
		}
	}
}

// Any import may change these variables of the decimal library, in a test of its own as well as by mistake.
func TestCanonicalAmountIgnoresTheLibrarysVariables(t *testing.T) {
	before, science := decimal.TrimTrailingZeros, decimal.UseScientificNotation
	defer func() { decimal.TrimTrailingZeros, decimal.UseScientificNotation = before, science }()
	for _, flip := range []bool{false, true} {
		decimal.TrimTrailingZeros, decimal.UseScientificNotation = flip, flip
		if got, want := envelope.CanonicalAmount(decimal.RequireFromString("1500.10")), "1500.1"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// Codes that ISO 4217 has withdrawn or given to something without a minor unit: a library that still takes one of
// them after an update is seen here.
func TestCurrencyTableIsISO4217(t *testing.T) {
	if got, want := len(envelope.Currencies()), 165; got != want {
		t.Errorf("got %d currencies, want the %d in use with a minor unit", got, want)
	}
	for code, want := range map[string]int{"EUR": 2, "USD": 2, "JPY": 0, "ISK": 0, "UYI": 0, "BHD": 3, "IQD": 3, "CLF": 4, "UYW": 4, "CHE": 2, "XAF": 0, "ZWG": 2, "XCG": 2, "VED": 2, "SLE": 2} {
		if got, ok := envelope.MinorUnits(code); !ok || got != want {
			t.Errorf("%s: got %d, %v, want %d", code, got, ok, want)
		}
	}
	withdrawn := "ADP AFA ALK ANG AOK AON AOR ARA ARP ARY ATS AYM AZM BAD BEC BEF BEL BGJ BGK BGL BGN BOP BRB BRC BRE BRN BRR BUK " +
		"BYB BYR CHC CSD CSJ CSK CUC CYP DDM DEM ECS ECV EEK ESA ESB ESP FIM FRF GEK GHC GHP GNE GNS GQE GRD GWE GWP HRD HRK " +
		"IEP ILP ILR ISJ ITL LAJ LSM LTL LTT LUC LUF LUL LVL LVR MGF MLF MRO MTL MTP MVQ MXP MZE MZM NIC NLG PEH PEI PES " +
		"PLZ PTE RHD ROK ROL RUR SDD SDP SIT SKK SLL SRG STD SUR TJR TLE TMM TPE TRL UAK UGS UGW USS UYN UYP VEB VEF VNC " +
		"XEU XFO XFU XRE YDD YUD YUM YUN ZAL ZMK ZRN ZRZ ZWC ZWD ZWL ZWN ZWR"
	noMinorUnit := "XAG XAU XBA XBB XBC XBD XDR XPD XPT XSU XTS XUA XXX"
	for _, code := range strings.Fields(withdrawn + " " + noMinorUnit + " ABC eur EU EURO") {
		if digits, ok := envelope.MinorUnits(code); ok {
			t.Errorf("%s: accepted with %d decimals", code, digits)
		}
	}
	if _, ok := envelope.MinorUnits(""); ok {
		t.Error("the empty code is accepted")
	}
}

// The library's table belongs to the whole process; ours does not.
func TestCurrencyTableCannotBeChangedFromOutside(t *testing.T) {
	currency.Register("QQQ", currency.Definition{NumericCode: "000", Digits: 1})
	if _, ok := envelope.MinorUnits("QQQ"); ok {
		t.Error("a currency that was registered later is accepted")
	}
}
