package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/broker"
	"recon/pkg/dedup"
	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/topics"
)

// TraceConfig says where a record's life is looked for.
type TraceConfig struct {
	Topics  topics.Names
	Options []kgo.Opt // how to reach the broker for reading: no group, no topics
	Store   interface {
		Get(ctx context.Context, hash string) (dedup.Value, bool, error)
	}
	Ledger   Postings // nil: it cannot be asked
	Progress func(read, total int64)
}

// Life is everything that is known of the records that a key names.
type Life struct {
	Key     string
	Moments []Moment // in the order in which they were written
	Hashes  []string // the source hashes among them
	Stored  map[string]dedup.Value
	Posted  map[string]*envelope.AlreadyPosted
}

// Moment is one record of a topic in a life.
type Moment struct {
	Where      envelope.Coordinates
	Written    time.Time // by the broker
	What       string    // main, replay, tier, letter, or a disposition's state
	Root       envelope.Coordinates
	Generation int
	Attempts   int
	Code       string // error code, or a disposition's code
	Detail     string
	Due        time.Time // of a tier
	Actor      string
	envelope.Facts
}

// Trace finds one record's whole life by its source_hash, its trace id, its message id, or the place of any of its
// records. It reads main, the tiers, the DLQ and the dispositions whole, then asks store and ledger. ErrNothing: no
// record has this key.
func Trace(ctx context.Context, cfg TraceConfig, key string) (*Life, error) {
	t := tracer{cfg: cfg, life: &Life{Key: key, Stored: map[string]dedup.Value{}, Posted: map[string]*envelope.AlreadyPosted{}}}
	if at, err := envelope.ParseCoordinates(key); err == nil {
		if err := t.begin(ctx, at); err != nil {
			return nil, err
		}
	}
	if err := t.read(ctx); err != nil {
		return nil, err
	}
	if len(t.life.Moments) == 0 {
		return nil, fmt.Errorf("%w: no record has source_hash, trace id, message id or place %s", ErrNothing, key)
	}
	slices.SortStableFunc(t.life.Moments, func(a, b Moment) int {
		return cmp.Or(a.Written.Compare(b.Written), a.Where.Compare(b.Where))
	})
	return t.life, t.ask(ctx)
}

// tracer looks for one key.
type tracer struct {
	cfg   TraceConfig
	life  *Life
	roots []envelope.Coordinates // that were found to be meant
}

// begin turns a place into the root that lies there.
func (t *tracer) begin(ctx context.Context, at envelope.Coordinates) error {
	found, err := readAt(ctx, t.cfg.Options, []envelope.Coordinates{at})
	if err != nil && !errors.Is(err, ErrPrecondition) { // of a topic that is gone, other records may still speak
		return err
	}
	if r := found[at]; r != nil {
		t.roots = append(t.roots, t.moment(r).Root)
	} else {
		t.roots = append(t.roots, at) // gone from main, but it may be the root of what is left
	}
	return nil
}

// read goes through the topics in the order of a life, so that the roots are known when the dispositions come.
func (t *tracer) read(ctx context.Context) error {
	names := t.cfg.Topics
	tiers, err := tierTopics(ctx, t.cfg.Options, names)
	if err != nil {
		return err
	}
	stages := [][]string{{names.Main()}, tiers, {names.DLQ()}, {names.Dispositions()}}
	logs, err := bounds(ctx, t.cfg.Options, slices.Concat(stages...)...)
	if err != nil {
		return err
	}
	var total, read int64
	for _, log := range logs {
		total += log.Len()
	}
	reader := broker.Reader{Options: t.cfg.Options, Passed: func(n int64) {
		if read += n; t.cfg.Progress != nil {
			t.cfg.Progress(read, total)
		}
	}}
	for _, stage := range stages {
		spans := slices.DeleteFunc(slices.Clone(logs), func(s broker.Span) bool { return !slices.Contains(stage, s.Topic) })
		if err := reader.Read(ctx, spans, t.record); err != nil {
			return err
		}
	}
	return nil
}

// record keeps a record that the key means.
func (t *tracer) record(r *kgo.Record) error {
	m, key := t.moment(r), t.life.Key
	if m.SourceHash != key && m.TraceID != key && m.MessageID != key && !slices.Contains(t.roots, m.Root) {
		return nil
	}
	if !slices.Contains(t.roots, m.Root) {
		t.roots = append(t.roots, m.Root)
	}
	if m.SourceHash != "" && !slices.Contains(t.life.Hashes, m.SourceHash) {
		t.life.Hashes = append(t.life.Hashes, m.SourceHash)
	}
	t.life.Moments = append(t.life.Moments, m)
	return nil
}

// moment reads a record of any of the topics. One that cannot be read is a moment of its own place.
func (t *tracer) moment(r *kgo.Record) Moment {
	at := envelope.CoordinatesOf(r)
	m := Moment{Where: at, Written: r.Timestamp.UTC(), Root: at}
	switch names := t.cfg.Topics; {
	case r.Topic == names.DLQ():
		m.letter(r)
	case r.Topic == names.Dispositions():
		m.disposition(r)
	case strings.HasPrefix(r.Topic, names.TierPrefix()):
		h, err := heldOf(names, r)
		m.What, m.Generation, m.Attempts, m.Code, m.Due, m.Facts = "tier "+h.Tier, h.Generation, h.Attempts, string(h.Code), h.Due, h.Facts
		if err != nil {
			m.Detail = err.Error()
		} else {
			m.Root = h.Root
		}
	default:
		m.main(r)
	}
	return m
}

func (m *Moment) main(r *kgo.Record) {
	own, ours := envelope.SplitHeaders(r.Headers)
	m.What = "main"
	said, _ := envelope.ParseRetry(ours)
	letter := envelope.EnvelopeID(said.Root, said.Generation-1)
	if said.Generation > 0 && !said.Root.IsZero() && said.Envelope == letter && said.Replay == envelope.ReplayID(letter) {
		m.What, m.Root, m.Generation = "replay", said.Root, said.Generation // by its own word: anyone may write to main
	}
	msg, err := envelope.Decode(r.Value, own)
	if err != nil {
		v := fault.Of(err)
		m.Code, m.Detail = string(v.Code), v.Detail
	}
	msg.Identify(m.Root)
	m.Facts = msg.Facts()
}

func (m *Moment) letter(r *kgo.Record) {
	m.What = "letter"
	l, err := envelope.DecodeLetter(r.Value)
	if err != nil {
		m.Detail = err.Error()
		return
	}
	m.Root, m.Generation, m.Attempts = l.Lineage.Root, l.Lineage.Generation, l.AttemptCount
	m.Code, m.Detail, m.Facts = string(l.ErrorCode), string(l.FailureCode)+": "+l.ErrorDetail, l.Message
	if m.MessageID == "" {
		m.MessageID = envelope.MessageID(m.Root)
	}
}

func (m *Moment) disposition(r *kgo.Record) {
	m.What = "disposition"
	d, err := envelope.DecodeDisposition(r.Value)
	if err != nil {
		m.Detail = err.Error()
		return
	}
	m.What, m.Root, m.Generation, m.Code, m.Actor = string(d.State), d.Root, d.Generation, string(d.Code), d.Actor
	m.Detail = cmp.Or(d.Note, d.Reason)
	m.Facts = envelope.Facts{
		SourceHash: d.SourceHash, TraceID: d.TraceID, MatchDecision: d.MatchDecision, LedgerEntity: d.Entity, Currency: d.Currency, Amount: d.Amount,
	}
}

// ask adds what store and ledger know.
func (t *tracer) ask(ctx context.Context) error {
	slices.Sort(t.life.Hashes)
	for _, hash := range t.life.Hashes {
		if t.cfg.Store != nil {
			v, ok, err := t.cfg.Store.Get(ctx, hash)
			if err != nil {
				return err
			}
			if ok {
				t.life.Stored[hash] = v
			}
		}
		if t.cfg.Ledger == nil {
			continue
		}
		p, err := t.cfg.Ledger.Lookup(ctx, hash)
		if err != nil {
			return fmt.Errorf("look up %s in the ledger: %w", hash, err)
		}
		if p != nil {
			t.life.Posted[hash] = p
		}
	}
	return nil
}
