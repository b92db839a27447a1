package demo

import (
	"context"
	"database/sql"
	"errors"
	"io"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/audit"
	"recon/pkg/consumer"
	"recon/pkg/envelope"
	"recon/pkg/ledger"
)

// What the tests, which are external, look at.
var Await = await

// Books takes the books of a demo in which somebody else has written a value to a topic; an empty topic: nobody has.
func Books(ctx context.Context, out io.Writer, topic, value string) error {
	s, err := build(ctx, newView(out), Options{})
	if err != nil {
		return err
	}
	cl, err := kgo.NewClient(s.opts...)
	if err == nil && topic != "" {
		err = cl.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte(value)}).FirstErr()
	}
	if err == nil {
		cl.Close()
		err = s.account(ctx)
	}
	return errors.Join(err, s.close(false))
}

// Doubled takes the books of a demo with one posting, which is doubled in the ledger's file: its own tables do not allow
// that.
func Doubled(ctx context.Context, out io.Writer, m *envelope.Message) error {
	s, err := build(ctx, newView(out), Options{})
	if err != nil {
		return err
	}
	err = s.ledger.Handle(ctx, m)
	file, openErr := sql.Open("sqlite", s.box.LedgerFile())
	if err = errors.Join(err, openErr); err == nil {
		_, err = file.ExecContext(ctx, `CREATE TABLE doubled AS SELECT * FROM postings UNION ALL SELECT * FROM postings;
			DROP TABLE postings; ALTER TABLE doubled RENAME TO postings`)
		err = errors.Join(err, file.Close())
	}
	if err == nil {
		err = s.account(ctx)
	}
	return errors.Join(err, s.close(false))
}

// Replay brings back the letters of a demo whose ledger has posted a record already and whose carrier is away.
func Replay(ctx context.Context, out io.Writer, posted *envelope.Message, letters ...*envelope.Letter) error {
	s, err := build(ctx, newView(out), Options{})
	if err != nil {
		return err
	}
	cl, err := kgo.NewClient(s.opts...)
	if err == nil {
		err = errors.Join(s.box.Store.Open(ctx, false, false), s.ledger.Handle(ctx, posted))
	}
	for _, l := range letters {
		value, wrong := l.Encode()
		err = errors.Join(err, wrong, cl.ProduceSync(ctx, &kgo.Record{Topic: s.names.DLQ(), Value: value, Headers: l.Headers()}).FirstErr())
	}
	if err == nil {
		cl.Close()
		err = s.replay(ctx)
	}
	return errors.Join(err, s.close(false))
}

// Carrier asks the demo's handler for a record of a system, by Handle and by Precheck, while the carrier is up or not.
func Carrier(ctx context.Context, l *ledger.SQL, up bool, m *envelope.Message) (handle, precheck error) {
	c := &carrier{ledger: l}
	c.up.Store(up)
	precheck = c.Precheck(ctx, m)
	return c.Handle(ctx, m), precheck
}

// Count tallies events.
func Count(events ...consumer.Event) (ended, posted, suppressed, dead int) {
	t := newTally()
	for _, ev := range events {
		t.see(ev)
	}
	posted, suppressed, dead = t.by()
	return t.ended(), posted, suppressed, dead
}

// Tell prints one event.
func Tell(out io.Writer, ev consumer.Event) { newView(out).event(ev) }

// ShowBooks prints a result.
func ShowBooks(out io.Writer, r *audit.Result, trail audit.Trail) { newView(out).books(r, trail) }
