package main

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/audit"
	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/ledger"
	"recon/pkg/topics"
)

func at(offset int64) envelope.Coordinates {
	return envelope.Coordinates{Topic: "r.main", Offset: offset}
}

// letterAt is a whole letter, as the consumer writes it.
func letterAt(offset int64, generation int) *envelope.Letter {
	l := &envelope.Letter{
		FailureCode: fault.FailedPoison, FailureClass: fault.Poison, ErrorCode: fault.CurrencyUnmapped, ErrorDetail: "not mapped",
		SourceStage: fault.StageCurrency, AttemptCount: 1, Message: envelope.Facts{SourceHash: "hash-of-it", Currency: "EUR", Amount: "-2"},
		Lineage:  envelope.Lineage{Root: at(offset), Generation: generation},
		Origin:   envelope.Origin{Coordinates: at(offset), LeaderEpoch: -1, TimestampType: envelope.CreateTime},
		Original: envelope.Original{Value: []byte(`{}`)}, FirstSeenAt: time.Unix(1, 0).UTC(), DeadLetteredAt: time.Unix(2, 0).UTC(),
		Producer: envelope.Producer{Service: "recon-consumer", Version: "1", Instance: "i", Group: "g", ConfigDigest: "d"},
	}
	if generation > 0 {
		l.Lineage.Parent = envelope.EnvelopeID(at(offset), generation-1)
		l.Lineage.ReplayID = envelope.ReplayID(l.Lineage.Parent)
	}
	if _, err := l.Encode(); err != nil {
		panic(err)
	}
	return l
}

func TestEachRecordIsCountedUnderItsOneOutcome(t *testing.T) {
	t.Parallel()
	posting := func(e *evidence) {
		e.posting(ledger.Posting{SourceHash: "h", Root: at(5), Currency: "EUR", Amount: dec("3")})
	}
	dead := func(e *evidence) { e.letter(letterAt(5, 0)) }
	suppressed := func(e *evidence) { e.suppressed[at(5)] = eur("4") }
	confirmed := func(e *evidence) { e.confirmed[envelope.EnvelopeID(at(5), 0)] = true }
	elsewhere := func(e *evidence) {
		e.letter(letterAt(4, 0))
		e.letter(letterAt(6, 0))
		e.posting(ledger.Posting{SourceHash: "i", Root: envelope.Coordinates{Topic: "r.main", Partition: 1, Offset: 5}})
	}
	type told = func(*evidence)
	for _, row := range []struct {
		name string
		told []told
		want string // posted, suppressed, dead, lost, doubled
	}{
		{"nothing", nil, "0 0 0 1 0"},
		{"neighbours", []told{elsewhere}, "0 0 0 1 0"},
		{"posted", []told{posting, elsewhere}, "1 0 0 0 0"},
		{"suppressed", []told{suppressed}, "0 1 0 0 0"},
		{"dead", []told{dead}, "0 0 1 0 0"},
		{"the letter twice", []told{dead, dead}, "0 0 1 0 0"},
		{"dead, then replayed", []told{dead, posting, confirmed}, "1 0 0 0 0"},
		{"dead and posted, but not confirmed", []told{dead, posting}, "1 0 1 0 1"},
		{"posted and suppressed", []told{posting, suppressed}, "1 1 0 0 1"},
		{"confirmed, but nowhere in the ledger", []told{dead, confirmed}, "0 0 0 1 0"},
	} {
		e := newEvidence("r.main")
		for _, tell := range row.told {
			tell(e)
		}
		o := e.of([]span{{0, 5, 6}})
		got := strings.Join([]string{count(o.posted.n), count(o.suppressed.n), count(o.dead.n), count(len(o.lost)), count(len(o.doubled))}, " ")
		if got != row.want || o.records != 1 {
			t.Errorf("%s: got %s of %d records, want %s of 1", row.name, got, o.records, row.want)
		}
	}
}

func TestAnOutcomeHasTheSumsAndCodesOfItsRecords(t *testing.T) {
	t.Parallel()
	e := newEvidence("r.main")
	e.posting(ledger.Posting{SourceHash: "a", Root: at(0), Currency: "EUR", Amount: dec("3.10")})
	e.posting(ledger.Posting{SourceHash: "b", Root: at(1), Currency: "EUR", Amount: dec("-1.05")})
	e.suppressed[at(2)] = audit.MoneyOf("SEK", "7")
	e.letter(letterAt(3, 0))
	unreadable := letterAt(4, 0)
	unreadable.Message.Amount, unreadable.ErrorCode = "", fault.Undecodable
	e.letter(unreadable)
	o := e.of([]span{{0, 0, 2}, {0, 2, 5}})
	if got := o.posted.sums["EUR"]; !equal(got, audit.Total{Debit: dec("1.05"), Credit: dec("3.1"), Count: 2}) {
		t.Errorf("posted: got %v", got)
	}
	if got := o.suppressed.sums["SEK"]; !equal(got, audit.Total{Credit: dec("7"), Count: 1}) {
		t.Errorf("suppressed: got %v", got)
	}
	if got := o.dead.sums["EUR"]; !equal(got, audit.Total{Debit: dec("2"), Count: 1}) || o.dead.unreadable != 1 {
		t.Errorf("dead: got %v and %d unreadable", got, o.dead.unreadable)
	}
	if want := map[fault.Code]int{fault.CurrencyUnmapped: 1, fault.Undecodable: 1}; !maps.Equal(o.codes, want) {
		t.Errorf("codes: got %v, want %v", o.codes, want)
	}
	if got := o.all("EUR"); !equal(got, audit.Total{Debit: dec("3.05"), Credit: dec("3.1"), Count: 3}) {
		t.Errorf("all: got %v", got)
	}
	if n := len(e.lettersOf([]span{{0, 3, 5}})); n != 2 {
		t.Errorf("got %d letters, want 2", n)
	}
}

func TestAHashThatTheLedgerHasTwiceIsNoticed(t *testing.T) {
	t.Parallel()
	e := newEvidence("r.main")
	e.posting(ledger.Posting{SourceHash: "a", Root: at(0)})
	e.posting(ledger.Posting{SourceHash: "a", Root: at(1)})
	if !slices.Equal(e.twice, []string{"a"}) {
		t.Errorf("got %v, want a", e.twice)
	}
	e.forgetPostings()
	if e.posting(ledger.Posting{SourceHash: "a", Root: at(0)}); len(e.twice) != 0 {
		t.Errorf("the ledger read anew: got %v, want none", e.twice)
	}
}

// embeddedKafka is a broker with these topics in it, and a client of it.
func embeddedKafka(t *testing.T, names ...string) *kgo.Client {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, names...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

func brokersOf(cl *kgo.Client) []kgo.Opt {
	return []kgo.Opt{kgo.SeedBrokers(cl.OptValue(kgo.SeedBrokers).([]string)...)}
}

func TestTheTailFindsLettersDispositionsAndSuppressions(t *testing.T) {
	t.Parallel()
	names := topics.Names{Prefix: "r"}
	cl := embeddedKafka(t, names.DLQ(), names.Dispositions(), names.Audit())
	tail, err := newTail(brokersOf(cl), names)
	if err != nil {
		t.Fatal(err)
	}
	defer tail.cl.Close()
	if err := tail.catchUp(t.Context()); err != nil {
		t.Fatalf("empty topics: %v", err)
	}
	chain, err := audit.Open(t.Context(), audit.Config{Topic: names.Audit(), Service: "recon-consumer", Instance: "i", Version: "1", ConfigDigest: "d"}, cl)
	if err != nil {
		t.Fatal(err)
	}
	var entry audit.Entry
	entry.Topic, entry.From, entry.To = "r.main", 2, 4
	entry.Add(audit.OutcomeSuppressed, audit.Event{Type: audit.EventSuppressed, At: time.Now().UTC(), Root: at(2), SourceHash: "hash-two", Currency: "EUR", Amount: "4.5"})
	entry.Add(audit.OutcomePosted, audit.Event{Type: audit.EventPosted, At: time.Now().UTC(), Root: at(3), SourceHash: "hash-three", Currency: "EUR", Amount: "1"})
	if err := chain.Append(t.Context(), entry); err != nil {
		t.Fatal(err)
	}
	l := letterAt(1, 0)
	put(t, cl, names.DLQ(), l.Encode)
	for _, state := range []envelope.State{envelope.Reinjected, envelope.Confirmed} {
		d := envelope.Disposition{
			EnvelopeID: l.EnvelopeID, Root: l.Lineage.Root, State: state, ReplayID: envelope.ReplayID(l.EnvelopeID), At: time.Now().UTC(),
		}
		if tail.found.confirmed[l.EnvelopeID] {
			t.Fatalf("confirmed before %s", state)
		}
		put(t, cl, names.Dispositions(), d.Encode)
		if err := tail.catchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if !tail.found.confirmed[l.EnvelopeID] || len(tail.found.letters) != 1 || tail.found.letters[at(1)][l.EnvelopeID] == nil {
		t.Errorf("got letters %v, confirmed %v", tail.found.letters, tail.found.confirmed)
	}
	if got := tail.found.suppressed; len(got) != 1 || !got[at(2)].Equal(eur("4.5")) {
		t.Errorf("suppressed: got %v", got)
	}
}

func TestWhatTheTailCannotReadIsAnErrorThatNamesThePlace(t *testing.T) {
	t.Parallel()
	names := topics.Names{Prefix: "r"}
	for _, topic := range []string{names.DLQ(), names.Dispositions(), names.Audit()} {
		cl := embeddedKafka(t, names.DLQ(), names.Dispositions(), names.Audit())
		tail, err := newTail(brokersOf(cl), names)
		if err != nil {
			t.Fatal(err)
		}
		put(t, cl, topic, func() ([]byte, error) { return []byte("{}"), nil })
		if err := tail.catchUp(t.Context()); err == nil || !strings.Contains(err.Error(), topic+"/") {
			t.Errorf("%s: got %v", topic, err)
		}
		tail.cl.Close()
	}
}

func TestACancelledTailEnds(t *testing.T) {
	t.Parallel()
	names := topics.Names{Prefix: "r"}
	cl := embeddedKafka(t, names.DLQ(), names.Dispositions(), names.Audit())
	tail, err := newTail(brokersOf(cl), names)
	if err != nil {
		t.Fatal(err)
	}
	defer tail.cl.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tail.catchUp(ctx); err == nil {
		t.Error("got nil, want an error")
	}
}

func put(t *testing.T, cl *kgo.Client, topic string, encode func() ([]byte, error)) {
	t.Helper()
	value, err := encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Key: []byte("k"), Value: value}).FirstErr(); err != nil {
		t.Fatal(err)
	}
}
