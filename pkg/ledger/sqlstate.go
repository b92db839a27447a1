package ledger

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/jackc/pgx/v5/pgconn"

	"recon/pkg/fault"
)

// blame reads SQLSTATE and connection errors. everyone: no record could be posted now, whatever it holds.
// Codes: PostgreSQL 15, appendix A.
func (p *postgres) blame(err error) (code fault.Code, everyone bool) {
	var connect *pgconn.ConnectError
	var network net.Error
	var answered *pgconn.PgError
	switch {
	case errors.As(err, &connect): // a password refused while connecting is in here too
		return "", true
	case errors.As(err, &answered):
		return blameState(answered.Code)
	case errors.Is(err, context.DeadlineExceeded), pgconn.Timeout(err):
		return fault.DependencyTimeout, false
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, pgconn.ErrConnClosed), errors.As(err, &network):
		return "", true
	}
	return "", false
}

func (p *postgres) where() string { return "PostgreSQL at " + p.at }

// explain says what is wrong in one line: pgx repeats itself for every address and every kind of encryption it tried.
func (p *postgres) explain(err error) string {
	var connect *pgconn.ConnectError
	text := err.Error()
	if errors.As(err, &connect) {
		var answered *pgconn.PgError
		var name *net.DNSError
		var network *net.OpError
		switch err = connect.Unwrap(); {
		case errors.As(err, &answered):
			text = answered.Error()
		case errors.As(err, &name):
			text = name.Error()
		case errors.As(err, &network):
			text = network.Error()
		default:
			text = err.Error()
		}
	}
	return text
}

// splits: a lock, a limit of time or a value concerns one row; only what concerns everyone is not tried again singly.
func (p *postgres) splits(err error) bool {
	_, everyone := p.blame(err)
	return !everyone
}

func blameState(state string) (code fault.Code, everyone bool) {
	switch state {
	case "40001", "40P01", "55P03": // serialization failure, deadlock, lock_timeout
		return fault.LockContention, false
	case "57014", "25P03", "25P04": // statement_timeout and its kin, set by role or database
		return fault.DependencyTimeout, false
	case "22021", "22P05": // a character that the database's encoding does not have
		return fault.SchemaInvalid, false
	case "25006": // read-only: a standby, or a primary that lost its place
		return "", true
	}
	switch state[:min(2, len(state))] {
	case "26": // a prepared statement is lost: behind a pooler, the next connection is another one
		return "", true
	case "08", "28", "3D", "3F", "42", "53", "57", "58": // connection, login, database, schema, tables or rights, resources, shutdown, disk
		return "", true
	case "XX":
		return fault.DependencyUnavailable, false
	}
	return "", false
}
