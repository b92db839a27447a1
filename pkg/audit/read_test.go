package audit_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/audit"
	"recon/pkg/broker"
	"recon/pkg/envelope"
)

// house is a whole history on a broker: main, tiers, letters, dispositions, trail, and the ledger's rows.
type house struct {
	*cluster
	postings []audit.Posting
	roots    map[string]envelope.Coordinates
}

const group = "recon-consumer"

func (h *house) post(t *testing.T, root envelope.Coordinates, generation int, hash, amount string) {
	t.Helper()
	m, err := envelope.Decode(message(hash, amount), nil)
	if err != nil {
		t.Fatal(err)
	}
	h.postings = append(h.postings, audit.Posting{
		SourceHash: hash, Root: root, Generation: generation, Digest: m.Digest, Money: audit.MoneyOf("EUR", amount),
	})
}

// newHouse writes one record of every outcome, and replays of three.
func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{cluster: newCluster(t), roots: make(map[string]envelope.Coordinates)}
	in := func(name string, partition int32, amount string) envelope.Coordinates {
		h.roots[name] = h.arrive(partition, "hash-"+name, amount)
		return h.roots[name]
	}
	h.post(t, in("posted", 0, "100.00"), 0, "hash-posted", "100.00")
	twin := h.arrive(0, "hash-posted", "100.00")
	h.roots["twin"] = twin

	waiting := in("waiting", 1, "-3.50")
	retry := envelope.Retry{Root: waiting, Origin: waiting, MessageID: envelope.MessageID(waiting), Attempt: 1, FirstSeen: noon, Due: noon}
	h.put("recon.retry.2s", 1, "ACME-DE", message("hash-waiting", "-3.50"), retry.Append(nil)...) // left: committed
	retry.Attempt = 2
	h.put("recon.retry.2s", 1, "ACME-DE", message("hash-waiting", "-3.50"), retry.Append(nil)...)

	for name, amount := range map[string]string{
		"open": "7", "resolved": "8", "quarantined": "9", "journaled": "11", "replayed": "12", "again": "13", "alias": "14",
	} {
		root := in(name, 1, amount)
		h.bury(letterOf(root, 0, "hash-"+name, amount, message("hash-"+name, amount)))
	}
	h.bury(letterOf(h.roots["open"], 0, "hash-open", "7", message("hash-open", "7"))) // written twice
	h.dispose(h.roots["resolved"], envelope.Resolved, func(d *envelope.Disposition) { d.Outcome = envelope.OutcomeInvalidAtSource })
	for _, name := range []string{"quarantined", "journaled"} {
		h.dispose(h.roots[name], envelope.Quarantined, func(d *envelope.Disposition) { d.Code = "PERIOD_CLOSED" })
	}
	h.dispose(h.roots["journaled"], envelope.JournalPosted, func(d *envelope.Disposition) {
		d.JournalRef, d.Period, d.Amount = "J-1", "2026-11", "11"
	})

	raw := h.put("recon.main", 0, "ACME-DE", []byte("not JSON"))
	h.roots["raw"] = raw
	l := letterOf(raw, 0, "", "", []byte("not JSON"))
	l.Message = envelope.Facts{MessageID: envelope.MessageID(raw)}
	h.bury(l)

	h.replay("replayed", "12")
	h.post(t, h.roots["replayed"], 1, "hash-replayed", "12")
	h.dispose(h.roots["replayed"], envelope.Confirmed, func(d *envelope.Disposition) { d.ReplayID = envelope.ReplayID(d.EnvelopeID) })
	h.replay("again", "13")
	h.bury(letterOf(h.roots["again"], 1, "hash-again", "13", message("hash-again", "13")))
	h.roots["not believed"] = h.replay("alias", "14")
	h.post(t, h.roots["not believed"], 0, "hash-alias", "14")

	h.tell(t)
	h.commit(group, map[string]map[int32]int64{"recon.main": {0: 6, 1: 8}, "recon.retry.2s": {0: 0, 1: 1}})
	h.arrive(0, "hash-late", "1000") // beyond the cut
	return h
}

// replay puts a letter's original on main again, on partition 0.
func (h *house) replay(name, amount string) envelope.Coordinates {
	root := h.roots[name]
	r := envelope.Retry{Root: root, Generation: 1, Envelope: envelope.EnvelopeID(root, 0)}
	r.Replay = envelope.ReplayID(r.Envelope)
	at := h.put("recon.main", 0, "ACME-DE", message("hash-"+name, amount), r.Append(nil)...)
	h.dispose(root, envelope.Reinjected, func(d *envelope.Disposition) { d.ReplayID = r.Replay })
	return at
}

// tell writes the trail: what the consumer says, in two chains of which one ended by a crash.
func (h *house) tell(t *testing.T) {
	t.Helper()
	event := func(kind, name string, generation int) audit.Event {
		root := h.roots[name]
		return audit.Event{Type: kind, At: noon, Root: root, Generation: generation, Attempt: 1, SourceHash: "hash-" + name, Currency: "EUR"}
	}
	first, second := h.chain(nil), h.chain(nil)
	e := audit.Entry{Topic: "recon.main", Partition: 0, From: 0, To: 6}
	e.Add(audit.OutcomePosted, event(audit.EventPosted, "posted", 0))
	twin := event(audit.EventSuppressed, "twin", 0)
	twin.SourceHash = "hash-posted"
	e.Add(audit.OutcomeSuppressed, twin)
	e.Add(audit.OutcomePosted, event(audit.EventPosted, "replayed", 1))
	e.Add(audit.OutcomeDead, event(audit.EventDead, "again", 1))
	e.Add(audit.OutcomePosted, event(audit.EventPosted, "not believed", 0))
	for _, c := range []*audit.Chain{first, second} { // told again after the crash
		if err := c.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if err := second.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (h *house) config() audit.ReadConfig {
	return audit.ReadConfig{
		Options: h.opts, Group: group, Main: "recon.main", Tiers: []string{"recon.retry.2s", "recon.retry.5m"},
		DLQ: "recon.dlq", Dispositions: "recon.dispositions", Audit: "recon.audit", Idle: 20 * time.Second,
		Postings: func(_ context.Context, yield func(audit.Posting) error) error {
			for _, p := range h.postings {
				if err := yield(p); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func TestReadProvesCompletenessOfEveryOutcome(t *testing.T) {
	h := newHouse(t)
	e, err := audit.Read(t.Context(), h.config())
	if err != nil {
		t.Fatal(err)
	}
	r := e.Books.Result()
	if !r.Closes() || len(r.Alarms) > 0 || !e.Trail.Intact() || len(e.Trail.Chains) != 2 {
		t.Fatalf("trail %+v\n%s", e.Trail, text(r))
	}
	var main []broker.Span
	for _, s := range e.Spans {
		if s.Topic == "recon.main" {
			main = append(main, s)
		}
	}
	if want := []broker.Span{{Topic: "recon.main", Partition: 0, To: 6}, {Topic: "recon.main", Partition: 1, To: 8}}; !slices.Equal(main, want) {
		t.Errorf("read %v of main, want %v: up to the committed positions", main, want)
	}
	want := "ingested 12 = posted 3 + suppressed 1 + waiting in tiers 1 + open dead letters 4 + quarantined 2 (awaiting journal 1 | journal posted 1) + resolved 1\n" +
		"EUR gross debit  3.50 = waiting in tiers 3.50\n" +
		"EUR gross credit 174.00 = posted 126.00 + open dead letters 20.00 + quarantined (awaiting journal) 9.00 + quarantined (journal posted) 11.00 + resolved 8.00\n" +
		"unreadable amounts 1 = open dead letters 1\n"
	if got := text(r); !strings.HasPrefix(got, want) || !strings.Contains(got, "2 records of recon.main are replays") {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestReadWithoutALedgerTakesTheTrailsWord(t *testing.T) {
	h := newHouse(t)
	cfg := h.config()
	cfg.Postings = nil
	e, err := audit.Read(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if r := e.Books.Result(); !r.Closes() || !strings.Contains(text(r), "postings were not counted in the ledger") {
		t.Error(text(r))
	}
}

func TestReadNamesALostRecord(t *testing.T) {
	h := newHouse(t)
	h.commit(group, map[string]map[int32]int64{"recon.main": {0: 7}}) // as if the late one were handled
	e, err := audit.Read(t.Context(), h.config())
	if err != nil {
		t.Fatal(err)
	}
	r := e.Books.Result()
	if want := []envelope.Coordinates{at(0, 6)}; r.Closes() || !slices.Equal(r.Missing, want) {
		t.Errorf("missing %v, want %v\n%s", r.Missing, want, text(r))
	}
}

// A tier's record below the committed position has left; if its next copy is nowhere, it is lost.
func TestReadCountsTiersFromTheCommittedPosition(t *testing.T) {
	h := newHouse(t)
	h.commit(group, map[string]map[int32]int64{"recon.retry.2s": {1: 2}})
	e, err := audit.Read(t.Context(), h.config())
	if err != nil {
		t.Fatal(err)
	}
	if r := e.Books.Result(); r.Closes() || !slices.Equal(r.Missing, []envelope.Coordinates{h.roots["waiting"]}) {
		t.Errorf("missing %v, want %s", r.Missing, h.roots["waiting"])
	}
}

func TestReadNamesEvidenceThatIsUnreadableOrGone(t *testing.T) {
	h := newHouse(t)
	h.put("recon.dlq", 0, "k", []byte("no letter"))
	h.put("recon.dispositions", 0, "k", []byte("no disposition"))
	h.put("recon.retry.5m", 0, "k", message("hash-x", "1"))
	h.put("recon.audit", 0, "k", []byte("{}"))
	h.commit(group, map[string]map[int32]int64{"recon.retry.5m": {1: 5}})
	if _, err := h.adm.DeleteRecords(t.Context(), offsets("recon.dlq", 1, 1)); err != nil {
		t.Fatal(err)
	}
	e, err := audit.Read(t.Context(), h.config())
	if err != nil {
		t.Fatal(err)
	}
	r := e.Books.Result()
	for _, want := range []string{
		"recon.dlq/0@1: no letter can be read here", "no disposition can be read here", "recon.retry.5m/0@0: a record waits here whose root cannot be read",
		"recon.dlq/1@1: the partition begins here: the evidence before is gone",
		"recon.retry.5m/1@0: the partition ends at 0, but group recon-consumer has committed 5",
	} {
		if !strings.Contains(text(r), want) {
			t.Errorf("no %q in\n%s", want, text(r))
		}
	}
	if r.Closes() || faults(e.Trail) != "undecodable@-1" {
		t.Errorf("closes %v, trail %v", r.Closes(), e.Trail.Findings)
	}
}

func TestReadNamesRecordsLostBeforeTheyWereHandled(t *testing.T) {
	h := newHouse(t)
	h.commit(group, map[string]map[int32]int64{"recon.main": {1: 2}})
	if _, err := h.adm.DeleteRecords(t.Context(), offsets("recon.main", 1, 4)); err != nil {
		t.Fatal(err)
	}
	e, err := audit.Read(t.Context(), h.config())
	if err != nil {
		t.Fatal(err)
	}
	want := "recon.main/1@4: the partition begins here, but group recon-consumer has committed no further than 2"
	if r := e.Books.Result(); r.Closes() || !strings.Contains(text(r), want) {
		t.Errorf("no %q in\n%s", want, text(r))
	}
}

func offsets(topic string, partition int32, offset int64) kadm.Offsets {
	var os kadm.Offsets
	os.AddOffset(topic, partition, offset, -1)
	return os
}

// A transaction's markers are no records, and a range that ends with one has an end all the same; what an aborted
// transaction wrote was never ingested.
func TestReadPassesTransactionsOfTheFeed(t *testing.T) {
	h := newHouse(t)
	feed := h.client(kgo.TransactionalID("feed"))
	for i, end := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort} {
		if err := feed.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		r := &kgo.Record{Topic: "recon.main", Partition: 0, Value: message([]string{"hash-tx-ok", "hash-tx-no"}[i], "1")}
		if err := feed.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if end == kgo.TryCommit {
			h.post(t, envelope.Coordinates{Topic: r.Topic, Offset: r.Offset}, 0, "hash-tx-ok", "1")
		}
		if err := feed.EndTransaction(t.Context(), end); err != nil {
			t.Fatal(err)
		}
	}
	h.post(t, at(0, 6), 0, "hash-late", "1000")
	h.commit(group, map[string]map[int32]int64{"recon.main": {0: 11}}) // late, record, marker, record, marker
	e, err := audit.Read(t.Context(), h.config())
	if err != nil {
		t.Fatal(err)
	}
	if r := e.Books.Result(); !r.Closes() || r.Ingested.All().Records != 14 {
		t.Errorf("want 14 ingested\n%s", text(r))
	}
}

func TestReadSaysWhatItCouldNotRead(t *testing.T) {
	h := newHouse(t)
	cfg := h.config()
	cfg.Tiers = append(cfg.Tiers, "recon.retry.9h")
	if _, err := audit.Read(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "the topic does not exist: recon.retry.9h") {
		t.Errorf("missing topic: got %v", err)
	}
	cfg = h.config()
	cfg.Postings = func(context.Context, func(audit.Posting) error) error { return errAway }
	if _, err := audit.Read(t.Context(), cfg); !errors.Is(err, errAway) {
		t.Errorf("ledger away: got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := audit.Read(ctx, h.config()); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
	cfg = h.config()
	cfg.Group = "nobody"
	e, err := audit.Read(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if r := e.Books.Result(); r.Ingested.All().Records != 0 || !r.Closes() {
		t.Errorf("a group that has committed nothing: %s", text(r))
	}
}
