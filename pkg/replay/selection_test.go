package replay_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/period"
	"recon/pkg/replay"
)

// one is a letter of which every field that can be selected is set.
func one() (*envelope.Letter, *replay.Fold) {
	l := letterOf(4, 1, 0)
	l.Original.Value = []byte(`{"source_hash":"hash-000004","ledger_entity":"ACME","currency":"EUR","amount":"-14.50","match_decision":"PARTIAL",` +
		`"booking_date":"2000-01-15","trace_id":"trace-4","message_id":"00000000-0000-4000-8000-000000000004","source_system":"swift"}`)
	m, err := envelope.Decode(l.Original.Value, nil)
	if err != nil {
		panic(err)
	}
	l.Message = m.Facts()
	refused := stateOf(l, envelope.Refused, "run-1")
	refused.Code, refused.RootCause = fault.FailedCauseNotFixed, "rate_late"
	return l, foldOf(fact{letter: l}, fact{state: refused})
}

func TestEveryFlagNarrowsTheSelection(t *testing.T) {
	l, f := one()
	c, _ := f.Case(l.EnvelopeID)
	at := l.DeadLetteredAt
	for name, row := range map[string]struct{ fits, not replay.Selection }{
		"code":           {replay.Selection{Codes: []fault.Failure{fault.FailedExhausted, fault.FailedPoison}}, replay.Selection{Codes: []fault.Failure{fault.FailedExhausted}}},
		"error code":     {replay.Selection{ErrorCodes: []fault.Code{fault.CurrencyUnmapped}}, replay.Selection{ErrorCodes: []fault.Code{fault.AmountInvalid}}},
		"class":          {replay.Selection{Classes: []fault.Class{fault.Poison}}, replay.Selection{Classes: []fault.Class{fault.Transient}}},
		"stage":          {replay.Selection{Stages: []fault.Stage{fault.StageCurrency}}, replay.Selection{Stages: []fault.Stage{fault.StagePost}}},
		"fingerprint":    {replay.Selection{Fingerprints: []string{l.Fingerprint.Hash}}, replay.Selection{Fingerprints: []string{"0"}}},
		"root cause":     {replay.Selection{RootCauses: []string{"rate_late"}}, replay.Selection{RootCauses: []string{"unknown"}}},
		"entity":         {replay.Selection{Entities: []string{"ACME"}}, replay.Selection{Entities: []string{"acme"}}},
		"currency":       {replay.Selection{Currencies: []string{"EUR"}}, replay.Selection{Currencies: []string{"USD"}}},
		"match decision": {replay.Selection{MatchDecisions: []string{"PARTIAL"}}, replay.Selection{MatchDecisions: []string{"MATCHED"}}},
		"min amount":     {replay.Selection{MinAmount: decimal.RequireFromString("14.50")}, replay.Selection{MinAmount: decimal.RequireFromString("14.51")}},
		"period":         {replay.Selection{Periods: []string{"2000-01"}}, replay.Selection{Periods: []string{"2000-02"}}},
		"source system":  {replay.Selection{SourceSystems: []string{"swift"}}, replay.Selection{SourceSystems: []string{"ach"}}},
		"source hash":    {replay.Selection{SourceHashes: []string{"hash-000004"}}, replay.Selection{SourceHashes: []string{"hash-000005"}}},
		"trace id":       {replay.Selection{TraceIDs: []string{"trace-4"}}, replay.Selection{TraceIDs: []string{"trace-5"}}},
		"message id":     {replay.Selection{MessageIDs: []string{"00000000-0000-4000-8000-000000000004"}}, replay.Selection{MessageIDs: []string{envelope.MessageID(l.Lineage.Root)}}},
		"id":             {replay.Selection{IDs: []string{l.EnvelopeID}}, replay.Selection{IDs: []string{envelope.EnvelopeID(l.Lineage.Root, 0)}}},
		"exclude id":     {replay.Selection{ExcludeIDs: []string{"x"}}, replay.Selection{ExcludeIDs: []string{l.EnvelopeID}}},
		"root":           {replay.Selection{Roots: []string{l.Lineage.Root.String()}}, replay.Selection{Roots: []string{"recon.main/0@0"}}},
		"generation":     {replay.Selection{Generations: []int{0, 1}}, replay.Selection{Generations: []int{0}}},
		"status":         {replay.Selection{States: []string{"open"}}, replay.Selection{States: []string{"confirmed"}}},
		"said last":      {replay.Selection{States: []string{"refused"}}, replay.Selection{States: []string{"acknowledged"}}},
		"since":          {replay.Selection{Since: at}, replay.Selection{Since: at.Add(time.Millisecond)}},
		"until":          {replay.Selection{Until: at.Add(time.Millisecond)}, replay.Selection{Until: at}},
		"all of them": {
			replay.Selection{Entities: []string{"ACME"}, Currencies: []string{"EUR"}}, replay.Selection{Entities: []string{"ACME"}, Currencies: []string{"USD"}},
		},
	} {
		if !row.fits.Match(c) {
			t.Errorf("%s: %s does not fit", name, row.fits.String())
		}
		if row.not.Match(c) {
			t.Errorf("%s: %s fits", name, row.not.String())
		}
		if err := row.fits.ValidateForWriting(); err != nil && name != "exclude id" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// With a calendar a period is the calendar's, by entity; without one it is the month of the accounting date.
func TestPeriodIsTheCalendars(t *testing.T) {
	file, err := os.ReadFile("../period/testdata/calendar.yaml")
	if err != nil {
		t.Fatal(err)
	}
	calendar, err := period.Load("calendar.yaml", file)
	if err != nil {
		t.Fatal(err)
	}
	l := letterOf(0, 0, 0)
	for _, row := range []struct {
		entity, booking, period string
		calendar                *period.Calendar
		want                    bool
	}{
		{"ACME-DE", "2026-11-30", "2026-11", calendar, true},
		{"ACME-DE", "2026-11-30", "2026-12", calendar, false},
		{"ACME-BR", "2018-03-01", "2018", calendar, true},
		{"ACME-BR", "2018-03-01", "2018-03", calendar, false},
		{"ACME-BR", "2018-03-01", "2018-03", nil, true},
		{"UNKNOWN", "2018-03-01", "2018", calendar, false},
		{"ANY", "", "2000-01", nil, true}, // the day first seen
	} {
		l.Message.LedgerEntity, l.Message.BookingDate = row.entity, row.booking
		c, _ := foldOf(fact{letter: l}).Case(l.EnvelopeID)
		sel := replay.Selection{Periods: []string{row.period}, Calendar: row.calendar}
		if got := sel.Match(c); got != row.want {
			t.Errorf("%+v: fits %t, want %t", row, got, row.want)
		}
	}
}

func TestUnreadableAmountFitsNoMinimum(t *testing.T) {
	l := letterOf(0, 0, 0)
	l.Message = envelope.Facts{}
	f := foldOf(fact{letter: l})
	c, _ := f.Case(l.EnvelopeID)
	small := replay.Selection{MinAmount: decimal.RequireFromString("0.01")}
	if small.Match(c) {
		t.Error("a letter without a readable amount fits --min-amount 0.01")
	}
}

func TestMistakesInASelectionAreNamedTogether(t *testing.T) {
	now := time.Now()
	for name, row := range map[string]struct {
		sel  replay.Selection
		want []string
	}{
		"nothing selected":   {replay.Selection{}, []string{"no selection", "--all"}},
		"only limit":         {replay.Selection{Limit: 3, ExcludeIDs: []string{"x"}}, []string{"no selection"}},
		"several at once":    {replay.Selection{Classes: []fault.Class{"bad"}, Limit: -1, Generations: []int{-1}}, []string{"--class", "--limit", "--generation"}},
		"unknown state":      {replay.Selection{States: []string{"gone"}}, []string{"--state", "in_flight"}},
		"unknown decision":   {replay.Selection{MatchDecisions: []string{"matched"}}, []string{"--match-decision"}},
		"no coordinates":     {replay.Selection{Roots: []string{"main-1"}}, []string{"--root", "topic/partition@offset"}},
		"negative amount":    {replay.Selection{MinAmount: decimal.RequireFromString("-1")}, []string{"--min-amount -1"}},
		"until before since": {replay.Selection{Since: now, Until: now.Add(-time.Hour)}, []string{"--until"}},
	} {
		err := row.sel.ValidateForWriting()
		if replay.ExitOf(err) != replay.ExitUsage {
			t.Errorf("%s: got %v, want exit 2", name, err)
			continue
		}
		for _, part := range row.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not say %q", name, err, part)
			}
		}
	}
	if err := (&replay.Selection{All: true}).ValidateForWriting(); err != nil {
		t.Errorf("--all: %v", err)
	}
}

func TestSelectionIsKeptAsFlags(t *testing.T) {
	sel := replay.Selection{Codes: []fault.Failure{fault.FailedPoison}, Entities: []string{"A", "B"}, Limit: 5, Generations: []int{0}, ExcludeIDs: []string{"x"}}
	if got, want := sel.String(), "--code POISON_MESSAGE --entity A --entity B --generation 0 --exclude-id x --limit 5"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (&replay.Selection{All: true}).String(); got != "--all" {
		t.Errorf("got %q, want --all", got)
	}
}

func TestLimitTakesTheFirstInTheOrderOfPlans(t *testing.T) {
	f := foldOf(fact{letter: letterOf(2, 0, 0)}, fact{letter: letterOf(0, 0, 0)}, fact{letter: letterOf(1, 0, 0)})
	sel := replay.Selection{Limit: 2}
	got := sel.Of(f)
	if len(got) != 2 || got[0].SourceHash != "hash-000000" || got[1].SourceHash != "hash-000001" {
		t.Errorf("got %d letters, want the first two by first seen", len(got))
	}
}

func TestMomentsAreTimesOrAges(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2h":                        now.Add(-2 * time.Hour),
		"7d":                        now.Add(-7 * 24 * time.Hour),
		"90m":                       now.Add(-90 * time.Minute),
		"2026-02-01T00:00:00+01:00": time.Date(2026, 1, 31, 23, 0, 0, 0, time.UTC),
	} {
		if got, err := replay.ParseMoment(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%s: got %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "yesterday", "-2h", "2026-02-01", "d", "-1d", "1.5d"} {
		if got, err := replay.ParseMoment(text, now); replay.ExitOf(err) != replay.ExitUsage {
			t.Errorf("%q: got %s, %v; want exit 2", text, got, err)
		}
	}
}

func TestRunnerNamesEveryMistake(t *testing.T) {
	_, err := replay.New(replay.Config{RootCause: "bad luck", Rate: -1})
	for _, part := range []string{"dedup store", "gates", "--as", "--reason", "--root-cause \"bad luck\": want one of mapping_missing", "--rate"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say %q", err, part)
		}
	}
	if replay.ExitOf(err) != replay.ExitUsage {
		t.Errorf("exit %d, want 2", replay.ExitOf(err))
	}
}
