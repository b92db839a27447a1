package replay_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"recon/pkg/audit"
	"recon/pkg/dedup"
	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/period"
	"recon/pkg/replay"
)

// refusal is what one letter comes to.
type refusal struct {
	prepare func(w *world, l *envelope.Letter) // before the plan
	meddle  func(w *world, l *envelope.Letter) // between plan and run
	gates   func(w *world) []replay.Gate       // nil: the usual ones
	outcome replay.Outcome                     // in the plan
	ending  replay.Ending                      // of the run
	code    fault.Failure
	fact    string // a part of it
	status  replay.Status
}

var other = envelope.Coordinates{Topic: "recon.main", Partition: 2, Offset: 999}

// Every gate's refusals, with code and fact, in the plan and again in the run. Pitfalls R15, R34, R95, R98: a refused
// letter stays as it was, and open.
var refusals = map[string]refusal{
	"integrity: value does not have its hash": {
		prepare: func(w *world, l *envelope.Letter) { l.Original.ValueSHA256 = strings.Repeat("0", 64) },
		outcome: replay.Refuse, ending: replay.EndRefused, code: fault.FailedStillInvalid, fact: "SHA-256", status: replay.Open,
	},
	"integrity: hash of the letter is not the original's": {
		prepare: func(w *world, l *envelope.Letter) { l.Message.SourceHash = "hash-of-another" },
		outcome: replay.Refuse, ending: replay.EndRefused, code: fault.FailedStillInvalid, fact: "hash-of-another", status: replay.Open,
	},
	"integrity: today's rules refuse it": {
		prepare: func(w *world, l *envelope.Letter) { *l = *w.letter(1, "ACME", invalid) },
		outcome: replay.Refuse, ending: replay.EndRefused, code: fault.FailedStillInvalid, fact: "AMOUNT_INVALID", status: replay.Open,
	},
	"integrity: the original is sealed": {
		prepare: func(w *world, l *envelope.Letter) {
			l.Original.Encryption = &envelope.Encryption{Scheme: "age", Recipients: []string{"k"}}
		},
		outcome: replay.Refuse, ending: replay.EndRefused, code: fault.FailedStillInvalid, fact: "sealed", status: replay.Open,
	},
	"integrity: the original is gone from main": {
		prepare: func(w *world, l *envelope.Letter) { *l = *l.Compact() },
		outcome: replay.Refuse, ending: replay.EndRefused, code: fault.FailedStillInvalid, fact: "no longer at", status: replay.Open,
	},
	"cause: it still holds": {
		prepare: func(w *world, l *envelope.Letter) {
			w.ledger.refuse = func(*envelope.Message) error { return fault.New(fault.RateNotPublished, "no rate of 2000-01-15") }
		},
		outcome: replay.Refuse, ending: replay.EndRefused, code: fault.FailedCauseNotFixed, fact: "RATE_NOT_PUBLISHED: no rate", status: replay.Open,
	},
	"cause: it comes back after the plan": {
		meddle: func(w *world, l *envelope.Letter) {
			w.ledger.refuse = func(*envelope.Message) error { return errors.New("away again") }
		},
		outcome: replay.Reinject, ending: replay.EndRefused, code: fault.FailedCauseNotFixed, fact: "away again", status: replay.Open,
	},
	"cause: the check panics": {
		prepare: func(w *world, l *envelope.Letter) {
			w.ledger.refuse = func(*envelope.Message) error { panic("rates are nil") }
		},
		outcome: replay.Refuse, ending: replay.EndRefused, code: fault.FailedCauseNotFixed, fact: "HANDLER_PANIC: the handler's check panicked: rates are nil", status: replay.Open,
	},
	"cause: the check panics after the plan": {
		meddle: func(w *world, l *envelope.Letter) {
			w.ledger.refuse = func(*envelope.Message) error { panic("rates are nil") }
		},
		outcome: replay.Reinject, ending: replay.EndRefused, code: fault.FailedCauseNotFixed, fact: "rates are nil", status: replay.Open,
	},
	"cause: the check's error is a nil one of a type": {
		prepare: func(w *world, l *envelope.Letter) {
			w.ledger.refuse = func(*envelope.Message) error { return (*typedError)(nil) }
		},
		outcome: replay.Refuse, ending: replay.EndRefused, code: fault.FailedCauseNotFixed, fact: "HANDLER_PANIC: the handler's check panicked: runtime error", status: replay.Open,
	},
	"cause: the check names a nil posting": {
		prepare: func(w *world, l *envelope.Letter) {
			w.ledger.refuse = func(*envelope.Message) error { return (*envelope.AlreadyPosted)(nil) }
		},
		outcome: replay.Refuse, ending: replay.EndRefused, code: fault.FailedCauseNotFixed, fact: "HANDLER_PANIC: the handler's check panicked: runtime error", status: replay.Open,
	},
	"cause: the check wraps a nil posting": {
		prepare: func(w *world, l *envelope.Letter) {
			w.ledger.refuse = func(*envelope.Message) error { return fmt.Errorf("ledger: %w", (*envelope.AlreadyPosted)(nil)) }
		},
		outcome: replay.Refuse, ending: replay.EndRefused, code: fault.FailedCauseNotFixed, fact: "UNCLASSIFIED: the handler's check names a posting, and the posting is nil", status: replay.Open,
	},
	"cause: it goes after the plan": {
		prepare: func(w *world, l *envelope.Letter) {
			w.ledger.refuse = func(*envelope.Message) error { return fault.New(fault.RateNotPublished, "no rate") }
		},
		meddle:  func(w *world, l *envelope.Letter) { w.ledger.refuse = nil },
		outcome: replay.Refuse, ending: replay.EndRefused, code: fault.FailedCauseNotFixed, fact: "no rate", status: replay.Open,
	},
	"cause: the ledger knows the period closed": {
		prepare: func(w *world, l *envelope.Letter) {
			w.ledger.refuse = func(*envelope.Message) error { return fault.New(fault.PeriodClosed, "2000-01 is closed") }
		},
		outcome: replay.Refuse, ending: replay.EndRefused, code: fault.FailedPeriodClosed, fact: "2000-01", status: replay.Open,
	},
	"idempotency: another root has posted it": {
		prepare: posted(other, true),
		outcome: replay.Suppress, ending: replay.EndSuppressed, code: fault.FailedReplayDuplicate, fact: other.String(), status: replay.Suppressed,
	},
	"idempotency: another root posts it after the plan": {
		meddle:  posted(other, true),
		outcome: replay.Reinject, ending: replay.EndSuppressed, code: fault.FailedReplayDuplicate, fact: other.String(), status: replay.Suppressed,
	},
	"idempotency: another transaction has its hash": {
		prepare: posted(other, false),
		outcome: replay.Refuse, ending: replay.EndRefused, code: fault.FailedIdentityConflict, fact: "another transaction", status: replay.Open,
	},
	"idempotency: its own root has posted": {
		prepare: func(w *world, l *envelope.Letter) { posted(l.Lineage.Root, true)(w, l) },
		outcome: replay.Confirm, ending: replay.EndSuppressed, fact: "own root", status: replay.Confirmed,
	},
	"idempotency: the ledger alone knows the posting": {
		prepare: func(w *world, l *envelope.Letter) { w.ledger.post(claimOf(w, l, other, 0)) },
		outcome: replay.Suppress, ending: replay.EndSuppressed, code: fault.FailedReplayDuplicate, fact: "p-hash-000001", status: replay.Suppressed,
	},
	"idempotency: the ledger does not know what the store calls posted": {
		prepare: func(w *world, l *envelope.Letter) {
			posted(other, true)(w, l)
			clear(w.ledger.rows)
		},
		outcome: replay.Refuse, ending: replay.EndRefused, code: fault.FailedDedupHorizon, fact: "not in the ledger", status: replay.Open,
	},
	"idempotency: another root is at work": {
		prepare: func(w *world, l *envelope.Letter) { w.settle(dedup.Claimed, claimOf(w, l, other, 0)) },
		outcome: replay.Refuse, ending: replay.EndRefused, code: fault.FailedInFlightElsewhere, fact: "claimed", status: replay.Open,
	},
	"idempotency: another root waits": {
		prepare: func(w *world, l *envelope.Letter) { w.settle(dedup.Waiting, claimOf(w, l, other, 0)) },
		outcome: replay.Refuse, ending: replay.EndRefused, code: fault.FailedInFlightElsewhere, fact: "waiting", status: replay.Open,
	},
	"idempotency: it was settled by hand": {
		prepare: func(w *world, l *envelope.Letter) {
			_, err := w.store.MarkSettled(w.t.Context(), dedup.Mark{Hash: "hash-000001", Root: other})
			if err != nil {
				w.t.Fatal(err)
			}
		},
		outcome: replay.Refuse, ending: replay.EndRefused, code: fault.FailedSettledManually, fact: other.String(), status: replay.Open,
	},
	"idempotency: the ledger cannot answer": {
		prepare: func(w *world, l *envelope.Letter) { w.ledger.away = errors.New("connection refused") },
		outcome: replay.Refuse, ending: replay.EndRefused, code: fault.FailedDedupHorizon, fact: "could not ask: look up hash-000001 in the ledger: connection refused", status: replay.Open,
	},
	"temporal: the period is closed": {
		gates:   dated("2026-10-15", "", "ACME-DE"),
		outcome: replay.Refuse, ending: replay.EndRefused, code: fault.FailedPeriodClosed, fact: "2026-10", status: replay.Open,
	},
	"temporal: its dates straddle a closed one": {
		gates:   dated("2026-12-01", "2026-10-31", "ACME-DE"),
		outcome: replay.Refuse, ending: replay.EndRefused, code: fault.FailedPeriodStraddles, fact: "2026-10", status: replay.Open,
	},
	"temporal: the entity is not named": {
		gates:   dated("2026-12-01", "", "UNKNOWN"),
		outcome: replay.Refuse, ending: replay.EndRefused, code: fault.FailedPeriodUnknown, fact: "UNKNOWN", status: replay.Open,
	},
	"temporal: the period is still to come": {
		gates:   dated("2027-01-02", "", "ACME-DE"),
		outcome: replay.Refuse, ending: replay.EndRefused, code: fault.FailedPeriodUnknown, fact: "future", status: replay.Open,
	},
	"temporal: the period is open": {
		gates:   dated("2026-12-01", "", "ACME-DE"),
		outcome: replay.Reinject, ending: replay.EndReinjected, status: replay.InFlight,
	},
	"a gate's error is a refusal": {
		gates: func(w *world) []replay.Gate {
			return []replay.Gate{replay.Integrity{}, gateFunc(func() (replay.Check, error) { return replay.Check{Pass: true}, errors.New("out of reach") })}
		},
		outcome: replay.Refuse, ending: replay.EndRefused, code: fault.FailedCauseNotFixed, fact: "could not ask: out of reach", status: replay.Open,
	},
	"nothing stands in the way, nothing can be asked": {
		gates: func(w *world) []replay.Gate {
			return []replay.Gate{replay.Integrity{}, replay.Cause{}, replay.Idempotency{Store: w.store}, replay.Temporal{}}
		},
		outcome: replay.Reinject, ending: replay.EndReinjected, status: replay.InFlight,
	},
}

func invalid(l *envelope.Letter) {
	l.Original.Value = []byte(`{"source_hash":"hash-000001","ledger_entity":"ACME","currency":"EUR","amount":"-0","match_decision":"MATCHED"}`)
}

// posted settles the letter's hash as posted by root, with the same transaction or another one, in store and ledger.
func posted(root envelope.Coordinates, same bool) func(*world, *envelope.Letter) {
	return func(w *world, l *envelope.Letter) {
		c := claimOf(w, l, root, l.Lineage.Generation)
		if !same {
			c.Digest = "0123456789abcdef"
		}
		c.Attempt = 2
		w.settle(dedup.Posted, c)
		w.ledger.post(c)
	}
}

// dated gives the usual gates with the calendar, and the letter these dates and this entity.
func dated(booking, value, entity string) func(*world) []replay.Gate {
	return func(w *world) []replay.Gate {
		file, err := os.ReadFile("../period/testdata/calendar.yaml")
		if err != nil {
			w.t.Fatal(err)
		}
		calendar, err := period.Load("calendar.yaml", file)
		if err != nil {
			w.t.Fatal(err)
		}
		return []replay.Gate{replay.Integrity{}, redated{replay.Temporal{Calendar: calendar}, booking, value, entity}}
	}
}

// redated asks a gate about a message with other dates.
type redated struct {
	replay.Gate
	booking, value, entity string
}

func (g redated) Check(ctx context.Context, o *replay.Opened) (replay.Check, error) {
	m := *o.Message
	m.BookingDate, m.ValueDate, m.LedgerEntity = g.booking, g.value, g.entity
	changed := *o
	changed.Message = &m
	return g.Gate.Check(ctx, &changed)
}

// typedError is what a handler returns that gives back a nil pointer of its own type.
type typedError struct{ text string }

func (e *typedError) Error() string { return e.text }

type gateFunc func() (replay.Check, error)

func (gateFunc) Name() string { return "own" }

func (g gateFunc) Check(context.Context, *replay.Opened) (replay.Check, error) { return g() }

func TestGatesRefuseWithCodeAndFact(t *testing.T) {
	for name, row := range refusals {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(time.Date(2026, 12, 10, 0, 0, 0, 0, time.UTC))) // the calendar's year
				checkRefusal(t, newWorld(t), row)
			})
		})
	}
}

func checkRefusal(t *testing.T, w *world, row refusal) {
	l := w.letter(1, "ACME")
	w.known(l) // the store knows the letter; the DLQ holds what prepare makes of it
	if row.prepare != nil {
		row.prepare(w, l)
	}
	w.lay(l)
	var gates []func(*replay.Config)
	if row.gates != nil {
		gates = append(gates, func(c *replay.Config) { c.Gates = row.gates(w) })
	}
	p, err := w.runner(gates...).Plan(t.Context(), w.fold(), replay.Selection{All: true})
	if err != nil {
		t.Fatal(err)
	}
	e := p.Entries[0]
	if e.Outcome != row.outcome || row.outcome == row.run() && (e.Code != row.code || !strings.Contains(e.Fact, row.fact)) {
		t.Errorf("the plan says %s %s %q, want %s %s with %q", e.Outcome, e.Code, e.Fact, row.outcome, row.code, row.fact)
	}
	if got := w.all(w.names.Dispositions()); len(got) != 0 || len(w.journal.types()) != 0 || len(w.all(w.names.Main())) != 0 {
		t.Error("making the plan has written something")
	}
	if row.meddle != nil {
		row.meddle(w, l)
	}
	report, _ := w.runner(gates...).Run(t.Context(), nil, p)
	r := report.Results[0]
	if r.Ending != row.ending || r.Code != row.code || !strings.Contains(r.Fact, row.fact) {
		t.Errorf("the run says %s %s %q (%v), want %s %s with %q", r.Ending, r.Code, r.Fact, r.Err, row.ending, row.code, row.fact)
	}
	if got := w.statuses(); got[row.status] != 1 {
		t.Errorf("the letter is %v, want %s", got, row.status)
	}
	ds := w.dispositions()
	if len(ds) != 1 || ds[0].Code != row.code || ds[0].Actor != "kim" || ds[0].PlanID != p.ID || ds[0].RootCause != "mapping_missing" {
		t.Errorf("dispositions %+v, want one with code, actor, plan and root cause", ds)
	}
	if suppressed := row.ending == replay.EndSuppressed; suppressed && (ds[0].Evidence == nil || ds[0].Evidence.PostingID == "") {
		t.Errorf("evidence %+v, want the posting", ds[0].Evidence)
	}
	want := map[replay.Ending]string{
		replay.EndRefused: audit.EventReplayRefused, replay.EndSuppressed: audit.EventReplaySuppressed, replay.EndReinjected: audit.EventReinjected,
	}[row.ending]
	if got := w.journal.types(); got[want] != 1 || len(got) != 1 {
		t.Errorf("events %v, want one %s", got, want)
	}
}

// run is the outcome that the run comes to.
func (r refusal) run() replay.Outcome {
	switch {
	case r.ending == replay.EndRefused:
		return replay.Refuse
	case r.status == replay.Confirmed:
		return replay.Confirm
	case r.ending == replay.EndSuppressed:
		return replay.Suppress
	default:
		return replay.Reinject
	}
}
