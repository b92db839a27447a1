package replay

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/broker"
	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/topics"
)

// Held is one record that waits on a tier.
type Held struct {
	At         envelope.Coordinates
	Root       envelope.Coordinates
	Generation int
	Attempts   int    // made so far
	Tier       string // its delay, as in the topic's name
	Code       fault.Code
	Stage      fault.Stage
	Due        time.Time
	envelope.Facts
}

// Waiting is what all tiers hold.
type Waiting struct {
	Held       []Held // the next due first
	Totals     Totals
	Unreadable []Unreadable // records on a tier whose own headers do not say what they are
}

// ReadWaiting reads what the tiers hold: all that lies behind the positions that the consumer group has committed. A
// record that is handled and not yet committed still counts; of several copies of one record the latest does. Tiers
// that exist are read whether they are configured or not.
func ReadWaiting(ctx context.Context, opts []kgo.Opt, names topics.Names, group string, progress func(read, total int64)) (*Waiting, error) {
	spans, err := uncommitted(ctx, opts, names, group)
	if err != nil {
		return nil, err
	}
	var total, read int64
	for _, s := range spans {
		total += s.Len()
	}
	w := new(Waiting)
	latest := make(map[string]Held)
	reader := broker.Reader{Options: opts, Passed: func(n int64) {
		if read += n; progress != nil {
			progress(read, total)
		}
	}}
	err = reader.Read(ctx, spans, func(r *kgo.Record) error {
		h, err := heldOf(names, r)
		if err != nil {
			w.Unreadable = append(w.Unreadable, Unreadable{h.At, err.Error()})
			return nil
		}
		id := envelope.EnvelopeID(h.Root, h.Generation)
		if known, ok := latest[id]; !ok || known.Attempts < h.Attempts || known.Attempts == h.Attempts && known.Due.Before(h.Due) {
			latest[id] = h
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, h := range latest {
		w.Held = append(w.Held, h)
	}
	slices.SortFunc(w.Held, func(a, b Held) int {
		if d := a.Due.Compare(b.Due); d != 0 {
			return d
		}
		return a.Root.Compare(b.Root)
	})
	for _, h := range w.Held {
		w.Totals.add(h.Facts)
	}
	slices.SortFunc(w.Unreadable, func(a, b Unreadable) int { return a.At.Compare(b.At) })
	return w, nil
}

// heldOf reads a tier's record.
func heldOf(names topics.Names, r *kgo.Record) (Held, error) {
	own, ours := envelope.SplitHeaders(r.Headers)
	said, _ := envelope.ParseRetry(ours)
	m, _ := envelope.Decode(r.Value, own) // what cannot be read of it stays empty
	h := Held{
		At:   envelope.CoordinatesOf(r),
		Root: said.Root, Generation: said.Generation, Attempts: said.Attempt, Code: said.Code, Stage: said.Stage, Due: said.Due,
		Tier: strings.TrimPrefix(r.Topic, names.TierPrefix()),
	}
	if said.Root.IsZero() {
		h.Facts = m.Facts()
		return h, fmt.Errorf("header %s is missing or malformed", envelope.HeaderRoot)
	}
	m.Identify(said.Root)
	h.Facts = m.Facts()
	return h, nil
}

// uncommitted gives the spans of all tiers from the group's committed positions to their ends.
func uncommitted(ctx context.Context, opts []kgo.Opt, names topics.Names, group string) ([]broker.Span, error) {
	tiers, err := tierTopics(ctx, opts, names)
	if err != nil || len(tiers) == 0 {
		return nil, err
	}
	adm, err := kadm.NewOptClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("client to read the tiers: %w", err)
	}
	defer adm.Close()
	committed, err := broker.Committed(ctx, broker.Patience, adm, group)
	if err != nil {
		return nil, err
	}
	spans, err := bounds(ctx, opts, tiers...)
	if err != nil {
		return nil, err
	}
	for i, s := range spans {
		if at, ok := committed.Lookup(s.Topic, s.Partition); ok {
			spans[i].From = max(s.From, at.At)
		}
	}
	return spans, nil
}

// tierTopics lists the tiers that exist.
func tierTopics(ctx context.Context, opts []kgo.Opt, names topics.Names) ([]string, error) {
	adm, err := kadm.NewOptClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("client to list the tiers: %w", err)
	}
	defer adm.Close()
	all, err := adm.ListTopics(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the tiers: %w", err)
	}
	return slices.DeleteFunc(all.Names(), func(t string) bool { return !strings.HasPrefix(t, names.TierPrefix()) }), nil
}
