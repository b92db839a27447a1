package audit_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"recon/pkg/audit"
	"recon/pkg/envelope"
)

func TestChainFromGenesisToClosingIsIntact(t *testing.T) {
	var p topic
	c := open(t, &p)
	if err := c.Append(t.Context(), entry(1), entry(2)); err != nil {
		t.Fatal(err)
	}
	if err := c.Append(t.Context()); err != nil {
		t.Fatalf("nothing to append: %v", err)
	}
	for range 2 {
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Append(t.Context(), entry(3)); !errors.Is(err, audit.ErrClosed) {
		t.Errorf("append after close: got %v, want ErrClosed", err)
	}
	got := trail(p.stored...)
	if !got.Intact() || len(got.Chains) != 1 {
		t.Fatalf("got %+v, want one intact chain", got)
	}
	if s := got.Chains[0]; s.ID != c.ID() || s.Records != 4 || !s.Closed || s.Head.Seq != 3 {
		t.Errorf("got %+v, want 4 records, closed, of %s", s, c.ID())
	}
	if len(p.keys) != 1 || !p.keys[c.ID()] {
		t.Errorf("keys %v, want %s alone", p.keys, c.ID())
	}
}

func TestGenesisSaysWhoWritesAndAfterWhom(t *testing.T) {
	var p topic
	cfg := config()
	cfg.Predecessor = audit.Head{Chain: "consumer/host-1/old", Seq: 7, Hash: audit.Hash([]byte("x")), At: noon}
	if _, err := audit.Open(t.Context(), cfg, &p); err != nil {
		t.Fatal(err)
	}
	r, err := audit.Decode(p.stored[0])
	if err != nil {
		t.Fatal(err)
	}
	want := audit.Genesis{Service: "consumer", Instance: "host-1", Version: "1.2.3", ConfigDigest: "abcd", Predecessor: cfg.Predecessor}
	want.Predecessor.At = time.Time{}
	if r.Genesis == nil || *r.Genesis != want || r.Seq != 0 || r.Prev != "" {
		t.Errorf("got %+v, genesis %+v; want %+v", r, r.Genesis, want)
	}
}

func TestOpenRefusesWhatMakesNoChain(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*audit.Config)
		want   string
	}{
		"topic":     {func(c *audit.Config) { c.Topic = "" }, "audit topic"},
		"service":   {func(c *audit.Config) { c.Service = "" }, "audit service"},
		"slash":     {func(c *audit.Config) { c.Instance = "a/b" }, "audit instance"},
		"long":      {func(c *audit.Config) { c.Instance = strings.Repeat("x", 201) }, "audit instance"},
		"too small": {func(c *audit.Config) { c.MaxBytes = 1000 }, "audit record size 1000"},
	} {
		cfg := config()
		row.change(&cfg)
		var p topic
		if _, err := audit.Open(t.Context(), cfg, &p); err == nil || !strings.Contains(err.Error(), row.want) || p.writes > 0 {
			t.Errorf("%s: got %v after %d writes, want an error with %q before any", name, err, p.writes, row.want)
		}
	}
}

func TestOpenFailsWithoutAcknowledgedGenesis(t *testing.T) {
	p := topic{answer: failing(true)}
	if _, err := audit.Open(t.Context(), config(), &p); !errors.Is(err, errAway) {
		t.Fatalf("got %v, want %v", err, errAway)
	}
	p.heal()
	open(t, &p)
	if got := trail(p.stored...); !got.Intact() || len(got.Chains) != 2 {
		t.Errorf("got %+v, want two intact chains: the given up one does no harm", got)
	}
}

// Pitfall R90: two appenders must not take the same predecessor.
func TestConcurrentAppendsMakeOneLine(t *testing.T) {
	var p topic
	c := open(t, &p)
	p.answer = func(n int, _ []byte) (bool, error) { // every seventh answer is lost, its record is not
		if n%7 == 0 {
			return true, errAway
		}
		return true, nil
	}
	var wg sync.WaitGroup
	for i := range int64(32) {
		wg.Go(func() {
			for k := range int64(10) {
				for c.Append(t.Context(), entry(1+i*10+k)) != nil {
					continue
				}
			}
		})
	}
	wg.Wait()
	got := trail(p.stored...)
	if !got.Intact() || len(got.Chains) != 1 || got.Chains[0].Records != 321 {
		t.Fatalf("got %+v, want one intact chain of 321 records", got)
	}
	ids := told(t, p.stored)
	slices.Sort(ids)
	if n := len(slices.Compact(slices.Clone(ids))); len(ids) != 320 || n != 320 {
		t.Errorf("told %d events, %d of them different; want 320, 320", len(ids), n)
	}
}

func TestFailedCloseMayBeCalledAgain(t *testing.T) {
	var p topic
	c := open(t, &p)
	p.answer = failing(true)
	for range 3 {
		if err := c.Close(t.Context()); !errors.Is(err, errAway) {
			t.Fatalf("got %v, want %v", err, errAway)
		}
	}
	if err := c.Append(t.Context(), entry(1)); !errors.Is(err, audit.ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
	p.heal()
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := trail(p.stored...); !got.Intact() || got.Chains[0].Records != 2 || !got.Chains[0].Closed {
		t.Errorf("got %+v, want genesis and one closing record", got)
	}
}

func TestCloseWritesWhatIsPendingFirst(t *testing.T) {
	var p topic
	c := open(t, &p)
	p.answer = failing(false)
	_ = c.Append(t.Context(), entry(1))
	p.heal()
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := trail(p.stored...); !got.Intact() || got.Chains[0].Records != 3 || len(told(t, p.stored)) != 1 {
		t.Errorf("got %+v, want genesis, entry, closing", got)
	}
}

func TestLargeEntryIsSplitAndKeepsEveryEvent(t *testing.T) {
	var p topic
	cfg := config()
	cfg.MaxBytes = 64 << 10
	c, err := audit.Open(t.Context(), cfg, &p)
	if err != nil {
		t.Fatal(err)
	}
	e := audit.Entry{Topic: "recon.main", Partition: 3, From: 100, To: 1100}
	var want []string
	for i := range int64(1000) {
		ev := posting(100+i, "1.00")
		ev.Detail = strings.Repeat("\x01", int(i%7)*200) // escaped, six bytes each
		e.Add(audit.OutcomePosted, ev)
		want = append(want, e.Events[i].EventID)
	}
	if err := c.Append(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if ids := told(t, p.stored); !slices.Equal(ids, want) {
		t.Errorf("%d events came back, want %d in order", len(ids), len(want))
	}
	parts := len(p.stored) - 1
	for i, v := range p.stored[1:] {
		r, err := audit.Decode(v)
		if err != nil {
			t.Fatal(err)
		}
		last := i == parts-1
		if len(v) > cfg.MaxBytes || r.Part != i+1 || r.Parts != parts || r.Entry.From != 100 || r.Entry.To != 1100 ||
			(r.Entry.Counts["posted"] == 1000) != last || (r.Entry.HashTotal == e.HashTotal) != last {
			t.Errorf("part %d: %d bytes, part %d of %d, %+v", i+1, len(v), r.Part, r.Parts, r.Entry.Counts)
		}
	}
	if got := trail(p.stored...); !got.Intact() || parts < 10 {
		t.Errorf("%d parts, findings %v", parts, got.Findings)
	}
}

// The largest event there can be, with the totals of every currency there is, fits the smallest record size.
func TestLargestEventFitsTheSmallestRecord(t *testing.T) {
	var p topic
	cfg := config()
	cfg.MaxBytes = 64 << 10
	cfg.Service, cfg.Instance = strings.Repeat("\x01", 200), strings.Repeat("\x01", 200)
	c, err := audit.Open(t.Context(), cfg, &p)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("\x01", 5000)
	e := audit.Entry{Topic: strings.Repeat("t", 249), From: 1, To: 2}
	for _, currency := range envelope.Currencies() {
		e.Add(audit.OutcomePosted, audit.Event{Root: at(0, 1), Currency: currency, Amount: "-999999999999999999.999999999"})
		e.Add(audit.OutcomePosted, audit.Event{Root: at(0, 1), Currency: currency, Amount: "999999999999999999.999999999"})
	}
	for range 2 {
		e.Tell(audit.Event{
			EventID: long, Type: long, At: noon, Root: envelope.Coordinates{Topic: strings.Repeat("t", 249), Partition: 1<<31 - 1, Offset: 1<<63 - 1},
			MessageID: long, TraceID: long, SourceHash: long, MatchDecision: long, Entity: long, Currency: long, Amount: long,
			Code: long, Failure: long, Stage: long, Due: noon, Actor: long, RunID: long, Detail: long,
		})
	}
	if err := c.Append(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	for i, v := range p.stored {
		if len(v) > cfg.MaxBytes {
			t.Errorf("record %d has %d bytes, limit %d", i, len(v), cfg.MaxBytes)
		}
	}
	if len(p.stored) != 3 {
		t.Errorf("%d records, want genesis and two parts", len(p.stored))
	}
}

func TestErrorNamesRecordChainAndTopic(t *testing.T) {
	var p topic
	c := open(t, &p)
	p.answer = failing(false)
	err := c.Append(t.Context(), entry(1))
	if want := fmt.Sprintf("audit record 1 of chain %s to recon.audit", c.ID()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want it to say %q", err, want)
	}
}
