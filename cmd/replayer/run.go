package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/internal/config"
	"recon/pkg/audit"
	"recon/pkg/dedup"
	"recon/pkg/replay"
	"recon/pkg/topics"
)

// execute runs the plan, waits for its confirmations where that is asked for, and prints what it came to, whatever that
// is. The audit chain is this run's alone: opened before it, closed after it.
func (r *wayBack) execute(f *replay.Fold, plan *replay.Plan, wait patience) (err error) {
	found, err := r.checkTopics()
	if err != nil {
		return err
	}
	limits := found.Limits()
	cl, err := r.producer(limits)
	if err != nil {
		return err
	}
	defer cl.Close()
	chain, err := r.chain(cl, limits[r.names.Audit()])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.endChain(chain)) }()
	p := r.progress("letters")
	cfg := r.config
	cfg.Producer, cfg.Journal = cl, chain
	cfg.Observe = func(e replay.Event) { p.at(int64(e.Done), int64(e.Total)) }
	runner, err := replay.New(cfg)
	if err != nil {
		return err
	}
	unsaid := context.AfterFunc(r.ctx, func() {
		fmt.Fprintln(r.errs, "ending in order: letters in hand are finished; a second signal ends at once")
	})
	report, err := runner.Run(r.ctx, f, plan)
	unsaid()
	p.end()
	if errors.Is(err, dedup.ErrLeaseHeld) {
		err = fmt.Errorf("%w: that is %s here, and then it ends by itself", err, r.settings.Dedup.RunLease)
	}
	if report == nil {
		return err
	}
	var after *replay.After
	if wait.asked && awaitable(err) {
		err = r.await(runner, f, report, wait, err)
		a := report.After()
		after = &a
	}
	return errors.Join(err, r.report(report, after))
}

// awaitable: the run came to its end, so that what it brought back can be waited for.
func awaitable(err error) bool {
	return err == nil || errors.Is(err, replay.ErrIncomplete) || errors.Is(err, replay.ErrNothing)
}

// await waits for confirmations. ran is how the run ended; that there was nothing left to do stays its answer.
func (r *wayBack) await(runner *replay.Runner, f *replay.Fold, report *replay.Report, wait patience, ran error) error {
	if n := len(report.After().Unconfirmed); n > 0 && isTerminal(r.errs) {
		fmt.Fprintf(r.errs, "waiting up to %s for %s to be confirmed\n", wait.limit, replay.Counted(n, "letter", "letters"))
	}
	ctx, cancel := context.WithTimeout(r.ctx, wait.limit)
	defer cancel()
	if err := runner.Wait(ctx, f, report); err != nil {
		return err
	}
	return ran
}

// checkTopics refuses topics that are missing, or set so that they lose what a run relies on.
func (r *wayBack) checkTopics() (*topics.Found, error) {
	found, err := topics.Inspect(r.ctx, r.adm, r.names, nil)
	if err != nil {
		return nil, err
	}
	wrongs := slices.DeleteFunc(topics.Wrongs(found.Verify()), func(f topics.Finding) bool {
		return !slices.Contains(r.names.Written(nil), f.Topic)
	})
	errs := make([]error, len(wrongs))
	for i, f := range wrongs {
		errs[i] = errors.New(f.String())
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("%w:\n%w", replay.ErrPrecondition, err)
	}
	return found, nil
}

// producer is the client that a run writes with; limits is the largest batch of each topic.
func (r *wayBack) producer(limits map[string]int) (*kgo.Client, error) {
	timeout := r.settings.Timeout.Produce
	return kgo.NewClient(append(slices.Clone(r.opts),
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordPartitioner(topics.Partitioner(r.names)), kgo.ProducerLinger(0),
		// A write that must end in time ends: with a hung broker only this bounds it (MECHANICS d).
		kgo.AllowIdempotentProduceCancellation(), kgo.RecordDeliveryTimeout(timeout), kgo.ProduceRequestTimeout(timeout),
		kgo.ProducerBatchMaxBytesFn(func(topic string) int32 {
			if n, ok := limits[topic]; ok {
				return int32(n)
			}
			return unknownLimit
		}),
	)...)
}

// unknownLimit is a topic's size limit where the broker did not tell: its own default (Apache Kafka 4.3.1).
const unknownLimit = 1_048_588

// service names the replayer in the evidence.
const service = "recon-replayer"

// chain begins this process's chain in the audit topic, with its predecessor's head.
func (r *wayBack) chain(cl *kgo.Client, maxBytes int) (*audit.Chain, error) {
	cfg := audit.Config{
		Topic: r.names.Audit(), Service: service, Instance: hostOr(r.settings.Instance), Version: config.Version(),
		ConfigDigest: r.settings.Digest(), MaxBytes: maxBytes,
	}
	var err error
	if cfg.Predecessor, _, err = audit.LastHead(r.ctx, r.opts, cfg.Topic, cfg.Service, cfg.Instance); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.ctx, r.settings.Timeout.Startup)
	defer cancel()
	return audit.Open(ctx, cfg, cl)
}

// endChain writes the closing record, also when the run was asked to end.
func (r *wayBack) endChain(chain *audit.Chain) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), r.settings.Timeout.Produce)
	defer cancel()
	return chain.Close(ctx)
}
