package ledger

import (
	"database/sql"
	"fmt"
	"strconv"
	"time"

	"github.com/bojanz/currency"
	"github.com/shopspring/decimal"

	"recon/pkg/envelope"
)

// row receives the columns of a posting that both databases give alike.
type row struct {
	id     int64
	p      Posting
	root   string
	amount string
	base   sql.NullString
	rate   sql.NullInt64
}

// fields are the scan targets, in the order of the statements in each.
func (r *row) fields() []any {
	return []any{
		&r.id, &r.p.SourceHash, &r.root, &r.p.Generation, &r.p.Digest, &r.p.Entity, &r.p.Currency, &r.amount,
		&r.p.AccountingDate, &r.p.BaseCurrency, &r.base, &r.rate,
	}
}

// posting makes the public form. A row that cannot be read back is an error, never skipped: someone wrote into the table.
func (r *row) posting(at time.Time) (Posting, error) {
	p := r.p
	p.ID, p.PostedAt = strconv.FormatInt(r.id, 10), at.UTC()
	var err error
	if p.Root, err = envelope.ParseCoordinates(r.root); err != nil {
		return Posting{}, fmt.Errorf("posting %d: %w", r.id, err)
	}
	if p.Amount, err = decimal.NewFromString(r.amount); err != nil {
		return Posting{}, fmt.Errorf("posting %d: amount: %w", r.id, err)
	}
	if r.base.Valid {
		if p.BaseAmount, err = decimal.NewFromString(r.base.String); err != nil {
			return Posting{}, fmt.Errorf("posting %d: base amount: %w", r.id, err)
		}
	}
	if r.rate.Valid {
		p.RateID = strconv.FormatInt(r.rate.Int64, 10)
	}
	return p, nil
}

func alreadyPosted(id int64, root string, generation int, digest string, at time.Time) (*envelope.AlreadyPosted, error) {
	c, err := envelope.ParseCoordinates(root)
	if err != nil {
		return nil, fmt.Errorf("posting %d: %w", id, err)
	}
	return &envelope.AlreadyPosted{Root: c, Generation: generation, Digest: digest, ID: strconv.FormatInt(id, 10), At: at.UTC()}, nil
}

// money writes an amount exactly, with at least the decimals of its currency: 10.50, not 10.5.
func money(d decimal.Decimal, code string) string {
	places := max(0, -d.Normalize().Exponent())
	if digits, ok := currency.GetDigits(code); ok {
		places = max(places, int32(digits))
	}
	return d.StringFixed(places)
}

// null is what an absent text is in the database.
func null(s string) any {
	if s == "" {
		return nil
	}
	return s
}
