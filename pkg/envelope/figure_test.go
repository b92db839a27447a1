package envelope_test

import (
	"testing"

	"github.com/shopspring/decimal"

	"recon/pkg/envelope"
)

func TestFiguresHaveTheDecimalsOfTheirCurrency(t *testing.T) {
	for _, row := range []struct{ amount, currency, want string }{
		{"12.5", "EUR", "12.50"},
		{"0", "EUR", "0.00"},
		{"-7", "USD", "-7.00"},
		{"1200", "JPY", "1200"},
		{"1.5", "KWD", "1.500"},
		{"27.055", "EUR", "27.055"},
		{"9007199254740993.01", "EUR", "9007199254740993.01"},
		{"3.5", "ZZZ", "3.5"},
		{"-3", "", "-3"},
	} {
		if got := envelope.Figure(decimal.RequireFromString(row.amount), row.currency); got != row.want {
			t.Errorf("%s %s: got %s, want %s", row.amount, row.currency, got, row.want)
		}
	}
}

func TestThousandsAreGroupedInTheWholePartAlone(t *testing.T) {
	for number, want := range map[string]string{
		"0": "0", "999": "999", "1000": "1,000", "-100": "-100", "-1000": "-1,000", "1234.56789": "1,234.56789",
		"-123456.70": "-123,456.70", "12345678901234567890.01": "12,345,678,901,234,567,890.01",
	} {
		if got := envelope.Grouped(number); got != want {
			t.Errorf("%s: got %s, want %s", number, got, want)
		}
	}
}
