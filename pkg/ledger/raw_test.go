package ledger_test

import (
	"database/sql"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib"
)

// beside opens a connection beside the ledger's, once per bundle.
func (b *bundle) beside() *sql.DB {
	b.t.Helper()
	if b.side != nil {
		return b.side
	}
	driver, name := "pgx", b.url
	if rest, ok := strings.CutPrefix(b.url, "sqlite:"); ok {
		driver, name = "sqlite", rest+"?_txlock=immediate&_pragma=busy_timeout(60000)"
	}
	db, err := sql.Open(driver, name)
	b.must(err)
	b.t.Cleanup(func() { _ = db.Close() })
	b.side = db
	return db
}

// raw runs a statement that the ledger's own methods do not have.
func (b *bundle) raw(statement string) {
	b.t.Helper()
	_, err := b.beside().ExecContext(b.t.Context(), statement)
	b.must(err)
}

// text is the one value that a query gives.
func (b *bundle) text(query string) string {
	b.t.Helper()
	var s string
	b.must(b.beside().QueryRowContext(b.t.Context(), query).Scan(&s))
	return s
}
