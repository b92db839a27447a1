package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"recon/pkg/audit"
	"recon/pkg/broker"
	"recon/pkg/envelope"
	"recon/pkg/ledger"
	"recon/pkg/replay"
	"recon/pkg/topics"
)

// auditCmd is `replayer audit`.
type auditCmd struct {
	Verify verifyCmd `cmd:"" help:"Prove from topics and ledger that every record is accounted for, and check the trail."`
}

// verifyCmd is `replayer audit verify`.
type verifyCmd struct{}

// Run takes the books and the trail. They do not hold: exit 10.
func (*verifyCmd) Run(j *job) error {
	t := j.tools()
	defer t.close()
	t.needGroup()
	t.needCalendar()
	t.needLedger()
	if err := t.open(); err != nil {
		return err
	}
	found, err := topics.Inspect(t.ctx, t.adm, t.names, nil)
	if err != nil {
		return err
	}
	if missing := found.Missing(t.names.Written(nil)); len(missing) > 0 {
		return fmt.Errorf("%w: missing topics: %v; `consumer topics --apply` creates all but %s", replay.ErrPrecondition, missing, t.names.Main())
	}
	if err := t.openBooks(); err != nil {
		return err
	}
	e, err := t.evidence(found.Tiers())
	if err != nil {
		return err
	}
	result := e.Books.Result()
	if err := t.counted(e, result); err != nil {
		return err
	}
	if j.form == asTable {
		err = printEvidence(j, e, result)
	} else {
		err = j.document(evidenceOf(e, result))
	}
	if err == nil && !(result.Closes() && e.Trail.Intact()) {
		return fmt.Errorf("%w: completeness closes: %t, trail intact: %t", errIntegrity, result.Closes(), e.Trail.Intact())
	}
	return err
}

// counted refuses books in which nothing is counted although main holds records: they close for any group that does not
// exist, and prove nothing.
func (t *tools) counted(e *audit.Evidence, result *audit.Result) error {
	if e.Beyond == 0 || result.Ingested.All().Records > 0 || slices.ContainsFunc(e.Spans, func(s broker.Span) bool {
		return s.Topic == t.names.Main() && s.From < s.To
	}) {
		return nil
	}
	return fmt.Errorf("%w: %s holds records, and group %s (RECON_GROUP) has committed none of them: nothing is counted, so nothing is proved; is this the consumer's group?",
		replay.ErrPrecondition, t.names.Main(), t.settings.Group)
}

// evidence reads every topic up to the group's positions, and every posting. tiers are those that exist.
func (t *tools) evidence(tiers []string) (*audit.Evidence, error) {
	return audit.Read(t.ctx, audit.ReadConfig{
		Options: t.opts, Group: t.settings.Group, Main: t.names.Main(), Tiers: tiers, DLQ: t.names.DLQ(),
		Dispositions: t.names.Dispositions(), Audit: t.names.Audit(),
		Postings: func(ctx context.Context, yield func(audit.Posting) error) error {
			return t.ledger.Each(ctx, func(p ledger.Posting) error { return yield(p.Evidence()) })
		},
	})
}

func printEvidence(j *job, e *audit.Evidence, result *audit.Result) error {
	records, open := 0, 0
	for _, c := range e.Trail.Chains {
		if records += c.Records; !c.Closed {
			open++
		}
	}
	_, err := fmt.Fprintf(j.out, "as of %s, group %s\naudit trail: %s, %d without a closing record, %s\n",
		envelope.FormatTime(e.At), j.settings.Group, replay.Counted(len(e.Trail.Chains), "chain", "chains"), open, replay.Counted(records, "record", "records"))
	for _, f := range e.Trail.Findings {
		fmt.Fprintf(j.out, "TRAIL: %s: chain %q, record %d: %s\n", f.Fault, f.Chain, f.Seq, strconv.QuoteToGraphic(f.Text))
	}
	if e.Trail.Intact() {
		fmt.Fprintln(j.out, "audit trail: intact, self-attested")
	} else {
		fmt.Fprintln(j.out, "audit trail: DOES NOT HOLD")
	}
	if e.Beyond > 0 {
		fmt.Fprintf(j.out, "not reached yet by group %s, and not counted: the records of %s offsets of main\n",
			j.settings.Group, envelope.Grouped(strconv.FormatInt(e.Beyond, 10)))
	}
	return errors.Join(err, result.Print(j.out))
}

type evidenceJSON struct {
	At         string                 `json:"at"`
	Closes     bool                   `json:"closes"`
	Beyond     int64                  `json:"offsets_not_reached"`
	Intact     bool                   `json:"trail_intact"`
	Chains     int                    `json:"chains"`
	Findings   []string               `json:"trail_findings"`
	Ingested   []tallyJSON            `json:"ingested"`
	By         map[string][]tallyJSON `json:"accounted_for"` // by outcome
	Missing    []string               `json:"missing"`       // roots
	Alarms     []alarmJSON            `json:"alarms"`
	BelowStart map[string]int         `json:"counted_from_the_trail"` // by partition of main
	Copies     int                    `json:"replays_on_main"`
}

type tallyJSON struct {
	Currency   *string `json:"currency"` // null: unreadable
	Records    int     `json:"records"`
	Debit      string  `json:"debit"`
	Credit     string  `json:"credit"`
	Unreadable int     `json:"unreadable_amounts"`
	HashTotal  string  `json:"hash_total"`
}

type alarmJSON struct {
	Root  string `json:"root"`
	Grave bool   `json:"grave"`
	Text  string `json:"text"`
}

// standings are the outcomes as members.
var standings = map[audit.Standing]string{
	audit.AsPosted: "posted", audit.AsResolved: "resolved", audit.AsJournaled: "journal_posted", audit.AsQuarantined: "awaiting_journal",
	audit.AsSuppressed: "suppressed", audit.AsOpen: "open", audit.AsWaiting: "waiting",
}

func evidenceOf(e *audit.Evidence, r *audit.Result) evidenceJSON {
	out := evidenceJSON{
		At: envelope.FormatTime(e.At), Closes: r.Closes(), Intact: e.Trail.Intact(), Chains: len(e.Trail.Chains), Beyond: e.Beyond,
		Findings: each(e.Trail.Findings, func(f audit.Finding) string {
			return fmt.Sprintf("%s: chain %s, record %d: %s", f.Fault, f.Chain, f.Seq, f.Text)
		}),
		Ingested: talliesOf(r.Ingested), By: make(map[string][]tallyJSON), Missing: each(r.Missing, envelope.Coordinates.String),
		Alarms:     each(r.Alarms, func(a audit.Alarm) alarmJSON { return alarmJSON{a.Root.String(), a.Grave, a.Text} }),
		BelowStart: make(map[string]int), Copies: r.Copies,
	}
	for standing, name := range standings {
		out.By[name] = talliesOf(r.By[standing])
	}
	for p, n := range r.BelowStart {
		out.BelowStart[strconv.Itoa(int(p))] = n
	}
	return out
}

func talliesOf(sums audit.Sums) []tallyJSON {
	return each(slices.Sorted(maps.Keys(sums)), func(currency string) tallyJSON {
		t := sums[currency]
		return tallyJSON{
			text(currency), t.Records, envelope.CanonicalAmount(t.Debit), envelope.CanonicalAmount(t.Credit), t.Unreadable,
			fmt.Sprintf("%016x", t.Hash),
		}
	})
}
