package ledger_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/ledger"
)

func entity(name string) func(*envelope.Message) {
	return func(m *envelope.Message) { m.LedgerEntity = name }
}

func currency(code string) func(*envelope.Message) {
	return func(m *envelope.Message) { m.Currency = code }
}

func counterpart(ref string) func(*envelope.Message) {
	return func(m *envelope.Message) { m.CounterpartRef = ref }
}

func of(value string) func(*envelope.Message) {
	return func(m *envelope.Message) { m.Amount = amount(value) }
}

// Each row is asked for four times: while its cause holds, after it was mended, and twice after it posted. Precheck must
// always answer what Handle answers next, and write nothing itself.
func TestRealEachMissHasItsCodePrecheckAgreesAndMendingItPosts(t *testing.T) {
	rows := []struct {
		name  string
		m     *envelope.Message
		code  fault.Code // empty: posts at once
		stage fault.Stage
		mend  func(*bundle)
	}{
		{name: "nothing missing", m: message(1)},
		{"currency", message(2, currency("CHF")), fault.CurrencyUnmapped, fault.StageCurrency, func(b *bundle) { b.maps("CHF") }},
		{"counterpart", message(3, counterpart("INV-1")), fault.CounterpartNotArrived, fault.StageCounterpart, func(b *bundle) { b.must(b.PutDocument(b.t.Context(), "INV-1")) }},
		{"rate", message(4, entity("ACME-US")), fault.RateNotPublished, fault.StageFX, func(b *bundle) { b.quotes("USD", "EUR", "2026-11-30", "0.9") }},
		{"currency before counterpart and rate", message(5, entity("ACME-US"), currency("SEK"), counterpart("INV-2")), fault.CurrencyUnmapped, fault.StageCurrency, func(b *bundle) {
			b.maps("SEK")
			b.must(b.PutDocument(b.t.Context(), "INV-2"))
			b.quotes("USD", "SEK", "2026-11-30", "10.5")
		}},
		{"counterpart before rate", message(6, entity("ACME-US"), currency("GBP"), counterpart("INV-3")), fault.CounterpartNotArrived, fault.StageCounterpart, func(b *bundle) {
			b.must(b.PutDocument(b.t.Context(), "INV-3"))
			b.quotes("USD", "GBP", "2026-11-30", "0.8")
		}},
		{name: "the entity's base currency is the posting's", m: message(7, entity("ACME-US"), currency("USD"))},
		{name: "an entity without a row has no base currency", m: message(8, entity("NOBODY"), currency("GBP"))},
		{"base currency that has no minor unit", message(9, entity("GOLD")), fault.CurrencyUnmapped, fault.StageCurrency, func(b *bundle) {
			b.must(b.PutEntity(b.t.Context(), "GOLD", "EUR"))
		}},
		{name: "zero", m: message(10, of("0"))},
		{name: "a match decision is stored, never judged", m: message(11, func(m *envelope.Message) { m.MatchDecision = envelope.Partial })},
	}
	suite(t, ledger.Config{}, func(b *bundle) {
		ctx := b.t.Context()
		b.maps("EUR", "USD", "GBP")
		b.must(b.PutEntity(ctx, "ACME-US", "USD"))
		b.raw(`INSERT INTO entities (entity, base_currency) VALUES ('GOLD', 'XAU')`)
		for _, row := range rows {
			b.t.Run(row.name, func(t *testing.T) {
				b := &bundle{SQL: b.SQL, t: t, url: b.url}
				if row.code != "" {
					checked := b.Precheck(ctx, row.m)
					b.wantCode(checked, row.code, row.stage)
					handled := b.Handle(ctx, row.m)
					b.wantCode(handled, row.code, row.stage)
					if checked.Error() != handled.Error() {
						t.Errorf("Precheck said %s, Handle %s", checked, handled)
					}
					row.mend(b)
				}
				b.must(b.Precheck(ctx, row.m))
				if p, err := b.Lookup(ctx, row.m.SourceHash); p != nil || err != nil {
					t.Fatalf("before posting: got %v, %v", p, err)
				}
				b.must(b.Handle(ctx, row.m))
				b.wantPosted(b.Precheck(ctx, row.m), row.m.Root)
				b.wantPosted(b.Handle(ctx, row.m), row.m.Root)
			})
		}
		if got := len(b.all()); got != len(rows) {
			b.t.Errorf("got %d postings, want %d", got, len(rows))
		}
	})
}

func TestRealAPostingHoldsTheWholeMessage(t *testing.T) {
	suite(t, ledger.Config{}, func(b *bundle) {
		b.maps("USD")
		b.must(b.PutEntity(b.t.Context(), "ACME-DE", "EUR"))
		b.quotes("EUR", "USD", "2026-11-30", "1.25")
		m := message(1, currency("USD"), func(m *envelope.Message) {
			m.Generation, m.Reversal, m.ValueDate = 2, true, "2026-12-01"
			m.MatchDecision, m.TraceID = envelope.Matched, "trace-1"
		})
		b.must(b.Handle(b.t.Context(), m))

		got := b.posted(m.SourceHash)
		if got.PostedAt.IsZero() || got.ID == "" || got.RateID == "" {
			b.t.Errorf("got %+v", got)
		}
		want := ledger.Posting{
			ID: got.ID, SourceHash: m.SourceHash, Root: m.Root, Generation: 2, Digest: m.Digest, Entity: "ACME-DE", Currency: "USD",
			Amount: got.Amount, AccountingDate: "2026-11-30", BaseCurrency: "EUR", BaseAmount: got.BaseAmount, RateID: got.RateID, PostedAt: got.PostedAt,
		}
		if got != want || !got.Amount.Equal(amount("10.50")) || !got.BaseAmount.Equal(amount("8.40")) {
			b.t.Errorf("got %+v, want %+v", got, want)
		}
		for column, want := range map[string]string{
			"message_id": m.MessageID, "trace_id": "trace-1", "match_decision": "MATCHED", "booking_date": "2026-11-30", "value_date": "2026-12-01",
			"amount": "10.50", "base_amount": "8.40", "rate": "1.25",
		} {
			if got := b.text(`SELECT CAST(` + column + ` AS TEXT) FROM postings`); got != want {
				b.t.Errorf("%s: got %s, want %s", column, got, want)
			}
		}
		if got := b.text(`SELECT CASE WHEN reversal THEN 'yes' ELSE 'no' END FROM postings`); got != "yes" {
			b.t.Errorf("reversal: got %s", got)
		}
	})
}

func TestRealAConflictNamesTheFirstPosting(t *testing.T) {
	suite(t, ledger.Config{}, func(b *bundle) {
		b.maps("EUR")
		first := message(1, func(m *envelope.Message) { m.Generation = 1 })
		b.must(b.Handle(b.t.Context(), first))
		for name, again := range map[string]func(*envelope.Message){
			"same root":        func(*envelope.Message) {},
			"other root":       func(m *envelope.Message) { m.Root.Offset = 99 },
			"other digest":     func(m *envelope.Message) { m.Root.Offset, m.Digest, m.Amount = 98, "fedcba9876543210", amount("11") },
			"other generation": func(m *envelope.Message) { m.Generation = 3 },
			// What posted stays posted, whatever became of its preconditions since.
			"its currency was unmapped since": func(m *envelope.Message) { m.Currency = "CHF" },
		} {
			p := b.wantPosted(b.Handle(b.t.Context(), message(1, again)), first.Root)
			if p.Digest != first.Digest || p.Generation != 1 {
				b.t.Errorf("%s: got %+v", name, p)
			}
		}
		found, err := b.Lookup(b.t.Context(), first.SourceHash)
		if err != nil {
			b.t.Fatal(err)
		}
		row := b.posted(first.SourceHash)
		if got, want := *found, (envelope.AlreadyPosted{Root: row.Root, Generation: row.Generation, Digest: row.Digest, ID: row.ID, At: row.PostedAt}); got != want {
			b.t.Errorf("Lookup: got %+v, want %+v", got, want)
		}
	})
}

// Pitfall R4: whoever delivers one hash again, and however many at once, one posting is inserted.
func TestRealConcurrentHandlersOfOneHashPostItOnce(t *testing.T) {
	const handlers = 64
	suite(t, ledger.Config{}, func(b *bundle) {
		b.maps("EUR", "USD")
		b.must(b.PutEntity(b.t.Context(), "ACME-US", "USD"))
		b.quotes("USD", "EUR", "2026-11-30", "0.9")
		for round, entityOf := range []string{"ACME-DE", "ACME-US"} { // without and with a conversion
			errs := make([]error, handlers)
			var all sync.WaitGroup
			for i := range handlers {
				all.Go(func() {
					errs[i] = b.Handle(b.t.Context(), message(round, entity(entityOf), func(m *envelope.Message) { m.Root.Offset = int64(1000 + i) }))
				})
			}
			all.Wait()
			winner := b.posted(message(round).SourceHash).Root
			inserted := 0
			for i, err := range errs {
				if err == nil {
					inserted++
					if winner.Offset != int64(1000+i) {
						b.t.Errorf("handler %d inserted, the posting is of %s", i, winner)
					}
					continue
				}
				b.wantPosted(err, winner)
			}
			if inserted != 1 {
				b.t.Errorf("%s: %d handlers inserted, want 1", entityOf, inserted)
			}
		}
	})
}

func TestRealConcurrentHandlersOfManyHashesPostThemAll(t *testing.T) {
	const handlers = 200
	suite(t, ledger.Config{}, func(b *bundle) {
		b.maps("EUR")
		var all sync.WaitGroup
		for i := range handlers {
			all.Go(func() {
				if err := b.Handle(b.t.Context(), message(i)); err != nil {
					b.t.Errorf("%d: %v", i, err)
				}
			})
		}
		all.Wait()
		if got := len(b.all()); got != handlers {
			b.t.Errorf("got %d postings, want %d", got, handlers)
		}
	})
}

func TestRealWhatNoDatabaseCanHoldIsPoisonAndNeverReachesIt(t *testing.T) {
	suite(t, ledger.Config{}, func(b *bundle) {
		b.maps("EUR")
		for name, row := range map[string]struct {
			edit func(*envelope.Message)
			want fault.Code
		}{
			"zero byte in the entity":      {entity("ACME\x00DE"), fault.SchemaInvalid},
			"zero byte in the counterpart": {counterpart("\x00"), fault.SchemaInvalid},
			"no UTF-8 in the trace id":     {func(m *envelope.Message) { m.TraceID = "\xff" }, fault.SchemaInvalid},
			"a day that does not exist":    {func(m *envelope.Message) { m.BookingDate = "2026-02-30" }, fault.SchemaInvalid},
			"a value date that is none":    {func(m *envelope.Message) { m.ValueDate = "soon" }, fault.SchemaInvalid},
			"no hash":                      {func(m *envelope.Message) { m.SourceHash = "" }, fault.NoIdentity},
			"no root":                      {func(m *envelope.Message) { m.Root = envelope.Coordinates{} }, fault.NoIdentity},
		} {
			m := message(1, row.edit)
			for _, err := range []error{b.Handle(b.t.Context(), m), b.Precheck(b.t.Context(), m)} {
				if v := fault.Of(err); v.Code != row.want || v.Class != fault.Poison || ledger.IsAway(err) {
					b.t.Errorf("%s: got %v (%s), want %s", name, err, v.Code, row.want)
				}
			}
		}
		if got := b.all(); len(got) != 0 {
			b.t.Errorf("got %v", got)
		}
	})
}

func TestRealEachEndsAtTheVisitorsErrorAndReturnsItAsItIs(t *testing.T) {
	suite(t, ledger.Config{}, func(b *bundle) {
		b.maps("EUR")
		for i := range 5 {
			b.must(b.Handle(b.t.Context(), message(i)))
		}
		enough, visits := errors.New("enough"), 0
		err := b.Each(b.t.Context(), func(ledger.Posting) error {
			if visits++; visits == 2 {
				return enough
			}
			return nil
		})
		if err != enough || visits != 2 { //nolint:errorlint // as it is
			b.t.Errorf("got %v after %d visits", err, visits)
		}
	})
}

func TestRealTheLedgerCanBeAskedAndPostedToWhileEachRuns(t *testing.T) {
	suite(t, ledger.Config{}, func(b *bundle) {
		ctx := b.t.Context()
		b.maps("EUR")
		for i := range 5 {
			b.must(b.Handle(ctx, message(i)))
		}
		seen := 0
		b.must(b.Each(ctx, func(p ledger.Posting) error {
			seen++
			if found, err := b.Lookup(ctx, p.SourceHash); err != nil || found == nil {
				b.t.Errorf("Lookup: got %v, %v", found, err)
			}
			return b.Handle(ctx, message(100+seen))
		}))
		if seen != 5 {
			b.t.Errorf("got %d postings, want the 5 that were there when it began", seen)
		}
		if got := len(b.all()); got != 10 {
			b.t.Errorf("afterwards: got %d, want 10", got)
		}
	})
}

func TestRealTheCallersCancellationIsNoFailure(t *testing.T) {
	suite(t, ledger.Config{}, func(b *bundle) {
		b.maps("EUR")
		ctx, cancel := context.WithCancel(b.t.Context())
		cancel()
		for _, err := range []error{b.Handle(ctx, message(1)), b.Precheck(ctx, message(1)), b.Ping(ctx)} {
			if v := fault.Of(err); !errors.Is(err, context.Canceled) || v.Known || ledger.IsAway(err) {
				b.t.Errorf("got %v (%s)", err, v.Code)
			}
		}
	})
}

// Pitfall R43: a reference may be as long as the record; each copy, letter and audit entry repeats the error text.
func TestRealAMissingDocumentIsNamedBriefly(t *testing.T) {
	suite(t, ledger.Config{}, func(b *bundle) {
		b.maps("EUR")
		err := b.Handle(b.t.Context(), message(1, counterpart("INV-"+strings.Repeat("7", 900_000)+"-END")))
		b.wantCode(err, fault.CounterpartNotArrived, fault.StageCounterpart)
		contains(b.t, err, "document INV-", "-END is not in the ledger's table documents")
		if n := len(err.Error()); n > 200 {
			b.t.Errorf("the text has %d bytes", n)
		}
	})
}
