package main

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strings"
	"time"
	"unicode"

	"recon/pkg/replay"
)

// replayCmd is `replayer replay`, and what the replayer does when no command is named.
type replayCmd struct {
	selection
	All       bool     `help:"No selection on purpose: every open letter." group:"selection"`
	Reason    string   `placeholder:"TEXT" help:"Why these letters may come back (required)."`
	RootCause string   `placeholder:"NAME" help:"What was wrong (required): mapping_missing, rate_late, feed_schema, dependency_outage, duplicate_feed, master_data, counterpart_late or unknown."`
	Ticket    string   `placeholder:"ID" help:"Ticket of this work."`
	As        string   `placeholder:"NAME" help:"Who does it, as claimed; else the user of the operating system."`
	DryRun    bool     `help:"Ask the gates, write the plan to a file, change nothing."`
	PlanOut   string   `placeholder:"FILE" help:"Where --dry-run puts the plan (recon-plan-ID.json)."`
	Plan      string   `placeholder:"FILE" help:"Execute exactly this plan; the gates are asked again."`
	Yes       bool     `help:"Do not ask; needed where no terminal is."`
	Rate      float64  `placeholder:"N" help:"Letters begun per second at most."`
	Wait      patience `help:"Wait until what went back has its end; --wait=5m for so long at most (10m)."`
}

// Run makes a plan, or takes the one of a file, and executes it once it is confirmed.
func (c *replayCmd) Run(j *job) error {
	r, err := c.prepare(j)
	if err != nil {
		return err
	}
	defer r.close()
	if err := r.open(); err != nil {
		return err
	}
	f, err := r.fold()
	if err != nil {
		return err
	}
	plan := r.plan
	if plan == nil {
		if plan, err = r.makePlan(f); err != nil {
			return err
		}
	}
	switch {
	case c.DryRun:
		return r.keep(c.PlanOut, plan)
	case !c.Yes:
		if err := r.confirm(f, plan); err != nil {
			return err
		}
	}
	return r.execute(f, plan, c.Wait)
}

// wayBack is a replay that is being prepared or done.
type wayBack struct {
	*tools
	selection replay.Selection
	config    replay.Config // without producer and journal, which only a run has
	plan      *replay.Plan  // of --plan; nil: one is to be made
}

// prepare reads the command line. All mistakes, those of the configuration too, are reported together; nobody is asked.
func (c *replayCmd) prepare(j *job) (*wayBack, error) {
	r := &wayBack{tools: j.tools()}
	r.needCalendar()
	r.needStore()
	r.needLedger()
	var mistakes []error
	r.selection, mistakes = c.of(r.calendar, time.Now())
	r.selection.All = c.All
	r.wrong(append(mistakes, c.mistakes(j, &r.selection)...)...)
	if c.Plan != "" {
		var err error
		if r.plan, err = readPlan(c.Plan); errors.Is(err, replay.ErrPlanChanged) || errors.Is(err, replay.ErrPlanExpired) {
			r.close()
			return nil, err
		}
		r.wrong(err)
	} else {
		r.wrong(r.selection.ValidateForWriting())
	}
	if err := c.configure(r); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// mistakes are flags that do not go together.
func (c *replayCmd) mistakes(j *job, sel *replay.Selection) []error {
	var errs []error
	wrong := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	wrong(c.Plan != "" && (c.All || c.given(sel)), "--plan executes exactly the letters of its file: leave the selection out")
	wrong(c.Plan != "" && c.Reason+c.RootCause+c.Ticket != "", "--plan has its reason, root cause and ticket in its file: leave --reason, --root-cause and --ticket out")
	wrong(c.Plan != "" && c.DryRun, "--plan executes and --dry-run does not: leave one out")
	wrong(c.PlanOut != "" && !c.DryRun, "--plan-out says where --dry-run puts the plan: add --dry-run or leave it out")
	wrong(c.DryRun && c.Wait.asked, "--wait waits for what a run brings back, --dry-run brings nothing back: leave one out")
	wrong(c.Plan == "" && c.Ticket == "" && j.settings.Replay.TicketRequired, "--ticket is missing: replay.ticket_required wants one")
	wrong(!c.DryRun && !c.Yes && !isTerminal(j.in), "no terminal to confirm at: say --yes, or see the plan first with --dry-run")
	if c.PlanOut != "" {
		_, err := os.Lstat(c.PlanOut)
		wrong(err == nil, "--plan-out %s: the file exists, and a plan is never written over", c.PlanOut)
	}
	return errs
}

// configure puts together what a Runner needs and lets it judge that.
func (c *replayCmd) configure(r *wayBack) error {
	s := r.settings
	actor, err := c.actor()
	r.wrong(err)
	r.config = replay.Config{
		Topics: r.names, Options: r.opts, Store: r.store, Gates: r.gates(), Owner: owner(s.Instance, actor), Actor: actor,
		Reason: c.Reason, RootCause: c.RootCause, Ticket: c.Ticket, RootCauses: s.Replay.RootCauses, ConfigDigest: s.Digest(),
		Rate: c.Rate, Grace: s.Timeout.Grace, ProduceTimeout: s.Timeout.Produce,
	}
	if s.From("concurrency") == "flag" {
		r.config.Concurrency = s.Concurrency
	}
	if r.plan != nil {
		r.config.Reason, r.config.RootCause, r.config.Ticket = r.plan.Reason, r.plan.RootCause, r.plan.Ticket
	}
	if c.Plan == "" || r.plan != nil { // the mistake of a plan file that cannot be read is named already
		judged := r.config
		if judged.Store == nil { // so is that of a store that has no address
			judged.Store = struct{ replay.Store }{}
		}
		_, err = replay.New(judged)
		r.wrong(err)
	}
	return r.usage()
}

// actor is who does it, as claimed.
func (c *replayCmd) actor() (string, error) {
	name := c.As
	if name == "" {
		name = fmt.Sprintf("uid %d", os.Getuid())
		if u, err := user.Current(); err == nil {
			name = u.Username
		}
	}
	if strings.ContainsFunc(name, unicode.IsControl) {
		return name, fmt.Errorf("--as %q: want a name of one line", name)
	}
	return name, nil
}

// owner names this run to the next person who finds the lease held.
func owner(instance, actor string) string {
	return fmt.Sprintf("%s on %s, process %d", actor, hostOr(instance), os.Getpid())
}

// hostOr is the instance, or the host where none is configured.
func hostOr(instance string) string {
	if instance != "" {
		return instance
	}
	if host, err := os.Hostname(); err == nil && host != "" {
		return host
	}
	return "unnamed"
}
