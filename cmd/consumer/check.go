package main

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"recon/internal/config"
	"recon/pkg/broker"
	"recon/pkg/consumer"
	"recon/pkg/dedup"
)

// checkCmd is `consumer check`.
type checkCmd struct {
	Online bool `help:"Also ask Kafka, the dedup store and the ledger."`
}

// Run checks the configuration, and with --online what it names. It asks everything before it fails, so that one run
// shows all that is wrong.
func (c *checkCmd) Run(j *job) error {
	books, err := openAll(j, zap.NewNop())
	if err != nil {
		return err
	}
	defer books.Close()
	if _, err := consumer.New(books.cfg, books.ledger, books.store); err != nil {
		return &config.UsageError{Err: err}
	}
	fmt.Fprintln(j.out, "configuration: ok")
	if j.settings.Calendar.File == "" {
		fmt.Fprintln(j.out, "calendar: no calendar; nothing is refused for its period")
	}
	if !c.Online {
		return nil
	}
	var errs []error
	say := func(what string, err error) {
		if err != nil {
			errs = append(errs, err)
			fmt.Fprintf(j.out, "%s: %v\n", what, err)
			return
		}
		fmt.Fprintf(j.out, "%s: ok\n", what)
	}
	committed, err := checkKafka(j)
	say("kafka", err)
	if err == nil {
		say("dedup store", checkStore(j.ctx, books, committed))
	}
	say("ledger", books.ledger.Ping(j.ctx))
	if len(errs) > 0 {
		return fmt.Errorf("%w: %w", errPrecondition, errors.Join(errs...))
	}
	return nil
}

// checkKafka compares the topics with the contract, and tells whether the group has committed offsets.
func checkKafka(j *job) (committed bool, err error) {
	adm, err := dial(j)
	if err != nil {
		return false, err
	}
	defer adm.Close()
	found, err := inspect(j, adm)
	if err != nil {
		return false, err
	}
	if err := report(j, found.Verify(), true); err != nil {
		return false, err
	}
	offsets, err := broker.Committed(j.ctx, j.settings.Timeout.Startup, adm, j.settings.Group)
	return len(offsets) > 0, err
}

// checkStore joins the store: it makes nothing there, so for a new group nothing need have begun with it yet.
func checkStore(ctx context.Context, b *books, committed bool) error {
	err := b.store.Join(ctx, committed)
	if !committed && errors.Is(err, dedup.ErrMemoryLost) {
		return nil
	}
	return err
}
