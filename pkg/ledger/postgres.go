package ledger

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"recon/pkg/envelope"
)

// defaultConns is enough to keep PostgreSQL's group commit busy, and leaves room below its usual limit of 100 for others.
const defaultConns = 16

// connectTimeout bounds one attempt to reach a server, unless the URL says connect_timeout.
const connectTimeout = 5 * time.Second

// postgres is the ledger in PostgreSQL.
type postgres struct {
	pool *pgxpool.Pool
	at   string // host:port/database, for messages
}

func openPostgres(address string, cfg Config) (*postgres, error) {
	u, err := url.Parse(address)
	if err != nil { // its text could hold the password
		return nil, errors.New("ledger URL: this is no URL; special characters of user and password must be percent-encoded")
	}
	pc, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, fmt.Errorf("ledger URL: %w", err)
	}
	switch {
	case cfg.Conns > 0:
		pc.MaxConns = int32(cfg.Conns)
	case !u.Query().Has("pool_max_conns"):
		pc.MaxConns = defaultConns
	}
	if !u.Query().Has("connect_timeout") {
		pc.ConnConfig.ConnectTimeout = connectTimeout
	}
	if !u.Query().Has("default_query_exec_mode") {
		// Statements are planned anew each time: a plan kept from when a table was small would read it whole long after it has
		// grown, up to the next ANALYZE. Beside a batch planning is little, and poolers that share sessions work too.
		pc.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	setDefault(pc.ConnConfig.RuntimeParams, "application_name", "recon")
	if cfg.LockTimeout > 0 {
		setDefault(pc.ConnConfig.RuntimeParams, "lock_timeout", strconv.FormatInt(max(1, cfg.LockTimeout.Milliseconds()), 10))
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), pc) // dials on first use
	if err != nil {
		return nil, fmt.Errorf("ledger URL: %w", err)
	}
	at := net.JoinHostPort(pc.ConnConfig.Host, strconv.Itoa(int(pc.ConnConfig.Port)))
	return &postgres{pool: pool, at: at + "/" + pc.ConnConfig.Database}, nil
}

func setDefault(params map[string]string, key, value string) {
	if _, set := params[key]; !set {
		params[key] = value
	}
}

func (p *postgres) ping(ctx context.Context) error { return p.pool.Ping(ctx) }

func (p *postgres) close() { p.pool.Close() }

func (p *postgres) lookup(ctx context.Context, hash string) (*envelope.AlreadyPosted, error) {
	var id int64
	var root, digest string
	var generation int
	var at time.Time
	err := p.pool.QueryRow(ctx, `SELECT id, root, generation, digest, posted_at FROM postings WHERE source_hash = $1`, hash).
		Scan(&id, &root, &generation, &digest, &at)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return alreadyPosted(id, root, generation, digest, at)
}

// each reads one statement's answer as it arrives. lock_timeout does not end it, and no statement_timeout is set by us.
func (p *postgres) each(ctx context.Context, visit func(Posting) error) error {
	rows, err := p.pool.Query(ctx, `SELECT id, source_hash, root, generation, digest, entity, currency, amount::text,
		to_char(accounting_date, 'YYYY-MM-DD'), coalesce(base_currency, ''), base_amount::text, rate_id, posted_at FROM postings`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var r row
		var at time.Time
		if err := rows.Scan(append(r.fields(), &at)...); err != nil {
			return err
		}
		posting, err := r.posting(at)
		if err != nil {
			return err
		}
		if err := visit(posting); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (p *postgres) mapsAny(ctx context.Context) (some bool, err error) {
	err = p.pool.QueryRow(ctx, anyCurrency).Scan(&some)
	return some, err
}

func (p *postgres) put(ctx context.Context, statement string, args ...any) (int64, error) {
	tag, err := p.pool.Exec(ctx, numbered(statement), args...)
	return tag.RowsAffected(), err
}

// numbered turns ? into $1, $2, …; the statements of owners.go hold no other question mark.
func numbered(statement string) string {
	parts := strings.Split(statement, "?")
	var b strings.Builder
	for i, part := range parts {
		if i > 0 {
			b.WriteString("$" + strconv.Itoa(i))
		}
		b.WriteString(part)
	}
	return b.String()
}
