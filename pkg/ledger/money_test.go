package ledger_test

import (
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"recon/internal/testkit"
	"recon/pkg/fault"
	"recon/pkg/ledger"
	"recon/pkg/period"
)

// Pitfall R53: what a float cannot hold survives, and no setting of the decimal package that another import may have
// changed alters what is stored.
func TestRealAmountsSurviveToTheLastDigit(t *testing.T) {
	decimal.TrimTrailingZeros, decimal.UseScientificNotation = false, true
	t.Cleanup(func() { decimal.TrimTrailingZeros, decimal.UseScientificNotation = true, false })
	rows := []struct{ currency, amount, stored string }{
		{"EUR", "9007199254740993.10", "9007199254740993.10"},
		{"EUR", "0.1", "0.10"},
		{"EUR", "-0.01", "-0.01"},
		{"EUR", "0", "0.00"},
		{"EUR", "999999999999999999.999999999", "999999999999999999.999999999"},
		{"EUR", "-999999999999999999.99", "-999999999999999999.99"},
		{"EUR", "1000", "1000.00"},
		{"EUR", "18.150", "18.15"},
		{"JPY", "500", "500"},
		{"JPY", "9007199254740993", "9007199254740993"},
		{"KWD", "1.5", "1.500"},
		{"CLF", "0.0001", "0.0001"},
		{"USD", "0.000000001", "0.000000001"},
	}
	suite(t, ledger.Config{}, func(b *bundle) {
		for i, row := range rows {
			b.maps(row.currency)
			m := message(i, currency(row.currency), of(row.amount))
			b.must(b.Handle(b.t.Context(), m))
			if got := b.posted(m.SourceHash).Amount; !got.Equal(amount(row.amount)) {
				b.t.Errorf("%s %s: got %s back", row.currency, row.amount, got.StringFixed(9))
			}
			if got := b.text(`SELECT CAST(amount AS TEXT) FROM postings WHERE source_hash = '` + m.SourceHash + `'`); got != row.stored {
				b.t.Errorf("%s %s: stored %s, want %s", row.currency, row.amount, got, row.stored)
			}
		}
	})
}

// Expected values are exact quotients and products rounded by hand; the halves lie exactly on the half.
func TestRealBaseAmountsAreRoundedOnceHalfToEven(t *testing.T) {
	rows := []struct {
		name, base, amount, rate string
		inverse                  bool
		want                     string
	}{
		{"exact", "EUR", "10.85", "1.085", false, "10.00"},
		{"half, even below", "EUR", "0.25", "2", false, "0.12"},
		{"half, odd below", "EUR", "0.27", "2", false, "0.14"},
		{"negative half, even below", "EUR", "-0.25", "2", false, "-0.12"},
		{"negative half, odd below", "EUR", "-0.27", "2", false, "-0.14"},
		{"smallest half goes to zero", "EUR", "0.01", "2", false, "0.00"},
		{"just above the half", "EUR", "0.25", "1.99999999999999999999", false, "0.13"},
		{"just below the half", "EUR", "0.25", "2.00000000000000000001", false, "0.12"},
		{"never ending", "EUR", "10.00", "3", false, "3.33"},
		{"never ending, up", "EUR", "20.00", "3", false, "6.67"},
		{"never ending, negative", "EUR", "-20.00", "3", false, "-6.67"},
		// 0.125 at two roundings (first to 4 decimals 0.1251, …) is a trap; the exact quotient is 0.12495…
		{"no double rounding", "EUR", "0.25", "2.0008", false, "0.12"},
		{"zero", "EUR", "0", "1.085", false, "0.00"},
		{"a large amount", "EUR", "999999999999999999.99", "1.000001", false, "999999000000999998.99"},
		{"no decimals", "JPY", "1.50", "0.0065", false, "231"},
		{"no decimals, half, even below", "JPY", "0.05", "0.1", true, "0"},
		{"no decimals, half", "JPY", "2.50", "1", false, "2"},
		{"no decimals, half, odd below", "JPY", "3.50", "1", false, "4"},
		{"three decimals", "KWD", "1.00", "3.2", false, "0.312"}, // 0.3125
		{"four decimals", "CLF", "1.00", "32", false, "0.0312"},  // 0.03125
		{"inverse, exact", "EUR", "10.00", "0.92", true, "9.20"},
		{"inverse, half, even below", "EUR", "0.25", "0.5", true, "0.12"},
		{"inverse, half, odd below", "EUR", "0.27", "0.5", true, "0.14"},
		{"inverse, negative half", "EUR", "-0.27", "0.5", true, "-0.14"},
	}
	suite(t, ledger.Config{FX: ledger.FX{Inverse: true}}, func(b *bundle) {
		b.maps("USD")
		published := time.Date(2026, 11, 30, 16, 0, 0, 0, time.UTC)
		for i, row := range rows {
			b.must(b.PutEntity(b.t.Context(), "E", row.base))
			b.raw(`DELETE FROM rates`)
			base, quote := row.base, "USD"
			if row.inverse {
				base, quote = quote, base
			}
			b.quotes(base, quote, "2026-11-30", row.rate, func(r *ledger.Rate) { r.PublishedAt = published })
			m := message(i, entity("E"), currency("USD"), of(row.amount))
			b.must(b.Handle(b.t.Context(), m))
			if got := b.posted(m.SourceHash); !got.BaseAmount.Equal(amount(row.want)) || got.BaseCurrency != row.base {
				b.t.Errorf("%s: %s at %s: got %s %s, want %s", row.name, row.amount, row.rate, got.BaseAmount.StringFixed(4), got.BaseCurrency, row.want)
			}
		}
	})
}

func TestRealTheBaseAmountOfABaseCurrencyPostingIsItsAmount(t *testing.T) {
	suite(t, ledger.Config{}, func(b *bundle) {
		b.maps("EUR")
		b.must(b.PutEntity(b.t.Context(), "ACME-DE", "EUR"))
		b.must(b.Handle(b.t.Context(), message(1)))
		b.must(b.Handle(b.t.Context(), message(2, entity("NOBODY"))))
		if got := b.posted(message(1).SourceHash); got.BaseCurrency != "EUR" || !got.BaseAmount.Equal(amount("10.50")) || got.RateID != "" {
			b.t.Errorf("got %+v", got)
		}
		if got := b.posted(message(2).SourceHash); got.BaseCurrency != "" || !got.BaseAmount.IsZero() || got.RateID != "" {
			b.t.Errorf("an entity without base currency: got %+v", got)
		}
	})
}

func TestRealTheRightRateIsTheLastOneOfItsPairDayTypeAndSource(t *testing.T) {
	first := time.Date(2026, 11, 30, 16, 0, 0, 0, time.UTC)
	at := func(minute int) func(*ledger.Rate) {
		return func(r *ledger.Rate) { r.PublishedAt = first.Add(time.Duration(minute) * time.Minute) }
	}
	other := func(kind, source string) func(*ledger.Rate) {
		return func(r *ledger.Rate) { at(9)(r); r.Type, r.Source = kind, source }
	}
	rows := []struct {
		name string
		fx   ledger.FX
		puts func(*bundle)
		want string // base amount of 10.50 USD in EUR; empty: not published
	}{
		{"the pair", ledger.FX{}, func(b *bundle) { b.quotes("EUR", "USD", "2026-11-30", "1.05", at(0)) }, "10.00"},
		{"a correction", ledger.FX{}, func(b *bundle) {
			b.quotes("EUR", "USD", "2026-11-30", "1.05", at(1))
			b.quotes("EUR", "USD", "2026-11-30", "1.5", at(0))
		}, "10.00"},
		{"another day", ledger.FX{}, func(b *bundle) { b.quotes("EUR", "USD", "2026-11-29", "1.05", at(0)) }, ""},
		{"another type", ledger.FX{}, func(b *bundle) { b.quotes("EUR", "USD", "2026-11-30", "1.05", other("average", "ECB")) }, ""},
		{"the configured type", ledger.FX{Type: "average"}, func(b *bundle) {
			b.quotes("EUR", "USD", "2026-11-30", "1.05", other("average", "ECB"))
			b.quotes("EUR", "USD", "2026-11-30", "1.5", other("spot", "ECB"))
		}, "10.00"},
		{"another source", ledger.FX{Source: "FED"}, func(b *bundle) { b.quotes("EUR", "USD", "2026-11-30", "1.05", at(0)) }, ""},
		{"the configured source", ledger.FX{Source: "FED"}, func(b *bundle) {
			b.quotes("EUR", "USD", "2026-11-30", "1.05", other("spot", "FED"))
			b.quotes("EUR", "USD", "2026-11-30", "1.5", at(10))
		}, "10.00"},
		{"the opposite direction is not used unasked", ledger.FX{}, func(b *bundle) { b.quotes("USD", "EUR", "2026-11-30", "0.9", at(0)) }, ""},
		{"the opposite direction where configured", ledger.FX{Inverse: true}, func(b *bundle) { b.quotes("USD", "EUR", "2026-11-30", "0.9", at(0)) }, "9.45"},
		{"the direct one goes before", ledger.FX{Inverse: true}, func(b *bundle) {
			b.quotes("USD", "EUR", "2026-11-30", "0.9", at(5))
			b.quotes("EUR", "USD", "2026-11-30", "1.05", at(0))
		}, "10.00"},
		{"two legs are not combined", ledger.FX{Inverse: true}, func(b *bundle) {
			b.quotes("GBP", "EUR", "2026-11-30", "1.2", at(0))
			b.quotes("GBP", "USD", "2026-11-30", "1.3", at(0))
		}, ""},
	}
	suite(t, ledger.Config{}, func(shared *bundle) {
		shared.maps("USD")
		shared.must(shared.PutEntity(shared.t.Context(), "ACME-DE", "EUR"))
		for i, row := range rows {
			shared.t.Run(row.name, func(t *testing.T) {
				shared.raw(`DELETE FROM rates`)
				b := open(t, shared.url, ledger.Config{FX: row.fx})
				row.puts(b)
				m := message(i, currency("USD"))
				err := b.Handle(t.Context(), m)
				if row.want == "" {
					b.wantCode(err, fault.RateNotPublished, fault.StageFX)
					contains(t, err, "EUR/USD of 2026-11-30")
					return
				}
				b.must(err)
				if got := b.posted(m.SourceHash); !got.BaseAmount.Equal(amount(row.want)) || got.RateID == "" {
					t.Errorf("got %+v, want %s", got, row.want)
				}
			})
		}
	})
}

// 2026-11-28 is a Saturday; the calendar makes Friday a holiday, the configuration Thursday.
const holidays = `{"version": 1, "revision": "1", "calendars": [{"id": "c", "timezone": "Europe/Berlin", "holidays": ["2026-11-27"],
	"periods": [{"id": "2026", "from": "2026-01-01", "to": "2026-12-31", "state": "open"}]}], "default": {"calendar": "c"}}`

func TestRealTheDayOfTheRateFollowsTheConfiguredRule(t *testing.T) {
	calendar, err := period.Load("holidays.json", []byte(holidays))
	if err != nil {
		t.Fatal(err)
	}
	rows := []struct {
		name string
		cfg  ledger.Config
		rate string // the one day that has a rate
		want string // the day that is missing, empty: posts
	}{
		{"the accounting date itself", ledger.Config{}, "2026-11-28", ""},
		{"by default no other day", ledger.Config{}, "2026-11-27", "2026-11-28"},
		{"Saturday takes Friday's", ledger.Config{FX: ledger.FX{Date: ledger.PreviousBusinessDay}}, "2026-11-27", ""},
		{"and no earlier one", ledger.Config{FX: ledger.FX{Date: ledger.PreviousBusinessDay}}, "2026-11-26", "2026-11-27"},
		{"a holiday of the calendar", ledger.Config{Calendar: calendar, FX: ledger.FX{Date: ledger.PreviousBusinessDay}}, "2026-11-26", ""},
		{"a holiday of the configuration too", ledger.Config{Calendar: calendar, FX: ledger.FX{Date: ledger.PreviousBusinessDay, Holidays: []string{"2026-11-26"}}}, "2026-11-25", ""},
	}
	suite(t, ledger.Config{}, func(shared *bundle) {
		shared.maps("USD")
		shared.must(shared.PutEntity(shared.t.Context(), "ACME-DE", "EUR"))
		for i, row := range rows {
			shared.t.Run(row.name, func(t *testing.T) {
				shared.raw(`DELETE FROM rates`)
				b := open(t, shared.url, row.cfg)
				b.quotes("EUR", "USD", row.rate, "1.05")
				m := message(i, currency("USD"))
				m.BookingDate = "2026-11-28"
				err := b.Handle(t.Context(), m)
				if row.want != "" {
					b.wantCode(err, fault.RateNotPublished, fault.StageFX)
					contains(t, err, row.want)
					return
				}
				b.must(err)
				if got := b.posted(m.SourceHash).AccountingDate; got != "2026-11-28" {
					t.Errorf("accounting date: got %s", got)
				}
			})
		}
	})
}

func TestRealABusinessDayTakesItsOwnRate(t *testing.T) {
	suite(t, ledger.Config{FX: ledger.FX{Date: ledger.PreviousBusinessDay}}, func(b *bundle) {
		b.maps("USD")
		b.must(b.PutEntity(b.t.Context(), "ACME-DE", "EUR"))
		b.quotes("EUR", "USD", "2026-11-27", "1.05") // Friday; the message is Monday's
		err := b.Handle(b.t.Context(), message(1, currency("USD")))
		b.wantCode(err, fault.RateNotPublished, fault.StageFX)
		contains(b.t, err, "2026-11-30")
	})
}

func TestRealWithoutDatesTheAccountingDateIsTheDayFirstSeenInTheEntitysZone(t *testing.T) {
	calendar, err := period.Load("holidays.json", []byte(holidays))
	if err != nil {
		t.Fatal(err)
	}
	for want, cfg := range map[string]ledger.Config{"2026-11-30": {}, "2026-12-01": {Calendar: calendar}} {
		suite(t, cfg, func(b *bundle) {
			b.maps("EUR")
			m := message(1)
			m.BookingDate, m.FirstSeen = "", time.Date(2026, 11, 30, 23, 30, 0, 0, time.UTC)
			b.must(b.Handle(b.t.Context(), m))
			if got := b.posted(m.SourceHash).AccountingDate; got != want {
				b.t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// Between the look at the rate and the posting an entity's owner may give it another base currency, or none: the base
// amount is never one of another currency than the posting says.
func TestRealBaseAmountIsOfTheBaseCurrencyThatThePostingNames(t *testing.T) {
	suite(t, ledger.Config{}, func(b *bundle) {
		b.maps("EUR")
		b.quotes("USD", "EUR", "2026-11-30", "0.5")
		for n, row := range []struct {
			change       func()
			base, amount string
		}{
			{func() { b.must(b.PutEntity(b.t.Context(), "ACME-DE", "EUR")) }, "EUR", "10.50"},
			{func() { b.raw(`DELETE FROM entities`) }, "", "0"},
		} {
			b.must(b.PutEntity(b.t.Context(), "ACME-DE", "USD"))
			m := message(n)
			b.must(ledger.HandleAround(b.t.Context(), b.SQL, m, row.change))
			got := b.posted(m.SourceHash)
			if got.BaseCurrency != row.base || !got.BaseAmount.Equal(amount(row.amount)) || got.RateID != "" {
				b.t.Errorf("got base amount %s %q by rate %q, want %s %q by none", got.BaseAmount, got.BaseCurrency, got.RateID, row.amount, row.base)
			}
			if row.base == "" && b.text(`SELECT count(*) FROM postings WHERE base_currency IS NULL AND base_amount IS NOT NULL`) != "0" {
				b.t.Error("a base amount stands there without a base currency")
			}
		}
	})
}

// A role or database may have a DateStyle of its own: what is read back is a date of the contract nevertheless.
func TestRealAccountingDatesAreReadInOneSpelling(t *testing.T) {
	for _, style := range []string{"German", "SQL", "Postgres"} {
		b := ready(t, with(t, testkit.Postgres(t), "datestyle", style), ledger.Config{})
		b.maps("EUR")
		m := message(1)
		b.must(b.Handle(t.Context(), m))
		if got := b.posted(m.SourceHash).AccountingDate; got != "2026-11-30" {
			t.Errorf("%s: got %s, want 2026-11-30", style, got)
		}
	}
}
