package main

import (
	"maps"
	"slices"
	"time"

	"recon/pkg/envelope"
	"recon/pkg/replay"
)

// The JSON of the output. Names are those of letters, dispositions and plan files; a field is always there, null where
// there is nothing to say; amounts are decimal text, times RFC 3339 in UTC.

// text is s, or null where it is empty.
func text[S ~string](s S) *S {
	if s == "" {
		return nil
	}
	return &s
}

// moment is t, or null where it is zero.
func moment(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return text(envelope.FormatTime(t))
}

// each applies f to all of vs; never nil, so that an empty list is written as one.
func each[T, U any](vs []T, f func(T) U) []U {
	us := make([]U, len(vs))
	for i, v := range vs {
		us[i] = f(v)
	}
	return us
}

type messageJSON struct {
	MessageID     *string `json:"message_id"`
	SourceHash    *string `json:"source_hash"`
	LedgerEntity  *string `json:"ledger_entity"`
	Currency      *string `json:"currency"`
	Amount        *string `json:"amount"`
	MatchDecision *string `json:"match_decision"`
	TraceID       *string `json:"trace_id"`
	BookingDate   *string `json:"booking_date"`
	ValueDate     *string `json:"value_date"`
}

func messageOf(f envelope.Facts) messageJSON {
	return messageJSON{
		text(f.MessageID), text(f.SourceHash), text(f.LedgerEntity), text(f.Currency), text(f.Amount), text(f.MatchDecision),
		text(f.TraceID), text(f.BookingDate), text(f.ValueDate),
	}
}

// totalsJSON has the members of a plan file.
type totalsJSON struct {
	Totals     []totalJSON `json:"totals"`
	Unreadable int         `json:"unreadable_amounts"`
}

type totalJSON struct {
	Currency string `json:"currency"`
	Debit    string `json:"debit"`
	Credit   string `json:"credit"`
	Count    int    `json:"count"`
}

func totalsOf(t replay.Totals) totalsJSON {
	out := totalsJSON{Totals: []totalJSON{}, Unreadable: t.Unreadable}
	for _, currency := range slices.Sorted(maps.Keys(t.Currencies)) {
		sum := t.Currencies[currency]
		out.Totals = append(out.Totals, totalJSON{
			currency, envelope.CanonicalAmount(sum.Debit), envelope.CanonicalAmount(sum.Credit), sum.Count,
		})
	}
	return out
}

type letterJSON struct {
	EnvelopeID   string      `json:"envelope_id"`
	Status       string      `json:"status"`
	Said         *string     `json:"said"` // of an open letter, last: acknowledged, refused, released
	Root         string      `json:"root"`
	Generation   int         `json:"generation"`
	Parent       *string     `json:"parent"`
	Origin       string      `json:"origin"`
	LiesAt       []string    `json:"lies_at"`
	FailureCode  string      `json:"failure_code"`
	FailureClass string      `json:"failure_class"`
	ErrorCode    string      `json:"error_code"`
	ErrorDetail  *string     `json:"error_detail"` // its first 200 bytes
	SourceStage  string      `json:"source_stage"`
	Fingerprint  *string     `json:"fingerprint"`
	AttemptCount int         `json:"attempt_count"`
	Message      messageJSON `json:"message"`
	SourceSystem *string     `json:"source_system"`
	FirstSeen    *string     `json:"first_seen_at"`
	DeadLettered *string     `json:"dead_lettered_at"`
	RootCause    *string     `json:"root_cause"`
	Dispositions []stepJSON  `json:"dispositions"`
}

func letterOf(c *replay.Case) letterJSON {
	return letterJSON{
		EnvelopeID: c.EnvelopeID, Status: string(c.Status()), Said: text(string(c.Said())), Root: c.Root.String(),
		Generation: c.Generation, Parent: text(c.Parent), Origin: c.Origin.String(),
		LiesAt:      each(c.Copies, envelope.Coordinates.String),
		FailureCode: string(c.FailureCode), FailureClass: string(c.FailureClass), ErrorCode: string(c.ErrorCode),
		ErrorDetail: text(c.Detail), SourceStage: string(c.Stage), Fingerprint: text(c.Fingerprint), AttemptCount: c.Attempts,
		Message: messageOf(c.Facts), SourceSystem: text(c.SourceSystem), FirstSeen: moment(c.FirstSeen),
		DeadLettered: moment(c.DeadLettered), RootCause: text(c.RootCause()), Dispositions: each(c.Steps, stepOf),
	}
}

type stepJSON struct {
	EventID   string  `json:"event_id"`
	State     string  `json:"state"`
	At        *string `json:"at"`
	Code      *string `json:"code"`
	RunID     *string `json:"run_id"`
	PlanID    *string `json:"plan_id"`
	ReplayID  *string `json:"replay_id"`
	Actor     *string `json:"actor"`
	RootCause *string `json:"root_cause"`
	Outcome   *string `json:"outcome"`
	Ticket    *string `json:"ticket"`
	Note      *string `json:"note"`
}

func stepOf(s replay.Step) stepJSON {
	return stepJSON{
		s.EventID, string(s.State), moment(s.At), text(string(s.Code)), text(s.RunID), text(s.PlanID), text(s.ReplayID),
		text(s.Actor), text(s.RootCause), text(s.Outcome), text(s.Ticket), text(s.Note),
	}
}

type unreadableJSON struct {
	At  string `json:"at"`
	Why string `json:"why"`
}

func unreadableOf(u replay.Unreadable) unreadableJSON { return unreadableJSON{u.At.String(), u.Why} }
