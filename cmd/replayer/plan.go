package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/replay"
)

// readPlan reads the file of --plan. ErrPlanChanged and ErrPlanExpired: it is one, but must not be executed.
func readPlan(name string) (*replay.Plan, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("--plan: %w", err)
	}
	p, err := replay.DecodePlan(b)
	switch {
	case err != nil:
		return nil, fmt.Errorf("--plan %s: %w", name, err)
	case time.Now().After(p.ExpiresAt): // the run looks again; here it saves the person a long way
		return nil, fmt.Errorf("--plan %s: %w: it held until %s; make a new one with --dry-run", name, replay.ErrPlanExpired, envelope.FormatTime(p.ExpiresAt))
	}
	return p, nil
}

// open waits for Kafka, store and ledger, and looks at the topics that a run relies on.
func (r *wayBack) open() error {
	if err := r.tools.open(); err != nil {
		return err
	}
	if _, err := r.checkTopics(); err != nil {
		return err
	}
	return r.openBooks()
}

// makePlan asks the gates about every letter that is selected.
func (r *wayBack) makePlan(f *replay.Fold) (*replay.Plan, error) {
	p := r.progress("asking the gates")
	cfg := r.config
	cfg.Observe = func(e replay.Event) { p.at(int64(e.Done), int64(e.Total)) }
	runner, err := replay.New(cfg)
	if err != nil {
		return nil, err
	}
	plan, err := runner.Plan(r.ctx, f, r.selection)
	p.end()
	if errors.Is(err, replay.ErrNothing) {
		return nil, errors.Join(r.report(&replay.Report{}, nil), err)
	}
	return plan, err
}

// keep writes the plan to its file and shows it: what --dry-run does.
func (r *wayBack) keep(name string, p *replay.Plan) error {
	b, err := p.Encode()
	if err != nil {
		return err
	}
	if name == "" {
		name = "recon-plan-" + p.ID[:8] + ".json"
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("plan file: %w", err)
	}
	_, err = file.Write(b)
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("plan file: %w", errors.Join(err, os.Remove(name))) // half a plan would only be in the way
	}
	fmt.Fprintf(r.aside(), "plan file %s: `replayer replay --plan %s` executes it\n", name, name)
	switch r.form {
	case asJSON:
		_, err = r.out.Write(b)
		return err
	case asLines:
		return r.planLines(p)
	}
	r.sayCalendar()
	replay.PrintPlan(r.out, p)
	return nil
}

// confirm shows the plan to a person, who types the count of the letters that are left of it. Anything else ends the
// command. Where none is left nothing is asked: the run says so.
func (r *wayBack) confirm(f *replay.Fold, p *replay.Plan) error {
	left, err := p.Left(f)
	if err != nil || left == 0 {
		return err
	}
	var b bytes.Buffer
	replay.PrintPlan(&b, p)
	_, body, _ := strings.Cut(b.String(), "\n") // the first line says that nothing will be changed
	head := fault.Printable(fmt.Sprintf("Plan %s by %s: %s (%s)", p.ID, p.Actor, p.Reason, p.RootCause))
	fmt.Fprintf(r.aside(), "%s\n%s", head, body)
	r.sayCalendar()
	if done := len(p.Entries) - left; done > 0 {
		fmt.Fprintf(r.aside(), "of these %d done earlier, %d left\n", done, left)
	}
	answer := make(chan bool, 1)
	go func() { answer <- replay.ConfirmCount(r.in, r.errs, left) }() // who waits for a key cannot be ended
	select {
	case <-r.ctx.Done():
		return fmt.Errorf("%w before the count was typed, nothing was changed", replay.ErrInterrupted)
	case yes := <-answer:
		if !yes {
			return fmt.Errorf("%w: not confirmed, nothing was changed", replay.ErrUsage)
		}
		return nil
	}
}

// sayCalendar says what no gate can know.
func (r *wayBack) sayCalendar() {
	if r.calendar == nil {
		fmt.Fprintln(r.aside(), "no calendar: nothing is refused for its period")
	}
}
