package ledger_test

import (
	"sync"
	"testing"

	"recon/internal/testkit"
	"recon/pkg/ledger"
)

func TestRealManyMigratorsAtOnceMigrateOnce(t *testing.T) {
	const migrators = 8
	for name, url := range map[string]func(*testing.T) string{
		"sqlite":   file,
		"postgres": func(t *testing.T) string { return testkit.Postgres(t) },
	} {
		t.Run(name, func(t *testing.T) {
			address := url(t)
			var all sync.WaitGroup
			for range migrators {
				b := open(t, address, ledger.Config{Conns: 2}) // each as a process of its own has it
				all.Go(func() {
					if err := b.Migrate(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			b := ready(t, address, ledger.Config{})
			if got := b.text(`SELECT CAST(count(*) AS TEXT) FROM schema_migrations`); got != "1" {
				t.Errorf("got %s steps applied, want 1", got)
			}
			b.maps("EUR")
			b.must(b.Handle(t.Context(), message(1)))
		})
	}
}

func TestRealMigratingAgainKeepsWhatIsThere(t *testing.T) {
	suite(t, ledger.Config{}, func(b *bundle) {
		b.maps("EUR")
		b.must(b.Handle(b.t.Context(), message(1)))
		b.must(b.Migrate(b.t.Context()))
		b.posted(message(1).SourceHash)
	})
}

func TestRealTablesOfANewerOrAnotherProgramAreRefused(t *testing.T) {
	suite(t, ledger.Config{}, func(b *bundle) {
		b.raw(`INSERT INTO schema_migrations (version, name, digest) VALUES (2, '0002_later.sql', 'x')`)
		contains(b.t, b.Migrate(b.t.Context()), "the tables are at version 2, this program knows 1: run a newer program")
		b.raw(`DELETE FROM schema_migrations WHERE version = 2`)
		b.raw(`UPDATE schema_migrations SET digest = 'x'`)
		contains(b.t, b.Migrate(b.t.Context()), "migration 1 was applied with other contents", "0001_postings.sql")
	})
}

func TestRealAMigrationThatFailsLeavesNothingBehind(t *testing.T) {
	for name, url := range map[string]string{"sqlite": file(t), "postgres": testkit.Postgres(t)} {
		t.Run(name, func(t *testing.T) {
			b := open(t, url, ledger.Config{})
			b.raw(`CREATE TABLE documents (other text)`) // somebody else's, in the way of the last statement
			contains(t, b.Migrate(t.Context()), "migration 0001_postings.sql", "documents")
			b.raw(`DROP TABLE documents`)
			b.must(b.Migrate(t.Context()))
		})
	}
}
