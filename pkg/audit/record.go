package audit

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/shopspring/decimal"

	"recon/pkg/envelope"
)

// The kinds of records.
const (
	kindGenesis = "genesis"
	kindEntry   = "entry"
	kindClosing = "closing"
)

// Record is one record of the audit topic, read back.
type Record struct {
	Chain   string
	Seq     int64
	Prev    string // hash of the record before; empty in the genesis record
	At      time.Time
	Hash    string   // of this record's own bytes
	Genesis *Genesis // of the first record only
	Entry   *Entry   // of an entry only
	// Part and Parts number the records that one large entry was split into; 1 and 1 for all others. Every part holds
	// some of the events; the last one holds counts and totals, and with it alone the range is covered.
	Part, Parts int
	Closing     bool
}

// Genesis says who writes a chain.
type Genesis struct {
	Service, Instance, Version, ConfigDigest string
	Predecessor                              Head // zero: none; without a time
}

// Head is r as the head of its chain.
func (r *Record) Head() Head { return Head{Chain: r.Chain, Seq: r.Seq, Hash: r.Hash, At: r.At} }

// Decode reads a record as strictly as it was written: unknown, repeated or missing members, another version, and
// values that the writer never makes are errors. Whether the record stands where it says is for a Verifier to tell.
func Decode(value []byte) (*Record, error) {
	var w wireRecord
	if err := json.Unmarshal(value, &w, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("audit record: %w", err)
	}
	r := &Record{Chain: w.Chain, Seq: w.Seq, Prev: w.Prev, Hash: Hash(value), Part: 1, Parts: 1}
	if err := w.into(r); err != nil {
		return nil, fmt.Errorf("audit record %d of chain %q: %w", w.Seq, w.Chain, err)
	}
	return r, nil
}

// wireRecord is the JSON of all kinds. Pointers tell absent from zero.
type wireRecord struct {
	Version    int                  `json:"audit_version"`
	Chain      string               `json:"chain"`
	Seq        int64                `json:"seq"`
	Prev       string               `json:"prev"`
	At         string               `json:"at"`
	Kind       string               `json:"kind"`
	Genesis    *wireGenesis         `json:"genesis"`
	Topic      *string              `json:"topic"`
	Partition  *int32               `json:"partition"`
	From       *int64               `json:"from"`
	To         *int64               `json:"to"`
	Part       *int                 `json:"part"`
	Parts      *int                 `json:"parts"`
	Counts     map[string]int       `json:"counts"`
	Totals     map[string]wireTotal `json:"totals"`
	HashTotal  *string              `json:"hash_total"`
	Unreadable *int                 `json:"unreadable"`
	Events     *[]wireEvent         `json:"events"`
}

type wireGenesis struct {
	Service      string    `json:"service"`
	Instance     string    `json:"instance"`
	Version      string    `json:"version"`
	ConfigDigest string    `json:"config_digest"`
	Predecessor  *wireHead `json:"predecessor"`
}

type wireHead struct {
	Chain string `json:"chain"`
	Seq   int64  `json:"seq"`
	Hash  string `json:"hash"`
}

type wireTotal struct {
	Debit  string `json:"debit"`
	Credit string `json:"credit"`
	Count  int    `json:"count"`
}

func (w *wireRecord) into(r *Record) error {
	at, ok := envelope.ParseTime(w.At)
	switch {
	case w.Version != Version:
		return fmt.Errorf("audit_version %d: this program reads version %d", w.Version, Version)
	case strings.Count(w.Chain, "/") != 2:
		return errors.New("chain: want service/instance/boot")
	case w.Seq < 0 || (w.Seq == 0) != (w.Prev == "") || w.Prev != "" && !isHash(w.Prev, 64):
		return fmt.Errorf("seq %d with prev %q: want 64 hex digits, and none for seq 0 alone", w.Seq, w.Prev)
	case !ok:
		return fmt.Errorf("at %q: want RFC 3339 in UTC with milliseconds", w.At)
	case (w.Kind == kindGenesis) != (w.Seq == 0) || (w.Kind == kindGenesis) != (w.Genesis != nil):
		return fmt.Errorf("kind %q: seq 0 and no other is the genesis record", w.Kind)
	case w.Kind != kindEntry && !w.bare():
		return fmt.Errorf("kind %q with the members of an entry", w.Kind)
	}
	r.At = at
	switch w.Kind {
	case kindGenesis:
		return w.Genesis.into(r)
	case kindClosing:
		r.Closing = true
		return nil
	case kindEntry:
		return w.entry(r)
	default:
		return fmt.Errorf("kind %q: want %s, %s or %s", w.Kind, kindGenesis, kindEntry, kindClosing)
	}
}

// bare tells that w has no member of an entry.
func (w *wireRecord) bare() bool {
	return w.Topic == nil && w.Partition == nil && w.From == nil && w.To == nil && w.Part == nil && w.Parts == nil &&
		w.Counts == nil && w.Totals == nil && w.HashTotal == nil && w.Unreadable == nil && w.Events == nil
}

func (g *wireGenesis) into(r *Record) error {
	r.Genesis = &Genesis{Service: g.Service, Instance: g.Instance, Version: g.Version, ConfigDigest: g.ConfigDigest}
	if !strings.HasPrefix(r.Chain, g.Service+"/"+g.Instance+"/") {
		return fmt.Errorf("genesis of service %q, instance %q", g.Service, g.Instance)
	}
	if p := g.Predecessor; p != nil {
		if strings.Count(p.Chain, "/") != 2 || p.Seq < 0 || !isHash(p.Hash, 64) {
			return fmt.Errorf("predecessor %q, %d, %q: no head", p.Chain, p.Seq, p.Hash)
		}
		r.Genesis.Predecessor = Head{Chain: p.Chain, Seq: p.Seq, Hash: p.Hash}
	}
	return nil
}

func (w *wireRecord) entry(r *Record) error {
	e := &Entry{Counts: w.Counts}
	if err := w.place(e, r); err != nil {
		return err
	}
	if err := w.facts(e, r.Part == r.Parts); err != nil {
		return err
	}
	if w.Events == nil {
		return errors.New("events: missing")
	}
	for i := range *w.Events {
		ev, err := (*w.Events)[i].event()
		if err != nil {
			return fmt.Errorf("event %d: %w", i, err)
		}
		e.Events = append(e.Events, ev)
	}
	r.Entry = e
	return nil
}

// place reads the source range and the part.
func (w *wireRecord) place(e *Entry, r *Record) error {
	switch {
	case w.Topic == nil && w.Partition == nil && w.From == nil && w.To == nil:
	case w.Topic == nil || w.Partition == nil || w.From == nil || w.To == nil:
		return errors.New("topic, partition, from, to: want all of them or none")
	case *w.Topic == "" || *w.Partition < 0 || *w.From < 0 || *w.To < *w.From:
		return fmt.Errorf("range %s/%d from %d to %d: no range", *w.Topic, *w.Partition, *w.From, *w.To)
	default:
		e.Topic, e.Partition, e.From, e.To = *w.Topic, *w.Partition, *w.From, *w.To
	}
	switch {
	case w.Part == nil && w.Parts == nil:
	case w.Part == nil || w.Parts == nil || *w.Part < 1 || *w.Parts < 2 || *w.Part > *w.Parts:
		return errors.New("part, parts: want both, part from 1 to parts")
	default:
		r.Part, r.Parts = *w.Part, *w.Parts
	}
	return nil
}

// facts reads counts and totals, which the last part has and no other.
func (w *wireRecord) facts(e *Entry, last bool) error {
	if !last {
		if w.Counts != nil || w.Totals != nil || w.HashTotal != nil || w.Unreadable != nil {
			return errors.New("counts and totals: want them in the last part alone")
		}
		return nil
	}
	if w.Counts == nil || w.Totals == nil || w.HashTotal == nil || w.Unreadable == nil {
		return errors.New("counts, totals, hash_total, unreadable: want all of them")
	}
	if !isHash(*w.HashTotal, 16) {
		return fmt.Errorf("hash_total %q: want 16 hex digits", *w.HashTotal)
	}
	e.HashTotal, _ = strconv.ParseUint(*w.HashTotal, 16, 64)
	e.Unreadable = *w.Unreadable
	e.Totals = make(map[string]Total, len(w.Totals))
	for currency, t := range w.Totals {
		debit, ok := sum(t.Debit)
		credit, ok2 := sum(t.Credit)
		if !ok || !ok2 {
			return fmt.Errorf("totals of %s: debit %q, credit %q: want canonical decimal text without a sign", currency, t.Debit, t.Credit)
		}
		e.Totals[currency] = Total{Debit: debit, Credit: credit, Count: t.Count}
	}
	return nil
}

// sum reads a gross sum. It may be longer than an amount, but it has one spelling.
func sum(s string) (decimal.Decimal, bool) {
	if len(s) > 64 {
		return decimal.Decimal{}, false
	}
	d, err := decimal.NewFromString(s)
	return d, err == nil && d.Sign() >= 0 && envelope.CanonicalAmount(d) == s
}

// isHash tells whether s is n lower-case hex digits.
func isHash(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdef") == ""
}
