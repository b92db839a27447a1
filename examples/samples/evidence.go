package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/audit"
	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/ledger"
	"recon/pkg/topics"
)

// span is what one ingestion put on a partition of main: from, and all up to to, which is not in it.
type span struct {
	partition int32
	from, to  int64
}

// evidence is what ledger, letters, dispositions and trail say, by root. One goroutine owns it.
type evidence struct {
	main       string
	byRoot     map[envelope.Coordinates]ledger.Posting
	byHash     map[string]ledger.Posting
	twice      []string // hashes with more than one posting
	letters    map[envelope.Coordinates]map[string]*envelope.Letter
	suppressed map[envelope.Coordinates]audit.Money
	confirmed  map[string]bool // envelope ids whose replay posted
}

func newEvidence(main string) *evidence {
	e := &evidence{
		main: main, letters: make(map[envelope.Coordinates]map[string]*envelope.Letter),
		suppressed: make(map[envelope.Coordinates]audit.Money), confirmed: make(map[string]bool),
	}
	e.forgetPostings()
	return e
}

// forgetPostings makes room for another reading of the ledger, which is always read whole.
func (e *evidence) forgetPostings() {
	e.byRoot, e.byHash, e.twice = make(map[envelope.Coordinates]ledger.Posting), make(map[string]ledger.Posting), nil
}

func (e *evidence) posting(p ledger.Posting) {
	if _, known := e.byHash[p.SourceHash]; known {
		e.twice = append(e.twice, p.SourceHash)
	}
	e.byRoot[p.Root], e.byHash[p.SourceHash] = p, p
}

func (e *evidence) letter(l *envelope.Letter) {
	if e.letters[l.Lineage.Root] == nil {
		e.letters[l.Lineage.Root] = make(map[string]*envelope.Letter)
	}
	e.letters[l.Lineage.Root][l.EnvelopeID] = l
}

// lettersOf gives the letters of the records in spans, those that ended as well.
func (e *evidence) lettersOf(spans []span) []*envelope.Letter {
	var found []*envelope.Letter
	for root := range e.roots(spans) {
		for _, l := range e.letters[root] {
			found = append(found, l)
		}
	}
	return found
}

// roots yields every record of main in spans.
func (e *evidence) roots(spans []span) func(yield func(envelope.Coordinates) bool) {
	return func(yield func(envelope.Coordinates) bool) {
		for _, s := range spans {
			for offset := s.from; offset < s.to; offset++ {
				if !yield(envelope.Coordinates{Topic: e.main, Partition: s.partition, Offset: offset}) {
					return
				}
			}
		}
	}
}

// of is what became of the records in spans. A letter whose replay is confirmed is no end of its own.
func (e *evidence) of(spans []span) *outcome {
	o := &outcome{codes: make(map[fault.Code]int)}
	for root := range e.roots(spans) {
		o.records++
		ends := 0
		if p, ok := e.byRoot[root]; ok {
			o.posted.add(audit.Money{Currency: p.Currency, Amount: p.Amount, Readable: true})
			ends++
		}
		if m, ok := e.suppressed[root]; ok {
			o.suppressed.add(m)
			ends++
		}
		for id, l := range e.letters[root] {
			if !e.confirmed[id] {
				o.dead.add(audit.MoneyOf(l.Message.Currency, l.Message.Amount))
				o.codes[l.ErrorCode]++
				ends++
			}
		}
		switch {
		case ends == 0:
			o.lost = append(o.lost, root)
		case ends > 1:
			o.doubled = append(o.doubled, root)
		}
	}
	return o
}

// tail reads letters, dispositions and trail into evidence, from their beginning on.
type tail struct {
	cl    *kgo.Client
	adm   *kadm.Client
	names topics.Names
	next  map[string]map[int32]int64
	found *evidence
}

func newTail(opts []kgo.Opt, names topics.Names) (*tail, error) {
	cl, err := kgo.NewClient(append(opts[:len(opts):len(opts)], kgo.ConsumeTopics(names.DLQ(), names.Dispositions(), names.Audit()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(250*time.Millisecond))...)
	if err != nil {
		return nil, err
	}
	return &tail{
		cl: cl, adm: kadm.NewClient(cl), names: names, found: newEvidence(names.Main()),
		next: map[string]map[int32]int64{names.DLQ(): {}, names.Dispositions(): {}, names.Audit(): {}},
	}, nil
}

// catchUp reads to where the topics end now.
func (t *tail) catchUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("reading letters, dispositions and trail took longer than %s", patience))
	defer cancel()
	ends, err := t.adm.ListEndOffsets(ctx, t.names.DLQ(), t.names.Dispositions(), t.names.Audit())
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return fmt.Errorf("where letters, dispositions and trail end: %w", err)
	}
	behind := func() bool {
		late := false
		ends.Each(func(end kadm.ListedOffset) { late = late || t.next[end.Topic][end.Partition] < end.Offset })
		return late
	}
	for behind() {
		fetches := t.cl.PollFetches(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var errs []error
		fetches.EachError(func(topic string, p int32, err error) { errs = append(errs, fmt.Errorf("%s/%d: %w", topic, p, err)) })
		fetches.EachRecord(func(r *kgo.Record) {
			t.next[r.Topic][r.Partition] = r.Offset + 1
			errs = append(errs, t.record(r))
		})
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	return nil
}

// record takes one record. What this service wrote and cannot be read is an error, never passed over.
func (t *tail) record(r *kgo.Record) error {
	switch r.Topic {
	case t.names.DLQ():
		l, err := envelope.DecodeLetter(r.Value)
		if err != nil {
			return fmt.Errorf("the letter at %s/%d@%d: %w", r.Topic, r.Partition, r.Offset, err)
		}
		t.found.letter(l)
	case t.names.Dispositions():
		d, err := envelope.DecodeDisposition(r.Value)
		if err != nil {
			return fmt.Errorf("the disposition at %s/%d@%d: %w", r.Topic, r.Partition, r.Offset, err)
		}
		if d.State == envelope.Confirmed {
			t.found.confirmed[d.EnvelopeID] = true
		}
	default:
		rec, err := audit.Decode(r.Value)
		if err != nil {
			return fmt.Errorf("the trail at %s/%d@%d: %w", r.Topic, r.Partition, r.Offset, err)
		}
		if rec.Entry == nil {
			return nil
		}
		for _, ev := range rec.Entry.Events {
			if ev.Type == audit.EventSuppressed {
				t.found.suppressed[ev.Root] = audit.MoneyOf(ev.Currency, ev.Amount)
			}
		}
	}
	return nil
}
