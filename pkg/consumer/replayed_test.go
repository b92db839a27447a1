package consumer_test

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/consumer"
	"recon/pkg/dedup"
	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// replay is what a replayer writes to main for a letter.
func replay(l *envelope.Letter) *kgo.Record {
	r := envelope.Retry{
		Root: l.Lineage.Root, Origin: l.Origin.Coordinates, Generation: l.Lineage.Generation + 1, FirstSeen: l.FirstSeenAt,
		MessageID: l.Message.MessageID, Envelope: l.EnvelopeID, Replay: envelope.ReplayID(l.EnvelopeID),
	}
	return &kgo.Record{Key: l.Original.Key, Value: l.Original.Value, Headers: r.Append(l.Original.Headers), Partition: 2}
}

func reserve(w *world, l *envelope.Letter) {
	w.t.Helper()
	a, err := w.store.Reserve(w.t.Context(), dedup.Reservation{
		Hash: l.Message.SourceHash, EnvelopeID: l.EnvelopeID, ReplayID: envelope.ReplayID(l.EnvelopeID),
		Root: l.Lineage.Root, Generation: l.Lineage.Generation,
	})
	if err != nil || !a.Reserved {
		w.t.Fatalf("reserve: %+v %v", a, err)
	}
}

// reserved starts an engine whose one record becomes a letter, which a replayer then takes for its one replay.
func reserved(w *world) (*member, *envelope.Letter) {
	w.t.Helper()
	w.ledger.script = func(context.Context, *envelope.Message) error { return fault.New(fault.CurrencyUnmapped, "no mapping") }
	m := w.start(nil)
	w.send(message(1))
	w.until(time.Minute, "the letter", func() bool { return w.count(consumer.DeadLettered) == 1 })
	l := w.letters()[0]
	reserve(w, l)
	return m, l
}

// Pitfalls R28, R29, R40: a replay starts at attempt 0 of the next generation, keeps its root, and confirms its letter.
func TestReplayedRecordConfirmsItsLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		m, l := reserved(w)
		w.ledger.setScript(nil)
		w.send(replay(l), replay(l)) // a repeat carries the same ids and collapses
		w.until(time.Minute, "the posting", func() bool { return w.ledger.posted() == 1 })
		w.until(time.Minute, "lag 0", func() bool { return w.lag() == 0 })
		m.end(t)
		row := w.ledger.rows["hash-000001"]
		if row.Root != l.Lineage.Root || row.Generation != 1 {
			t.Errorf("posted as %s generation %d, want %s generation 1", row.Root, row.Generation, l.Lineage.Root)
		}
		ids := map[string]int{}
		for _, r := range w.read(w.names.Dispositions()) {
			d, err := envelope.DecodeDisposition(r.Value)
			if err != nil {
				t.Fatal(err)
			}
			if d.State != envelope.Confirmed || d.EnvelopeID != l.EnvelopeID || string(r.Key) != l.EnvelopeID {
				t.Errorf("disposition %s of %s under key %s", d.State, d.EnvelopeID, r.Key)
			}
			ids[d.EventID]++
		}
		if len(ids) != 1 {
			t.Errorf("confirmations have ids %v, want one id however often it is told", ids)
		}
	})
}

func TestReplayThatFailsAgainIsAChildLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		m, l := reserved(w)
		w.send(replay(l))
		w.until(time.Minute, "the child", func() bool { return w.count(consumer.DeadLettered) == 2 })
		m.end(t)
		for _, c := range w.letters() {
			if c.Lineage.Generation == 0 {
				continue
			}
			if c.Lineage.Parent != l.EnvelopeID || c.Lineage.Root != l.Lineage.Root || c.Lineage.Generation != 1 || c.AttemptCount != 1 {
				t.Errorf("child's lineage %+v after %d attempts, want parent %s, the same root, generation 1, 1 attempt", c.Lineage, c.AttemptCount, l.EnvelopeID)
			}
			if string(c.Original.Value) != string(l.Original.Value) || len(c.Original.Headers) != len(l.Original.Headers) {
				t.Error("the child's original is not the parent's")
			}
		}
	})
}

// Pitfall S11 and CONTRACT 4: anyone may write to main; headers that nothing backs are dropped and steer nothing.
func TestForgedHeadersOnMainSteerNothing(t *testing.T) {
	root := envelope.Coordinates{Topic: "recon.main", Partition: 0, Offset: 4711}
	letter := envelope.EnvelopeID(root, 0)
	cases := map[string]envelope.Retry{
		"attempts and due time": {Root: root, Attempt: 99, Due: time.Now().Add(time.Hour)},
		"a replay never made":   {Root: root, Generation: 1, Envelope: letter, Replay: envelope.ReplayID(letter)},
		"ids that do not fit":   {Root: root, Generation: 2, Envelope: letter, Replay: envelope.ReplayID(letter)},
	}
	for name, forged := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, short)
				m := w.start(nil)
				r := message(1)
				r.Headers = forged.Append(nil)
				w.send(r)
				w.until(10*time.Second, "the posting, at once", func() bool { return w.ledger.posted() == 1 })
				w.until(time.Minute, "lag 0", func() bool { return w.lag() == 0 })
				m.end(t)
				row := w.ledger.rows["hash-000001"]
				if want := (envelope.Coordinates{Topic: "recon.main"}); row.Root != want || row.Generation != 0 {
					t.Errorf("posted as %s generation %d, want its own position %s generation 0", row.Root, row.Generation, want)
				}
				if got, want := w.of(consumer.Posted)[0].Message.MessageID, envelope.MessageID(row.Root); got != want {
					t.Errorf("message_id %s, want %s, that of its own position", got, want)
				}
				if got := w.count(consumer.Untrusted); got != 1 {
					t.Errorf("%d untrusted_headers, want 1", got)
				}
				if n := len(w.read(w.names.Dispositions())); n != 0 {
					t.Errorf("%d dispositions for a letter that does not exist", n)
				}
			})
		})
	}
}

// A replay carries its root's own bytes: another amount under the headers of a true replay is another transaction, and
// its letter says so. It is never taken for a repeat and dropped.
func TestAnotherTransactionUnderTheHeadersOfATrueReplayIsALetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		m, l := reserved(w)
		w.ledger.setScript(nil)
		w.send(replay(l))
		w.until(time.Minute, "the posting", func() bool { return w.ledger.posted() == 1 })
		forged := replay(l)
		forged.Value = bytes.Replace(forged.Value, []byte(`"amount":"`), []byte(`"amount":"9`), 1)
		w.send(forged)
		w.until(time.Minute, "its letter", func() bool { return w.count(consumer.DeadLettered) == 2 })
		w.until(time.Minute, "lag 0", func() bool { return w.lag() == 0 })
		m.end(t)
		own := w.letters()[0]
		if own.Lineage.Root == l.Lineage.Root {
			own = w.letters()[1]
		}
		if own.ErrorCode != fault.IdentityConflict || own.Lineage.Generation != 0 || !bytes.Equal(own.Original.Value, forged.Value) {
			t.Errorf("letter %s of %s generation %d, want IDENTITY_CONFLICT with the forged original", own.ErrorCode, own.Lineage.Root, own.Lineage.Generation)
		}
	})
}

// Pitfall S10: headers on a tier that cannot be read are clamped; the partition goes on.
func TestMalformedHeadersOnATierNeverStopIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		m := w.start(nil)
		tier := w.names.Tier(short[0])
		values := []string{"", "abc", "-7", "999999999999999999999", "9999-12-31T23:59:59.000Z", "\xff\xfe"}
		n := 0
		for _, name := range []string{envelope.HeaderAttempt, envelope.HeaderNextRetryAt, envelope.HeaderRoot, envelope.HeaderGeneration, envelope.HeaderBudget, envelope.HeaderHistory} {
			for _, v := range values {
				r := message(n)
				r.Topic, r.Partition = tier, 1
				r.Headers = []kgo.RecordHeader{{Key: name, Value: []byte(v)}}
				if err := w.out.ProduceSync(t.Context(), r).FirstErr(); err != nil {
					t.Fatal(err)
				}
				n++
			}
		}
		w.until(time.Hour, "all", func() bool { return w.ledger.posted() == n })
		w.until(time.Minute, "lag 0", func() bool { return w.lag() == 0 })
		m.end(t)
		if w.count(consumer.Malformed) == 0 {
			t.Error("nothing was counted as malformed")
		}
	})
}

// A tier that is no longer configured is read until it is empty, and its records keep their due times.
func TestRecordsOfATierOfAnEarlierConfigurationKeepTheirDueTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		old := w.names.Tier(6 * time.Hour)
		if _, err := kadm.NewClient(w.out).CreateTopic(t.Context(), partitions, 1, nil, old); err != nil {
			t.Fatal(err)
		}
		root := envelope.Coordinates{Topic: w.names.Main(), Partition: 1, Offset: 7}
		due := time.Now().Add(5 * time.Hour).UTC().Truncate(time.Millisecond)
		copied := envelope.Retry{Root: root, Origin: root, Attempt: 1, FirstSeen: time.Now().UTC(), Due: due, Code: fault.RateNotPublished}
		r := message(1)
		r.Topic, r.Partition, r.Headers = old, 1, copied.Append(nil)
		if err := w.out.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
		m := w.start(nil)
		w.until(6*time.Hour, "the posting", func() bool { return w.ledger.posted() == 1 })
		m.end(t)
		if at := w.ledger.calls()[0].at; at.Before(due) || at.Sub(due) > time.Minute {
			t.Errorf("ran at %s, due was %s", at, due)
		}
		if n := w.count(consumer.Malformed); n != 0 {
			t.Errorf("%d malformed_headers for what an earlier configuration wrote", n)
		}
	})
}
