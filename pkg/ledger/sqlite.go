package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"
	driver "modernc.org/sqlite"
	result "modernc.org/sqlite/lib"

	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// moment is the form of times in the file: RFC 3339, UTC, milliseconds.
const moment = "2006-01-02T15:04:05.000Z"

// sqlite is the ledger in one file. Transactions that write queue on one connection of their own, so that inside one
// process none fails for another; reading never waits for writing (WAL).
type sqlite struct {
	writer, reader *sql.DB
	file           string
}

// readers is how many questions may run beside the writer.
const readers = 4

func openSQLite(file string, cfg Config) (*sqlite, error) {
	file = strings.TrimPrefix(file, "//") // sqlite:///var/lib/x.db is a common spelling
	if file == "" || strings.HasPrefix(file, ":") || strings.ContainsAny(file, "?#") {
		return nil, fmt.Errorf("ledger URL: want sqlite:FILE with the name of a file, without parameters; got sqlite:%s", file)
	}
	q := url.Values{"_pragma": {
		"busy_timeout(" + strconv.FormatInt(max(0, cfg.LockTimeout.Milliseconds()), 10) + ")",
		"journal_mode(WAL)",
		"synchronous(FULL)", // a posting that was acknowledged survives the power
	}}
	q.Set("_txlock", "immediate")
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: file}).EscapedPath(), RawQuery: q.Encode()}
	writer, err := sql.Open("sqlite", u.String())
	if err != nil {
		return nil, fmt.Errorf("ledger URL: %w", err)
	}
	reader, err := sql.Open("sqlite", u.String()) // dials on first use, as the writer does
	if err != nil {
		return nil, errors.Join(fmt.Errorf("ledger URL: %w", err), writer.Close())
	}
	writer.SetMaxOpenConns(1)
	reader.SetMaxOpenConns(readers)
	return &sqlite{writer: writer, reader: reader, file: file}, nil
}

func (s *sqlite) ping(ctx context.Context) error { return s.writer.PingContext(ctx) }

func (s *sqlite) close() {
	_ = s.reader.Close()
	_ = s.writer.Close() // last: it folds the write-ahead log into the file
}

const sqliteFacts = `
SELECT EXISTS (SELECT 1 FROM currencies WHERE currency = ?3),
       ?4 IS NULL OR EXISTS (SELECT 1 FROM documents WHERE ref = ?4),
       e.base, r.id, r.rate, r.base <> e.base, p.id, p.root, p.generation, p.digest, p.posted_at
FROM (SELECT (SELECT base_currency FROM entities WHERE entity = ?2) AS base) e
LEFT JOIN rates r ON r.id = (
	SELECT id FROM rates
	WHERE e.base <> ?3 AND rate_date = ?5 AND type = ?6 AND (?7 = '' OR source = ?7)
	  AND (base = e.base AND quote = ?3 OR ?8 AND base = ?3 AND quote = e.base)
	ORDER BY base <> e.base, published_at DESC, id DESC LIMIT 1)
LEFT JOIN postings p ON p.source_hash = ?1`

const sqlitePost = `
INSERT INTO postings (source_hash, entity, currency, root, generation, digest, message_id, trace_id, amount,
	booking_date, value_date, accounting_date, match_decision, reversal, base_currency, base_amount, rate_id, rate, posted_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

// querier is a transaction or a pool.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func (s *sqlite) ask(ctx context.Context, e *entry) (facts, error) { return s.facts(ctx, s.reader, e) }

// post begins with the write lock, so what it asks stays true until it has written.
func (s *sqlite) post(ctx context.Context, entries []*entry) ([]facts, error) {
	tx, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it has nothing to do
	found := make([]facts, len(entries))
	for i, e := range entries {
		if found[i], err = s.facts(ctx, tx, e); err != nil {
			return nil, err
		}
		if !found[i].allow(e) {
			continue
		}
		if err := s.insert(ctx, tx, e, found[i].base); err != nil {
			return nil, err
		}
		found[i].inserted = true
	}
	return found, tx.Commit()
}

func (s *sqlite) insert(ctx context.Context, tx *sql.Tx, e *entry, base string) error {
	m := &e.m
	var amount, rateID, value any
	switch base { // as it is now: a conversion may have been made into another one
	case "":
	case m.Currency:
		amount = money(e.own, m.Currency)
	default:
		amount, rateID, value = money(e.fx.amount, base), e.fx.rate.id, envelope.CanonicalAmount(e.fx.rate.value)
	}
	_, err := tx.ExecContext(ctx, sqlitePost, m.SourceHash, m.LedgerEntity, m.Currency, m.Root.String(), m.Generation, m.Digest,
		m.MessageID, m.TraceID, money(e.amount, m.Currency), null(m.BookingDate), null(m.ValueDate), e.accounting, m.MatchDecision,
		m.Reversal, null(base), amount, rateID, value, time.Now().UTC().Format(moment))
	return err
}

func (s *sqlite) facts(ctx context.Context, q querier, e *entry) (facts, error) {
	var f facts
	var base, value, root, digest, at sql.NullString
	var rateID, id, generation sql.NullInt64
	var inverse sql.NullBool
	err := q.QueryRowContext(ctx, sqliteFacts, e.m.SourceHash, e.m.LedgerEntity, e.m.Currency, null(e.m.CounterpartRef),
		e.want.day, e.want.kind, e.want.source, e.want.inverse).
		Scan(&f.mapped, &f.arrived, &base, &rateID, &value, &inverse, &id, &root, &generation, &digest, &at)
	if err != nil {
		return facts{}, err
	}
	f.base = base.String
	if rateID.Valid {
		v, err := decimal.NewFromString(value.String)
		if err != nil {
			return facts{}, fmt.Errorf("rate %d: %w", rateID.Int64, err)
		}
		f.rate = &rate{id: rateID.Int64, value: v, inverse: inverse.Bool}
	}
	if id.Valid {
		f.posted, err = stored(id.Int64, root.String, int(generation.Int64), digest.String, at.String)
	}
	return f, err
}

func (s *sqlite) lookup(ctx context.Context, hash string) (*envelope.AlreadyPosted, error) {
	var id int64
	var root, digest, at string
	var generation int
	err := s.reader.QueryRowContext(ctx, `SELECT id, root, generation, digest, posted_at FROM postings WHERE source_hash = ?`, hash).
		Scan(&id, &root, &generation, &digest, &at)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return stored(id, root, generation, digest, at)
}

func stored(id int64, root string, generation int, digest, at string) (*envelope.AlreadyPosted, error) {
	t, err := time.Parse(moment, at)
	if err != nil {
		return nil, fmt.Errorf("posting %d: posted_at: %w", id, err)
	}
	return alreadyPosted(id, root, generation, digest, t)
}

func (s *sqlite) each(ctx context.Context, visit func(Posting) error) error {
	rows, err := s.reader.QueryContext(ctx, `SELECT id, source_hash, root, generation, digest, entity, currency, amount,
		accounting_date, coalesce(base_currency, ''), base_amount, rate_id, posted_at FROM postings`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var r row
		var at string
		if err := rows.Scan(append(r.fields(), &at)...); err != nil {
			return err
		}
		t, err := time.Parse(moment, at)
		if err != nil {
			return fmt.Errorf("posting %d: posted_at: %w", r.id, err)
		}
		posting, err := r.posting(t)
		if err != nil {
			return err
		}
		if err := visit(posting); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (s *sqlite) mapsAny(ctx context.Context) (some bool, err error) {
	err = s.reader.QueryRowContext(ctx, anyCurrency).Scan(&some)
	return some, err
}

func (s *sqlite) put(ctx context.Context, statement string, args ...any) (int64, error) {
	res, err := s.writer.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (s *sqlite) where() string { return "SQLite file " + s.file }

func (s *sqlite) explain(err error) string { return err.Error() }

// splits: locks, limits and faults are the whole file's.
func (s *sqlite) splits(err error) bool {
	code, everyone := s.blame(err)
	return code == "" && !everyone
}

// blame reads SQLite's result codes (sqlite.org/rescode.html). everyone: no record could be posted now.
func (s *sqlite) blame(err error) (code fault.Code, everyone bool) {
	var e *driver.Error
	if !errors.As(err, &e) {
		return "", errors.Is(err, sql.ErrConnDone)
	}
	switch e.Code() & 0xff { // the rest is detail
	case result.SQLITE_BUSY, result.SQLITE_LOCKED:
		return fault.LockContention, false
	case result.SQLITE_CONSTRAINT, result.SQLITE_TOOBIG, result.SQLITE_MISMATCH:
		return "", false
	case result.SQLITE_INTERRUPT:
		return fault.DependencyTimeout, false
	}
	return "", true // file, disk, rights, tables
}
