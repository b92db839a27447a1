package replay_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/dedup"
	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/replay"
)

// copyOf is the copy of message n that a consumer writes to a tier.
func (w *world) copyOf(topic string, n, attempt int, due time.Time) *kgo.Record {
	root := envelope.Coordinates{Topic: w.names.Main(), Partition: int32(n % partitions), Offset: int64(n / partitions)}
	r := envelope.Retry{
		Root: root, Origin: root, Attempt: attempt, Due: due, Code: fault.CounterpartNotArrived, Stage: fault.StageCounterpart,
		FirstSeen: time.Now(), MessageID: envelope.MessageID(root),
	}
	return &kgo.Record{Topic: topic, Partition: root.Partition, Key: []byte("k"), Value: value(n, "ACME"), Headers: r.Append(nil)}
}

// What waits is what lies behind the group's committed positions, the latest copy of each record, the next due first.
func TestWaitingIsWhatTheTiersHold(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		low, high, old := w.names.Tier(short[0]), w.names.Tier(short[1]), w.names.TierPrefix()+"7s"
		if err := w.create(old); err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		w.write(
			w.copyOf(low, 0, 1, now), // done: below the committed position
			w.copyOf(low, 3, 1, now.Add(time.Second)),
			w.copyOf(high, 3, 2, now.Add(20*time.Second)), // the same record, later
			w.copyOf(low, 1, 1, now.Add(2*time.Second)),
			w.copyOf(old, 2, 4, now.Add(5*time.Second)), // a tier that is configured no more
			&kgo.Record{Topic: high, Partition: 0, Value: []byte("nothing of ours")},
		)
		commits := kadm.Offsets{}
		commits.Add(kadm.Offset{Topic: low, Partition: 0, At: 1, LeaderEpoch: -1})
		if _, err := kadm.NewClient(w.out).CommitOffsets(t.Context(), "recon-consumer", commits); err != nil {
			t.Fatal(err)
		}
		got, err := replay.ReadWaiting(t.Context(), w.options(), w.names, "recon-consumer", nil)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, h := range got.Held {
			lines = append(lines, fmt.Sprintf("%s %s %d %s %s %s", h.Tier, h.SourceHash, h.Attempts, h.Code, h.LedgerEntity, h.Due.Sub(now).Round(time.Second)))
		}
		want := []string{
			"2s hash-000001 1 COUNTERPART_NOT_ARRIVED ACME 2s", "7s hash-000002 4 COUNTERPART_NOT_ARRIVED ACME 5s", "30s hash-000003 2 COUNTERPART_NOT_ARRIVED ACME 20s",
		}
		if !slices.Equal(lines, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
		}
		if eur := got.Totals.Currencies["EUR"]; eur.Count != 3 || envelope.CanonicalAmount(eur.Credit) != "37.5" || len(got.Unreadable) != 1 {
			t.Errorf("totals %+v, unreadable %v; want 37.5 of 3 and the one that says nothing", eur, got.Unreadable)
		}
		var page strings.Builder
		replay.PrintWaiting(&page, got, now)
		for _, part := range []string{"hash-000002", "12.50", "EUR waiting 3: debit 0.00, credit 37.50, amounts 3", "unreadable: recon.retry.30s/0@"} {
			if !strings.Contains(page.String(), part) {
				t.Errorf("the page does not say %q:\n%s", part, &page)
			}
		}
	})
}

func TestWaitingWithoutTiersOrGroupIsEmpty(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		got, err := replay.ReadWaiting(t.Context(), w.options(), w.names, "never-seen", nil)
		if err != nil || len(got.Held) != 0 {
			t.Errorf("got %+v, %v; want nothing", got, err)
		}
		w.names.Prefix = "other"
		if got, err = replay.ReadWaiting(t.Context(), w.options(), w.names, "never-seen", nil); err != nil || len(got.Held) != 0 {
			t.Errorf("without tiers: got %+v, %v; want nothing", got, err)
		}
	})
}

// One record's whole life is found by any of its names, and nobody else's.
func TestTraceTellsOneRecordsWholeLife(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		root := envelope.Coordinates{Topic: w.names.Main(), Partition: 1}
		w.write(
			&kgo.Record{Topic: w.names.Main(), Partition: 1, Value: value(1, "ACME")},
			&kgo.Record{Topic: w.names.Main(), Partition: 2, Value: value(2, "ACME")},
			&kgo.Record{Topic: w.names.Main(), Partition: 0, Value: []byte("no json")},
		)
		w.write(w.copyOf(w.names.Tier(short[0]), 1, 1, time.Now()))
		l := w.letter(1, "ACME")
		w.dead(l, w.letter(2, "ACME"))
		p, err := w.runner().Plan(t.Context(), w.fold(), replay.Selection{IDs: []string{l.EnvelopeID}})
		if err != nil {
			t.Fatal(err)
		}
		w.run(p, replay.ExitDone)
		w.read = map[int32]int64{0: 1, 1: 1, 2: 1}
		w.consume(nil)
		cfg := replay.TraceConfig{Topics: w.names, Options: w.options(), Store: w.store, Ledger: w.ledger}
		want := []string{"main", "tier 2s", "letter", "replay", "reinjected", "confirmed"}
		for name, key := range map[string]string{
			"source hash": "hash-000001", "message id": envelope.MessageID(root), "trace id": l.Message.TraceID, "its root": root.String(),
			"its letter": "recon.dlq/1@0", "its replay": w.names.Main() + "/1@1", "its tier copy": w.names.Tier(short[0]) + "/1@0",
		} {
			if key == "" { // without a trace id in body and headers the root gives one
				m, _ := envelope.Decode(l.Original.Value, nil)
				m.Identify(root)
				key = m.TraceID
			}
			life, err := replay.Trace(t.Context(), cfg, key)
			if err != nil {
				t.Errorf("%s %s: %v", name, key, err)
				continue
			}
			var whats []string
			for _, m := range life.Moments {
				whats = append(whats, m.What)
			}
			slices.Sort(whats)
			if !slices.Equal(whats, slices.Sorted(slices.Values(want))) {
				t.Errorf("by %s %s: %v, want %v", name, key, whats, want)
			}
			if life.Stored["hash-000001"].State != dedup.Posted || life.Posted["hash-000001"] == nil {
				t.Errorf("by %s: stored %+v, posted %+v; want both", name, life.Stored, life.Posted)
			}
			var page strings.Builder
			replay.PrintLife(&page, life)
			if !strings.Contains(page.String(), "ledger: hash-000001 is posting p-hash-000001 of recon.main/1@0 generation 1") {
				t.Errorf("the page does not name the posting:\n%s", &page)
			}
		}
		if _, err := replay.Trace(t.Context(), cfg, "hash-of-nobody"); replay.ExitOf(err) != replay.ExitNothing {
			t.Errorf("an unknown key: %v, want exit 3", err)
		}
		if life, err := replay.Trace(t.Context(), cfg, w.names.Main()+"/0@0"); err != nil || len(life.Moments) != 1 || life.Moments[0].Code != string(fault.Undecodable) {
			t.Errorf("a record that is no JSON: %+v, %v; want its one moment with the code", life, err)
		}
	})
}

func TestPagesSayWhatAPersonNeeds(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		evil := w.letter(3, "ACME", func(l *envelope.Letter) { l.ErrorDetail = "no \x1b[31mmapping\x07" })
		w.dead(w.letter(0, "ACME"), w.letter(1, "BETA"), w.letter(2, "ACME", invalid), evil)
		now := time.Date(2000, 1, 2, 3, 0, 2, 0, time.UTC)
		f := w.fold()
		c, _ := f.Case(evil.EnvelopeID)
		opened, entry, err := w.runner().Check(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		var pages [5]strings.Builder
		replay.PrintOverview(&pages[0], f.Overview(), now)
		replay.PrintCases(&pages[1], slices.Collect(f.All()), now)
		replay.PrintLetter(&pages[2], c, opened, entry)
		p := w.plan()
		replay.PrintPlan(&pages[3], p)
		report := w.run(p, replay.ExitIncomplete)
		replay.PrintReport(&pages[4], report)
		for i, want := range [][]string{
			{"open", "4", "POISON_MESSAGE", "(1d03h)", "EUR open: debit 0.00, credit 35.50, amounts 3", "unreadable amounts open: 1"},
			{evil.EnvelopeID, "unreadable", "13.50", "recon.main/1@0", "4 letters"},
			{"status         open", "\uFFFD[31mmapping\uFFFD", "integrity", "temporal", "no calendar", "a replay would now: reinject"},
			{"DRY RUN: nothing is changed", "STILL_INVALID", "EUR to come back: debit 0.00, credit 35.50, amounts 3", "selected 4 = reinject 3 + complete 0 + confirm 0 + suppress 0 + refuse 1"},
			{"refused  STILL_INVALID        1  AMOUNT_INVALID", "selected 4 = reinjected 3 + suppressed 0 + quarantined 0 + refused 1 + failed 0 + untouched 0\n", "EUR reinjected: debit 0.00, credit 35.50, amounts 3"},
		} {
			page := pages[i].String()
			for _, part := range want {
				if !strings.Contains(page, part) {
					t.Errorf("page %d does not say %q:\n%s", i, part, page)
				}
			}
			if strings.ContainsAny(page, "\x1b\x07") {
				t.Errorf("page %d lets a letter steer the terminal", i)
			}
		}
	})
}

func TestOnlyTheCountItselfConfirms(t *testing.T) {
	for typed, want := range map[string]bool{"12\n": true, " 12 \n": true, "12": true, "\n": false, "": false, "1\n2\n": false, "y\n": false, "012\n": false, "13\n": false} {
		var asked strings.Builder
		if got := replay.ConfirmCount(strings.NewReader(typed), &asked, 12); got != want || !strings.Contains(asked.String(), "(12)") {
			t.Errorf("%q: got %t, want %t; asked %q", typed, got, want, &asked)
		}
	}
}

func TestFiguresHaveTheDecimalsOfTheirCurrency(t *testing.T) {
	for _, row := range []struct{ amount, currency, want string }{
		{"12.5", "EUR", "12.50"},
		{"0", "EUR", "0.00"},
		{"-7", "USD", "-7.00"},
		{"1200", "JPY", "1200"},
		{"1.5", "KWD", "1.500"},
		{"9007199254740993.01", "EUR", "9007199254740993.01"},
		{"3.5", "ZZZ", "3.5"},
	} {
		if got := replay.Figure(decimal.RequireFromString(row.amount), row.currency); got != row.want {
			t.Errorf("%s %s: got %s, want %s", row.amount, row.currency, got, row.want)
		}
	}
}

func TestExitCodesFollowTheContract(t *testing.T) {
	for _, row := range []struct {
		err  error
		want replay.Exit
	}{
		{nil, 0},
		{errors.New("other"), 1},
		{fmt.Errorf("x: %w", replay.ErrUsage), 2},
		{replay.ErrNothing, 3},
		{replay.ErrIncomplete, 4},
		{fmt.Errorf("%w: %w", replay.ErrStopped, dedup.ErrUnavailable), 5},
		{fmt.Errorf("%w: %w", replay.ErrStopped, dedup.ErrLeaseLost), 5},
		{replay.ErrInterrupted, 6},
		{context.Canceled, 6},
		{replay.ErrPlanExpired, 7},
		{replay.ErrPlanChanged, 7},
		{&dedup.LeaseHeldError{Owner: "x"}, 8},
		{dedup.ErrMemoryLost, 9},
		{dedup.ErrEvicting, 9},
		{replay.ErrPrecondition, 9},
	} {
		if got := replay.ExitOf(row.err); got != row.want {
			t.Errorf("%v: exit %d, want %d", row.err, got, row.want)
		}
	}
}
