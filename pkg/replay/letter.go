package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/audit"
	"recon/pkg/dedup"
	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// letter takes one letter from the gates to its disposition. The order is the promise: reserved before anything is
// written, the original acknowledged before the evidence, the evidence before the disposition. Cut off anywhere, the
// letter is open, and the next run of the plan finds by the reservation and by the store what is done already.
func (x *run) letter(j *job) {
	v := x.judge(j)
	switch {
	case x.work.Err() != nil:
		return // the gates could not answer any more; nothing was done
	case v.fatal != nil:
		x.stop(j, v.fatal)
		return
	}
	v = x.within(j.entry, v)
	if v.outcome == Reinject {
		var err error
		if v, err = x.bringBack(j, v); err != nil {
			x.failed(j, err)
			return
		}
	}
	if err := x.record(j, v); err != nil {
		x.failed(j, err)
		return
	}
	j.result.Ending, j.result.Code, j.result.Fact = ended[v.outcome], v.code, v.fact
	j.result.Own = v.outcome == Confirm
	j.result.Again = j.result.Again || v.outcome == Complete
}

// judge asks the gates, unless the letter's end is known: then only the word for its replay is missing.
func (x *run) judge(j *job) verdict {
	if c := j.result.Case; !c.Replayable() {
		return verdict{outcome: Complete, fact: fmt.Sprintf("its replay was seen: the letter is %s", c.Status())}
	}
	return judge(x.work, x.cfg.Gates, &j.opened)
}

// ended is what an outcome comes to once it is recorded.
var ended = map[Outcome]Ending{
	Reinject: EndReinjected, Complete: EndReinjected, Suppress: EndSuppressed, Confirm: EndSuppressed, Refuse: EndRefused,
}

// failed ends a letter whose outcome is not known. Only a record that its topic cannot take is that letter's own
// matter; behind everything else more would fail the same way, so the run takes no more letters.
func (x *run) failed(j *job, err error) {
	j.result.Ending, j.result.Err = EndFailed, err
	if !errors.Is(err, kerr.MessageTooLarge) {
		x.stop(j, err)
	}
}

// stop lets the run take no more letters. A store that is away refuses none of them: the same plan goes on when it is
// back.
func (x *run) stop(j *job, err error) {
	if ExitOf(err) != ExitPrecondition {
		err = fmt.Errorf("%w: letter %s: %w", ErrStopped, j.entry.EnvelopeID, err)
	}
	x.halt(err)
}

// within keeps a run inside its plan: what the plan does not bring back stays where it is, whatever the gates say now.
func (x *run) within(e *Entry, v verdict) verdict {
	if v.outcome != Reinject || e.Outcome == Reinject {
		return v
	}
	return verdict{
		outcome: Refuse, code: cmp.Or(e.Code, fault.FailedDedupHorizon), gates: v.gates,
		fact: fmt.Sprintf("the plan says %s (%s); it would pass now: make a new plan", e.Outcome, e.Fact),
	}
}

// bringBack reserves the letter for its one replay and puts the original on main. Where the reservation finds something
// in the way it is for the gates to say what.
func (x *run) bringBack(j *job, v verdict) (verdict, error) {
	c, m := j.result.Case, j.opened.Message
	a, err := x.cfg.Store.Reserve(x.work, dedup.Reservation{
		Hash: m.SourceHash, EnvelopeID: c.EnvelopeID, ReplayID: envelope.ReplayID(c.EnvelopeID), Root: c.Root, Generation: c.Generation,
	})
	if err != nil {
		return v, err
	}
	if a.Refused {
		v = judge(x.work, x.cfg.Gates, &j.opened)
		if err := cmp.Or(v.fatal, context.Cause(x.work)); err != nil {
			return v, err
		}
		if v.outcome == Reinject {
			s := a.Stored
			v.outcome, v.code = Refuse, fault.FailedInFlightElsewhere
			v.fact = fmt.Sprintf("the dedup store refused it for %s generation %d, which was %s", s.Root, s.Generation, s.State)
		}
		return v, nil
	}
	j.result.Again = a.AlreadyMine
	if err := x.produce(x.work, original(x.cfg.Topics.Main(), &j.opened)); err != nil {
		return v, fmt.Errorf("its original to %s: %w", x.cfg.Topics.Main(), err)
	}
	return v, nil
}

// original is what goes back: key, value and own headers byte for byte, to the origin's partition, at the current time,
// as the first attempt of the next generation.
func original(topic string, o *Opened) *kgo.Record {
	l, m := o.Letter, o.Message
	r := envelope.Retry{
		Root: l.Lineage.Root, Generation: l.Lineage.Generation + 1, MessageID: m.MessageID, FirstSeen: l.FirstSeenAt,
		MatchDeadline: m.MatchDeadline, Replay: envelope.ReplayID(l.EnvelopeID), Envelope: l.EnvelopeID,
	}
	return &kgo.Record{
		Topic: topic, Partition: l.Origin.Partition,
		Key: l.Original.Key, Value: l.Original.Value, Headers: r.Append(l.Original.Headers),
	}
}

// words are the state and the event that tell an outcome.
var words = map[Outcome]struct {
	state envelope.State
	event string
}{
	Reinject: {envelope.Reinjected, audit.EventReinjected},
	Complete: {envelope.Reinjected, audit.EventReinjected},
	Suppress: {envelope.Suppressed, audit.EventReplaySuppressed},
	Confirm:  {envelope.Confirmed, audit.EventReplaySuppressed},
	Refuse:   {envelope.Refused, audit.EventReplayRefused},
}

// record writes the evidence, then the disposition, each acknowledged before it goes on.
func (x *run) record(j *job, v verdict) error {
	c, now := j.result.Case, time.Now().UTC()
	facts := c.Facts
	if m := j.opened.Message; m != nil && j.opened.Invalid == nil {
		facts = m.Facts()
	}
	err := x.scribe.tell(x.work, audit.Event{
		Type: words[v.outcome].event, At: now, Root: c.Root, Generation: c.Generation, MessageID: cmp.Or(facts.MessageID, c.messageID()),
		TraceID: facts.TraceID, SourceHash: facts.SourceHash, MatchDecision: facts.MatchDecision, Entity: facts.LedgerEntity,
		Currency: facts.Currency, Amount: facts.Amount, Failure: string(v.code), Actor: x.cfg.Actor, RunID: x.id, Detail: v.fact,
	})
	if err != nil {
		return fmt.Errorf("its evidence: %w", err)
	}
	d := &envelope.Disposition{
		EnvelopeID: c.EnvelopeID, Root: c.Root, Generation: c.Generation, State: words[v.outcome].state, Code: v.code,
		SourceHash: facts.SourceHash, TraceID: facts.TraceID, MatchDecision: facts.MatchDecision, Entity: facts.LedgerEntity,
		Currency: facts.Currency, Amount: facts.Amount, RunID: x.id, PlanID: x.plan.ID, Actor: x.cfg.Actor,
		Reason: x.plan.Reason, RootCause: x.plan.RootCause, Ticket: x.plan.Ticket, Note: v.fact, Evidence: v.evidence,
		ConfigDigest: x.cfg.ConfigDigest, At: now,
	}
	if d.State == envelope.Reinjected {
		d.ReplayID = envelope.ReplayID(c.EnvelopeID)
	}
	value, err := d.Encode()
	if err != nil {
		return err
	}
	rec := &kgo.Record{Topic: x.cfg.Topics.Dispositions(), Key: []byte(c.EnvelopeID), Value: value}
	if err := x.produce(x.work, rec); err != nil {
		return fmt.Errorf("its disposition to %s: %w", rec.Topic, err)
	}
	return nil
}

// produce writes one record within the limit of one write. Any error means that nobody knows whether it is there.
func (x *run) produce(ctx context.Context, r *kgo.Record) error {
	ctx, cancel := context.WithTimeout(ctx, x.cfg.ProduceTimeout)
	defer cancel()
	done := make(chan error, 1)
	x.cfg.Producer.Produce(ctx, r, func(_ *kgo.Record, err error) { done <- err })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
