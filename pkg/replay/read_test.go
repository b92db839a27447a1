package replay_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"recon/internal/testkit"
	"recon/pkg/dedup"
	"recon/pkg/envelope"
	"recon/pkg/replay"
	"recon/pkg/topics"
)

// What cannot be decoded is counted and listed, also where nothing else is there, and every record read is accounted for.
func TestUndecodableRecordsAreListedNeverSkipped(t *testing.T) {
	for name, good := range map[string]int{"none can be read": 0, "some can": 4} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				if good > 0 {
					w.deadOf(good, 1)
					w.lay(w.letter(0, "E0")) // a repeat
				}
				for i, v := range [][]byte{nil, {}, []byte("no json"), []byte(`{"envelope_version":1}`), []byte(`{"envelope_version":2}`)} {
					w.write(&kgo.Record{Topic: w.names.DLQ(), Partition: int32(i % partitions), Value: v})
				}
				w.write(&kgo.Record{Topic: w.names.Dispositions(), Key: []byte("k"), Value: []byte(`{}`)})
				f := w.fold()
				o := f.Overview()
				if got := len(w.all(w.names.DLQ())); o.Letters+o.Repeats+o.Unreadable-1 != got || o.Letters != good || o.Unreadable != 6 {
					t.Errorf("%d letters, %d repeats, %d unreadable of %d records in the DLQ and 1 disposition", o.Letters, o.Repeats, o.Unreadable, got)
				}
				listed := f.Unreadable()
				if len(listed) != 6 || listed[0].Why == "" || listed[0].At.Topic != w.names.Dispositions() {
					t.Errorf("listed %v, want all six with their place and why", listed)
				}
				_, err := w.runner().Plan(t.Context(), f, replay.Selection{All: true})
				if want := map[bool]replay.Exit{true: replay.ExitNothing, false: replay.ExitDone}[good == 0]; replay.ExitOf(err) != want {
					t.Errorf("a plan over it: %v, want exit %d", err, want)
				}
			})
		})
	}
}

// The fold holds what was there when reading began; catching up adds the rest, and progress ends at its total.
func TestReadStopsAtTheEndThatItSawAndCatchesUp(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.deadOf(9, 2)
		var read, total int64
		more := w.letter(9, "ACME")
		f, err := replay.Read(t.Context(), w.options(), w.names, func(r, of int64) {
			if read, total = r, of; more != nil {
				w.lay(more)
				more = nil
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Overview().Letters; got != 9 || read != 9 || total != 9 {
			t.Errorf("%d letters, progress %d of %d; want the 9 of the beginning", got, read, total)
		}
		if err := f.CatchUp(t.Context(), w.options(), w.names, nil); err != nil {
			t.Fatal(err)
		}
		if got := f.Overview().Letters; got != 10 {
			t.Errorf("%d letters after catching up, want 10", got)
		}
	})
}

// Pitfall R83: transactions' markers are no letters, and aborted letters are none.
func TestMarkersAndAbortedLettersAreNotCounted(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		cl := w.client(kgo.TransactionalID("tool"), kgo.RecordPartitioner(topics.Partitioner(w.names)))
		for n, commit := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort, kgo.TryCommit, kgo.TryAbort} {
			l := w.letter(n*partitions, "ACME") // all on one partition, which ends with a marker
			body, err := l.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(cl.BeginTransaction(), cl.ProduceSync(t.Context(), w.dlq(l, body)).FirstErr(), cl.EndTransaction(t.Context(), commit)); err != nil {
				t.Fatal(err)
			}
		}
		if o := w.fold().Overview(); o.Letters != 2 || o.Unreadable != 0 {
			t.Errorf("%d letters, %d unreadable; want the two of committed transactions", o.Letters, o.Unreadable)
		}
	})
}

func TestMissingTopicIsAPreconditionThatIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := testkit.NewVirtual(t, kfake.SeedTopics(1, "recon.dlq"))
		_, err := replay.Read(t.Context(), v.Options(), topics.Names{}, nil)
		if replay.ExitOf(err) != replay.ExitPrecondition || !strings.Contains(err.Error(), "recon.dispositions") {
			t.Errorf("got %v, want that recon.dispositions is missing, exit 9", err)
		}
	})
}

// What retention took from the DLQ or the dispositions is told, and nothing is replayed on what is left.
func TestLostRecordsForbidReplays(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.deadOf(9, 1)
		p := w.plan()
		adm := kadm.NewClient(w.out)
		cut := kadm.Offsets{}
		cut.Add(kadm.Offset{Topic: w.names.DLQ(), Partition: 1, At: 2})
		if deleted, err := adm.DeleteRecords(t.Context(), cut); err != nil || deleted.Error() != nil {
			t.Fatal(err, deleted.Error())
		}
		f := w.fold()
		if got := f.Gaps(); len(got) != 1 || !strings.Contains(got[0], "recon.dlq/1 has lost its offsets 0 to 1") {
			t.Errorf("gaps %v, want offsets 0 to 1 of partition 1", got)
		}
		_, err := w.runner().Plan(t.Context(), f, replay.Selection{All: true})
		if replay.ExitOf(err) != replay.ExitPrecondition {
			t.Errorf("a plan: %v, want exit 9", err)
		}
		w.run(p, replay.ExitPrecondition)
	})
}

// Pitfall R7 and CONTRACT 7: a store that lost its memory ends the run at once, exit 9, and no letter is touched.
func TestStoreThatLostItsMemoryEndsTheRun(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.deadOf(3, 3)
		p := w.plan()
		report := w.run(p, replay.ExitPrecondition, func(c *replay.Config) {
			c.Gates = []replay.Gate{replay.Integrity{}, gateFunc(func() (replay.Check, error) {
				return replay.Check{}, fmt.Errorf("get: %w", dedup.ErrMemoryLost)
			})}
		})
		if report.Count(replay.EndUntouched) != 3 || len(w.all(w.names.Dispositions())) != 0 {
			t.Errorf("%s, want all untouched", report.Line())
		}
	})
}

// Pitfalls R34, R54, R85: an original that its letter does not hold is taken from main, where it is the same one.
func TestOriginalOfACompactLetterComesFromMain(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		var ls []*envelope.Letter
		for n := range 6 {
			l := w.letter(n, "ACME")
			if n == 4 {
				w.write(&kgo.Record{Topic: w.names.Main(), Partition: 1, Key: l.Original.Key, Value: []byte("another")})
			} else {
				w.write(&kgo.Record{Topic: w.names.Main(), Partition: int32(n % partitions), Key: l.Original.Key, Value: l.Original.Value, Headers: l.Original.Headers})
			}
			w.known(l)
			ls = append(ls, l)
		}
		for i, l := range ls {
			if i >= 3 {
				w.lay(l.Compact())
			}
		}
		f := w.fold()
		opened, err := replay.Load(t.Context(), w.options(), slices.Collect(f.All()))
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range opened {
			want := ls[3+i]
			switch {
			case i == 1:
				if o.Err == nil || !strings.Contains(o.Err.Error(), "another value") {
					t.Errorf("letter %d: %v, want that main holds another value", i, o.Err)
				}
			case o.Err != nil || o.Invalid != nil:
				t.Errorf("letter %d: %v %v", i, o.Err, o.Invalid)
			case string(o.Letter.Original.Value) != string(want.Original.Value) || len(o.Letter.Original.Headers) != 3:
				t.Errorf("letter %d: value %q, want %q", i, o.Letter.Original.Value, want.Original.Value)
			}
		}
	})
}

// Letters far apart in a long DLQ are found again, each its own.
func TestLettersAreReadAgainWhereTheyLie(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.deadOf(30, 2)
		var filler []*kgo.Record
		for range 2500 {
			filler = append(filler, &kgo.Record{Topic: w.names.DLQ(), Partition: 0, Value: []byte("filler")})
		}
		w.write(filler...)
		w.lay(w.letter(30, "ACME"))
		f := w.fold()
		cases := slices.Collect(f.All())
		slices.Reverse(cases)
		opened, err := replay.Load(t.Context(), w.options(), cases)
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range opened {
			if o.Err != nil || o.Case != cases[i] || o.Letter.EnvelopeID != cases[i].EnvelopeID {
				t.Errorf("letter %d is not the one of its case: %v", i, o.Err)
			}
		}
	})
}
