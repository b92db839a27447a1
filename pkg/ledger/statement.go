package ledger

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"

	"recon/pkg/envelope"
)

// pgFacts is what each entry of asked is judged by. Inverse rates are a second look, left out where they are not wanted.
const pgFacts = `
facts AS MATERIALIZED (
	SELECT a.n, a.hash, EXISTS (SELECT FROM currencies WHERE currency = a.currency) AS mapped,
	       a.ref = '' OR EXISTS (SELECT FROM documents WHERE ref = a.ref) AS arrived,
	       e.base_currency AS base, r.id AS rate_id, r.rate, r.inverse
	FROM asked a
	LEFT JOIN entities e ON e.entity = a.entity
	LEFT JOIN LATERAL (
		(SELECT id, rate, false AS inverse FROM rates
		 WHERE base = e.base_currency AND quote = a.currency AND rate_date = a.day::date AND type = $1::text AND ($2::text = '' OR source = $2::text)
		 ORDER BY published_at DESC, id DESC LIMIT 1)
		UNION ALL
		(SELECT id, rate, true FROM rates
		 WHERE $3::boolean AND base = a.currency AND quote = e.base_currency AND rate_date = a.day::date AND type = $1::text AND ($2::text = '' OR source = $2::text)
		 ORDER BY published_at DESC, id DESC LIMIT 1)
		ORDER BY inverse LIMIT 1
	) r ON true
)`

// pgFound gives the facts back, and the posting of the same hash that was there before the statement began: a statement
// does not see its own inserts.
const pgFound = `
SELECT f.n, f.mapped, f.arrived, coalesce(f.base, ''), f.rate_id, f.rate::text, f.inverse, p.id, p.root, p.generation, p.digest, p.posted_at`

const (
	pgAsk = `WITH asked AS (
	SELECT * FROM unnest($4::text[], $5::text[], $6::text[], $7::text[], $8::text[]) WITH ORDINALITY
	AS t(hash, entity, currency, ref, day, n)
),` + pgFacts + pgFound + `, false FROM facts f LEFT JOIN postings p ON p.source_hash = f.hash`

	pgPost = `WITH asked AS MATERIALIZED (
	SELECT * FROM unnest($4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::integer[], $11::text[],
		$12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[], $19::boolean[],
		$20::text[], $21::text[], $22::text[], $23::text[], $24::text[]) WITH ORDINALITY
	AS t(hash, entity, currency, ref, day, root, generation, digest,
		message_id, trace_id, amount, booking_date, value_date, accounting_date, match_decision, reversal,
		own, fx_base, fx_amount, fx_id, fx_rate, n)
),` + pgFacts + `, written AS (
	INSERT INTO postings (source_hash, root, generation, digest, message_id, trace_id, entity, currency, amount,
		booking_date, value_date, accounting_date, match_decision, reversal,
		base_currency, base_amount, rate_id, rate, posted_at)
	SELECT a.hash, a.root, a.generation, a.digest, a.message_id, a.trace_id, a.entity, a.currency, a.amount::numeric,
		nullif(a.booking_date, '')::date, nullif(a.value_date, '')::date, a.accounting_date::date, a.match_decision, a.reversal,
		f.base, CASE f.base WHEN a.currency THEN a.own::numeric WHEN a.fx_base THEN nullif(a.fx_amount, '')::numeric END, f.rate_id, f.rate,
		date_trunc('milliseconds', clock_timestamp())
	FROM asked a JOIN facts f USING (n)
	WHERE f.mapped AND f.arrived AND (f.base IS NULL OR f.base = a.currency OR
		f.base = a.fx_base AND f.rate_id = nullif(a.fx_id, '')::bigint AND f.rate = nullif(a.fx_rate, '')::numeric)
	ORDER BY n -- ascending hashes: two transactions that post the same ones cannot wait for each other
	ON CONFLICT (source_hash) DO NOTHING RETURNING source_hash
)` + pgFound + `, w.source_hash IS NOT NULL
FROM facts f LEFT JOIN postings p ON p.source_hash = f.hash LEFT JOIN written w ON w.source_hash = f.hash`
)

// column is one parameter for all entries.
func column[T any](entries []*entry, value func(*entry) T) []T {
	values := make([]T, len(entries))
	for i, e := range entries {
		values[i] = value(e)
	}
	return values
}

// fxColumn is empty for an entry that has no conversion yet.
func fxColumn(entries []*entry, value func(*conversion) string) []string {
	return column(entries, func(e *entry) string {
		if e.fx == nil {
			return ""
		}
		return value(e.fx)
	})
}

// question holds the parameters $1 to $8.
func question(entries []*entry) []any {
	want := entries[0].want // all but the day is the same in every entry
	return []any{
		want.kind, want.source, want.inverse,
		column(entries, func(e *entry) string { return e.m.SourceHash }),
		column(entries, func(e *entry) string { return e.m.LedgerEntity }),
		column(entries, func(e *entry) string { return e.m.Currency }),
		column(entries, func(e *entry) string { return e.m.CounterpartRef }),
		column(entries, func(e *entry) string { return e.want.day }),
	}
}

// statement holds the parameters $1 to $24. Numbers travel as text, which PostgreSQL reads exactly.
func statement(entries []*entry) []any {
	return append(
		question(entries),
		column(entries, func(e *entry) string { return e.m.Root.String() }),
		column(entries, func(e *entry) int32 { return int32(e.m.Generation) }),
		column(entries, func(e *entry) string { return e.m.Digest }),
		column(entries, func(e *entry) string { return e.m.MessageID }),
		column(entries, func(e *entry) string { return e.m.TraceID }),
		column(entries, func(e *entry) string { return money(e.amount, e.m.Currency) }),
		column(entries, func(e *entry) string { return e.m.BookingDate }),
		column(entries, func(e *entry) string { return e.m.ValueDate }),
		column(entries, func(e *entry) string { return e.accounting }),
		column(entries, func(e *entry) string { return e.m.MatchDecision }),
		column(entries, func(e *entry) bool { return e.m.Reversal }),
		column(entries, func(e *entry) string { return money(e.own, e.m.Currency) }),
		fxColumn(entries, func(c *conversion) string { return c.base }),
		fxColumn(entries, func(c *conversion) string { return money(c.amount, c.base) }),
		fxColumn(entries, func(c *conversion) string { return strconv.FormatInt(c.rate.id, 10) }),
		fxColumn(entries, func(c *conversion) string { return envelope.CanonicalAmount(c.rate.value) }),
	)
}

func (p *postgres) ask(ctx context.Context, e *entry) (facts, error) {
	found, err := p.facts(ctx, pgAsk, question([]*entry{e}), 1)
	if err != nil {
		return facts{}, err
	}
	return found[0], nil
}

// post is one round trip, and one transaction by itself.
func (p *postgres) post(ctx context.Context, entries []*entry) ([]facts, error) {
	return p.facts(ctx, pgPost, statement(entries), len(entries))
}

// facts runs a statement that gives n rows of pgFound.
func (p *postgres) facts(ctx context.Context, sql string, args []any, n int) ([]facts, error) {
	rows, err := p.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	found := make([]facts, n)
	var f facts
	var ordinal int
	var value, root, digest *string
	var rateID, id *int64
	var inverse *bool
	var generation *int
	var at *time.Time
	into := []any{&ordinal, &f.mapped, &f.arrived, &f.base, &rateID, &value, &inverse, &id, &root, &generation, &digest, &at, &f.inserted}
	_, err = pgx.ForEachRow(rows, into, func() error {
		f.rate, f.posted = nil, nil
		if rateID != nil {
			v, err := decimal.NewFromString(*value)
			if err != nil {
				return fmt.Errorf("rate %d: %w", *rateID, err)
			}
			f.rate = &rate{id: *rateID, value: v, inverse: *inverse}
		}
		if id != nil {
			var err error
			if f.posted, err = alreadyPosted(*id, *root, *generation, *digest, *at); err != nil {
				return err
			}
		}
		found[ordinal-1] = f
		return nil
	})
	return found, err
}
