package consumer_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/consumer"
	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/topics"
)

var short = topics.Ladder{2 * time.Second, 30 * time.Second}

func TestEveryRecordIsPostedOnceAndCommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		m := w.start(nil)
		for i := range 300 {
			w.send(message(i))
		}
		w.until(time.Minute, "300 postings", func() bool { return w.ledger.posted() == 300 })
		w.until(time.Minute, "lag 0 while running", func() bool { return w.lag() == 0 })
		m.end(t)
		if got := len(w.ledger.calls()); got != 300 {
			t.Errorf("%d attempts, want 300", got)
		}
		if got := w.count(consumer.Posted); got != 300 {
			t.Errorf("%d posted events, want 300", got)
		}
		if got := len(w.letters()); got != 0 {
			t.Errorf("%d letters, want none", got)
		}
	})
}

// CONTRACT 2: every row of the bad-input table is exactly one letter with its code, and the partition moves on.
// Pitfalls S7, S9, L24, H7, A11, A17: tombstones, bytes in = bytes out, one hop to the DLQ, a batch of only poison.
func TestBadInputIsOneLetterEachAndThePartitionMovesOn(t *testing.T) {
	cases := []struct {
		name    string
		value   []byte
		failure fault.Failure
		code    fault.Code
	}{
		{"null", nil, fault.FailedUnrecoverable, fault.Undecodable},
		{"empty", []byte{}, fault.FailedUnrecoverable, fault.Undecodable},
		{"not JSON", []byte(":61:160230D1,00"), fault.FailedUnrecoverable, fault.Undecodable},
		{"invalid UTF-8", []byte("{\"source_hash\":\"hash-x\xff\"}"), fault.FailedUnrecoverable, fault.Undecodable},
		{"no hash", []byte(`{"ledger_entity":"ACME","currency":"EUR","amount":"1","match_decision":"MATCHED"}`), fault.FailedUnrecoverable, fault.NoIdentity},
		{"negative zero", bad("amount", `"-0.00"`), fault.FailedPoison, fault.AmountInvalid},
		{"number", bad("amount", `1.5`), fault.FailedPoison, fault.SchemaInvalid},
		{"30 February", bad("booking_date", `"2016-02-30"`), fault.FailedPoison, fault.SchemaInvalid},
		{"withdrawn currency", bad("currency", `"DEM"`), fault.FailedPoison, fault.CurrencyUnmapped},
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		m := w.start(nil)
		for i, c := range cases {
			w.send(&kgo.Record{Key: []byte("k"), Value: c.value, Partition: 1, Headers: []kgo.RecordHeader{{Key: "case", Value: []byte(c.name)}, {Key: "null"}}})
			good := message(i)
			good.Partition = 1
			w.send(good)
		}
		w.until(time.Minute, "the good ones behind", func() bool { return w.ledger.posted() == len(cases) })
		w.until(time.Minute, "lag 0", func() bool { return w.lag() == 0 })
		m.end(t)
		letters := map[string]*envelope.Letter{}
		for _, l := range w.letters() {
			name := string(l.Original.Headers[0].Value)
			if letters[name] != nil {
				t.Errorf("%s: a second letter", name)
			}
			letters[name] = l
		}
		for _, c := range cases {
			l := letters[c.name]
			if l == nil {
				t.Errorf("%s: no letter", c.name)
				continue
			}
			if l.FailureCode != c.failure || l.ErrorCode != c.code || l.AttemptCount != 1 || l.FailureClass != fault.Poison {
				t.Errorf("%s: %s %s after %d, want %s %s after 1", c.name, l.FailureCode, l.ErrorCode, l.AttemptCount, c.failure, c.code)
			}
			if !bytes.Equal(l.Original.Value, c.value) || (l.Original.Value == nil) != (c.value == nil) {
				t.Errorf("%s: value %q, want %q byte for byte", c.name, l.Original.Value, c.value)
			}
			if h := l.Original.Headers; len(h) != 2 || h[1].Key != "null" || h[1].Value != nil {
				t.Errorf("%s: headers %v, want both with the null kept", c.name, h)
			}
		}
	})
}

// bad is a valid record but for one member.
func bad(member, value string) []byte {
	fields := map[string]string{
		"source_hash": `"hash-bad-` + member + `"`, "ledger_entity": `"ACME"`, "currency": `"EUR"`, "amount": `"1.50"`, "match_decision": `"MATCHED"`,
	}
	fields[member] = value
	var parts []string
	for k, v := range fields {
		parts = append(parts, `"`+k+`":`+v)
	}
	return []byte("{" + strings.Join(parts, ",") + "}")
}

func TestSameTransactionTwiceIsPostedOnceAndSuppressedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		w.ledger.script = func(ctx context.Context, _ *envelope.Message) error { return wait(ctx, time.Second) }
		m := w.start(nil)
		a, b, c := message(1), message(1), message(1)
		a.Partition, b.Partition, c.Partition = 0, 1, 2
		w.send(a, b, c) // at work at the same time, in three partitions of one process
		w.until(time.Minute, "two suppressed", func() bool { return w.count(consumer.Suppressed) == 2 })
		w.until(time.Minute, "lag 0", func() bool { return w.lag() == 0 })
		m.end(t)
		if got := w.ledger.inserts["hash-000001"]; got != 1 {
			t.Errorf("%d postings, want 1", got)
		}
		if got := w.ledger.tries("hash-000001"); got != 1 {
			t.Errorf("the handler ran %d times, want once: the others queue behind the first in memory", got)
		}
		if n := w.count(consumer.RetryScheduled); n != 0 {
			t.Errorf("%d of them went to a tier, want them to wait in memory", n)
		}
	})
}

func TestTwoTransactionsUnderOneHashAreNeverMerged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		m := w.start(nil)
		first, second := message(1), message(2)
		second.Value = bytes.Replace(second.Value, []byte("hash-000002"), []byte("hash-000001"), 1)
		w.send(first)
		w.until(time.Minute, "the first posts", func() bool { return w.count(consumer.Posted) == 1 })
		w.send(second)
		w.until(time.Minute, "a letter", func() bool { return w.count(consumer.DeadLettered) == 1 })
		m.end(t)
		ls := w.letters()
		if len(ls) != 1 || ls[0].ErrorCode != fault.IdentityConflict || ls[0].FailureCode != fault.FailedPoison {
			t.Fatalf("letters %+v, want one IDENTITY_CONFLICT", ls)
		}
		if ls[0].Message.Amount != "2.5" {
			t.Errorf("letter's amount %q, want 2.5", ls[0].Message.Amount)
		}
	})
}

// The store forgot, the ledger did not: its unique key is the last guard.
func TestLedgersOwnConflictDecidesWhenTheStoreKnowsNothing(t *testing.T) {
	cases := []struct {
		name string
		row  envelope.AlreadyPosted
		want consumer.Kind
	}{
		{"same root", envelope.AlreadyPosted{Root: envelope.Coordinates{Topic: "recon.main"}}, consumer.Posted},
		{"twin", envelope.AlreadyPosted{Root: envelope.Coordinates{Topic: "recon.main", Partition: 2, Offset: 9}, Digest: "same"}, consumer.Suppressed},
		{"other transaction", envelope.AlreadyPosted{Root: envelope.Coordinates{Topic: "recon.main", Partition: 2, Offset: 9}, Digest: "0123456789abcdef"}, consumer.DeadLettered},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, short)
				w.ledger.script = func(_ context.Context, m *envelope.Message) error {
					row := c.row
					row.ID, row.At = "row-1", time.Now().UTC()
					if row.Digest == "same" || row.Digest == "" {
						row.Digest = m.Digest
					}
					return &row
				}
				m := w.start(nil)
				w.send(message(1))
				w.until(time.Minute, string(c.want), func() bool { return w.count(c.want) == 1 })
				w.until(time.Minute, "lag 0", func() bool { return w.lag() == 0 })
				m.end(t)
			})
		})
	}
}

// Pitfalls A12, A16: what a handler returns decides by its code; an unknown error and a panic are poison, each said.
func TestUnknownErrorsAndPanicsAreLettersAndSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		w.ledger.script = func(_ context.Context, m *envelope.Message) error {
			if m.SourceHash == "hash-000001" {
				panic("index out of range in somebody's handler")
			}
			return errUnknown
		}
		m := w.start(nil)
		w.send(message(1), message(2))
		w.until(time.Minute, "two letters", func() bool { return w.count(consumer.DeadLettered) == 2 })
		m.end(t)
		codes := map[fault.Code]int{}
		for _, l := range w.letters() {
			codes[l.ErrorCode]++
		}
		if codes[fault.HandlerPanic] != 1 || codes[fault.Unclassified] != 1 {
			t.Errorf("codes %v, want one HANDLER_PANIC and one UNCLASSIFIED", codes)
		}
		if got := w.count(consumer.Unclassified); got != 1 {
			t.Errorf("%d unclassified_exception, want 1", got)
		}
	})
}

// Pitfall: transaction markers are no records; resting lag is 0 all the same (MECHANICS a).
func TestLagRestsAtZeroBehindTransactions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		m := w.start(nil)
		feed := w.client(kgo.TransactionalID("feed"), kgo.DefaultProduceTopic(w.names.Main()))
		for i, commit := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort, kgo.TryCommit} {
			if err := feed.BeginTransaction(); err != nil {
				t.Fatal(err)
			}
			for j := range 5 {
				feed.Produce(t.Context(), message(10*i+j), nil)
			}
			if err := feed.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := feed.EndTransaction(t.Context(), commit); err != nil {
				t.Fatal(err)
			}
		}
		w.until(time.Minute, "10 postings", func() bool { return w.ledger.posted() == 10 })
		w.until(time.Minute, "lag 0 behind markers and an aborted tail", func() bool { return w.lag() == 0 })
		m.end(t)
	})
}

// wait sleeps within ctx.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
