package replay

import (
	"context"
	"errors"

	"recon/pkg/dedup"
)

// Exit is the exit code of a command (CONTRACT 8).
type Exit int

// The exit codes, in the order of the contract.
const (
	ExitDone         Exit = 0
	ExitError        Exit = 1
	ExitUsage        Exit = 2
	ExitNothing      Exit = 3
	ExitIncomplete   Exit = 4
	ExitStopped      Exit = 5
	ExitInterrupted  Exit = 6
	ExitPlan         Exit = 7
	ExitLease        Exit = 8
	ExitPrecondition Exit = 9
	ExitIntegrity    Exit = 10
	ExitApproval     Exit = 11
)

// How a plan or a run can end other than well; errors.Is finds them in what this package returns.
var (
	// ErrUsage: the command cannot be carried out as it was given.
	ErrUsage = errors.New("usage")
	// ErrNothing: nothing matched, or every letter of the plan has its outcome.
	ErrNothing = errors.New("nothing to do")
	// ErrIncomplete: finished, but some letters were refused or failed, or are not confirmed.
	ErrIncomplete = errors.New("not every letter came back")
	// ErrStopped: the run ended itself before its last letter; the same plan continues it.
	ErrStopped = errors.New("the run stopped")
	// ErrInterrupted: the run was asked to end; the same plan continues it.
	ErrInterrupted = errors.New("interrupted")
	// ErrPlanExpired: the plan is older than it may be.
	ErrPlanExpired = errors.New("the plan has expired")
	// ErrPlanChanged: the plan, or a letter of it, was changed by something else than this plan.
	ErrPlanChanged = errors.New("the plan no longer holds")
	// ErrPrecondition: topics or store are not what a run relies on.
	ErrPrecondition = errors.New("a precondition does not hold")
)

// exits is in the order of precedence: an error may be several of these at once.
var exits = []struct {
	err  error
	code Exit
}{
	{dedup.ErrLeaseHeld, ExitLease},
	{dedup.ErrMemoryLost, ExitPrecondition},
	{dedup.ErrGroupReset, ExitPrecondition},
	{dedup.ErrEvicting, ExitPrecondition},
	{ErrPrecondition, ExitPrecondition},
	{ErrUsage, ExitUsage},
	{ErrPlanExpired, ExitPlan},
	{ErrPlanChanged, ExitPlan},
	{ErrInterrupted, ExitInterrupted},
	{ErrStopped, ExitStopped},
	{ErrNothing, ExitNothing},
	{ErrIncomplete, ExitIncomplete},
	{context.Canceled, ExitInterrupted},
}

// ExitOf gives the exit code of what a command of this package returned.
func ExitOf(err error) Exit {
	if err == nil {
		return ExitDone
	}
	for _, e := range exits {
		if errors.Is(err, e.err) {
			return e.code
		}
	}
	return ExitError
}
