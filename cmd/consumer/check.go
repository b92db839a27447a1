package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

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
	var bad []string
	say := func(what string, err error) {
		if err != nil {
			bad = append(bad, what)
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
	err = books.ledger.Ping(j.ctx)
	say("ledger", err)
	if err == nil {
		warnOfNoCurrency(j, books)
	}
	if len(bad) > 0 { // why has been said
		return fmt.Errorf("%w: %s", errPrecondition, strings.Join(bad, ", "))
	}
	return nil
}

// warnOfNoCurrency looks at what the ledger's owners must fill, once the first start has made the tables.
func warnOfNoCurrency(j *job, b *books) {
	switch some, err := b.ledger.MapsAny(j.ctx); {
	case err != nil:
		fmt.Fprintf(j.out, "warning: ledger: its table currencies cannot be read: %v; the first `consumer run` makes it where it may, then it wants filling\n", err)
	case !some:
		fmt.Fprintln(j.out, "warning: ledger: it maps no currency, so every record becomes a dead letter CURRENCY_UNMAPPED: fill the table currencies")
	}
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
