package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"recon/pkg/fault"
)

// dependency is the name under which evidence and metrics blame the ledger.
const dependency = "ledger"

// away marks an error that says nothing about the record: the ledger cannot be used by anyone now.
type away struct {
	err  error
	text string
}

// Error drops the quotes: what databases quote in such errors are names of tables and users, which redaction would hide
// from the person who has to mend it.
func (a *away) Error() string { return strings.ReplaceAll(a.text, `"`, "") }
func (a *away) Unwrap() error { return a.err }

// IsAway tells whether err says that the ledger itself is away or unusable for everyone (no connection, wrong password,
// tables missing, disk full), so that waiting is right and spending a record's attempts is not. Such an error carries
// DEPENDENCY_UNAVAILABLE. A slow answer and a lost race are not that.
func IsAway(err error) bool {
	var a *away
	return errors.As(err, &a)
}

// blame gives a driver's error its code. ctx is the one that the statement ran under.
func (s *SQL) blame(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("the question to the ledger was cut off: %w", ctx.Err()) // the caller's doing: no failure, no code
	}
	code, everyone := s.db.blame(err)
	late := ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded)
	switch {
	case everyone || s.closed.Load():
		err = fault.Wrap(fault.DependencyUnavailable, &away{err: err, text: s.db.where() + ": " + s.db.explain(err)})
	case late && (code == "" || code == fault.DependencyTimeout):
		err = fault.Wrap(fault.DependencyTimeout, fmt.Errorf("%s: no answer in time: %w", s.db.where(), err))
	case code != "":
		err = fault.Wrap(code, fmt.Errorf("%s: %w", s.db.where(), err))
	default:
		err = fmt.Errorf("%s: %w", s.db.where(), err)
	}
	return fault.At(fault.StagePost, fault.On(dependency, err))
}

// contention is LOCK_CONTENTION for a race that no driver reported.
func contention(err error) error {
	return fault.At(fault.StagePost, fault.On(dependency, fault.Wrap(fault.LockContention, err)))
}
