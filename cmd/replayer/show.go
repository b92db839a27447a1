package main

import (
	"errors"
	"fmt"

	"recon/pkg/envelope"
	"recon/pkg/replay"
)

// showCmd is `replayer show ID`.
type showCmd struct {
	ID string `arg:"" help:"Envelope id."`
}

// Run prints one letter with what the gates say now. Without store or ledger the gates are not asked, and it says so.
func (c *showCmd) Run(j *job) error {
	t := j.tools()
	defer t.close()
	t.needCalendar()
	asking := j.settings.Redis.URL != "" && j.settings.Ledger.URL != ""
	if asking {
		t.needStore()
		t.needLedger()
	}
	if err := t.open(); err != nil {
		return err
	}
	f, err := t.fold()
	if err != nil {
		return err
	}
	letter, ok := f.Case(c.ID)
	if !ok {
		return fmt.Errorf("%w: no letter has the id %s; `replayer list` gives ids", replay.ErrNothing, c.ID)
	}
	opened, entry, err := t.look(letter, asking)
	if opened == nil {
		return err
	}
	if !asking {
		fmt.Fprintln(j.errs, "the gates are not asked: that needs redis.url (RECON_REDIS_URL) and ledger.url (RECON_LEDGER_URL)")
	}
	return errors.Join(c.write(j, letter, opened, entry), err)
}

// look reads the letter again and asks the gates about it. With an error there may be a letter all the same: what could
// not be asked is no reason not to show it.
func (t *tools) look(letter *replay.Case, asking bool) (*replay.Opened, replay.Entry, error) {
	opened, err := replay.Load(t.ctx, t.opts, []*replay.Case{letter})
	if err != nil {
		return nil, replay.Entry{}, err
	}
	if !asking {
		return &opened[0], replay.Entry{}, nil
	}
	if err := t.openBooks(); err != nil {
		return &opened[0], replay.Entry{}, fmt.Errorf("the gates were not asked: %w", err)
	}
	_, entry, err := t.check(letter)
	return &opened[0], entry, err
}

// check asks the gates as a run would.
func (t *tools) check(letter *replay.Case) (*replay.Opened, replay.Entry, error) {
	r, err := replay.New(replay.Config{
		Topics: t.names, Options: t.opts, Store: t.store, Gates: t.gates(), Actor: "nobody", Reason: "to look", RootCause: "unknown",
	})
	if err != nil {
		return nil, replay.Entry{}, err
	}
	return r.Check(t.ctx, letter)
}

// gates are those that every letter must pass, in their order.
func (t *tools) gates() []replay.Gate {
	return []replay.Gate{
		replay.Integrity{},
		replay.Cause{Handler: t.ledger},
		replay.Idempotency{Store: t.store, Ledger: t.ledger},
		replay.Temporal{Calendar: t.calendar},
	}
}

func (c *showCmd) write(j *job, letter *replay.Case, o *replay.Opened, e replay.Entry) error {
	if j.form == asTable {
		replay.PrintLetter(j.out, letter, o, e)
		return nil
	}
	out := shownJSON{letterJSON: letterOf(letter), Outcome: text(string(e.Outcome)), Gates: each(e.Gates, gateOf)}
	if o.Letter != nil {
		out.ErrorDetail = text(o.Letter.ErrorDetail)
		out.ValueSHA256, out.ValueBytes = text(o.Letter.Original.ValueSHA256), len(o.Letter.Original.Value)
		out.History, out.Omitted = each(o.Letter.History, attemptOf), o.Letter.HistoryOmitted
	}
	return j.document(out)
}

// shownJSON is a letter with what one look at it alone gives: the whole error_detail, its history, the gates.
type shownJSON struct {
	letterJSON
	ValueSHA256 *string       `json:"value_sha256"`
	ValueBytes  int           `json:"value_bytes"`
	History     []attemptJSON `json:"history"`
	Omitted     int           `json:"history_omitted"`
	Gates       []gateJSON    `json:"gates"`   // empty: they were not asked
	Outcome     *string       `json:"outcome"` // what a replay would come to now
}

type attemptJSON struct {
	Attempt     int     `json:"attempt"`
	At          *string `json:"at"`
	Stage       string  `json:"stage"`
	Class       string  `json:"failure_class"`
	ErrorCode   string  `json:"error_code"`
	ErrorDetail *string `json:"error_detail"`
	WaitedMS    int64   `json:"waited_ms"`
	TookMS      int64   `json:"took_ms"`
	Instance    *string `json:"instance"`
}

func attemptOf(a envelope.Attempt) attemptJSON {
	return attemptJSON{
		a.Attempt, moment(a.At), string(a.Stage), string(a.FailureClass), string(a.ErrorCode), text(a.ErrorDetail),
		a.Waited.Milliseconds(), a.Took.Milliseconds(), text(a.Instance),
	}
}

type gateJSON struct {
	Gate string  `json:"gate"`
	Pass bool    `json:"pass"`
	Code *string `json:"code"`
	Fact string  `json:"fact"`
}

func gateOf(n replay.Named) gateJSON { return gateJSON{n.Gate, n.Pass, text(string(n.Code)), n.Fact} }
