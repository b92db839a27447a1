package main_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// clerk enters documents in the ledger, each only after a copy of its record was seen to wait for it on a tier. So every
// record that names a document fails its first attempt, whatever is fast or slow, alive or killed.
type clerk struct {
	plant   *plant
	dice    *rand.Rand
	due     map[string]int // by document: how many attempts must have failed before it arrives
	entered int
}

// late is the most attempts that a record must fail before its document arrives.
const late = 3

// employ starts a clerk, who works until all documents are entered; done waits for that.
func (p *plant) employ(documents []string, dice *rand.Rand) (done func()) {
	p.t.Helper()
	c := &clerk{plant: p, dice: dice, due: make(map[string]int, len(documents))}
	for _, doc := range documents {
		c.due[doc] = 1 + c.dice.IntN(late)
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(p.kafka), kgo.ConsumeTopics(p.tiers()...), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		p.t.Fatal(err)
	}
	var work sync.WaitGroup
	work.Go(func() {
		defer cl.Close()
		if err := c.work(p.t.Context(), cl); err != nil && p.t.Context().Err() == nil {
			p.t.Errorf("clerk: %d of %d documents are entered: %v", c.entered, len(documents), err)
		}
	})
	p.t.Cleanup(work.Wait)
	return work.Wait
}

func (c *clerk) work(ctx context.Context, cl *kgo.Client) error {
	for len(c.due) > 0 {
		fetches := cl.PollFetches(ctx)
		var errs []error
		fetches.EachError(func(_ string, _ int32, err error) { errs = append(errs, err) })
		fetches.EachRecord(func(r *kgo.Record) { errs = append(errs, c.see(ctx, r)) })
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	return nil
}

// see takes one copy on a tier.
func (c *clerk) see(ctx context.Context, r *kgo.Record) error {
	own, recon := envelope.SplitHeaders(r.Headers)
	h, _ := envelope.ParseRetry(recon)
	m, err := envelope.Decode(r.Value, own)
	if err != nil || h.Code != fault.CounterpartNotArrived {
		return err
	}
	if due, ok := c.due[m.CounterpartRef]; !ok || h.Attempt < due {
		return nil
	}
	if err := c.plant.ledger.PutDocument(ctx, strings.Clone(m.CounterpartRef)); err != nil {
		return err
	}
	delete(c.due, m.CounterpartRef)
	c.entered++
	return nil
}
