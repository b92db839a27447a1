package replay

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// run is one execution of a plan.
type run struct {
	*Runner
	plan   *Plan
	id     string
	intake context.Context // ends the taking of letters; its cause is why
	halt   context.CancelCauseFunc
	work   context.Context // ends the work in hand: the lease is lost, or the grace is over
	scribe *scribe
	pace   pace
	report *Report
	done   atomic.Int64
	total  int
}

// job is one letter of the plan that is still to be done.
type job struct {
	entry  *Entry
	result *Result
	opened Opened
}

// Run executes exactly the plan, under the lease of a replay run, and asks the gates again for every letter. Nothing
// that the plan does not name is touched, and nothing that it refuses comes back. The end of ctx stops it in order:
// letters in hand are finished. f, which may be nil, is what was read before; it is read on, and the report's letters
// are its.
//
// Besides what reading and the store can say the errors are ErrPlanExpired, ErrPlanChanged, ErrNothing (every letter
// has its outcome), dedup.ErrLeaseHeld, ErrPrecondition; and after work was done ErrIncomplete, ErrInterrupted and
// ErrStopped. The report is never nil once letters were looked at. The same plan may be run again at any time: what was
// cut off at any point is completed, what is done is counted and not repeated.
func (r *Runner) Run(ctx context.Context, f *Fold, p *Plan) (*Report, error) {
	if err := r.ready(p); err != nil {
		return nil, err
	}
	lease, err := r.cfg.Store.AcquireLease(context.WithoutCancel(ctx), r.cfg.Owner)
	if err != nil {
		return nil, err
	}
	defer func() {
		// Whatever cannot be given back ends by itself.
		_ = lease.Release(context.WithoutCancel(ctx))
	}()
	if f == nil {
		f = NewFold()
	}
	// Only under the lease is what the topics say of the letters the last word of all runs before.
	if err := f.CatchUp(ctx, r.cfg.Options, r.cfg.Topics, r.cfg.Progress); err != nil {
		return nil, err
	}
	if err := f.whole(); err != nil {
		return nil, err
	}
	x := &run{Runner: r, plan: p, id: uuid.NewString(), pace: pace{every: r.cfg.every()}}
	x.report = &Report{PlanID: p.ID, RunID: x.id, Started: time.Now().UTC()}
	jobs, err := x.jobs(f)
	if err != nil {
		return nil, err
	}
	x.report.Ended = time.Now().UTC()
	if len(jobs) == 0 {
		return x.report, fmt.Errorf("%w: every letter of plan %.12s has its outcome", ErrNothing, p.ID)
	}
	err = x.execute(ctx, lease.Context(), jobs)
	x.report.Ended = time.Now().UTC()
	return x.report, err
}

// ready checks what does not need the topics.
func (r *Runner) ready(p *Plan) error {
	if r.cfg.Producer == nil || r.cfg.Journal == nil || r.cfg.Owner == "" {
		return fmt.Errorf("%w: a run needs a producer, a journal and an owner of its lease", ErrUsage)
	}
	if err := p.Verify(); err != nil {
		return err
	}
	if p.Action != ActionReplay {
		return fmt.Errorf("%w: plan %.12s is for %q, not for %s", ErrUsage, p.ID, p.Action, ActionReplay)
	}
	if now := time.Now(); now.After(p.ExpiresAt) {
		return fmt.Errorf("%w: plan %.12s held until %s; make a new one with --dry-run", ErrPlanExpired, p.ID, p.ExpiresAt.Format(time.RFC3339))
	}
	return nil
}

// jobs compares the plan with the topics, letter by letter, before anything is written: what an earlier run has done is
// taken into the report, the rest is to be done. One letter that something else has changed ends the run.
func (x *run) jobs(f *Fold) ([]*job, error) {
	x.report.Results = make([]Result, len(x.plan.Entries))
	named := make(map[string]bool, len(x.plan.Entries))
	var jobs []*job
	for i := range x.plan.Entries {
		e := &x.plan.Entries[i]
		if named[e.EnvelopeID] {
			return nil, fmt.Errorf("%w: it names letter %s twice", ErrPlanChanged, e.EnvelopeID)
		}
		named[e.EnvelopeID] = true
		result, done, err := e.standing(x.plan.ID, f)
		if err != nil {
			return nil, err
		}
		x.report.Results[i] = result
		if !done {
			jobs = append(jobs, &job{entry: e, result: &x.report.Results[i]})
		}
	}
	x.total = len(jobs)
	return jobs, nil
}

// execute works through jobs: a feeder loads letters in order, lanes do one entity's letters one after the other.
func (x *run) execute(ctx, held context.Context, jobs []*job) error {
	x.intake, x.halt = context.WithCancelCause(ctx)
	defer x.halt(nil)
	work, stop := context.WithCancelCause(held)
	x.work = work
	defer stop(nil)
	defer context.AfterFunc(held, func() { x.halt(fmt.Errorf("%w: %w", ErrStopped, context.Cause(held))) })()

	var helping, working sync.WaitGroup
	finished := make(chan struct{})
	x.scribe = newScribe(x.cfg.Journal, x.cfg.ProduceTimeout)
	helping.Go(func() { x.scribe.write(work) })
	helping.Go(func() { x.grace(finished, stop) })
	lanes := make([]chan *job, x.cfg.Concurrency)
	for i := range lanes {
		lanes[i] = make(chan *job, laneAhead)
		working.Go(func() {
			for j := range lanes[i] {
				x.take(j)
			}
		})
	}
	if err := x.feed(interleave(jobs), lanes); err != nil {
		x.halt(fmt.Errorf("%w: %w", ErrStopped, err))
	}
	for _, lane := range lanes {
		close(lane)
	}
	working.Wait()
	cause := context.Cause(x.intake)
	x.scribe.close()
	close(finished)
	helping.Wait()
	switch {
	case cause == nil || ctx.Err() != nil && x.report.Count(EndUntouched)+x.report.Count(EndFailed) == 0:
		return x.report.Err()
	case ctx.Err() != nil && errors.Is(cause, context.Cause(ctx)): // and not stopped by something else before
		return fmt.Errorf("%w: %d of %d letters are left; the same plan continues", ErrInterrupted, x.report.Count(EndUntouched)+x.report.Count(EndFailed), len(x.report.Results))
	default:
		return cause
	}
}

// grace ends the work in hand some time after the intake has ended.
func (x *run) grace(finished <-chan struct{}, stop context.CancelCauseFunc) {
	select {
	case <-finished:
		return
	case <-x.intake.Done():
	}
	over := time.NewTimer(x.cfg.Grace)
	defer over.Stop()
	select {
	case <-finished:
	case <-over.C:
		stop(fmt.Errorf("work in hand did not end within %s", x.cfg.Grace))
	}
}
