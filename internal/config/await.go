package config

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// askEvery is the pause between two questions of Await.
const askEvery = 200 * time.Millisecond

// Await asks until the answer is good or not worth asking again, for the start timeout at most: what a command needs may
// still be on its way up. what names it, with its setting. The error is the answer, with the time waited where that
// ended it, or ctx's when the caller cancelled.
func (e *Effective) Await(ctx context.Context, what string, ask func(context.Context) (again bool, err error)) error {
	limited, cancel := context.WithTimeout(ctx, e.Timeout.Startup)
	defer cancel()
	var last error
	for {
		again, err := ask(limited)
		cut := limited.Err() != nil
		if err == nil || !again && !cut {
			return err
		}
		// An answer cut off by the end of the wait says less than the one before it.
		if last == nil || !cut {
			last = err
		}
		select {
		case <-limited.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return ctx.Err()
			}
			return fmt.Errorf("waited %s for the %s: %w", e.Timeout.Startup, what, last)
		case <-time.After(askEvery):
		}
	}
}
