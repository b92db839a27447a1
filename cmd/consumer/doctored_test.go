package main_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/audit"
	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/ledger"
)

// history is what a run of a hundred records leaves on the topics and in the ledger, before somebody doctors it.
type history struct {
	main, tiers, letters []*kgo.Record
	postings             []ledger.Posting
	events               []audit.Event
}

const (
	runs    = 100 // records
	waiting = 30  // of them fail their first attempt: 0 to 29
	poison  = 99  // the one that becomes a letter
)

func rootOf(i int) envelope.Coordinates {
	return envelope.Coordinates{Topic: "x.main", Offset: int64(i)}
}

func hashOf(i int) string { return fmt.Sprintf("hash-%04d", i) }

// copyOf is what stands on a tier after a failed attempt.
func copyOf(i, attempt int, code fault.Code) *kgo.Record {
	now := time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC)
	h := envelope.Retry{
		Root: rootOf(i), Origin: rootOf(i), MessageID: envelope.MessageID(rootOf(i)), Attempt: attempt, MaxAttempts: 99, Budget: map[fault.Code]int{code: attempt},
		FirstSeen: now, Due: now.Add(time.Second), Stage: fault.StageCounterpart, Class: fault.Transient, Code: code, Error: "not there",
	}
	value := fmt.Sprintf(`{"source_hash":"%s","ledger_entity":"ACME","currency":"EUR","amount":"1.25","match_decision":"UNMATCHED","counterpart_ref":"doc-%d"}`, hashOf(i), i)
	return &kgo.Record{Topic: "x.retry.1s", Value: []byte(value), Headers: h.Append(nil)}
}

// letterOf is a dead letter of a record.
func letterOf(t *testing.T, i, generation int) *kgo.Record {
	t.Helper()
	l := &envelope.Letter{
		FailureCode: fault.FailedPoison, FailureClass: fault.Poison, ErrorCode: fault.CurrencyUnmapped, ErrorDetail: "not mapped",
		SourceStage: fault.StageCurrency, AttemptCount: 1, Lineage: envelope.Lineage{Root: rootOf(i), Generation: generation},
		Origin:   envelope.Origin{Coordinates: rootOf(i), LeaderEpoch: -1, TimestampType: envelope.CreateTime},
		Original: envelope.Original{Value: []byte(`{}`)}, FirstSeenAt: time.Unix(1, 0).UTC(), DeadLetteredAt: time.Unix(2, 0).UTC(),
		Producer: envelope.Producer{Service: "recon-consumer", Version: "1", Instance: "i", Group: "g", ConfigDigest: "d"},
	}
	if generation > 0 {
		l.Lineage.Parent = envelope.EnvelopeID(rootOf(i), generation-1)
		l.Lineage.ReplayID = envelope.ReplayID(l.Lineage.Parent)
	}
	value, err := l.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return &kgo.Record{Topic: "x.dlq", Value: value}
}

func postingOf(i int) ledger.Posting { return ledger.Posting{SourceHash: hashOf(i), Root: rootOf(i)} }

func eventOf(i int, kind string) audit.Event {
	return audit.Event{Type: kind, Root: rootOf(i), Attempt: 1, At: time.Unix(1, 0).UTC()}
}

// whole is the history of a run in which all went well.
func whole(t *testing.T) *history {
	t.Helper()
	h := &history{letters: []*kgo.Record{letterOf(t, poison, 0)}}
	for i := range runs {
		h.main = append(h.main, &kgo.Record{Topic: "x.main", Offset: int64(i)})
		if i < waiting {
			h.tiers = append(h.tiers, copyOf(i, 1, fault.CounterpartNotArrived), copyOf(i, 2, fault.CounterpartNotArrived))
			h.events = append(h.events, eventOf(i, audit.EventRetry))
		}
		if i != poison {
			h.postings, h.events = append(h.postings, postingOf(i)), append(h.events, eventOf(i, audit.EventPosted))
		}
	}
	return h
}

// shelf is a producer that keeps what it is given.
type shelf []*kgo.Record

func (s *shelf) Produce(_ context.Context, r *kgo.Record, done func(*kgo.Record, error)) {
	*s = append(*s, r)
	done(r, nil)
}

// trail is the topic that tells of the events.
func (h *history) trail(t *testing.T) []*kgo.Record {
	t.Helper()
	var records shelf
	chain, err := audit.Open(t.Context(), audit.Config{Topic: "x.audit", Service: "recon-consumer", Instance: "i"}, &records)
	if err != nil {
		t.Fatal(err)
	}
	entry := audit.Entry{Topic: "x.main", To: runs}
	for _, ev := range h.events {
		entry.Tell(ev)
	}
	if err := chain.Append(t.Context(), entry); err != nil {
		t.Fatal(err)
	}
	return records
}

// account folds the history as a plant folds its own.
func (h *history) account(t *testing.T) *account {
	t.Helper()
	a := newAccount()
	for _, part := range []struct {
		records []*kgo.Record
		take    func(*kgo.Record) error
	}{{h.main, a.arrived}, {h.tiers, a.copied}, {h.letters, a.letter}, {h.trail(t), a.told}} {
		for _, r := range part.records {
			if err := part.take(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, p := range h.postings {
		if err := a.post(p); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// What the runs with killed members are judged by sees each thing that must not be: a judge who sees nothing would let
// all of them pass.
func TestAccountComplainsOfEachDoctoredHistory(t *testing.T) {
	const onMain = "100 records on main, "
	for _, c := range []struct {
		name   string
		doctor func(*history)
		want   []string // beginnings of the complaints, in order
	}{
		{"nothing", func(*history) {}, nil},
		{"a record lost", func(h *history) {
			h.postings = slices.Delete(h.postings, 50, 51)
			h.events = slices.DeleteFunc(h.events, func(e audit.Event) bool { return e.Root == rootOf(50) })
		}, []string{"98 postings, 0 hashes twice", onMain + "1 lost, 0 with two"}},
		{"a record lost and another posted twice under a hash of its own", func(h *history) {
			h.postings[50] = ledger.Posting{SourceHash: "other", Root: rootOf(51)}
		}, []string{onMain + "1 lost, 1 with two"}},
		{"a hash posted twice", func(h *history) {
			h.postings = append(h.postings, postingOf(50))
		}, []string{"100 postings, 1 hashes twice", onMain + "0 lost, 1 with two", "the trail tells of 99 postings, want 100"}},
		{"a hash posted twice in the place of another's", func(h *history) { h.postings[51].SourceHash = hashOf(50) }, []string{"99 postings, 1 hashes twice"}},
		{"a record that is posted and a letter", func(h *history) { h.letters = append(h.letters, letterOf(t, 50, 0)) }, []string{onMain + "0 lost, 1 with two", "2 letters"}},
		{"a record that is posted and suppressed", func(h *history) {
			h.events = append(h.events, eventOf(50, audit.EventSuppressed))
		}, []string{onMain + "0 lost, 1 with two"}},
		{"a record with two letters", func(h *history) { h.letters = append(h.letters, letterOf(t, poison, 1)) }, []string{onMain + "0 lost, 1 with two"}},
		{"a letter that is written twice", func(h *history) { h.letters = append(h.letters, h.letters[0]) }, nil},
		{"no letter", func(h *history) { h.letters = nil }, []string{onMain + "1 lost, 0 with two", "0 letters"}},
		{"a record that is not on main", func(h *history) { h.main = h.main[1:] }, []string{"99 records on main, 0 lost"}},
		{"a posting that nobody tells of", func(h *history) {
			h.events = slices.DeleteFunc(h.events, func(e audit.Event) bool { return e.Root == rootOf(50) })
		}, []string{"the trail tells of 98 postings, want 99"}},
		{"a retry that nobody tells of", func(h *history) { h.events = h.events[1:] }, nil},
		{"a missing retry", func(h *history) { h.tiers = h.tiers[2:] }, []string{"29 records failed their first attempt and took a tier", "29 records failed their first attempt, want no less than 30 %"}},
		{"a first attempt that left no copy", func(h *history) { h.tiers = h.tiers[1:] }, []string{"29 records failed their first attempt and", "29 records"}},
		{"a first attempt that failed of something else", func(h *history) { h.tiers[0] = copyOf(0, 1, fault.LockContention) }, []string{"29 records failed their first attempt and", "29 records"}},
		{"a first attempt that is told as poison", func(h *history) {
			for i, header := range h.tiers[0].Headers {
				if string(header.Value) == string(fault.Transient) {
					h.tiers[0].Headers[i].Value = []byte(fault.Poison)
				}
			}
		}, []string{"29 records failed their first attempt and", "29 records"}},
		{"a retry of a record that waits for nothing", func(h *history) { h.tiers = append(h.tiers, copyOf(60, 1, fault.CounterpartNotArrived)) }, []string{"31 records failed their first attempt and"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := whole(t)
			c.doctor(h)
			said := h.account(t).complaints(runs, waiting)
			if !slices.EqualFunc(said, c.want, strings.HasPrefix) {
				t.Errorf("complaints\n\t%s\nwant those that begin with\n\t%s", strings.Join(said, "\n\t"), strings.Join(c.want, "\n\t"))
			}
		})
	}
}

// The share is judged by itself: a run may not pass because fewer documents were late than it takes.
func TestAccountComplainsOfARunThatWasTooEasy(t *testing.T) {
	h := whole(t)
	h.tiers = h.tiers[2:]
	if said := h.account(t).complaints(runs, waiting-1); len(said) != 1 || !strings.Contains(said[0], "want no less than 30 %") {
		t.Errorf("complaints %q, want that 29 of 100 are too few", said)
	}
}

func TestAccountDoesNotFoldWhatItCannotRead(t *testing.T) {
	a := newAccount()
	for name, err := range map[string]error{
		"a copy without headers":  a.copied(&kgo.Record{Topic: "x.retry.1s"}),
		"a letter that is none":   a.letter(&kgo.Record{Value: []byte("{}")}),
		"an entry that is none":   a.told(&kgo.Record{Value: []byte("{}")}),
		"headers that are broken": a.copied(&kgo.Record{Headers: append(copyOf(1, 1, fault.LockContention).Headers, kgo.RecordHeader{Key: "recon-attempt", Value: []byte("x")})}),
	} {
		if err == nil {
			t.Errorf("%s is folded in silence", name)
		}
	}
}

// A document arrives after so many failed attempts of its record, and by nothing else.
func TestClerkEntersADocumentOnlyAfterItsRecordHasFailed(t *testing.T) {
	l, err := ledger.Open("sqlite:"+t.TempDir()+"/l", ledger.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx := t.Context()
	if err := l.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	c := &clerk{plant: &plant{t: t, ledger: l}, due: map[string]int{"doc-1": 2, "doc-2": 1}}
	for _, step := range []struct {
		name    string
		copy    *kgo.Record
		entered int
	}{
		{"too early", copyOf(1, 1, fault.CounterpartNotArrived), 0},
		{"of something else", copyOf(1, 2, fault.LockContention), 0},
		{"in time", copyOf(1, 2, fault.CounterpartNotArrived), 1},
		{"again", copyOf(1, 3, fault.CounterpartNotArrived), 1},
		{"of a stranger", copyOf(3, 3, fault.CounterpartNotArrived), 1},
		{"later than need be", copyOf(2, 3, fault.CounterpartNotArrived), 2},
	} {
		if err := c.see(ctx, step.copy); err != nil || c.entered != step.entered || len(c.due) != 2-step.entered {
			t.Errorf("%s: %v, %d entered and %d due, want %d entered", step.name, err, c.entered, len(c.due), step.entered)
		}
	}
	if err := c.see(ctx, &kgo.Record{Value: []byte("none")}); err == nil {
		t.Error("what is no record is passed over in silence")
	}
	m, err := envelope.Decode(copyOf(1, 1, fault.CounterpartNotArrived).Value, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Identify(rootOf(1))
	if err := l.PutCurrency(ctx, "EUR"); err != nil {
		t.Fatal(err)
	}
	if err := l.Precheck(ctx, m); err != nil {
		t.Errorf("after its document was entered the record would not post: %v", err)
	}
}
