package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"recon/pkg/fault"
)

// The states are PostgreSQL's own, appendix A of its manual.
func TestEverySQLStateIsTheRecordsOrTheLedgersFault(t *testing.T) {
	for _, row := range []struct {
		state, what string
		code        fault.Code
		everyone    bool
	}{
		{"40001", "serialization failure", fault.LockContention, false},
		{"40P01", "deadlock", fault.LockContention, false},
		{"55P03", "lock timeout", fault.LockContention, false},
		{"57014", "statement timeout", fault.DependencyTimeout, false},
		{"25P03", "idle in transaction", fault.DependencyTimeout, false},
		{"25P04", "transaction timeout", fault.DependencyTimeout, false},
		{"22021", "character not in repertoire", fault.SchemaInvalid, false},
		{"22P05", "untranslatable character", fault.SchemaInvalid, false},
		{"XX000", "internal error", fault.DependencyUnavailable, false},
		{"22003", "number out of range", "", false},
		{"23514", "a check of the owner's", "", false},
		{"P0001", "raised by the owner's trigger", "", false},
		{"08006", "connection failure", "", true},
		{"08P01", "protocol violation", "", true},
		{"26000", "a pooler's other connection has the prepared statement", "", true},
		{"25006", "read-only", "", true},
		{"28P01", "wrong password", "", true},
		{"3D000", "no such database", "", true},
		{"3F000", "no such schema", "", true},
		{"42P01", "no such table", "", true},
		{"42501", "no right to it", "", true},
		{"53100", "disk full", "", true},
		{"53300", "too many connections", "", true},
		{"57P01", "shutdown by the administrator", "", true},
		{"57P03", "starting up", "", true},
		{"57P05", "idle session", "", true},
		{"58030", "I/O error", "", true},
		{"", "none", "", false},
		{"4", "cut off", "", false},
	} {
		err := fmt.Errorf("wrapped: %w", &pgconn.PgError{Code: row.state})
		p := &postgres{}
		code, everyone := p.blame(err)
		if code != row.code || everyone != row.everyone {
			t.Errorf("%s, %s: got %q %v, want %q %v", row.state, row.what, code, everyone, row.code, row.everyone)
		}
		if got := p.splits(err); got == row.everyone {
			t.Errorf("%s, %s: splits: got %v", row.state, row.what, got)
		}
	}
}

func TestABrokenConnectionIsTheLedgersFault(t *testing.T) {
	for _, row := range []struct {
		err      error
		code     fault.Code
		everyone bool
	}{
		{io.EOF, "", true},
		{io.ErrUnexpectedEOF, "", true},
		{net.ErrClosed, "", true},
		{pgconn.ErrConnClosed, "", true},
		{&net.OpError{Op: "write", Err: errors.New("broken pipe")}, "", true},
		{context.DeadlineExceeded, fault.DependencyTimeout, false},
		{errors.New("number of columns"), "", false},
	} {
		if code, everyone := (&postgres{}).blame(fmt.Errorf("wrapped: %w", row.err)); code != row.code || everyone != row.everyone {
			t.Errorf("%v: got %q %v, want %q %v", row.err, code, everyone, row.code, row.everyone)
		}
	}
}
