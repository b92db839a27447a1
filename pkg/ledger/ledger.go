// Package ledger posts messages to a SQL ledger: PostgreSQL, or SQLite for one machine.
//
// Promise: one source_hash has at most one posting, whoever delivers it, how often and how concurrently; a posting is
// there whole or not at all; and its money is the message's to the last digit.
package ledger

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/shopspring/decimal"

	"recon/pkg/audit"
	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// SQL is a ledger in a SQL database. It is a consumer.Handler, and answers Precheck and Lookup as well.
// Any number of goroutines may use it.
type SQL struct {
	cfg      Config
	holidays map[string]bool
	db       database
	queue    queue
	closed   atomic.Bool
}

// Posting is one row of the ledger, as the completeness check counts it.
type Posting struct {
	ID             string
	SourceHash     string
	Root           envelope.Coordinates
	Generation     int
	Digest         string
	Entity         string
	Currency       string
	Amount         decimal.Decimal
	AccountingDate string // YYYY-MM-DD
	BaseCurrency   string // empty: the entity has none
	BaseAmount     decimal.Decimal
	RateID         string    // empty: no conversion was needed
	PostedAt       time.Time // UTC, by the database's clock
}

// Evidence is the posting as the books take it.
func (p Posting) Evidence() audit.Posting {
	return audit.Posting{
		SourceHash: p.SourceHash, Root: p.Root, Generation: p.Generation, Digest: p.Digest,
		Money: audit.Money{Currency: p.Currency, Amount: p.Amount, Readable: true},
	}
}

// database is what differs between PostgreSQL and SQLite. Its errors are as the driver gave them; blame reads them.
type database interface {
	ping(ctx context.Context) error
	migrate(ctx context.Context) error
	// post inserts, in one transaction, each entry that its facts allow and whose hash has no posting, and returns those facts
	// in the order of the entries. Their hashes differ and ascend. After an error nothing is inserted, or nobody knows.
	post(ctx context.Context, entries []*entry) ([]facts, error)
	// ask returns the facts that post would find.
	ask(ctx context.Context, e *entry) (facts, error)
	// lookup returns the posting of a hash, nil when there is none.
	lookup(ctx context.Context, hash string) (*envelope.AlreadyPosted, error)
	each(ctx context.Context, visit func(Posting) error) error
	// mapsAny tells whether the table currencies has a row.
	mapsAny(ctx context.Context) (bool, error)
	// put runs one statement of owners.go and returns how many rows it wrote.
	put(ctx context.Context, statement string, args ...any) (int64, error)
	// blame gives an error its code; everyone: it says nothing about a record, no one can post now.
	blame(err error) (code fault.Code, everyone bool)
	// where is which database, for error texts: never a password.
	where() string
	// explain is one line for an error that says that the database is away: what is wrong with it.
	explain(err error) string
	// splits tells whether an error of several entries may be the doing of one of them.
	splits(err error) bool
	close()
}

// Open reads the URL, postgres://… or sqlite:FILE, and the configuration. It asks nothing of the database: call Ping and
// Migrate before the first posting.
func Open(url string, cfg Config) (*SQL, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	s := &SQL{cfg: cfg.filled(), holidays: map[string]bool{}}
	for _, day := range cfg.FX.Holidays {
		s.holidays[day] = true
	}
	scheme, rest, _ := strings.Cut(url, ":")
	var err error
	switch scheme {
	case "postgres", "postgresql":
		s.db, err = openPostgres(url, s.cfg)
	case "sqlite":
		s.db, err = openSQLite(rest, s.cfg)
	default:
		err = fmt.Errorf("ledger URL: want postgres://… or sqlite:FILE, got the scheme %q", scheme)
	}
	if err != nil {
		return nil, err
	}
	s.queue = queue{db: s.db, free: lanes}
	return s, nil
}

// Ping asks whether the database answers and lets us in.
func (s *SQL) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	return s.blame(ctx, s.db.ping(ctx))
}

// Migrate brings the tables to the version that this program knows. Several processes may do so at once: one works,
// the others wait. It refuses tables that a newer program made, and ones whose history is not this program's.
func (s *SQL) Migrate(ctx context.Context) error {
	if err := s.db.migrate(ctx); err != nil {
		return fmt.Errorf("migrate the ledger's tables: %w", s.blame(ctx, err))
	}
	return nil
}

// Close gives the connections back. Work in hand is waited for; what comes later finds the ledger away.
func (s *SQL) Close() {
	s.closed.Store(true)
	s.queue.drain()
	s.db.close()
}

// maxRounds bounds a posting whose rate, or whose rival, changes between two looks.
const maxRounds = 4

// Handle posts m in one transaction. nil means inserted now; *envelope.AlreadyPosted that this source_hash had a posting
// before. Other errors carry a code: CURRENCY_UNMAPPED, COUNTERPART_NOT_ARRIVED, RATE_NOT_PUBLISHED, SCHEMA_INVALID (text
// that no database can hold), LOCK_CONTENTION, DEPENDENCY_TIMEOUT, DEPENDENCY_UNAVAILABLE (see IsAway). After the last
// three the posting may be there: handling m again finds out and posts nothing twice.
func (s *SQL) Handle(ctx context.Context, m *envelope.Message) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	e, err := s.entry(m)
	if err != nil {
		return err
	}
	for range maxRounds {
		found, err := s.queue.post(ctx, &e)
		if err != nil || found.inserted {
			return s.blame(ctx, err)
		}
		// Nothing speaks against it, yet nothing was inserted: either the rate was not known, and now it is; or another
		// transaction was faster, which this statement could not see and the next one can.
		if e.fx, err = found.judge(&e); err != nil {
			return err
		}
	}
	return contention(fmt.Errorf("posting lost against others %d times in a row", maxRounds))
}

// Precheck answers what Handle would answer now, and writes nothing: nil means that it would post.
func (s *SQL) Precheck(ctx context.Context, m *envelope.Message) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	e, err := s.entry(m)
	if err != nil {
		return err
	}
	found, err := s.db.ask(ctx, &e)
	if err != nil {
		return s.blame(ctx, err)
	}
	_, err = found.judge(&e)
	return err
}

// Lookup returns the posting of a source_hash, nil and no error when there is none.
func (s *SQL) Lookup(ctx context.Context, hash string) (*envelope.AlreadyPosted, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	posted, err := s.db.lookup(ctx, hash)
	return posted, s.blame(ctx, err)
}

// Each calls visit for every posting, in no order, as of the moment it begins; memory does not grow with their number.
// It ends at the first error, and returns visit's own as it is.
func (s *SQL) Each(ctx context.Context, visit func(Posting) error) error {
	var own error
	err := s.db.each(ctx, func(p Posting) error {
		own = visit(p)
		return own
	})
	if own != nil {
		return own
	}
	return s.blame(ctx, err)
}
