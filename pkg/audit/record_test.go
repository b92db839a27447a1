package audit_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"recon/pkg/audit"
	"recon/pkg/envelope"
)

var update = flag.Bool("update", false, "write testdata/chain.v1.jsonl anew; its hashes are made by another program")

const (
	goldenChain  = "testdata/chain.v1.jsonl"
	goldenHashes = "testdata/chain.v1.sha256"
)

// golden writes a chain with every kind of record, always the same bytes.
func golden(t *testing.T) [][]byte {
	t.Helper()
	uuid.SetRand(bytes.NewReader(make([]byte, 16)))
	defer uuid.SetRand(nil)
	var p topic
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		cfg.Predecessor = audit.Head{Chain: "consumer/host-1/before", Seq: 41, Hash: audit.Hash(nil)}
		c, err := audit.Open(t.Context(), cfg, &p)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(1500 * time.Millisecond)
		if err := c.Append(t.Context(), goldenEntry(), goldenNote()); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	return p.stored
}

func goldenEntry() audit.Entry {
	e := audit.Entry{Topic: "recon.main", Partition: 0, From: 10, To: 16}
	e.Add(audit.OutcomePosted, posting(10, "1234.5"))
	e.Add(audit.OutcomePosted, posting(11, "-0.01"))
	twin := posting(12, "1234.5")
	twin.Type, twin.SourceHash = audit.EventSuppressed, posting(10, "").SourceHash
	e.Add(audit.OutcomeSuppressed, twin)
	retry := posting(13, "7")
	retry.Type, retry.Attempt, retry.Currency = audit.EventRetry, 2, "JPY"
	retry.Code, retry.Stage, retry.Due = "RATE_NOT_PUBLISHED", "fx_conversion", noon.Add(6*time.Hour)
	e.Add(audit.OutcomeWaiting, retry)
	e.Add(audit.OutcomeDead, audit.Event{
		Type: audit.EventDead, At: noon, Root: at(0, 14), Generation: 1, Attempt: 1, Code: "UNDECODABLE",
		Failure: "UNRECOVERABLE_PAYLOAD", Stage: "decode", Detail: "not JSON: \"\x00<é\u2028\"\n",
	})
	e.Add(audit.OutcomeControl, audit.Event{})
	return e
}

func goldenNote() audit.Entry {
	var e audit.Entry
	e.Tell(audit.Event{
		EventID: "6f1c1d5e-0000-4000-8000-000000000001", Type: audit.EventConfigLoaded, At: noon,
		Actor: "ops", RunID: "run-1", Detail: "digest abcd",
	})
	return e
}

// Version 1 is kept for ever: whoever changes a byte of what is written breaks every verifier outside.
func TestVersion1KeepsItsBytes(t *testing.T) {
	got := append(bytes.Join(golden(t), []byte("\n")), '\n')
	if *update {
		if err := os.WriteFile(goldenChain, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(goldenChain)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Pitfall R93: the hashes beside the chain were computed by another program (Python's hashlib).
func TestKnownAnswersOfTheHash(t *testing.T) {
	chain, err := os.ReadFile(goldenChain)
	if err != nil {
		t.Fatal(err)
	}
	hashes, err := os.ReadFile(goldenHashes)
	if err != nil {
		t.Fatal(err)
	}
	values, want := bytes.Split(bytes.TrimSuffix(chain, []byte("\n")), []byte("\n")), strings.Fields(string(hashes))
	if len(values) != 4 || len(want) != 4 {
		t.Fatalf("%d records and %d hashes, want 4", len(values), len(want))
	}
	for i, v := range values {
		if got := audit.Hash(v); got != want[i] {
			t.Errorf("record %d: got %s, want %s", i, got, want[i])
		}
	}
	if got := trail(values...); faults(got) != "cut@41" {
		t.Errorf("got %v, want the predecessor missing and nothing else", got.Findings)
	}
}

func TestHashIsDomainTagAndExactBytes(t *testing.T) {
	sum := sha256.Sum256([]byte("recon.audit/v1\n{}"))
	if got, want := audit.Hash([]byte("{}")), hex.EncodeToString(sum[:]); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestRootHashIsTheFirstEightBytes(t *testing.T) {
	sum := sha256.Sum256([]byte("recon.main/3@1234"))
	got := audit.RootHash(at(3, 1234))
	if want := hex.EncodeToString(sum[:8]); fmt.Sprintf("%016x", got) != want {
		t.Errorf("got %016x, want %s", got, want)
	}
}

// Pitfall R90: what is read back is what was written, times included.
func TestWrittenEntryReadsBackEqual(t *testing.T) {
	values := golden(t)
	r, err := audit.Decode(values[1])
	if err != nil {
		t.Fatal(err)
	}
	if got, want := show(r.Entry), show(ptr(goldenEntry())); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if r, err = audit.Decode(values[2]); err != nil {
		t.Fatal(err)
	}
	if got, want := show(r.Entry), show(ptr(goldenNote())); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func ptr[T any](v T) *T { return &v }

// show spells an entry out; money canonical, nil and empty maps alike.
func show(e *audit.Entry) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%d %d-%d %v hash %x unreadable %d\n", e.Topic, e.Partition, e.From, e.To, e.Counts, e.HashTotal, e.Unreadable)
	for _, currency := range []string{"", "EUR", "JPY", "USD"} {
		t := e.Totals[currency]
		fmt.Fprintf(&b, "%s %s %s %d\n", currency, envelope.CanonicalAmount(t.Debit), envelope.CanonicalAmount(t.Credit), t.Count)
	}
	for _, ev := range e.Events {
		fmt.Fprintf(&b, "%+v\n", ev)
	}
	return b.String()
}

func TestAnyEventReadsBackEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(-1, 64, 256)
		moment := rapid.Custom(func(t *rapid.T) time.Time {
			return time.UnixMilli(rapid.Int64Range(-62135596800000, 253402300799999).Draw(t, "ms")).UTC()
		})
		want := audit.Event{
			EventID: text.Draw(t, "id"), Type: audit.EventDead, At: moment.Draw(t, "at"),
			MessageID: text.Draw(t, "message"), TraceID: text.Draw(t, "trace"), SourceHash: text.Draw(t, "hash"),
			MatchDecision: text.Draw(t, "decision"), Entity: text.Draw(t, "entity"), Currency: text.Draw(t, "currency"),
			Amount: text.Draw(t, "amount"), Code: text.Draw(t, "code"), Failure: text.Draw(t, "failure"), Stage: text.Draw(t, "stage"),
			Actor: text.Draw(t, "actor"), RunID: text.Draw(t, "run"), Detail: text.Draw(t, "detail"),
		}
		if rapid.Bool().Draw(t, "record") {
			want.Root = at(rapid.Int32Range(0, 9).Draw(t, "partition"), rapid.Int64Range(0, 1<<62).Draw(t, "offset"))
			want.Generation, want.Attempt = rapid.IntRange(0, 9).Draw(t, "generation"), rapid.IntRange(0, 99).Draw(t, "attempt")
			want.Due = moment.Draw(t, "due")
		}
		if got := roundTrip(t, want); got != want {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	})
}

// roundTrip writes e and reads it back.
func roundTrip(t rapid.TB, e audit.Event) audit.Event {
	var p topic
	c, err := audit.Open(context.Background(), config(), &p)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Append(context.Background(), audit.Entry{Events: []audit.Event{e}}); err != nil {
		t.Fatal(err)
	}
	r, err := audit.Decode(p.stored[1])
	if err != nil {
		t.Fatalf("%v\n%s", err, p.stored[1])
	}
	return r.Entry.Events[0]
}

func TestHostileTextsAreCutAndMended(t *testing.T) {
	e := posting(1, "1.00")
	e.Detail, e.Actor = strings.Repeat("é", 5000), "\xff\xfe"
	e.At = time.Date(12345, 1, 1, 0, 0, 0, 0, time.UTC)
	got := roundTrip(t, e)
	if len(got.Detail) > 1024 || !strings.Contains(got.Detail, "…") || got.Actor != "\uFFFD\uFFFD" {
		t.Errorf("detail %d bytes, actor %q", len(got.Detail), got.Actor)
	}
	if want := time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC); !got.At.Equal(want) {
		t.Errorf("at %s, want %s", got.At, want)
	}
}

func TestDecodeIsStrict(t *testing.T) {
	values := golden(t)
	for _, row := range []struct {
		name     string
		record   int
		old, new string
	}{
		{"other version", 1, `"audit_version":1`, `"audit_version":2`},
		{"unknown member", 1, `"unreadable":1`, `"unreadable":1,"x":1`},
		{"member twice", 1, `"unreadable":1`, `"unreadable":1,"unreadable":1`},
		{"other letter case", 1, `"unreadable"`, `"Unreadable"`},
		{"trailing data", 1, `]}`, `]}{}`},
		{"chain of two parts", 1, `consumer/host-1/`, `consumer/host-1-`},
		{"negative seq", 1, `"seq":1`, `"seq":-1`},
		{"entry at the genesis place", 1, `"seq":1`, `"seq":0`},
		{"no prev", 1, `"prev":"`, `"prev":"x`},
		{"short time", 1, `"at":"2000-01-01T00:00:01.500Z"`, `"at":"2000-01-01T00:00:01Z"`},
		{"unknown kind", 1, `"kind":"entry"`, `"kind":"other"`},
		{"genesis with a range", 0, `"genesis":{`, `"topic":"t","genesis":{`},
		{"genesis of another service", 0, `"service":"consumer"`, `"service":"replayer"`},
		{"predecessor without a hash", 0, `"hash":"`, `"hash":"x`},
		{"closing with events", 3, `"kind":"closing"`, `"kind":"closing","events":[]`},
		{"range without topic", 1, `"topic":"recon.main",`, ``},
		{"range backwards", 1, `"to":16`, `"to":9`},
		{"part alone", 1, `"to":16`, `"to":16,"part":1`},
		{"part beyond parts", 1, `"to":16`, `"to":16,"part":3,"parts":2`},
		{"totals in a first part", 1, `"to":16`, `"to":16,"part":1,"parts":2`},
		{"no counts", 2, `"counts":{},`, ``},
		{"hash total in capitals", 1, `"hash_total":"`, `"hash_total":"A`},
		{"sum with a sign", 1, `"debit":"0.01"`, `"debit":"-0.01"`},
		{"sum not canonical", 1, `"debit":"0.01"`, `"debit":"0.010"`},
		{"no events", 2, `"events":[`, `"event":[`},
		{"event without type", 2, `"type":"config_loaded"`, `"type":""`},
		{"event at no time", 2, `"at":"2026-11-30T12:00:00.123Z"`, `"at":"2026-11-30"`},
		{"event of a bad root", 1, `"root":"recon.main/0@10"`, `"root":"recon.main/0@010"`},
		{"due at no time", 1, `"due":"`, `"due":"x`},
		{"negative generation", 1, `"generation":1`, `"generation":-1`},
	} {
		changed := bytes.Replace(values[row.record], []byte(row.old), []byte(row.new), 1)
		if bytes.Equal(changed, values[row.record]) {
			t.Errorf("%s: the row changes nothing", row.name)
		}
		if r, err := audit.Decode(changed); err == nil {
			t.Errorf("%s: got %+v, want an error", row.name, r)
		}
	}
}

func TestEntryCountsAndTotals(t *testing.T) {
	e := goldenEntry()
	want := map[string]int{"posted": 2, "suppressed": 1, "waiting": 1, "dead": 1, "control": 1}
	if fmt.Sprint(e.Counts) != fmt.Sprint(want) {
		t.Errorf("counts %v, want %v", e.Counts, want)
	}
	eur := e.Totals["EUR"]
	if envelope.CanonicalAmount(eur.Credit) != "2469" || envelope.CanonicalAmount(eur.Debit) != "0.01" || eur.Count != 3 {
		t.Errorf("EUR %+v, want credit 2469, debit 0.01 of 3", eur)
	}
	var hash uint64
	for offset := int64(10); offset < 15; offset++ {
		hash += audit.RootHash(at(0, offset))
	}
	if e.Unreadable != 1 || e.HashTotal != hash || len(e.Events) != 5 {
		t.Errorf("unreadable %d, hash %x, %d events; want 1, %x, 5", e.Unreadable, e.HashTotal, len(e.Events), hash)
	}
}

func TestEventsOfARecordHaveTheSameIDEachTime(t *testing.T) {
	ev := posting(5, "1.00")
	if got, want := ev.ID(), envelope.EventID(at(0, 5), 0, audit.EventPosted, -1); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	ev.Type, ev.Attempt = audit.EventRetry, 3
	if got, want := ev.ID(), envelope.EventID(at(0, 5), 0, audit.EventRetry, 3); got != want {
		t.Errorf("retry: got %s, want %s with its attempt", got, want)
	}
	var e audit.Entry
	e.Add(audit.OutcomeWaiting, ev)
	e.Add(audit.OutcomeSpilled, audit.Event{Root: at(0, 5), Currency: "EUR", Amount: "1"})
	if len(e.Events) != 1 || e.Events[0].EventID != ev.ID() || e.Totals["EUR"].Count != 2 {
		t.Errorf("got %+v, want one event with its id and two amounts", e)
	}
}
