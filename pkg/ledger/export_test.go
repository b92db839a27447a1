package ledger

import "context"

// Durability is SQLite's `synchronous` as the ledger's own writing connection has it; 2 is FULL.
func Durability(ctx context.Context, s *SQL) (level int, err error) {
	err = s.db.(*sqlite).writer.QueryRowContext(ctx, `PRAGMA synchronous`).Scan(&level)
	return level, err
}
