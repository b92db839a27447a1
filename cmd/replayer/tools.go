package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"recon/internal/config"
	"recon/pkg/broker"
	"recon/pkg/dedup"
	"recon/pkg/ledger"
	"recon/pkg/period"
	"recon/pkg/topics"
)

// tools are what a command works with. Making them asks nobody and collects mistakes; open reports those together, then
// waits for everything that was made.
type tools struct {
	*job
	mistakes []error
	names    topics.Names
	opts     []kgo.Opt // how to reach the broker for reading
	adm      *kadm.Client
	calendar *period.Calendar // nil: no calendar
	store    dedup.Store
	ledger   *ledger.SQL
}

// tools begins with Kafka, which every command reads.
func (j *job) tools() *tools {
	t := &tools{job: j, names: j.settings.Names()}
	var err error
	t.opts, err = j.settings.Broker(nil).Options()
	t.wrong(err, t.names.Validate())
	return t
}

// wrong notes mistakes of configuration or command line.
func (t *tools) wrong(errs ...error) {
	for _, err := range errs {
		if err != nil {
			t.mistakes = append(t.mistakes, err)
		}
	}
}

func (t *tools) needGroup() { t.wrong(t.names.ValidateGroup(t.settings.Group)) }

func (t *tools) needCalendar() {
	var err error
	t.calendar, err = t.settings.Periods()
	t.wrong(err)
}

func (t *tools) needStore() {
	t.needGroup()
	var err error
	t.store, err = t.settings.Store()
	t.wrong(err)
}

// needLedger needs the calendar before it.
func (t *tools) needLedger() {
	var err error
	t.ledger, err = t.settings.OpenLedger(t.calendar)
	t.wrong(err)
}

// usage is all mistakes so far as one error, nil without any.
func (t *tools) usage() error {
	if err := errors.Join(t.mistakes...); err != nil {
		return &config.UsageError{Err: err}
	}
	return nil
}

// open waits until Kafka answers.
func (t *tools) open() error {
	if err := t.usage(); err != nil {
		return err
	}
	cl, err := kgo.NewClient(t.opts...)
	if err != nil {
		return &config.UsageError{Err: err}
	}
	t.adm = kadm.NewClient(cl)
	return broker.Await(t.ctx, t.settings.Timeout.Startup, cl)
}

// openBooks waits until store and ledger answer, as far as they were made.
func (t *tools) openBooks() error {
	if t.store != nil {
		if err := t.openStore(); err != nil {
			return fmt.Errorf("group %s (RECON_GROUP): %w", t.settings.Group, err)
		}
	}
	if t.ledger == nil {
		return nil
	}
	return t.settings.Await(t.ctx, "ledger (RECON_LEDGER_URL)", func(ctx context.Context) (bool, error) { return true, t.ledger.Ping(ctx) })
}

// openStore joins the store that the consumer began with, and never begins one. One that lost its memory, and a group that
// lost its offsets, end the command: whoever believed such a store would post twice.
func (t *tools) openStore() error {
	committed, err := broker.Committed(t.ctx, t.settings.Timeout.Startup, t.adm, t.settings.Group)
	if err != nil {
		return err
	}
	return t.settings.Await(t.ctx, "dedup store (RECON_REDIS_URL)", func(ctx context.Context) (bool, error) {
		err := t.store.Join(ctx, len(committed) > 0)
		return errors.Is(err, dedup.ErrUnavailable), err
	})
}

// close gives back connections.
func (t *tools) close() {
	if t.adm != nil {
		t.adm.Close()
	}
	if t.store != nil {
		_ = t.store.Close()
	}
	if t.ledger != nil {
		t.ledger.Close()
	}
}
