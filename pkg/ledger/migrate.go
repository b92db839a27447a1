package ledger

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

//go:embed migrations
var migrationFiles embed.FS

// migration is one numbered step. A step that was released never changes: its digest is kept where it was applied.
type migration struct {
	version           int
	name, sql, digest string
}

// migrations reads the embedded steps of one database, in order.
func migrations(database string) ([]migration, error) {
	folder := "migrations/" + database
	entries, err := migrationFiles.ReadDir(folder) // sorted by name
	if err != nil {
		return nil, err
	}
	var all []migration
	for i, e := range entries {
		b, err := migrationFiles.ReadFile(folder + "/" + e.Name())
		if err != nil {
			return nil, err
		}
		number, _, _ := strings.Cut(e.Name(), "_")
		version, err := strconv.Atoi(number)
		if err != nil || version != i+1 {
			return nil, fmt.Errorf("migration %s: want the number %04d", e.Name(), i+1)
		}
		sum := sha256.Sum256(b)
		all = append(all, migration{version: version, name: e.Name(), sql: string(b), digest: hex.EncodeToString(sum[:])})
	}
	return all, nil
}

// pending compares what a database has with what this program knows.
func pending(known []migration, applied map[int]string) ([]migration, error) {
	var missing []migration
	for _, m := range known {
		digest, done := applied[m.version]
		switch {
		case !done:
			missing = append(missing, m)
		case digest != m.digest:
			return nil, fmt.Errorf("migration %d was applied with other contents than this program's %s: these tables are of another program, give the ledger a schema or file of its own", m.version, m.name)
		case len(missing) > 0:
			return nil, fmt.Errorf("migration %d is applied, %d before it is not: repair table schema_migrations", m.version, missing[0].version)
		}
	}
	for version := range applied {
		if version > len(known) {
			return nil, fmt.Errorf("the tables are at version %d, this program knows %d: run a newer program", version, len(known))
		}
	}
	return missing, nil
}

const (
	pgHistory = `CREATE TABLE IF NOT EXISTS schema_migrations (
		version integer PRIMARY KEY, name text NOT NULL, digest text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`
	sqliteHistory = `CREATE TABLE IF NOT EXISTS schema_migrations (
		version INTEGER PRIMARY KEY, name TEXT NOT NULL, digest TEXT NOT NULL,
		applied_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))) STRICT`
	appliedSteps = `SELECT version, digest FROM schema_migrations`
)

// migrate does all steps in one transaction. The advisory lock, one per schema, is taken before anything is looked at, and
// held to the end of the transaction; whoever waits for it may do so for as long as ctx lasts.
func (p *postgres) migrate(ctx context.Context) error {
	known, err := migrations("postgres")
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		for _, sql := range []string{
			`SET LOCAL lock_timeout = 0`,
			`SELECT pg_advisory_xact_lock(hashtext('recon/ledger/migrate'), hashtext(coalesce(current_schema(), '')))`,
			pgHistory,
		} {
			if _, err := tx.Exec(ctx, sql); err != nil {
				return err
			}
		}
		rows, err := tx.Query(ctx, appliedSteps)
		if err != nil {
			return err
		}
		applied := map[int]string{}
		var version int
		var digest string
		if _, err := pgx.ForEachRow(rows, []any{&version, &digest}, func() error { applied[version] = digest; return nil }); err != nil {
			return err
		}
		steps, err := pending(known, applied)
		if err != nil {
			return err
		}
		for _, m := range steps {
			if _, err := tx.Exec(ctx, m.sql); err != nil {
				return fmt.Errorf("migration %s: %w", m.name, err)
			}
			if _, err := tx.Exec(ctx, `INSERT INTO schema_migrations (version, name, digest) VALUES ($1, $2, $3)`, m.version, m.name, m.digest); err != nil {
				return err
			}
		}
		return nil
	})
}

// migrate does all steps in one transaction, which begins with the write lock.
func (s *sqlite) migrate(ctx context.Context) error {
	known, err := migrations("sqlite")
	if err != nil {
		return err
	}
	tx, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it has nothing to do
	if _, err := tx.ExecContext(ctx, sqliteHistory); err != nil {
		return err
	}
	applied, err := sqliteApplied(ctx, tx)
	if err != nil {
		return err
	}
	steps, err := pending(known, applied)
	if err != nil {
		return err
	}
	for _, m := range steps {
		if _, err := tx.ExecContext(ctx, m.sql); err != nil {
			return fmt.Errorf("migration %s: %w", m.name, err)
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO schema_migrations (version, name, digest) VALUES (?, ?, ?)`, m.version, m.name, m.digest); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func sqliteApplied(ctx context.Context, tx *sql.Tx) (map[int]string, error) {
	rows, err := tx.QueryContext(ctx, appliedSteps)
	if err != nil {
		return nil, err
	}
	applied := map[int]string{}
	for rows.Next() {
		var version int
		var digest string
		if err := rows.Scan(&version, &digest); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		applied[version] = digest
	}
	return applied, errors.Join(rows.Err(), rows.Close())
}
