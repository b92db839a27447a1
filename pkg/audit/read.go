package audit

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/broker"
	"recon/pkg/envelope"
)

// ReadConfig says what Read reads.
type ReadConfig struct {
	Options                  []kgo.Opt // how to reach the broker; no consumer group, no topics
	Group                    string    // the consumer's group: its committed positions are the cut
	Main                     string
	Tiers                    []string // those that exist, configured or not
	DLQ, Dispositions, Audit string

	// Postings yields every posting of the ledger, of whatever root; yield's error ends it and is returned.
	// Nil: the ledger cannot be asked.
	Postings func(ctx context.Context, yield func(Posting) error) error

	// Idle is how long the broker may give nothing before reading is given up; 0 for 30 s.
	Idle time.Duration
}

// Evidence is what Read found.
type Evidence struct {
	At     time.Time // of the cut
	Books  *Books
	Trail  Trail
	Spans  []broker.Span // what was read
	Beyond int64         // offsets of main behind the cut: nothing is said of their records
}

// Read takes the books at a cut that it chooses itself, and may run while the consumer works: it reads the group's
// committed positions first, then every topic's end, then the topics up to there and the ledger. What was committed has
// left its outcome before, so the outcome lies before these ends: a root that is nowhere is missing, not late.
// An error: the cut could not be read whole, and nothing is proved. Evidence that can be read but is wrong is none: it
// is in the books and in the trail.
func Read(ctx context.Context, cfg ReadConfig) (*Evidence, error) {
	e := &Evidence{At: time.Now().UTC(), Books: NewBooks(cfg.Main, cfg.Postings != nil)}
	if err := e.cut(ctx, cfg); err != nil {
		return nil, fmt.Errorf("completeness: %w", err)
	}
	r := reader{cfg: cfg, books: e.Books}
	if err := (broker.Reader{Options: cfg.Options, Idle: cfg.Idle}).Read(ctx, e.Spans, r.record); err != nil {
		return nil, fmt.Errorf("completeness: %w", err)
	}
	e.Trail = r.chains.Result()
	if cfg.Postings == nil {
		return e, nil
	}
	err := cfg.Postings(ctx, func(p Posting) error {
		e.Books.Posted(p)
		return ctx.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("completeness: postings of the ledger: %w", err)
	}
	return e, nil
}

// cut fixes what is read: committed positions first, then where the topics begin and end.
func (e *Evidence) cut(ctx context.Context, cfg ReadConfig) error {
	adm, err := kadm.NewOptClient(cfg.Options...)
	if err != nil {
		return err
	}
	defer adm.Close()
	committed, err := broker.Committed(ctx, cmp.Or(cfg.Idle, broker.Patience), adm, cfg.Group)
	if err != nil {
		return err
	}
	logs, err := broker.Bounds(ctx, adm, append([]string{cfg.Main, cfg.DLQ, cfg.Dispositions, cfg.Audit}, cfg.Tiers...)...)
	if err != nil {
		return err
	}
	for _, log := range logs {
		if at, any := committed.Lookup(log.Topic, log.Partition); any {
			e.bound(cfg, log, at.At)
		} else {
			e.bound(cfg, log, log.From)
		}
	}
	return nil
}

// bound cuts the log s of one partition by the group's committed position, and names what is gone of it.
func (e *Evidence) bound(cfg ReadConfig, s broker.Span, committed int64) {
	first := envelope.Coordinates{Topic: s.Topic, Partition: s.Partition, Offset: s.From}
	if s.Topic == cfg.DLQ || s.Topic == cfg.Dispositions || s.Topic == cfg.Audit {
		if s.From > 0 {
			e.Books.Suspect(first, "the partition begins here: the evidence before is gone (its retention must be without limit)")
		}
		e.Spans = append(e.Spans, s)
		return
	}
	if committed < s.From {
		e.Books.Suspect(first, fmt.Sprintf("the partition begins here, but group %s has committed no further than %d: what lay between was lost to retention before it was handled", cfg.Group, committed))
		committed = s.From
	}
	if committed > s.To {
		e.Books.Suspect(first, fmt.Sprintf("the partition ends at %d, but group %s has committed %d: its end is gone, or the topic was made anew", s.To, cfg.Group, committed))
		committed = s.To
	}
	if s.Topic == cfg.Main {
		e.Books.Cut(s.Partition, s.From, committed)
		e.Beyond += s.To - committed
		s.To = committed
	} else {
		s.From = committed
	}
	e.Spans = append(e.Spans, s)
}

// reader gives each record to the fold that it is for.
type reader struct {
	cfg    ReadConfig
	books  *Books
	chains Verifier
}

func (r *reader) record(k *kgo.Record) error {
	switch k.Topic {
	case r.cfg.Main:
		r.books.Ingested(arrival(k))
	case r.cfg.DLQ:
		l, err := envelope.DecodeLetter(k.Value)
		if err != nil {
			r.books.Suspect(envelope.CoordinatesOf(k), "no letter can be read here: "+err.Error())
			return nil
		}
		r.books.Letter(l)
	case r.cfg.Dispositions:
		d, err := envelope.DecodeDisposition(k.Value)
		if err != nil {
			r.books.Suspect(envelope.CoordinatesOf(k), "no disposition can be read here: "+err.Error())
			return nil
		}
		r.books.Disposition(d)
	case r.cfg.Audit:
		rec, err := r.chains.Add(envelope.CoordinatesOf(k), k.Value)
		if err == nil && rec.Entry != nil {
			for _, e := range rec.Entry.Events {
				r.books.Event(e)
			}
		}
	default:
		r.waiting(k)
	}
	return nil
}

// waiting takes a tier's record. Its headers are the service's own there, and are believed.
func (r *reader) waiting(k *kgo.Record) {
	own, recon := envelope.SplitHeaders(k.Headers)
	h, _ := envelope.ParseRetry(recon)
	if h.Root.IsZero() {
		r.books.Suspect(envelope.CoordinatesOf(k), "a record waits here whose root cannot be read")
		return
	}
	m, _ := envelope.Decode(k.Value, own)
	f := m.Facts()
	r.books.Waiting(Wait{
		Root: h.Root, Generation: h.Generation, Attempt: h.Attempt,
		SourceHash: f.SourceHash, Money: MoneyOf(f.Currency, f.Amount),
	})
}

// arrival reads a record of main as the consumer does; what cannot be read is left empty.
func arrival(k *kgo.Record) Arrival {
	own, recon := envelope.SplitHeaders(k.Headers)
	m, _ := envelope.Decode(k.Value, own)
	f := m.Facts()
	a := Arrival{At: envelope.CoordinatesOf(k), SourceHash: f.SourceHash, Digest: m.Digest, Money: MoneyOf(f.Currency, f.Amount)}
	if len(recon) == 0 {
		return a
	}
	if h, _ := envelope.ParseRetry(recon); h.Replay != "" && !h.Root.IsZero() {
		sum := sha256.Sum256(k.Value)
		a.Replay = &Replay{
			Root: h.Root, Generation: h.Generation, ReplayID: h.Replay, EnvelopeID: h.Envelope,
			ValueSHA256: hex.EncodeToString(sum[:]),
		}
	}
	return a
}
