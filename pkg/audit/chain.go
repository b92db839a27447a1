package audit

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Config is what a chain says of its writer in its first record.
type Config struct {
	Topic        string
	Service      string // consumer or replayer; no `/`
	Instance     string // no `/`
	Version      string
	ConfigDigest string
	Predecessor  Head // the last head of this service and instance, by LastHead; zero: there is none
	// MaxBytes limits one record with its key and a batch around it, as the topic's max.message.bytes does: at least
	// 64 KiB, 0 for 512 KiB. An entry that needs more is written in several parts.
	MaxBytes int
}

const (
	defaultMaxBytes = 512 << 10
	minMaxBytes     = 64 << 10 // a maximal event, the totals of every currency, and the place in the chain fit
	maxName         = 200      // bytes of service and instance
)

func (c Config) validate() error {
	var errs []error
	if c.Topic == "" {
		errs = append(errs, errors.New("audit topic: none given"))
	}
	for name, s := range map[string]string{"service": c.Service, "instance": c.Instance} {
		if s == "" || len(s) > maxName || strings.Contains(s, "/") {
			errs = append(errs, fmt.Errorf("audit %s %q: want 1 to %d bytes without `/`, since the chain's name is made of it", name, s, maxName))
		}
	}
	if c.MaxBytes != 0 && c.MaxBytes < minMaxBytes {
		errs = append(errs, fmt.Errorf("audit record size %d: want at least %d, or an entry may not fit", c.MaxBytes, minMaxBytes))
	}
	return errors.Join(errs...)
}

// Chain is the one line of evidence that this process writes. Its methods may be called by many goroutines.
type Chain struct {
	cfg Config
	p   Producer
	id  string
	key []byte

	// turn holds one token. Whoever has it owns everything below, from reading the head until each record built on it is
	// acknowledged or given up: two appends on one predecessor would fork the chain. A channel and no mutex, so that
	// waiting for it ends with the caller's context.
	turn chan struct{}

	next    int64
	prev    string   // hash of the record before next
	pending [][]byte // records that have their place in the chain and may or may not be in the topic, in order
	unsure  doubts   // entries in the chain whose Append was answered with an error
	ended   bool     // Close was called
	closing bool     // the closing record has its place
}

// Open begins a chain named service/instance/boot-uuid. nil error: its genesis record is acknowledged. After an error
// the chain is given up; another Open begins another one, and a lone genesis record in the topic does no harm.
func Open(ctx context.Context, cfg Config, p Producer) (*Chain, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = defaultMaxBytes
	}
	boot, err := uuid.NewRandom()
	if err != nil {
		return nil, fmt.Errorf("name for an audit chain: %w", err)
	}
	c := &Chain{cfg: cfg, p: p, id: cfg.Service + "/" + cfg.Instance + "/" + boot.String(), turn: make(chan struct{}, 1)}
	c.key = []byte(c.id)
	c.link(cfg.genesis())
	if err := c.flush(ctx); err != nil {
		return nil, err
	}
	c.turn <- struct{}{}
	return c, nil
}

// ID is the chain's name: the key of its records.
func (c *Chain) ID() string { return c.id }

// Append writes entries as the next records of the chain, together, and waits for all of them. nil: every one is
// acknowledged, and what they cover may be marked. One call at a time writes; the others wait their turn.
//
// An error means that the outcome is unknown. The records keep their places in the chain, and the next call, whoever
// makes it, writes the same bytes again before anything else; readers fold such repeats. So an Append that failed may
// be called again with the same entries: those that have a place by then are not written a second time.
func (c *Chain) Append(ctx context.Context, es ...Entry) error {
	said := make([][]body, len(es))
	for i := range es {
		said[i] = es[i].bodies(c.cfg.MaxBytes - c.placeSize())
	}
	if err := c.take(ctx); err != nil {
		return err
	}
	defer c.give()
	if c.ended {
		return ErrClosed
	}
	if err := c.flush(ctx); err != nil {
		return err
	}
	fresh := c.unsure.without(said)
	for _, bodies := range fresh {
		for _, b := range bodies {
			c.link(b)
		}
	}
	if err := c.flush(ctx); err != nil {
		c.unsure.add(fresh)
		return err
	}
	c.unsure.drop(said)
	return nil
}

// Close writes the closing record: a chain that has one did not end by a crash. From the first call on, Append answers
// ErrClosed. After an error Close may be called again; once it has succeeded it does nothing more.
func (c *Chain) Close(ctx context.Context) error {
	if err := c.take(ctx); err != nil {
		return err
	}
	defer c.give()
	c.ended = true
	if err := c.flush(ctx); err != nil {
		return err
	}
	if c.closing {
		return nil
	}
	c.closing = true
	c.link(body{kind: kindClosing})
	return c.flush(ctx)
}

// take waits for the turn.
func (c *Chain) take(ctx context.Context) error {
	select {
	case <-c.turn:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("audit chain %s: waiting for the writes before this one: %w", c.id, context.Cause(ctx))
	}
}

func (c *Chain) give() { c.turn <- struct{}{} }

// link gives b the next place in the chain and makes it pending.
func (c *Chain) link(b body) {
	v := make([]byte, 0, c.placeSize()+len(b.head)+len(b.events))
	v = append(v, `{"audit_version":1,"chain":`...)
	v = quote(v, c.id, len(c.id))
	v = append(v, `,"seq":`...)
	v = strconv.AppendInt(v, c.next, 10)
	v = append(v, `,"prev":"`...)
	v = append(v, c.prev...)
	v = append(v, `","at":`...)
	v = appendTime(v, time.Now())
	v = append(v, `,"kind":"`...)
	v = append(v, b.kind...)
	v = append(v, '"')
	v = append(v, b.head...)
	if b.kind == kindEntry {
		v = append(v, `,"events":[`...)
		v = append(v, b.events...)
		v = append(v, ']')
	}
	v = append(v, '}')
	c.next++
	c.prev = Hash(v)
	c.pending = append(c.pending, v)
}

// placeSize bounds the bytes that a record has beside its body: its place in the chain (some 220 bytes, and the name,
// escaped), its key, and a batch of its own (some 100 bytes).
func (c *Chain) placeSize() int { return 512 + 7*len(c.id) }

// flush writes what is pending, in order, and waits for all of it. What follows the first record that is not
// acknowledged stays pending too, acknowledged or not, so that the topic's tail ends with the chain's head again.
func (c *Chain) flush(ctx context.Context) error {
	if len(c.pending) == 0 {
		return nil
	}
	f := newFlight(len(c.pending))
	for i, v := range c.pending {
		// A record of its own each time: one given up may still be in the client's hands.
		r := &kgo.Record{Topic: c.cfg.Topic, Key: c.key, Value: v}
		c.p.Produce(ctx, r, func(_ *kgo.Record, err error) { f.land(i, err) })
	}
	acked, err := f.wait(ctx)
	first := c.next - int64(len(c.pending)) + int64(acked)
	c.pending = c.pending[acked:]
	if err != nil {
		return fmt.Errorf("audit record %d of chain %s to %s is not acknowledged, so nothing that it covers may be marked; call again to write the same bytes: %w",
			first, c.id, c.cfg.Topic, err)
	}
	c.pending = nil
	return nil
}

// genesis is the body of a chain's first record.
func (c Config) genesis() body {
	b := []byte(`,"genesis":{"service":`)
	b = quote(b, c.Service, maxName)
	b = append(b, `,"instance":`...)
	b = quote(b, c.Instance, maxName)
	b = append(b, `,"version":`...)
	b = quote(b, c.Version, maxText)
	b = append(b, `,"config_digest":`...)
	b = quote(b, c.ConfigDigest, maxText)
	b = append(b, `,"predecessor":`...)
	if c.Predecessor.Chain == "" {
		return body{kind: kindGenesis, head: append(b, `null}`...)}
	}
	b = append(b, `{"chain":`...)
	b = quote(b, c.Predecessor.Chain, 3*maxName)
	b = append(b, `,"seq":`...)
	b = strconv.AppendInt(b, c.Predecessor.Seq, 10)
	b = append(b, `,"hash":`...)
	b = quote(b, c.Predecessor.Hash, 2*sha256.Size)
	return body{kind: kindGenesis, head: append(b, `}}`...)}
}
