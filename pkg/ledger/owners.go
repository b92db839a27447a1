package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/bojanz/currency"
	"github.com/shopspring/decimal"

	"recon/pkg/envelope"
)

// The methods below are for the owners of the tables entities, currencies, rates and documents: feeds of master data,
// samples and tests. The ledger itself only reads these tables.

// PutEntity sets an entity's base currency. An entity without a row has none, and no rate is asked for its postings.
func (s *SQL) PutEntity(ctx context.Context, entity, base string) error {
	if err := iso(base); err != nil {
		return fmt.Errorf("entity %s: base currency: %w", entity, err)
	}
	return s.put(ctx, `INSERT INTO entities (entity, base_currency) VALUES (?, ?)
		ON CONFLICT (entity) DO UPDATE SET base_currency = excluded.base_currency`, entity, base)
}

// PutCurrency maps a currency: from now on records in it may post.
func (s *SQL) PutCurrency(ctx context.Context, code string) error {
	if err := iso(code); err != nil {
		return err
	}
	return s.put(ctx, `INSERT INTO currencies (currency) VALUES (?) ON CONFLICT (currency) DO NOTHING`, code)
}

// MapsAny tells whether any currency is mapped. Where none is, no record can post.
func (s *SQL) MapsAny(ctx context.Context) (bool, error) {
	some, err := s.db.mapsAny(ctx)
	return some, s.blame(ctx, err)
}

const anyCurrency = `SELECT EXISTS (SELECT 1 FROM currencies)`

// PutDocument says that a document has arrived: records whose counterpart_ref names it may post.
func (s *SQL) PutDocument(ctx context.Context, ref string) error {
	return s.put(ctx, `INSERT INTO documents (ref) VALUES (?) ON CONFLICT (ref) DO NOTHING`, ref)
}

// Rate is one exchange rate: one unit of Base buys Rate units of Quote.
type Rate struct {
	Base, Quote string
	Date        string // YYYY-MM-DD
	Type        string // empty: the configured one
	Rate        decimal.Decimal
	Source      string
	PublishedAt time.Time // zero: now
}

// PutRate publishes a rate. Publishing the same again changes nothing; another value under the same base, quote, date,
// type, source and time is refused, since postings may rest on the first: a correction has a later PublishedAt.
func (s *SQL) PutRate(ctx context.Context, r Rate) error {
	if r.Type == "" {
		r.Type = s.cfg.FX.Type
	}
	if r.PublishedAt.IsZero() {
		r.PublishedAt = time.Now()
	}
	name := fmt.Sprintf("%s rate %s/%s of %s", r.Type, r.Base, r.Quote, r.Date)
	for _, code := range []string{r.Base, r.Quote} {
		if err := iso(code); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if _, err := time.Parse(time.DateOnly, r.Date); err != nil {
		return fmt.Errorf("%s: the date does not exist; write YYYY-MM-DD", name)
	}
	if r.Rate.Sign() <= 0 || r.Base == r.Quote {
		return fmt.Errorf("%s: %s: want a rate above zero between two currencies", name, envelope.CanonicalAmount(r.Rate))
	}
	n, err := s.db.put(ctx, `INSERT INTO rates (base, quote, rate_date, type, rate, source, published_at) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (base, quote, rate_date, type, source, published_at) DO UPDATE SET rate = rates.rate WHERE rates.rate = excluded.rate`,
		r.Base, r.Quote, r.Date, r.Type, envelope.CanonicalAmount(r.Rate), r.Source, r.PublishedAt.UTC().Format(moment))
	if err == nil && n == 0 {
		return fmt.Errorf("%s: another value was published at the same time; publish the correction with a later time", name)
	}
	return s.blame(ctx, err)
}

func (s *SQL) put(ctx context.Context, statement string, args ...any) error {
	_, err := s.db.put(ctx, statement, args...)
	return s.blame(ctx, err)
}

func iso(code string) error {
	if code == "" || !currency.IsValid(code) { // the library takes an empty code
		return fmt.Errorf("%s is no ISO 4217 currency", code)
	}
	return nil
}
