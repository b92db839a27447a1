package main

import (
	"fmt"

	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/replay"
)

// report prints what a run came to; after is what became of the letters that went back, nil where nobody waited.
func (r *wayBack) report(report *replay.Report, after *replay.After) error {
	switch r.form {
	case asJSON:
		out := reportOf(report, after)
		out.Letters = each(report.Results, resultOf)
		return r.document(out)
	case asLines:
		if err := lines(r.job, each(report.Results, resultOf)); err != nil {
			return err
		}
		return r.document(reportOf(report, after).reportJSON)
	}
	if report.RunID != "" {
		fmt.Fprintf(r.out, "run %s of plan %s\n", report.RunID, report.PlanID)
	}
	replay.PrintReport(r.out, report)
	return nil
}

// reportJSON is the last line of a run; with json it has the letters too.
type reportJSON struct {
	PlanID      *string `json:"plan_id"`
	RunID       *string `json:"run_id"`
	Started     *string `json:"started_at"`
	Ended       *string `json:"ended_at"`
	Selected    int     `json:"selected"`
	Reinjected  int     `json:"reinjected"`
	Suppressed  int     `json:"suppressed"`
	Quarantined int     `json:"quarantined"`
	Refused     int     `json:"refused"`
	Failed      int     `json:"failed"`
	Untouched   int     `json:"untouched"`
	Earlier     int     `json:"of_an_earlier_run"`
	totalsJSON
	Refusals map[string]int `json:"refusals"` // letters per code
	After    *afterJSON     `json:"after"`    // null: nobody waited
}

type wholeReportJSON struct {
	reportJSON
	Letters []resultJSON `json:"letters"`
}

// afterJSON is what became of the letters that are on main again.
type afterJSON struct {
	Confirmed   int      `json:"confirmed"`
	Suppressed  int      `json:"suppressed"`
	Again       int      `json:"failed_again"`
	Settled     int      `json:"settled_by_hand"`
	Unconfirmed []string `json:"unconfirmed"` // envelope ids
}

func reportOf(r *replay.Report, after *replay.After) wholeReportJSON {
	out := reportJSON{
		PlanID: text(r.PlanID), RunID: text(r.RunID), Started: moment(r.Started), Ended: moment(r.Ended), Selected: len(r.Results),
		Reinjected: r.Count(replay.EndReinjected), Suppressed: r.Count(replay.EndSuppressed), Quarantined: r.Count(replay.EndQuarantined),
		Refused: r.Count(replay.EndRefused), Failed: r.Count(replay.EndFailed), Untouched: r.Count(replay.EndUntouched),
		Earlier: r.Earlier(), totalsJSON: totalsOf(r.Totals()), Refusals: make(map[string]int),
	}
	for _, x := range r.Results {
		if x.Ending == replay.EndRefused {
			out.Refusals[string(x.Code)]++
		}
	}
	if after != nil {
		out.After = &afterJSON{
			after.Confirmed, after.Suppressed, after.Again, after.Settled,
			each(after.Unconfirmed, func(c *replay.Case) string { return c.EnvelopeID }),
		}
	}
	return wholeReportJSON{reportJSON: out}
}

// resultJSON is what a run did with one letter.
type resultJSON struct {
	EnvelopeID string      `json:"envelope_id"`
	Root       string      `json:"root"`
	Generation int         `json:"generation"`
	Ending     string      `json:"ending"`
	Code       *string     `json:"code"`
	Fact       *string     `json:"fact"`
	Error      *string     `json:"error"`
	Status     string      `json:"status"` // as far as the topics told when the command ended
	Own        bool        `json:"own_root_posted"`
	Again      bool        `json:"completed"` // an earlier run had brought it back and was cut off
	Earlier    bool        `json:"of_an_earlier_run"`
	Message    messageJSON `json:"message"`
}

func resultOf(x replay.Result) resultJSON {
	out := resultJSON{
		EnvelopeID: x.Case.EnvelopeID, Root: x.Case.Root.String(), Generation: x.Case.Generation, Ending: x.Ending.String(),
		Code: text(string(x.Code)), Fact: text(x.Fact), Status: string(x.Case.Status()), Own: x.Own, Again: x.Again,
		Earlier: x.Earlier, Message: messageOf(x.Case.Facts),
	}
	if x.Err != nil {
		out.Error = text(fault.Redact(x.Err.Error()))
	}
	return out
}

// planLines writes a plan as lines: its letters, then the plan without them. The plan file itself is one document.
func (r *wayBack) planLines(p *replay.Plan) error {
	if err := lines(r.job, each(p.Entries, entryOf)); err != nil {
		return err
	}
	outcomes := make(map[string]int)
	for _, e := range p.Entries {
		outcomes[string(e.Outcome)]++
	}
	return r.document(planJSON{
		p.ID, p.Action, envelope.FormatTime(p.CreatedAt), envelope.FormatTime(p.ExpiresAt), p.Actor, p.Reason, p.RootCause,
		text(p.Ticket), p.Selection, len(p.Entries), outcomes, totalsOf(p.Totals),
	})
}

// planJSON has the members of a plan file, and counts in place of the letters.
type planJSON struct {
	ID        string         `json:"id"`
	Action    string         `json:"action"`
	Created   string         `json:"created_at"`
	Expires   string         `json:"expires_at"`
	Actor     string         `json:"actor"`
	Reason    string         `json:"reason"`
	RootCause string         `json:"root_cause"`
	Ticket    *string        `json:"ticket"`
	Selection string         `json:"selection"`
	Selected  int            `json:"selected"`
	Outcomes  map[string]int `json:"outcomes"`
	totalsJSON
}

// entryJSON has the members of a plan file's letter.
type entryJSON struct {
	EnvelopeID string     `json:"envelope_id"`
	Root       string     `json:"root"`
	Generation int        `json:"generation"`
	Entity     *string    `json:"ledger_entity"`
	SourceHash *string    `json:"source_hash"`
	Currency   *string    `json:"currency"`
	Amount     *string    `json:"amount"`
	Outcome    string     `json:"outcome"`
	Code       *string    `json:"code"`
	Fact       string     `json:"fact"`
	Gates      []gateJSON `json:"gates"`
}

func entryOf(e replay.Entry) entryJSON {
	return entryJSON{
		e.EnvelopeID, e.Root.String(), e.Generation, text(e.Entity), text(e.SourceHash), text(e.Currency), text(e.Amount),
		string(e.Outcome), text(string(e.Code)), e.Fact, each(e.Gates, gateOf),
	}
}
