package consumer

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/dedup"
	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// prepare makes deliveries of fetched records. It runs beside the loop, so that decoding costs the loop nothing, and
// touches nothing of it.
func (e *Engine) prepare(recs []*kgo.Record, tier bool, now time.Time) []*delivery {
	ds := make([]*delivery, len(recs))
	var slab []delivery
	for i, r := range recs {
		if len(slab) == 0 {
			slab = make([]delivery, slabSize(tier, len(recs)-i))
		}
		d := &slab[0]
		ds[i], slab = d, slab[1:]
		d.at = envelope.Coordinates{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}
		if r.Attrs.IsControl() {
			d.ending, d.step = endControl, stepDone
			continue
		}
		own, ours := envelope.SplitHeaders(r.Headers)
		d.key, d.value, d.own = r.Key, r.Value, own
		d.epoch, d.stamp = r.LeaderEpoch, r.Timestamp
		if tier {
			e.readTier(d, ours, now)
			continue // decoded when it is due
		}
		d.retry = firstSeen(d.at, recorded(r), now.UTC())
		e.readMain(d, ours, now)
		d.decode()
	}
	return ds
}

// slabSize is how many deliveries share an allocation. One that stays pins those around it: few on main, where a record
// may hang for a while, none on a tier, where most wait.
func slabSize(tier bool, left int) int {
	if tier {
		return 1
	}
	return min(left, 32)
}

// readMain judges the recon-* headers of a record on main, where anyone may write: they stay only where together they
// name one replay of one letter, and then the store has the last word, with the claim.
func (e *Engine) readMain(d *delivery, ours []kgo.RecordHeader, now time.Time) {
	if len(ours) == 0 {
		return
	}
	said, _ := envelope.ParseRetry(ours)
	letter := envelope.EnvelopeID(said.Root, said.Generation-1)
	if said.Generation < 1 || said.Root.IsZero() || said.Envelope != letter || said.Replay != envelope.ReplayID(letter) {
		e.observe(Event{Kind: Untrusted, At: now, Record: d.at, Root: d.at, Count: len(ours)})
		return
	}
	d.retry = envelope.Retry{
		Root: said.Root, Origin: d.at, OriginRecord: d.retry.OriginRecord, Generation: said.Generation, MessageID: said.MessageID,
		FirstSeen: said.FirstSeen, MatchDeadline: said.MatchDeadline, Replay: said.Replay, Envelope: said.Envelope,
	}
	if d.retry.FirstSeen.IsZero() {
		d.retry.FirstSeen = now.UTC()
	}
}

// readTier takes the state of a copy out of its headers. A header that cannot be read never stops the partition:
// attempt and due time are clamped to what the policies allow.
func (e *Engine) readTier(d *delivery, ours []kgo.RecordHeader, now time.Time) {
	said, errs := envelope.ParseRetry(ours)
	for _, err := range errs {
		e.observe(Event{Kind: Malformed, At: now, Record: d.at, Root: said.Root, Err: err})
	}
	if said.Root.IsZero() {
		said.Root = d.at
	}
	if said.Origin.IsZero() {
		said.Origin = d.at
	}
	if said.FirstSeen.IsZero() {
		said.FirstSeen = now.UTC()
	}
	// A letter that the generation does not come from can be confirmed by nobody.
	if said.Generation < 1 || said.Envelope != envelope.EnvelopeID(said.Root, said.Generation-1) {
		said.Envelope, said.Replay = "", ""
	}
	e.clamp(&said, d.at, now)
	d.retry = said
}

// clamp brings what headers on a tier say within what the policies can have written: attempts and counts to the
// ceiling, the due time to the largest wait.
func (e *Engine) clamp(said *envelope.Retry, at envelope.Coordinates, now time.Time) {
	clamped := said.Attempt > fault.Ceiling
	said.Attempt = min(said.Attempt, fault.Ceiling)
	for code, n := range said.Budget {
		if n > fault.Ceiling && code != fault.DuplicateInFlight {
			said.Budget[code] = fault.Ceiling
			clamped = true
		}
	}
	longest, _ := e.cfg.Topics.DelayOf(at.Topic) // it may come from an earlier configuration
	if latest := now.Add(max(longest, e.cfg.Tiers.Largest()) + clampSlack); said.Due.After(latest) {
		said.Due = latest.UTC()
		clamped = true
	}
	if clamped {
		e.observe(Event{Kind: Malformed, At: now, Record: at, Root: said.Root, Attempt: said.Attempt, Due: said.Due, Count: 1})
	}
}

// clampSlack is how far beyond the largest wait a due time may lie before it is clamped: two clocks may differ.
const clampSlack = 5 * time.Minute

// decode reads the value and builds the claim. A record that cannot be decoded claims nothing: its letter's ids fold
// repeats by themselves.
func (d *delivery) decode() {
	m, err := envelope.Decode(d.value, d.own)
	d.bad = err
	d.msg = m
	if m == nil {
		return
	}
	if m.MessageID == "" && d.retry.MessageID != "" {
		m.MessageID = d.retry.MessageID
	}
	m.Identify(d.retry.Root)
	d.fill()
	if err != nil {
		return
	}
	d.claim = dedup.Claim{
		Hash: m.SourceHash, Digest: m.Digest, Root: d.retry.Root, Generation: d.retry.Generation,
		Attempt: d.retry.Attempt + 1, At: d.at,
	}
	if d.at == d.retry.Origin { // on a tier only this service writes
		d.claim.Replay, d.claim.Envelope = d.retry.Replay, d.retry.Envelope
	}
}

// fill gives the message what it tells of its record.
func (d *delivery) fill() {
	m := d.msg
	m.Root, m.Generation, m.Attempt, m.Replay, m.FirstSeen = d.retry.Root, d.retry.Generation, d.retry.Attempt, d.retry.Replay, d.retry.FirstSeen
	m.Key, m.Value, m.Headers = d.key, d.value, d.own
	if m.MatchDeadline.IsZero() {
		m.MatchDeadline = d.retry.MatchDeadline
	}
}

// admit takes a poll's records into their windows and sends each on its way.
func (l *loop) admit(p *poll) {
	for i := range p.batches {
		b := &p.batches[i]
		part := l.parts[b.source]
		if part == nil || part.ending() {
			continue // fetched for an assignment that is over
		}
		for j := range b.ds {
			l.dispatch(part, b.ds[j])
		}
	}
	close(p.admitted)
	l.polling = p
}

func (l *loop) dispatch(part *partition, d *delivery) {
	s, ok := part.window.admit(d.at.Offset, d.epoch)
	if !ok {
		l.e.observe(Event{Kind: Redelivered, At: l.now, Record: d.at})
		return
	}
	d.part, d.slot = part, s
	switch {
	case d.step == stepDone:
		part.window.finish(s, outcome{ending: endControl})
	case part.tier && d.retry.Due.After(l.now):
		size := d.detach()
		l.holds[part.topic].put(d.retry.Due, size, d)
	default:
		l.ready(d)
	}
}

// release sends on what has become due, and runs what is to be tried again.
func (l *loop) release() {
	for _, h := range l.holds {
		for d, ok, _ := h.next(l.now); ok; d, ok, _ = h.next(l.now) {
			if !d.part.gone {
				l.ready(d)
			}
		}
	}
	for f, ok, _ := l.retries.next(l.now); ok; f, ok, _ = l.retries.next(l.now) {
		f()
	}
}

// ready sends a record that is due to its claim, or to its letter when it cannot be read. One whose hash is at work
// in this process waits behind it, and claims when that one is done.
func (l *loop) ready(d *delivery) {
	if d.msg == nil && d.bad == nil {
		d.decode()
	}
	if d.bad != nil {
		d.began = l.now
		d.err = d.bad
		l.toWrite = append(l.toWrite, d)
		return
	}
	if behind, busy := l.hashes[d.claim.Hash]; busy {
		l.hashes[d.claim.Hash] = append(behind, d)
		return
	}
	l.hashes[d.claim.Hash] = nil
	d.occupies = true
	l.toClaim = append(l.toClaim, d)
}
