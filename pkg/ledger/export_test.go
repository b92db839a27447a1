package ledger

import (
	"context"

	"recon/pkg/envelope"
)

// Durability is SQLite's `synchronous` as the ledger's own writing connection has it; 2 is FULL.
func Durability(ctx context.Context, s *SQL) (level int, err error) {
	err = s.db.(*sqlite).writer.QueryRowContext(ctx, `PRAGMA synchronous`).Scan(&level)
	return level, err
}

// HandleAround is Handle, with something that happens after the ledger has named the rate and before it is used.
func HandleAround(ctx context.Context, s *SQL, m *envelope.Message, between func()) error {
	e, err := s.entry(m)
	if err != nil {
		return err
	}
	found, err := s.queue.post(ctx, &e)
	if err != nil {
		return err
	}
	if e.fx, err = found.judge(&e); err != nil {
		return err
	}
	between()
	if found, err = s.queue.post(ctx, &e); err == nil && !found.inserted {
		_, err = found.judge(&e)
	}
	return err
}
