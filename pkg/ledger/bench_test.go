package ledger_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"recon/internal/testkit"
	"recon/pkg/ledger"
)

// BenchmarkHandle posts new hashes with 256 handlers at once, as the engine does by default.
func BenchmarkHandle(b *testing.B) {
	const handlers = 256
	for name, url := range map[string]func() string{
		"sqlite":   func() string { return "sqlite:" + b.TempDir() + "/ledger.db" },
		"postgres": func() string { return testkit.Postgres(b) },
	} {
		for entityOf, kind := range map[string]string{"ACME-DE": "plain", "ACME-US": "converted"} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				l, err := ledger.Open(url(), ledger.Config{})
				if err != nil {
					b.Fatal(err)
				}
				defer l.Close()
				ctx := b.Context()
				for _, err := range []error{
					l.Migrate(ctx), l.PutCurrency(ctx, "EUR"), l.PutEntity(ctx, "ACME-US", "USD"),
					l.PutRate(ctx, ledger.Rate{Base: "USD", Quote: "EUR", Date: "2026-11-30", Rate: amount("0.92")}),
				} {
					if err != nil {
						b.Fatal(err)
					}
				}
				b.ResetTimer()
				var next atomic.Int64
				var all sync.WaitGroup
				for range handlers {
					all.Go(func() {
						for n := int(next.Add(1)); n <= b.N; n = int(next.Add(1)) {
							if err := l.Handle(ctx, message(n, entity(entityOf))); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				all.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "postings/s")
			})
		}
	}
}
