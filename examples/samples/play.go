package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// play is one run.
type play struct {
	*site
	tail     *tail
	found    *evidence // of tail
	view     *view
	consumer *service
	rounds   []*round // the first ingestion, by file
}

// run plays everything and ends with errUnexpected where an expectation did not hold.
func run(ctx context.Context, o options, out io.Writer) (err error) {
	began := time.Now()
	if err := o.validate(); err != nil {
		return err
	}
	s, err := openSite(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	p := &play{site: s, view: &view{out: out}}
	if p.tail, err = newTail(s.opts, s.names); err != nil {
		return err
	}
	defer p.tail.cl.Close()
	p.found = p.tail.found
	if err := p.whole(ctx); err != nil {
		return err
	}
	if s.keep {
		p.view.say("\ntopics and group %s, schema %s and folder %s stay", s.name, s.schema(), s.folder)
	}
	p.view.say("\n%d expectations hold, %d do not; %.0f s", p.view.held, p.view.wrong, time.Since(began).Seconds())
	if p.view.wrong > 0 {
		return errUnexpected
	}
	return nil
}

// whole is the run from the first record to the books.
func (p *play) whole(ctx context.Context) (err error) {
	if err := p.seed(ctx); err != nil {
		return err
	}
	a, err := p.call(ctx, "consumer", "topics", "--apply")
	if err != nil {
		return err
	}
	if a.code != 0 {
		return fmt.Errorf("consumer topics --apply: exit %d: %s", a.code, a.diag)
	}
	if p.consumer, err = p.serve(ctx); err != nil {
		return err
	}
	defer func() {
		if err != nil && ctx.Err() == nil {
			p.view.say("\nthe last lines of the consumer's log:")
			p.view.indented(p.consumer.lastLines(20))
		}
		p.consumer.stop()
	}()
	for _, step := range []func(context.Context) error{p.first, p.foreign, p.mend, p.second} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	code := p.consumer.stop()
	p.view.holds(code == 0, "consumer run ended with exit %d after SIGTERM", code)
	return p.books(ctx)
}
