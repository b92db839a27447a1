package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"recon/internal/config"
	"recon/internal/observe"
	"recon/pkg/consumer"
	"recon/pkg/dedup"
	"recon/pkg/envelope"
	"recon/pkg/ledger"
)

// runCmd is `consumer run`.
type runCmd struct {
	FromStart bool `help:"Accept that the group has lost its offsets and read everything again; what is known is recognised."`
}

// Run works until it is told to stop.
func (r *runCmd) Run(j *job) error {
	log, err := newLogger()
	if err != nil {
		return err
	}
	defer func() { _ = log.Sync() }()
	books, err := openAll(j, log)
	if err != nil {
		return err
	}
	defer books.Close()
	books.cfg.FromStart = r.FromStart
	engine, err := consumer.New(books.cfg, books.ledger, books.store, consumer.WithObserve(observe.Log(log)), consumer.WithLogger(log))
	if err != nil {
		return &config.UsageError{Err: err}
	}
	watch := &ledgerWatch{ping: books.ledger.Ping}
	health, err := observe.Serve(j.settings.Listen, watch.with(engine.Ready))
	if err != nil {
		return err
	}
	defer func() { _ = health.Close() }()
	if err := books.await(j.ctx, j.settings); err != nil {
		return err
	}
	watching, unwatch := context.WithCancel(j.ctx)
	var watched sync.WaitGroup
	watched.Go(func() { watch.run(watching) })
	defer watched.Wait()
	defer unwatch()
	log.Info("consumer starts", zap.String("version", config.Version()), zap.String("health", health.Address()), zap.String("group", books.cfg.Group))
	return engine.Run(j.ctx)
}

// await waits until the ledger answers, and brings its tables up to date where that is wanted. To be told to stop
// meanwhile is no error.
func (b *books) await(ctx context.Context, s *config.Effective) error {
	err := s.Await(ctx, "ledger (RECON_LEDGER_URL)", func(ctx context.Context) (bool, error) { return true, b.ledger.Ping(ctx) })
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	if !s.Ledger.Migrate {
		return nil
	}
	if err := b.ledger.Migrate(ctx); err != nil {
		return fmt.Errorf("tables of the ledger (RECON_LEDGER_URL): %w", err)
	}
	return nil
}

// books is what the consumer works with, joined.
type books struct {
	cfg    consumer.Config
	ledger *ledger.SQL
	store  dedup.Store
}

// openAll makes every part from the settings, asking nobody yet. All mistakes are reported together.
func openAll(j *job, log *zap.Logger) (*books, error) {
	var b books
	calendar, calendarErr := j.settings.Periods()
	var err, storeErr, ledgerErr error
	b.cfg, err = j.settings.Consumer(log, calendar, config.Version())
	if err == nil {
		_, err = b.cfg.Broker.Options() // which reads the files that the connection needs
	}
	b.store, storeErr = j.settings.Store()
	b.ledger, ledgerErr = j.settings.OpenLedger(calendar)
	if err = errors.Join(err, calendarErr, storeErr, ledgerErr); err != nil {
		b.Close()
		return nil, &config.UsageError{Err: err}
	}
	return &b, nil
}

// Close gives back connections.
func (b *books) Close() {
	if b.store != nil {
		_ = b.store.Close()
	}
	if b.ledger != nil {
		b.ledger.Close()
	}
}

// newLogger writes JSON lines to standard error.
func newLogger() (*zap.Logger, error) {
	cfg := zap.NewProductionConfig()
	cfg.Sampling = nil                                    // evidence is not sampled
	cfg.DisableStacktrace, cfg.DisableCaller = true, true // an error says what was tried on what; where in the code is of no use to who reads it
	cfg.EncoderConfig.EncodeTime = func(t time.Time, enc zapcore.PrimitiveArrayEncoder) { enc.AppendString(envelope.FormatTime(t)) }
	cfg.EncoderConfig.TimeKey = "at"
	return cfg.Build()
}
