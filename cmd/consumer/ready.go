package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// ledgerWatch keeps asking whether the ledger answers, for readiness. What a record meets meanwhile, the engine decides.
type ledgerWatch struct {
	ping func(context.Context) error
	away atomic.Pointer[error]
}

const (
	watchEvery = 2 * time.Second
	watchLimit = 5 * time.Second
)

// run asks until ctx ends.
func (w *ledgerWatch) run(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		limited, cancel := context.WithTimeout(ctx, watchLimit)
		err := w.ping(limited)
		cancel()
		if err == nil || ctx.Err() != nil {
			w.away.Store(nil)
			continue
		}
		w.away.Store(&err)
	}
}

// with adds the ledger to the reasons of others.
func (w *ledgerWatch) with(others func() []string) func() []string {
	return func() []string {
		why := others()
		if err := w.away.Load(); err != nil {
			why = append(why, fmt.Sprintf("ledger: %v", *err))
		}
		return why
	}
}
