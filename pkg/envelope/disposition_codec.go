package envelope

import (
	"errors"
	"fmt"
	"time"

	"recon/pkg/fault"
)

var dispositionProperties = []property[Disposition]{
	version[Disposition]("disposition_version", DispositionVersion),
	text("event_id", ruleUUID, func(d *Disposition) *string { return &d.EventID }),
	text("envelope_id", ruleUUID, func(d *Disposition) *string { return &d.EnvelopeID }),
	coordinates("root", func(d *Disposition) *Coordinates { return &d.Root }),
	count("generation", func(d *Disposition) *int { return &d.Generation }),
	text("state", ruleState, func(d *Disposition) *State { return &d.State }),
	textOrNull("code", ruleCode, func(d *Disposition) *fault.Failure { return &d.Code }),
	textOrNull("source_hash", ruleHash, func(d *Disposition) *string { return &d.SourceHash }),
	textOrNull("trace_id", ruleShort1, func(d *Disposition) *string { return &d.TraceID }),
	textOrNull("match_decision", ruleDecision, func(d *Disposition) *string { return &d.MatchDecision }),
	textOrNull("entity", ruleShort1, func(d *Disposition) *string { return &d.Entity }),
	textOrNull("currency", ruleCurrency, func(d *Disposition) *string { return &d.Currency }),
	textOrNull("amount", ruleAmount, func(d *Disposition) *string { return &d.Amount }),
	textOrNull("run_id", ruleLabel, func(d *Disposition) *string { return &d.RunID }),
	textOrNull("replay_id", ruleUUID, func(d *Disposition) *string { return &d.ReplayID }),
	textOrNull("plan_id", ruleLabel, func(d *Disposition) *string { return &d.PlanID }),
	textOrNull("actor", ruleLabel, func(d *Disposition) *string { return &d.Actor }),
	textOrNull("reason", ruleLong, func(d *Disposition) *string { return &d.Reason }),
	textOrNull("root_cause", ruleName, func(d *Disposition) *string { return &d.RootCause }),
	textOrNull("outcome", ruleOutcome, func(d *Disposition) *string { return &d.Outcome }),
	textOrNull("period", ruleLabel, func(d *Disposition) *string { return &d.Period }),
	textOrNull("note", ruleLong, func(d *Disposition) *string { return &d.Note }),
	textOrNull("ticket", ruleLabel, func(d *Disposition) *string { return &d.Ticket }),
	textOrNull("journal_ref", ruleLabel, func(d *Disposition) *string { return &d.JournalRef }),
	textOrNull("superseded_by", ruleLabel, func(d *Disposition) *string { return &d.SupersededBy }),
	textOrNull("lifts", ruleUUID, func(d *Disposition) *string { return &d.Lifts }),
	objectOrNull("evidence", evidenceProperties, func(d *Disposition) **Evidence { return &d.Evidence }),
	textOrNull("config_digest", ruleLabel, func(d *Disposition) *string { return &d.ConfigDigest }),
	moment("at", func(d *Disposition) *time.Time { return &d.At }),
}

var evidenceProperties = []property[Evidence]{
	textOrNull("posting_id", ruleLabel, func(e *Evidence) *string { return &e.PostingID }),
	momentOrNull("posted_at", func(e *Evidence) *time.Time { return &e.PostedAt }),
	coordinates("root", func(e *Evidence) *Coordinates { return &e.Root }),
}

var (
	ruleState = rule{"a state of a letter", func(s string) bool {
		switch State(s) {
		case Acknowledged, Refused, Reinjected, Confirmed, Suppressed, Quarantined, JournalPosted, Released, Resolved:
			return true
		}
		return false
	}}
	ruleOutcome = oneOf("duplicate, superseded, invalid_at_source, posted_manually or below_tolerance",
		OutcomeDuplicate, OutcomeSuperseded, OutcomeInvalidAtSource, OutcomePostedManually, OutcomeBelowTolerance)
)

// Encode gives the disposition as CONTRACT 6 has it. It fills EventID where empty and cuts what people wrote to its
// limit. An error names what the state needs and d does not have, or the field that breaks its rule.
func (d *Disposition) Encode() ([]byte, error) {
	c := *d
	if c.EventID == "" {
		c.EventID = c.ID()
	}
	c.Reason, c.Note = cutCharacters(c.Reason, maxDetail), cutCharacters(c.Note, maxDetail)
	b, err := writeObject(make([]byte, 0, 1024), &c, dispositionProperties)
	if err == nil {
		err = c.complete()
	}
	if err != nil {
		return nil, fmt.Errorf("disposition %s of letter %s: %w", c.State, c.EnvelopeID, err)
	}
	d.EventID = c.EventID
	return b, nil
}

// DecodeDisposition reads a disposition strictly, as DecodeLetter reads a letter. ErrVersion says that a newer program
// wrote it.
func DecodeDisposition(b []byte) (*Disposition, error) {
	d := new(Disposition)
	err := readDocument(b, d, dispositionProperties)
	if err == nil {
		err = d.complete()
	}
	if err = versioned(b, "disposition_version", DispositionVersion, err); err != nil {
		return nil, fmt.Errorf("disposition: %w", err)
	}
	return d, nil
}

// complete checks that d has what its state needs to be evidence, and that it speaks of the letter that its root and
// generation have.
func (d *Disposition) complete() error {
	if d.EnvelopeID != EnvelopeID(d.Root, d.Generation) {
		return errors.New("envelope_id is not the one of root and generation")
	}
	need := func(name, value string) error {
		if value == "" {
			return fmt.Errorf("state %s needs %s", d.State, name)
		}
		return nil
	}
	switch d.State {
	case Acknowledged:
		return need("actor", d.Actor)
	case Refused:
		return need("code", string(d.Code))
	case Reinjected:
		return need("replay_id", d.ReplayID)
	case Suppressed:
		if d.Code != fault.FailedReplayDuplicate {
			return fmt.Errorf("state %s needs code %s", d.State, fault.FailedReplayDuplicate)
		}
	case JournalPosted:
		return errors.Join(need("journal_ref", d.JournalRef), need("period", d.Period), need("amount", d.Amount))
	case Released:
		return need("lifts", d.Lifts)
	case Resolved:
		return errors.Join(need("outcome", d.Outcome), need("actor", d.Actor))
	}
	return nil
}
