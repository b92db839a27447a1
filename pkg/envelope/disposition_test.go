package envelope_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// disposition is a complete one in the given state.
func disposition(state envelope.State) *envelope.Disposition {
	return &envelope.Disposition{
		EnvelopeID: envelope.EnvelopeID(root, 0), Root: root, State: state, Code: fault.FailedReplayDuplicate,
		SourceHash: "v1:sha256:4f0a6b1e", TraceID: "4bf92f3577b34da6a3ce929d0e0e4736", MatchDecision: "UNMATCHED",
		Entity: "DE-4711", Currency: "EUR", Amount: "-12345.67", RunID: "run-7", ReplayID: envelope.ReplayID(envelope.EnvelopeID(root, 0)),
		PlanID: "plan-1", Actor: "j.doe", Reason: "rate was late", RootCause: "rate_late", Outcome: envelope.OutcomeDuplicate,
		Period: "2026-03", Note: "seen with the feed's owner", Ticket: "FIN-12", JournalRef: "JE-77", SupersededBy: "hash-0002",
		Lifts:        envelope.DispositionID(envelope.EnvelopeID(root, 0), envelope.Quarantined, "run-6"),
		Evidence:     &envelope.Evidence{PostingID: "p-1", PostedAt: noon, Root: envelope.Coordinates{Topic: "recon.main", Offset: 1}},
		ConfigDigest: "sha256:00", At: noon,
	}
}

func TestDispositionComesBackAsItWas(t *testing.T) {
	for _, state := range envelope.States() {
		want := disposition(state)
		b, err := want.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := envelope.DecodeDisposition(b)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v, want %+v", state, got, err, want)
		}
	}
	bare := &envelope.Disposition{EnvelopeID: envelope.EnvelopeID(root, 3), Root: root, Generation: 3, State: envelope.Confirmed, At: noon}
	b, err := bare.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := envelope.DecodeDisposition(b); err != nil || !reflect.DeepEqual(got, bare) {
		t.Errorf("bare: got %+v, %v", got, err)
	}
}

// A repeat of the same change has the same event id, another run's change another one.
func TestEventIdFoldsRepeats(t *testing.T) {
	d := disposition(envelope.Reinjected)
	again := disposition(envelope.Reinjected)
	again.RunID = "run-8"
	if d.ID() != again.ID() {
		t.Error("the one replay of a letter was told as two events")
	}
	d.ReplayID, again.ReplayID = "", ""
	if d.ID() == again.ID() {
		t.Error("two runs' changes fold into one")
	}
	if want := envelope.DispositionID(d.EnvelopeID, d.State, "run-7"); d.ID() != want {
		t.Errorf("got %s, want %s", d.ID(), want)
	}
}

func TestStateNeedsWhatMakesItEvidence(t *testing.T) {
	rows := []struct {
		state envelope.State
		take  func(d *envelope.Disposition)
		needs string
	}{
		{envelope.Acknowledged, func(d *envelope.Disposition) { d.Actor = "" }, "actor"},
		{envelope.Refused, func(d *envelope.Disposition) { d.Code = "" }, "code"},
		{envelope.Reinjected, func(d *envelope.Disposition) { d.ReplayID = "" }, "replay_id"},
		{envelope.Suppressed, func(d *envelope.Disposition) { d.Code = "" }, "REPLAY_DUPLICATE"},
		{envelope.Suppressed, func(d *envelope.Disposition) { d.Code = fault.FailedPeriodClosed }, "REPLAY_DUPLICATE"},
		{envelope.JournalPosted, func(d *envelope.Disposition) { d.JournalRef = "" }, "journal_ref"},
		{envelope.JournalPosted, func(d *envelope.Disposition) { d.Period = "" }, "period"},
		{envelope.JournalPosted, func(d *envelope.Disposition) { d.Amount = "" }, "amount"},
		{envelope.Released, func(d *envelope.Disposition) { d.Lifts = "" }, "lifts"},
		{envelope.Resolved, func(d *envelope.Disposition) { d.Outcome = "" }, "outcome"},
		{envelope.Resolved, func(d *envelope.Disposition) { d.Actor = "" }, "actor"},
		{"forgotten", func(*envelope.Disposition) {}, "state"},
		{envelope.Confirmed, func(d *envelope.Disposition) { d.Generation = 4 }, "envelope_id"},
		{envelope.Confirmed, func(d *envelope.Disposition) { d.Root = envelope.Coordinates{} }, "root"},
		{envelope.Confirmed, func(d *envelope.Disposition) { d.Evidence.Root = envelope.Coordinates{} }, "evidence"},
	}
	for _, r := range rows {
		d := disposition(r.state)
		r.take(d)
		b, err := d.Encode()
		if err == nil || b != nil || !strings.Contains(err.Error(), r.needs) {
			t.Errorf("%s: got %v, want an error about %s", r.state, err, r.needs)
		}
	}
}

func TestDispositionIsReadStrictly(t *testing.T) {
	b, err := disposition(envelope.Resolved).Encode()
	if err != nil {
		t.Fatal(err)
	}
	good := string(b)
	rows := []struct{ name, old, new string }{
		{"member twice", `"note":`, `"note":"x","note":`},
		{"unknown member", `"note":`, `"notes":"x","note":`},
		{"missing member", `"period":"2026-03",`, ``},
		{"empty for null", `"ticket":"FIN-12"`, `"ticket":""`},
		{"amount as a number", `"amount":"-12345.67"`, `"amount":-12345.67`},
		{"unknown state", `"state":"resolved"`, `"state":"done"`},
		{"unknown outcome", `"outcome":"duplicate"`, `"outcome":"gone"`},
		{"resolved without outcome", `"outcome":"duplicate"`, `"outcome":null`},
		{"other letter", `"generation":0`, `"generation":1`},
		{"evidence without root", `,"root":"recon.main/0@1"}`, `}`},
		{"local time", `Z"}`, `+01:00"}`},
	}
	for _, r := range rows {
		if !strings.Contains(good, r.old) {
			t.Fatalf("%s: %s is not in %s", r.name, r.old, good)
		}
		if d, err := envelope.DecodeDisposition([]byte(strings.Replace(good, r.old, r.new, 1))); err == nil || d != nil {
			t.Errorf("%s: read as %+v", r.name, d)
		}
	}
	v2 := strings.Replace(good, `"disposition_version":1`, `"disposition_version":2,"x":1`, 1)
	if _, err := envelope.DecodeDisposition([]byte(v2)); !errors.Is(err, envelope.ErrVersion) {
		t.Errorf("version 2: got %v", err)
	}
}

func TestPeoplesTextsAreCutNotRefused(t *testing.T) {
	d := disposition(envelope.Refused)
	d.Reason, d.Note = strings.Repeat("é", 5000), "\xff"+strings.Repeat("n", 5000)
	b, err := d.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := envelope.DecodeDisposition(b)
	if err != nil || utf8.RuneCountInString(got.Reason) != 2000 || utf8.RuneCountInString(got.Note) != 2000 {
		t.Errorf("got %d and %d characters, %v", utf8.RuneCountInString(got.Reason), utf8.RuneCountInString(got.Note), err)
	}
	if len(d.Reason) != 10000 || bytes.Equal(b, nil) {
		t.Error("the disposition given was changed")
	}
}

// CONTRACT 6: confirmed > resolved > quarantined > suppressed, whatever order they are read in.
func TestTerminalStatesFoldInAnyOrder(t *testing.T) {
	order := []envelope.State{envelope.Confirmed, envelope.Resolved, envelope.JournalPosted, envelope.Quarantined, envelope.Suppressed}
	terminal := map[envelope.State]bool{}
	for i, s := range order {
		terminal[s] = true
		if i > 0 && envelope.Precedence(order[i-1]) <= envelope.Precedence(s) {
			t.Errorf("%s does not come before %s", order[i-1], s)
		}
	}
	for _, s := range append(envelope.States(), "", "forgotten") {
		if got, want := envelope.Terminal(s), terminal[s]; got != want {
			t.Errorf("%q: terminal %v, want %v", s, got, want)
		}
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		states := envelope.States()
		rng.Shuffle(len(states), func(i, j int) { states[i], states[j] = states[j], states[i] })
		var outcome envelope.State
		for _, s := range states {
			if envelope.Precedence(s) > envelope.Precedence(outcome) {
				outcome = s
			}
		}
		if outcome != envelope.Confirmed {
			t.Fatalf("%v fold to %s", states, outcome)
		}
	}
}
