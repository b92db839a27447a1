package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"go.uber.org/zap"

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
		return err
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
	return hasCommitted(j.ctx, adm, j.settings.Group)
}

func hasCommitted(ctx context.Context, adm *kadm.Client, group string) (bool, error) {
	offsets, err := adm.FetchOffsets(ctx, group)
	if err == nil {
		err = offsets.Error()
	}
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		return false, fmt.Errorf("committed offsets of group %s: %w", group, err)
	}
	return len(offsets) > 0, nil
}

// checkStore opens the store as `run` would for a group with offsets; for a new group it only asks whether it answers,
// since opening would make its generation.
func checkStore(ctx context.Context, b *books, committed bool) error {
	if committed {
		return b.store.Open(ctx, true, false)
	}
	if err := b.store.Ping(ctx); !errors.Is(err, dedup.ErrNotOpen) {
		return err
	}
	return nil
}
