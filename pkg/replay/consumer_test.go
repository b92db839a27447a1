package replay_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/audit"
	"recon/pkg/dedup"
	"recon/pkg/envelope"
)

// consume does what a consumer does with the replays that are new on main: claim by the trust rule, post, settle,
// confirm. handle, nil for success, may let the posting fail; then the child letter is written.
func (w *world) consume(handle func(*envelope.Message) error) {
	w.t.Helper()
	ctx := w.t.Context()
	for _, r := range w.all(w.names.Main()) {
		if r.Offset < w.read[r.Partition] {
			continue
		}
		w.read[r.Partition] = r.Offset + 1
		own, ours := envelope.SplitHeaders(r.Headers)
		said, errs := envelope.ParseRetry(ours)
		if len(errs) > 0 {
			w.t.Fatalf("headers of %s/%d@%d: %v", r.Topic, r.Partition, r.Offset, errors.Join(errs...))
		}
		m, err := envelope.Decode(r.Value, own)
		if err != nil {
			w.t.Fatalf("a replay that cannot be decoded is on main: %v", err)
		}
		at := envelope.Coordinates{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}
		c := dedup.Claim{
			Hash: m.SourceHash, Digest: m.Digest, Root: said.Root, Generation: said.Generation, Attempt: said.Attempt + 1,
			At: at, Replay: said.Replay, Envelope: said.Envelope,
		}
		a, err := w.store.Claim(ctx, time.Minute, []dedup.Claim{c})
		if err != nil {
			w.t.Fatal(err)
		}
		if !a[0].Trusted {
			w.t.Fatalf("replay at %s is not believed", at)
		}
		c.Replay = ""
		if !a[0].Verdict.Taken() {
			continue
		}
		w.taken[envelope.EnvelopeID(said.Root, said.Generation)]++
		if handle != nil {
			if err := handle(m); err != nil {
				w.again(said, r, m)
				continue
			}
		}
		w.ledger.post(c)
		if err := w.store.Settle(ctx, []dedup.Settlement{{Claim: c, State: dedup.Posted}}); err != nil {
			w.t.Fatal(err)
		}
		w.dispose(&envelope.Disposition{
			EnvelopeID: said.Envelope, Root: said.Root, Generation: said.Generation - 1, State: envelope.Confirmed,
			SourceHash: m.SourceHash, ReplayID: said.Replay, Actor: "recon-consumer", At: time.Now(),
		})
	}
}

// again writes the child letter of a replay that failed.
func (w *world) again(said envelope.Retry, r *kgo.Record, m *envelope.Message) {
	w.t.Helper()
	own, _ := envelope.SplitHeaders(r.Headers)
	n := int(said.Root.Offset)*partitions + int(said.Root.Partition)
	l := newLetter(w.names.Main(), n, r.Value)
	l.Message = m.Facts()
	l.Lineage = envelope.Lineage{Root: said.Root, Generation: said.Generation, Parent: said.Envelope, ReplayID: said.Replay}
	l.Origin = envelope.OriginOf(r)
	l.Original.Key, l.Original.Headers = r.Key, own
	l.FirstSeenAt = said.FirstSeen
	w.dead(l)
}

func (w *world) dispose(d *envelope.Disposition) {
	w.t.Helper()
	b, err := d.Encode()
	if err != nil {
		w.t.Fatal(err)
	}
	w.write(&kgo.Record{Topic: w.names.Dispositions(), Key: []byte(d.EnvelopeID), Value: b})
}

// ledger is a handler that can be asked: rows by hash.
type ledger struct {
	mu     sync.Mutex
	rows   map[string]*envelope.AlreadyPosted
	refuse func(*envelope.Message) error // of Precheck
	away   error                         // of Lookup
}

func (l *ledger) Precheck(_ context.Context, m *envelope.Message) error {
	if l.refuse == nil {
		return nil
	}
	return l.refuse(m)
}

func (l *ledger) Lookup(_ context.Context, hash string) (*envelope.AlreadyPosted, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rows[hash], l.away
}

func (l *ledger) post(c dedup.Claim) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rows[c.Hash] = &envelope.AlreadyPosted{Root: c.Root, Generation: c.Generation, Digest: c.Digest, ID: "p-" + c.Hash, At: time.Now().UTC()}
}

// journal keeps the evidence.
type journal struct {
	mu     sync.Mutex
	events []audit.Event
}

func (j *journal) Append(_ context.Context, es ...audit.Entry) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, e := range es {
		j.events = append(j.events, e.Events...)
	}
	return nil
}

// types counts the different events by type.
func (j *journal) types() map[string]int {
	j.mu.Lock()
	defer j.mu.Unlock()
	ids, n := map[string]bool{}, map[string]int{}
	for _, e := range j.events {
		if !ids[e.EventID] {
			ids[e.EventID] = true
			n[e.Type]++
		}
	}
	return n
}
