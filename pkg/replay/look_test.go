package replay_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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

// Headers that name a replay which nobody made do not put a stranger's record into a life.
func TestTraceBelievesNoInventedReplay(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		root := envelope.Coordinates{Topic: w.names.Main(), Partition: 1}
		forged := envelope.Retry{Root: root, Generation: 3, Replay: envelope.ReplayID(envelope.EnvelopeID(root, 0)), Envelope: envelope.EnvelopeID(root, 0)}
		w.write(
			&kgo.Record{Topic: w.names.Main(), Partition: 1, Value: value(1, "ACME")},
			&kgo.Record{Topic: w.names.Main(), Partition: 1, Value: value(8, "ACME"), Headers: forged.Append(nil)},
			&kgo.Record{Topic: w.names.Tier(short[0]), Partition: 1, Value: value(9, "ACME")},
		)
		cfg := replay.TraceConfig{Topics: w.names, Options: w.options()}
		life, err := replay.Trace(t.Context(), cfg, root.String())
		if err != nil || len(life.Moments) != 1 || life.Moments[0].SourceHash != "hash-000001" {
			t.Errorf("%+v, %v; want the root's own record alone", life, err)
		}
		stray, err := replay.Trace(t.Context(), cfg, "hash-000009")
		if err != nil || len(stray.Moments) != 1 || stray.Moments[0].Detail == "" {
			t.Fatalf("%+v, %v; want the tier's record, and what is wrong with it", stray, err)
		}
		if len(stray.Stored)+len(stray.Posted) != 0 {
			t.Errorf("stored %v and posted %v, want nothing where nobody can be asked", stray.Stored, stray.Posted)
		}
		var last int64
		cfg.Progress = func(read, total int64) {
			if last = read; total != 3 {
				t.Errorf("progress of %d, want 3", total)
			}
		}
		if _, err := replay.Trace(t.Context(), cfg, "hash-000001"); err != nil || last != 3 {
			t.Errorf("progress ended at %d (%v), want 3", last, err)
		}
	})
}
