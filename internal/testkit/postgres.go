package testkit

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Postgres returns the URL of a real PostgreSQL whose search path is a schema of this test's own, dropped with everything in it when the
// test ends; or it skips the test. The URL carries the test user and its password: another password is refused by the server.
func Postgres(t testing.TB) string {
	t.Helper()
	return Schema(t, need(t, "PostgreSQL", envPostgres))
}

// Schema makes a schema of this test's own in the server at address and returns the URL that has it as its search path.
func Schema(t testing.TB, address string) string {
	t.Helper()
	schema := strings.ReplaceAll(Prefix(t), "-", "_")
	execute(t, address, "create schema "+schema)
	t.Cleanup(func() { execute(t, address, "drop schema "+schema+" cascade") })
	u, err := url.Parse(address)
	if err != nil {
		t.Fatalf("the address of PostgreSQL: %v", err)
	}
	query := u.Query()
	query.Set("search_path", schema)
	u.RawQuery = query.Encode()
	return u.String()
}

// execute runs one statement on a connection of its own.
func execute(t testing.TB, address, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), serviceLimit)
	defer cancel()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		t.Errorf("connect to PostgreSQL for %q: %v", statement, err)
		return
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, statement); err != nil {
		t.Errorf("PostgreSQL: %q: %v", statement, err)
	}
}
