package main_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/twmb/franz-go/pkg/kgo"

	main "recon/cmd/replayer"
	"recon/pkg/audit"
	"recon/pkg/dedup"
	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/replay"
)

// written is what f writes.
func written(t *testing.T, f func(io.Writer) error) string {
	t.Helper()
	var out bytes.Buffer
	if err := f(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestOutputOfARunIsWhatMachinesRelyOn(t *testing.T) {
	s := newShelf(t)
	s.fill()
	f, err := replay.Read(t.Context(), []kgo.Opt{kgo.SeedBrokers(s.addrs...)}, s.names, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := &replay.Report{PlanID: "plan-1", RunID: "run-1", Started: noon, Ended: noon.Add(time.Second)}
	for c := range f.All() {
		x := replay.Result{Case: c, Ending: replay.EndReinjected}
		switch c.Status() {
		case replay.Open:
			x.Ending, x.Code, x.Fact = replay.EndRefused, fault.FailedCauseNotFixed, "not mapped"
		case replay.Confirmed:
			x.Earlier = true
		}
		r.Results = append(r.Results, x)
	}
	after := r.After()
	for _, form := range []string{"json", "jsonl"} {
		var out bytes.Buffer
		if err := main.WriteReport(form, r, &after, &out); err != nil {
			t.Fatal(err)
		}
		golden(t, "report."+form, out.String())
	}
	var out bytes.Buffer
	if err := main.WriteReport("json", &replay.Report{}, nil, &out); err != nil {
		t.Fatal(err)
	}
	golden(t, "report-nothing.json", out.String())
}

func TestOutputOfALifeIsWhatMachinesRelyOn(t *testing.T) {
	root := envelope.Coordinates{Topic: "recon.main", Offset: 1}
	life := &replay.Life{
		Key: "hash-000001", Hashes: []string{"hash-000001", "hash-000002"},
		Moments: []replay.Moment{{Where: root, Written: noon, What: "tier 30s", Root: root, Attempts: 1, Code: "RATE_LIMITED", Due: noon.Add(time.Second), Facts: envelope.Facts{SourceHash: "hash-000001", Currency: "EUR", Amount: "1.5"}}},
		Stored:  map[string]dedup.Value{"hash-000001": {State: dedup.Posted, Root: root, Attempt: 2, Digest: "0123456789abcdef", At: root, Time: noon}},
		Posted:  map[string]*envelope.AlreadyPosted{"hash-000001": {Root: root, Digest: "0123456789abcdef", ID: "7", At: noon}},
	}
	var out bytes.Buffer
	if err := main.WriteLife(life, &out); err != nil {
		t.Fatal(err)
	}
	golden(t, "trace.json", out.String())
}

func TestOutputOfAPlanIsWhatMachinesRelyOn(t *testing.T) {
	root := envelope.Coordinates{Topic: "recon.main", Offset: 1}
	p := &replay.Plan{
		ID: "plan-1", Action: replay.ActionReplay, CreatedAt: noon, ExpiresAt: noon.Add(time.Hour), Actor: "kim", Reason: "mended",
		RootCause: "mapping_missing", Selection: "--all",
		Entries: []replay.Entry{
			{
				EnvelopeID: envelope.EnvelopeID(root, 0), Root: root, Entity: "ACME", SourceHash: "hash-000001", Currency: "EUR", Amount: "1.5",
				Outcome: replay.Reinject, Gates: []replay.Named{{Gate: "integrity", Check: replay.Check{Pass: true, Fact: "decodes"}}},
			},
			{
				EnvelopeID: envelope.EnvelopeID(root, 1), Root: root, Generation: 1, Outcome: replay.Refuse, Code: fault.FailedStillInvalid, Fact: "no JSON",
				Gates: []replay.Named{{Gate: "integrity", Check: replay.Check{Code: fault.FailedStillInvalid, Fact: "no JSON"}}},
			},
		},
		Totals: replay.Totals{Currencies: map[string]audit.Total{"EUR": {Credit: decimal.RequireFromString("1.50"), Count: 1}}},
	}
	golden(t, "plan.jsonl", written(t, func(w io.Writer) error { return main.WritePlan(p, w) }))
}

func TestOutputOfVerifyIsWhatMachinesRelyOn(t *testing.T) {
	books := audit.NewBooks("recon.main", true)
	books.Cut(0, 0, 3)
	for i := range int64(3) {
		at := envelope.Coordinates{Topic: "recon.main", Offset: i}
		books.Ingested(audit.Arrival{At: at, SourceHash: "hash-" + at.String(), Money: audit.MoneyOf("EUR", "10.25")})
		if i == 0 {
			books.Posted(audit.Posting{SourceHash: "hash-" + at.String(), Root: at, Money: audit.MoneyOf("EUR", "10.25")})
		}
	}
	books.Waiting(audit.Wait{Root: envelope.Coordinates{Topic: "recon.main", Offset: 1}, Money: audit.MoneyOf("EUR", "10.25")})
	books.Suspect(envelope.Coordinates{Topic: "recon.dlq", Offset: 7}, "no letter can be read here")
	e := &audit.Evidence{At: noon, Books: books, Trail: audit.Trail{
		Chains:   []audit.ChainState{{ID: "recon-consumer/one/boot", Records: 3}},
		Findings: []audit.Finding{{Chain: "recon-consumer/one/boot", Seq: 2, Fault: audit.Gap, Text: "2 is missing"}},
	}}
	golden(t, "verify.json", written(t, func(w io.Writer) error { return main.WriteEvidence(e, w) }))
}

// Progress is one line that is drawn now and then, whoever tells of it, and is gone at the end.
func TestProgressLeavesNothingOnTheTerminal(t *testing.T) {
	var out bytes.Buffer
	at, end := main.Progress("letters", &out)
	for n := range int64(1000) {
		at(n, 1000)
	}
	end()
	drawn := out.String()
	if !strings.HasPrefix(drawn, "\rletters: 0 of 1000") || !strings.HasSuffix(drawn, "\r\x1b[K") {
		t.Errorf("drawn was %q", drawn)
	}
	if n := strings.Count(drawn, "letters"); n > 100 {
		t.Errorf("drawn %d times for a thousand letters", n)
	}
	at, end = main.Progress("letters", nil)
	at(1, 2) // no terminal: nothing to write to
	end()
}
