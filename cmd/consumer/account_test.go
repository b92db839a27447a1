package main_test

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/audit"
	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/ledger"
)

type roots map[envelope.Coordinates]bool

// account is what became of each record of main, folded by root from the topics and the ledger, beside the books of
// package audit and not by their means.
type account struct {
	ingested, lettered, suppressed roots
	posted                         map[envelope.Coordinates]int    // how often, by the ledger
	hashes                         map[string]int                  // the same, by source_hash
	letters                        map[envelope.Coordinates]string // the envelope id
	twoLetters                     roots
	failedFirst                    roots // a copy of the first attempt's failure stands on a tier
	toldPosted, toldRetry          roots // by the trail
}

func newAccount() *account {
	return &account{
		ingested: roots{}, lettered: roots{}, suppressed: roots{}, posted: make(map[envelope.Coordinates]int), hashes: make(map[string]int),
		letters: make(map[envelope.Coordinates]string), twoLetters: roots{}, failedFirst: roots{}, toldPosted: roots{}, toldRetry: roots{},
	}
}

// account reads all topics to their present ends, and the ledger.
func (p *plant) account() *account {
	p.t.Helper()
	a := newAccount()
	p.each(p.names.Main(), a.arrived)
	for _, tier := range p.tiers() {
		p.each(tier, a.copied)
	}
	p.each(p.names.DLQ(), a.letter)
	p.each(p.names.Audit(), a.told)
	if err := p.ledger.Each(p.t.Context(), a.post); err != nil {
		p.t.Fatal(err)
	}
	return a
}

func (a *account) arrived(r *kgo.Record) error {
	a.ingested[envelope.Coordinates{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}] = true
	return nil
}

func (a *account) post(p ledger.Posting) error {
	a.posted[p.Root]++
	a.hashes[p.SourceHash]++
	return nil
}

// postings counts rows, and hashes that have more than one.
func (a *account) postings() (rows, twice int) {
	for _, n := range a.hashes {
		if rows += n; n > 1 {
			twice++
		}
	}
	return rows, twice
}

func (a *account) copied(r *kgo.Record) error {
	_, recon := envelope.SplitHeaders(r.Headers)
	h, errs := envelope.ParseRetry(recon)
	if len(errs) > 0 || h.Root.IsZero() {
		return fmt.Errorf("headers of a copy: root %s, %v", h.Root, errs)
	}
	if h.Attempt == 1 && h.Class == fault.Transient && h.Code == fault.CounterpartNotArrived {
		a.failedFirst[h.Root] = true
	}
	return nil
}

func (a *account) letter(r *kgo.Record) error {
	l, err := envelope.DecodeLetter(r.Value)
	if err != nil {
		return err
	}
	root := l.Lineage.Root
	if id := a.letters[root]; id != "" && id != l.EnvelopeID {
		a.twoLetters[root] = true
	}
	a.letters[root], a.lettered[root] = l.EnvelopeID, true
	return nil
}

// told takes what the trail says. Who is killed between a copy on a tier and the entry that tells it leaves that to who
// takes the record over, who tells where the record stands by then: so not every retry is told, but every posting is.
func (a *account) told(r *kgo.Record) error {
	rec, err := audit.Decode(r.Value)
	if err != nil || rec.Entry == nil {
		return err
	}
	for _, ev := range rec.Entry.Events {
		switch ev.Type {
		case audit.EventPosted:
			a.toldPosted[ev.Root] = true
		case audit.EventSuppressed:
			a.suppressed[ev.Root] = true
		case audit.EventRetry:
			a.toldRetry[ev.Root] = true
		}
	}
	return nil
}

// outcomes counts the records that have none, and those that have more than one.
func (a *account) outcomes() (lost, two int) {
	for root := range a.ingested {
		n := a.posted[root]
		for _, has := range []roots{a.lettered, a.suppressed, a.twoLetters} {
			if has[root] {
				n++
			}
		}
		switch {
		case n == 0:
			lost++
		case n > 1:
			two++
		}
	}
	return lost, two
}

// complaints are what is wrong with the account of n records, of which failing wait for a document and one in a hundred
// is poison.
func (a *account) complaints(n, failing int) (said []string) {
	complain := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	rows, twice := a.postings()
	if want := n - n/100; rows != want || twice != 0 {
		complain("%d postings, %d hashes twice, want %d and none", rows, twice, want)
	}
	lost, two := a.outcomes()
	if len(a.ingested) != n || lost != 0 || two != 0 {
		complain("%d records on main, %d lost, %d with two outcomes, want %d, none and none", len(a.ingested), lost, two, n)
	}
	if len(a.lettered) != n/100 {
		complain("%d letters, want %d", len(a.lettered), n/100)
	}
	if told := len(a.toldPosted); told != rows {
		complain("the trail tells of %d postings, want %d", told, rows)
	}
	first := len(a.failedFirst)
	if first != failing {
		complain("%d records failed their first attempt and took a tier, want %d", first, failing)
	}
	if first*10 < n*3 {
		complain("%d records failed their first attempt, want no less than 30 %% of %d", first, n)
	}
	return said
}

// figure is one line of the table that a run ends with.
type figure struct {
	name  string
	value any
}

// table puts figures under each other.
func table(figures []figure) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, f := range figures {
		fmt.Fprintf(w, "  %s\t%v\n", f.name, f.value)
	}
	_ = w.Flush() // a strings.Builder takes everything
	return b.String()
}

// each gives every record of a topic up to where it ends now.
func (p *plant) each(topic string, yield func(*kgo.Record) error) {
	p.t.Helper()
	ends, err := kadm.NewClient(p.client).ListEndOffsets(p.t.Context(), topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		p.t.Fatalf("ends of %s: %v", topic, err)
	}
	left := make(map[int32]int64)
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			left[o.Partition] = o.Offset
		}
	})
	cl, err := kgo.NewClient(kgo.SeedBrokers(p.kafka), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		p.t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(p.t.Context(), 2*time.Minute)
	defer cancel()
	for len(left) > 0 {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			p.t.Fatalf("read %s, %d partitions are not at their end: %v", topic, len(left), err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if end, ok := left[r.Partition]; ok && r.Offset < end {
				if err := yield(r); err != nil {
					p.t.Errorf("%s/%d@%d: %v", r.Topic, r.Partition, r.Offset, err)
				}
				if r.Offset == end-1 {
					delete(left, r.Partition)
				}
			}
		})
	}
}
