package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"recon/examples/ingester/statement"
	"recon/pkg/broker"
)

// lateError is whatever went wrong after the files were found good.
type lateError struct{ error }

func (e *lateError) Unwrap() error { return e.error }

// page is standard output. It remembers its first error.
type page struct {
	to  io.Writer
	err error
}

// Write writes on until something is lost.
func (p *page) Write(b []byte) (n int, err error) {
	if p.err == nil {
		n, p.err = p.to.Write(b)
	}
	return n, p.err
}

// broken is what was lost, nil where all was written; sent tells what became of the records.
func (p *page) broken(sent string) error {
	if p.err == nil {
		return nil
	}
	return &lateError{fmt.Errorf("output: %w; %s", p.err, sent)}
}

// ingest reads all files, and sends their records when every file is good.
func ingest(ctx context.Context, f *flags, out *page) error {
	if len(f.Brokers) == 0 && !f.DryRun {
		return errors.New("--brokers (RECON_KAFKA_BROKERS) is empty: give host:port of at least one broker, or --dry-run")
	}
	files, err := readAll(f)
	if err != nil {
		return err
	}
	if f.DryRun {
		describe(out, files)
		fmt.Fprintln(out, "dry run: nothing was sent; it would be:")
		summary(out, files)
		return out.broken("nothing was sent")
	}
	cl, err := client(f)
	if err != nil {
		return err
	}
	defer cl.Close()
	describe(out, files)
	if err := out.broken("nothing was sent"); err != nil {
		return err
	}
	if err := send(ctx, cl, f, files); err != nil {
		return &lateError{err}
	}
	summary(out, files)
	return out.broken("all records were sent")
}

// readAll reports what is wrong with each of the files, not with the first one alone.
func readAll(f *flags) ([]*statement.File, error) {
	opts := statement.Options{
		Entity: f.Entity, Currency: f.Currency, Level: f.Level, Intraday: f.Intraday,
		AcceptUnbalanced: f.AcceptUnbalanced, MatchDecision: f.MatchDecision,
	}
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	var files []*statement.File
	var errs []error
	for _, path := range f.Files {
		file, err := readFile(path, opts)
		files, errs = append(files, file), append(errs, err)
	}
	return files, errors.Join(errs...)
}

func readFile(path string, opts statement.Options) (*statement.File, error) {
	r, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return statement.Read(filepath.Base(path), r, opts)
}

// describe gives each file its line, and one to each control figure that was accepted although it does not hold.
func describe(out io.Writer, files []*statement.File) {
	for _, f := range files {
		fmt.Fprintf(out, "%s: %s, %d records", f.Name, f.Format, len(f.Records))
		if f.Skipped > 0 {
			fmt.Fprintf(out, ", %d left out because they are not booked", f.Skipped)
		}
		failed := f.Failed()
		switch {
		case len(f.Checks) == 0:
			fmt.Fprintln(out, ", no control figures")
		case len(failed) == 0:
			fmt.Fprintf(out, ", foots (%d control figures)\n", len(f.Checks))
		default:
			fmt.Fprintln(out, ", accepted although it does not foot:")
		}
		for _, c := range failed {
			fmt.Fprintln(out, "  "+c.String())
		}
	}
}

// summary are the last lines.
func summary(out io.Writer, files []*statement.File) {
	sent, raw := 0, 0
	for _, f := range files {
		for i := range f.Records {
			if f.Records[i].Raw {
				raw++
			} else {
				sent++
			}
		}
	}
	fmt.Fprintf(out, "records %d = sent %d + sent-raw %d\n", sent+raw, sent, raw)
	for _, t := range statement.Totals(files...) {
		fmt.Fprintln(out, t)
	}
}

// client dials nobody yet. Acknowledgement by all in-sync replicas and idempotence keep what is sent once, and in order.
func client(f *flags) (*kgo.Client, error) {
	opts, err := broker.Config{Seeds: f.Brokers, ClientID: "recon-ingester"}.Options()
	if err != nil {
		return nil, err
	}
	return kgo.NewClient(append(opts, kgo.DefaultProduceTopic(f.Topic), kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.RecordDeliveryTimeout(max(f.Timeout, time.Second)), kgo.AllowIdempotentProduceCancellation())...)
}

// send writes every record and waits for the broker's word on each. What was taken before an error does no harm: a
// second run brings the same source_hash.
func send(ctx context.Context, cl *kgo.Client, f *flags, files []*statement.File) error {
	if err := broker.Await(ctx, f.Timeout, cl); err != nil {
		return fmt.Errorf("nothing was sent: %w", err)
	}
	var t tally
	for _, file := range files {
		for i := range file.Records {
			t.total++
			cl.Produce(ctx, record(&file.Records[i]), t.done)
		}
	}
	if err := cl.Flush(ctx); err != nil {
		t.done(nil, err)
	}
	return t.err(f.Topic)
}

// record keys by ledger_entity, so that one account's records stay in order.
func record(r *statement.Record) *kgo.Record {
	rec := &kgo.Record{Value: r.Value}
	if r.Key != "" {
		rec.Key = []byte(r.Key)
	}
	return rec
}

// tally counts what the broker acknowledged.
type tally struct {
	total int // the sender's own
	mu    sync.Mutex
	acked int
	first error
}

func (t *tally) done(_ *kgo.Record, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err == nil:
		t.acked++
	case t.first == nil:
		t.first = err
	}
}

func (t *tally) err(topic string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.first == nil {
		return nil
	}
	if errors.Is(t.first, kerr.UnknownTopicOrPartition) {
		return fmt.Errorf("%s took %d of %d records: there is no such topic: create it, or name another by --topic or --topics-prefix (RECON_TOPICS_PREFIX): %w", topic, t.acked, t.total, t.first)
	}
	return fmt.Errorf("%s took %d of %d records: %w; run it again, what was taken will be known by its source_hash", topic, t.acked, t.total, t.first)
}
