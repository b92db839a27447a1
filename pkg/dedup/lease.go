package dedup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

var (
	// ErrLeaseHeld: another replay run holds the lease; the error is a *LeaseHeldError.
	ErrLeaseHeld = errors.New("another replay run holds the lease")
	// ErrLeaseLost: the lease ran out, or was taken, before it was released.
	ErrLeaseLost = errors.New("the lease of this replay run is lost")
)

// LeaseHeldError names who holds the lease. errors.Is(err, ErrLeaseHeld) is true for it.
type LeaseHeldError struct {
	Owner string
	Since time.Time // UTC, by the holder's clock
}

// Error names the holder and since when it holds.
func (e *LeaseHeldError) Error() string {
	return fmt.Sprintf("%v: %s, since %s; a run that was killed holds it for dedup.run_lease after its last renewal", ErrLeaseHeld, e.Owner, e.Since.Format(stamp))
}

// Is makes every LeaseHeldError an ErrLeaseHeld.
func (e *LeaseHeldError) Is(target error) bool { return target == ErrLeaseHeld }

// Lease is the right to be the one replay run. It is renewed in the background at a third of its life until Release;
// who acquired it must release it, also after it was lost.
type Lease struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	stop   context.CancelFunc // ends renewing
	ended  chan struct{}      // closed when renewing has ended
	once   sync.Once
	life   time.Duration
	store  leaseKeeper
	value  string
}

// leaseKeeper is what a store does for a lease. Both answer ErrLeaseLost where the lease is not value's any more.
type leaseKeeper interface {
	renewLease(ctx context.Context, value string, life time.Duration) error
	dropLease(ctx context.Context, value string) error
}

// Context ends when the lease is lost (its cause is ErrLeaseLost), when the context given to AcquireLease ends, or
// with Release. Without renewal it ends a tenth of the life before the lease in the store does, so that the next run
// does not begin before this one has stopped.
func (l *Lease) Context() context.Context { return l.ctx }

// Release gives the lease back if it is still ours, and ends its context. An error means that it could not be given
// back and ends by itself after its life; a lost lease is nothing to give back and no error.
func (l *Lease) Release(ctx context.Context) error {
	var err error
	l.once.Do(func() {
		l.stop()
		<-l.ended
		if !errors.Is(context.Cause(l.ctx), ErrLeaseLost) {
			err = l.store.dropLease(ctx, l.value)
		}
		l.cancel(context.Canceled)
	})
	if errors.Is(err, ErrLeaseLost) {
		return nil
	}
	return err
}

// holdLease starts renewing a lease that was taken at the time taken, read before the store was asked. Renewing goes
// on when ctx ends: work in hand still needs the lease.
func holdLease(ctx context.Context, s leaseKeeper, value string, life time.Duration, taken time.Time) *Lease {
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	l := &Lease{stop: stop, ended: make(chan struct{}), life: life, store: s, value: value}
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	go l.keep(renewing, taken)
	return l
}

// keep renews until ctx ends (Release) or the lease is lost. taken is when the store was last asked with success.
func (l *Lease) keep(ctx context.Context, taken time.Time) {
	defer close(l.ended)
	pause := l.life / 3
	for {
		ends := taken.Add(l.life - l.life/10)
		next := time.NewTimer(min(pause, time.Until(ends)))
		select {
		case <-ctx.Done():
			next.Stop()
			return
		case <-next.C:
		}
		asked := time.Now()
		if !asked.Before(ends) {
			break
		}
		attempt, cancel := context.WithDeadline(ctx, ends)
		err := l.store.renewLease(attempt, l.value, l.life)
		cancel()
		if errors.Is(err, ErrLeaseLost) {
			break
		}
		if pause = l.life / 10; err == nil { // the store cannot answer: ours until it ends, ask more often
			taken, pause = asked, l.life/3
		}
	}
	l.cancel(ErrLeaseLost)
}

// newLeaseValue is the stored form: `<token> <since> <owner>`; the token makes it ours alone.
func newLeaseValue(owner string, now time.Time) (string, error) {
	if owner == "" || strings.ContainsFunc(owner, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", fmt.Errorf("owner of a replay run %q: want one line of text", owner)
	}
	return uuid.NewString() + " " + now.UTC().Format(stamp) + " " + owner, nil
}

// held is the error for a lease that another run's value holds.
func held(value string) error {
	f := strings.SplitN(value, " ", 3)
	if len(f) != 3 {
		return &LeaseHeldError{Owner: value}
	}
	since, err := time.Parse(stamp, f[1])
	if err != nil {
		return &LeaseHeldError{Owner: value}
	}
	return &LeaseHeldError{Owner: f[2], Since: since}
}
