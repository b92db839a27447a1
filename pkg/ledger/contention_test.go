package ledger_test

import (
	"context"
	"database/sql"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"recon/internal/testkit"
	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/ledger"
)

// rival is another transaction that holds the place of a hash and has not ended.
func (b *bundle) rival(m *envelope.Message) *sql.Tx {
	b.t.Helper()
	return b.transaction(`INSERT INTO postings (source_hash, root, generation, digest, message_id, trace_id, entity, currency, amount,
		accounting_date, match_decision, reversal, posted_at) VALUES ('` + m.SourceHash + `', 'recon.main/9@9', 0, 'x', 'x', 'x', 'x', 'EUR', '1',
		'2026-11-30', 'MATCHED', ` + b.no() + `, '2026-11-30T12:00:00.000Z')`)
}

// no is false in the words of the database.
func (b *bundle) no() string {
	if strings.HasPrefix(b.url, "sqlite") {
		return "0"
	}
	return "false"
}

// blocked waits until n connections of this test's schema wait for a lock.
func (b *bundle) blocked(n int) {
	b.t.Helper()
	db := b.beside()
	eventually(b.t, "a statement that waits for the rival", func(ctx context.Context) bool {
		var waiting int
		b.must(db.QueryRowContext(ctx, `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = '`+b.application()+`'`).Scan(&waiting))
		return waiting == n
	})
}

// application is the name under which this test's ledger is seen by PostgreSQL.
func (b *bundle) application() string {
	u, err := url.Parse(b.url)
	b.must(err)
	return u.Query().Get("application_name")
}

// named gives a PostgreSQL of this test's own with a name of its own in pg_stat_activity, and more parameters.
func named(t *testing.T, pairs ...string) string {
	t.Helper()
	return with(t, testkit.Postgres(t), append(pairs, "application_name", testkit.Prefix(t))...)
}

func with(t *testing.T, address string, pairs ...string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	u.RawQuery = q.Encode()
	return u.String()
}

func TestRealALockHeldTooLongIsContentionAndPostsAfterwards(t *testing.T) {
	suite(t, ledger.Config{LockTimeout: 20 * time.Millisecond}, func(b *bundle) {
		b.maps("EUR")
		m := message(1)
		tx := b.rival(m)
		err := b.Handle(b.t.Context(), m)
		b.wantCode(err, fault.LockContention, fault.StagePost)
		if v := fault.Of(err); ledger.IsAway(err) || v.Class != fault.Transient || v.Dependency != "ledger" {
			b.t.Errorf("got %+v", v)
		}
		b.must(tx.Rollback())
		b.must(b.Handle(b.t.Context(), m))
	})
}

func TestRealARivalThatCommitsFirstIsTheOneThatPosted(t *testing.T) {
	b := ready(t, named(t), ledger.Config{})
	b.maps("EUR")
	m := message(1)
	tx := b.rival(m)
	answer := make(chan error, 1)
	go func() { answer <- b.Handle(t.Context(), m) }()
	b.blocked(1)
	b.must(tx.Commit())
	b.wantPosted(<-answer, envelope.Coordinates{Topic: "recon.main", Partition: 9, Offset: 9})
}

func TestRealARivalThatGivesUpLeavesThePlace(t *testing.T) {
	b := ready(t, named(t), ledger.Config{})
	b.maps("EUR")
	m := message(1)
	tx := b.rival(m)
	answer := make(chan error, 1)
	go func() { answer <- b.Handle(t.Context(), m) }()
	b.blocked(1)
	b.must(tx.Rollback())
	b.must(<-answer)
	b.posted(m.SourceHash)
}

// Under a stricter isolation than the default, chosen by the owner of the database, PostgreSQL reports the race itself.
func TestRealASerializationFailureIsContention(t *testing.T) {
	b := ready(t, named(t, "default_transaction_isolation", "serializable"), ledger.Config{})
	b.maps("EUR")
	m := message(1)
	tx := b.rival(m)
	answer := make(chan error, 1)
	go func() { answer <- b.Handle(t.Context(), m) }()
	b.blocked(1)
	b.must(tx.Commit())
	err := <-answer
	b.wantCode(err, fault.LockContention, fault.StagePost)
	contains(t, err, "40001")
	b.wantPosted(b.Handle(t.Context(), m), envelope.Coordinates{Topic: "recon.main", Partition: 9, Offset: 9})
}

// Two transactions that wait for each other. The posting stops twice: at a gate until the other one waits for it, then at
// the row that the other one holds; it alone looks for deadlocks, so it is the one that must give way.
func TestRealADeadlockIsContention(t *testing.T) {
	const gate = `SELECT pg_advisory_xact_lock(hashtext(current_schema()))`
	b := ready(t, named(t, "deadlock_timeout", "20ms"), ledger.Config{LockTimeout: -1})
	b.maps("EUR")
	b.raw(`CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		PERFORM pg_advisory_xact_lock(hashtext(current_schema()));
		PERFORM 1 FROM currencies FOR UPDATE;
		RETURN NEW; END $$`)
	b.raw(`CREATE TRIGGER stop AFTER INSERT ON postings FOR EACH ROW EXECUTE FUNCTION stop()`)
	keeper, other := b.transaction(gate), b.transaction(`SET LOCAL deadlock_timeout = '1h'`, `SELECT 1 FROM currencies FOR UPDATE`)

	answer, waits := make(chan error, 1), make(chan error, 1)
	go func() { answer <- b.Handle(t.Context(), message(1)) }()
	b.blocked(1)
	go func() {
		_, err := other.ExecContext(t.Context(), `LOCK TABLE postings IN ACCESS EXCLUSIVE MODE`)
		waits <- err
	}()
	b.blocked(2)
	b.must(keeper.Rollback())
	err := <-answer
	b.wantCode(err, fault.LockContention, fault.StagePost)
	contains(t, err, "40P01")
	b.must(<-waits)
}

// transaction begins one beside the ledger's and leaves it open until the test ends.
func (b *bundle) transaction(statements ...string) *sql.Tx {
	b.t.Helper()
	tx, err := b.beside().BeginTx(b.t.Context(), nil)
	b.must(err)
	b.t.Cleanup(func() { _ = tx.Rollback() })
	for _, statement := range statements {
		_, err := tx.ExecContext(b.t.Context(), statement)
		b.must(err)
	}
	return tx
}

func TestRealAStatementThatTakesTooLongIsATimeoutAndNobodyElses(t *testing.T) {
	for name, row := range map[string]struct {
		cfg   ledger.Config
		pairs []string
	}{
		"our own limit":              {cfg: ledger.Config{Timeout: 100 * time.Millisecond, LockTimeout: -1}},
		"the database's own limit":   {pairs: []string{"statement_timeout", "100ms"}},
		"the URL's own lock limit":   {pairs: []string{"lock_timeout", "0", "statement_timeout", "100ms"}},
		"no connection becomes free": {cfg: ledger.Config{Timeout: 100 * time.Millisecond, Conns: 1, LockTimeout: -1}},
	} {
		t.Run(name, func(t *testing.T) {
			owner := ready(t, named(t), ledger.Config{})
			owner.maps("EUR")
			owner.rival(message(1))
			b := open(t, with(t, owner.url, row.pairs...), row.cfg)
			if row.cfg.Conns == 1 {
				ctx, cancel := context.WithCancel(t.Context())
				var each error
				done, inside := make(chan struct{}), make(chan struct{})
				owner.must(owner.Handle(t.Context(), message(2)))
				go func() {
					defer close(done)
					each = b.Each(ctx, func(ledger.Posting) error { close(inside); <-ctx.Done(); return ctx.Err() })
				}()
				<-inside
				defer func() { cancel(); <-done; _ = each }()
			}
			err := b.Handle(t.Context(), message(1))
			b.wantCode(err, fault.DependencyTimeout, fault.StagePost)
			contains(t, err, "PostgreSQL at ") // a letter names no dependency: its text must
			if ledger.IsAway(err) || fault.Of(err).Dependency != "ledger" {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Entries that are posted at the same time share a transaction; the one that cannot be posted fails alone.
func TestRealNobodyPaysForANeighbourInTheSameTransaction(t *testing.T) {
	const handlers = 64
	for _, row := range []struct {
		name  string
		spoil func(*bundle, *envelope.Message)
		want  fault.Code
	}{
		{"a place that is locked", func(b *bundle, m *envelope.Message) { b.rival(m) }, fault.LockContention},
		{"a row that the owner's table refuses", func(b *bundle, m *envelope.Message) {
			b.raw(`ALTER TABLE postings ADD CONSTRAINT none CHECK (source_hash <> '` + m.SourceHash + `')`)
		}, fault.Unclassified},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := ready(t, testkit.Postgres(t), ledger.Config{LockTimeout: 50 * time.Millisecond})
			b.maps("EUR")
			spoiled := message(handlers / 2)
			row.spoil(b, spoiled)
			errs := make([]error, handlers)
			var all sync.WaitGroup
			for i := range handlers {
				all.Go(func() { errs[i] = b.Handle(t.Context(), message(i)) })
			}
			all.Wait()
			for i, err := range errs {
				if i == handlers/2 {
					contains(t, err, "PostgreSQL at ", "SQLSTATE")
					if v := fault.Of(err); err == nil || v.Code != row.want || ledger.IsAway(err) {
						t.Errorf("the spoiled one: got %v (%s), want %s", err, v.Code, row.want)
					}
				} else if err != nil {
					t.Errorf("%d: got %v", i, err)
				}
			}
		})
	}
}
