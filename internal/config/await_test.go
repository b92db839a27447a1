package config_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"recon/internal/config"
)

var errAway = errors.New("away")

// up answers like something that comes up after a while.
func up(after time.Duration, meanwhile error, again bool) func(context.Context) (bool, error) {
	start := time.Now()
	return func(context.Context) (bool, error) {
		if time.Since(start) >= after {
			return false, nil
		}
		return again, meanwhile
	}
}

// hangsLater is away, and after a second answers no more.
func hangsLater() func(context.Context) (bool, error) {
	away := up(time.Second, errAway, true)
	return func(ctx context.Context) (bool, error) {
		if again, err := away(ctx); err != nil {
			return again, err
		}
		<-ctx.Done()
		return false, ctx.Err()
	}
}

// hangs never answers.
func hangs(ctx context.Context) (bool, error) {
	<-ctx.Done()
	return false, ctx.Err()
}

// says away, and after a second something else.
func saysElse() func(context.Context) (bool, error) {
	away := up(time.Second, errAway, true)
	return func(ctx context.Context) (bool, error) {
		if again, err := away(ctx); err != nil {
			return again, err
		}
		return true, errors.New("starting")
	}
}

func TestAwaitEndsWithTheAnswerOrTheStartTimeout(t *testing.T) {
	for _, c := range []struct {
		name string
		ask  func() func(context.Context) (bool, error)
		took time.Duration
		want string
	}{
		{"there", func() func(context.Context) (bool, error) { return up(0, errAway, true) }, 0, ""},
		{"comes up", func() func(context.Context) (bool, error) { return up(2*time.Second, errAway, true) }, 2 * time.Second, ""},
		{"never comes", func() func(context.Context) (bool, error) { return up(time.Hour, errAway, true) }, 10 * time.Second, "waited 10s for the ledger (RECON_LEDGER_URL): away"},
		{"says no", func() func(context.Context) (bool, error) { return up(time.Hour, errAway, false) }, 0, "away"},
		{"hangs from the beginning", func() func(context.Context) (bool, error) { return hangs }, 10 * time.Second, "waited 10s for the ledger (RECON_LEDGER_URL): context deadline exceeded"},
		{"says something else in the end", saysElse, 10 * time.Second, "waited 10s for the ledger (RECON_LEDGER_URL): starting"},
		{"hangs at the end", hangsLater, 10 * time.Second, "waited 10s for the ledger (RECON_LEDGER_URL): away"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var e config.Effective
				e.Timeout.Startup = 10 * time.Second
				start, got := time.Now(), ""
				if err := e.Await(t.Context(), "ledger (RECON_LEDGER_URL)", c.ask()); err != nil {
					got = err.Error()
				}
				if took := time.Since(start); got != c.want || took != c.took {
					t.Errorf("got %q after %s, want %q after %s", got, took, c.want, c.took)
				}
			})
		})
	}
}

func TestAwaitStopsWhenItIsToldTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e config.Effective
		e.Timeout.Startup = time.Minute
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, cancel)
		start := time.Now()
		if err := e.Await(ctx, "ledger", hangsLater()); err != context.Canceled {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("took %s, want 3s", took)
		}
	})
}

// Only who cancels knows why it ended; a caller's deadline says less than the answer does.
func TestAwaitExplainsTheCallersDeadlineToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e config.Effective
		e.Timeout.Startup = time.Minute
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if err := e.Await(ctx, "ledger", up(time.Hour, errAway, true)); !errors.Is(err, errAway) {
			t.Errorf("got %v, want %v", err, errAway)
		}
	})
}

func TestAwaitEndsWhatItsQuestionsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e config.Effective
		e.Timeout.Startup = time.Minute
		var lent context.Context
		err := e.Await(t.Context(), "ledger", func(ctx context.Context) (bool, error) {
			lent = ctx
			return false, nil
		})
		if err != nil || lent.Err() == nil {
			t.Errorf("%v; the question's context has %v, want it ended", err, lent.Err())
		}
	})
}

func TestVersionIsNeverEmpty(t *testing.T) {
	if config.Version() == "" {
		t.Error("the version is empty")
	}
}
