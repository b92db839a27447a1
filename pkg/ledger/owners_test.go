package ledger_test

import (
	"strings"
	"testing"
	"time"

	"recon/internal/testkit"
	"recon/pkg/ledger"
)

func TestRealOwnersEntriesAreRefusedWhereTheyMakeNoSense(t *testing.T) {
	good := ledger.Rate{Base: "EUR", Quote: "USD", Date: "2026-11-30", Rate: amount("1.05")}
	edited := func(edit func(*ledger.Rate)) ledger.Rate {
		r := good
		edit(&r)
		return r
	}
	suite(t, ledger.Config{}, func(b *bundle) {
		ctx := b.t.Context()
		b.must(b.PutRate(ctx, good))
		for want, r := range map[string]ledger.Rate{
			"eur is no ISO 4217 currency":   edited(func(r *ledger.Rate) { r.Base = "eur" }),
			"ABC is no ISO 4217 currency":   edited(func(r *ledger.Rate) { r.Quote = "ABC" }),
			"the date does not exist":       edited(func(r *ledger.Rate) { r.Date = "2026-02-30" }),
			"0: want a rate above zero":     edited(func(r *ledger.Rate) { r.Rate = amount("0") }),
			"-1.05: want a rate above zero": edited(func(r *ledger.Rate) { r.Rate = amount("-1.05") }),
			"between two currencies":        edited(func(r *ledger.Rate) { r.Quote = "EUR" }),
		} {
			contains(b.t, b.PutRate(ctx, r), want)
		}
		contains(b.t, b.PutCurrency(ctx, "XYZ"), "XYZ is no ISO 4217 currency")
		contains(b.t, b.PutEntity(ctx, "ACME", ""), "entity ACME: base currency")
	})
}

// The tables guard themselves too: their owners need not use this package.
func TestRealTheTablesRefuseRatesThatAreNone(t *testing.T) {
	suite(t, ledger.Config{}, func(b *bundle) {
		db := b.beside()
		for _, values := range []string{
			`('EUR', 'USD', '2026-11-30', 'spot', '0', 'x')`,
			`('EUR', 'USD', '2026-11-30', 'spot', '-1', 'x')`,
			`('EUR', 'USD', '2026-11-30', 'spot', 'NaN', 'x')`,
			`('EUR', 'USD', '2026-11-30', 'spot', '1,05', 'x')`,
			`('EUR', 'USD', '2026-02-30', 'spot', '1', 'x')`,
			`('EUR', 'EUR', '2026-11-30', 'spot', '1', 'x')`,
			`('eur', 'USD', '2026-11-30', 'spot', '1', 'x')`,
		} {
			if _, err := db.ExecContext(b.t.Context(), `INSERT INTO rates (base, quote, rate_date, type, rate, source) VALUES `+values); err == nil {
				b.t.Errorf("%s was taken", values)
			}
		}
		for _, statement := range []string{
			`INSERT INTO currencies (currency) VALUES ('eur')`,
			`INSERT INTO entities (entity, base_currency) VALUES ('ACME', 'EURO')`,
			`INSERT INTO entities (entity) VALUES ('ACME')`,
		} {
			if _, err := db.ExecContext(b.t.Context(), statement); err == nil {
				b.t.Errorf("%s was taken", statement)
			}
		}
	})
}

func TestRealPublishingTheSameAgainChangesNothingAndAnotherValueIsRefused(t *testing.T) {
	suite(t, ledger.Config{}, func(b *bundle) {
		ctx := b.t.Context()
		r := ledger.Rate{Base: "EUR", Quote: "USD", Date: "2026-11-30", Rate: amount("1.05"), Source: "ECB", PublishedAt: time.Date(2026, 11, 30, 16, 0, 0, 0, time.UTC)}
		b.must(b.PutRate(ctx, r))
		r.Rate = amount("1.0500")
		b.must(b.PutRate(ctx, r))
		r.Rate = amount("1.06")
		contains(b.t, b.PutRate(ctx, r), "another value was published at the same time")
		r.PublishedAt = r.PublishedAt.Add(time.Millisecond)
		b.must(b.PutRate(ctx, r))
		if got := b.text(`SELECT CAST(count(*) AS TEXT) FROM rates`); got != "2" {
			b.t.Errorf("got %s rates, want 2", got)
		}

		for range 2 {
			b.must(b.PutCurrency(ctx, "EUR"))
			b.must(b.PutDocument(ctx, "INV-1"))
			b.must(b.PutEntity(ctx, "ACME", "USD"))
			b.must(b.PutEntity(ctx, "ACME", "EUR"))
		}
		if got := b.text(`SELECT base_currency FROM entities WHERE entity = 'ACME'`); got != "EUR" {
			b.t.Errorf("got %s, want the last one", got)
		}
	})
}

func TestRealALedgerWithoutCurrenciesIsToldFromOneWithSome(t *testing.T) {
	for name, url := range map[string]string{"sqlite": file(t), "postgres": testkit.Schema(t, testkit.Postgres(t))} {
		b := open(t, url, ledger.Config{})
		if some, err := b.MapsAny(t.Context()); some || !ledger.IsAway(err) || !strings.Contains(err.Error(), "currencies") {
			t.Errorf("%s without tables: %v, %v, want the table named", name, some, err)
		}
		b.must(b.Migrate(t.Context()))
		if some, err := b.MapsAny(t.Context()); some || err != nil {
			t.Errorf("%s with nothing mapped: %v, %v", name, some, err)
		}
		b.maps("EUR")
		if some, err := b.MapsAny(t.Context()); !some || err != nil {
			t.Errorf("%s with EUR mapped: %v, %v", name, some, err)
		}
	}
}
