package replay

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/broker"
	"recon/pkg/envelope"
)

// Opened is a dead letter with its original in hand. Gates read it, never change it.
type Opened struct {
	Case   *Case
	Letter *envelope.Letter // nil where Err is not
	// Message is what the original says today, as far as it can be read; nil where Err is not.
	Message *envelope.Message
	Invalid error // why the message is refused by today's rules, a fault; nil: it is valid
	Err     error // why there is no original to look at, nil: there is
}

// Load reads the letters of cases again where they lie, in the order of cases, and decodes their originals by today's
// rules. Where a letter holds no original, that is read from main. The error says that the topics could not be read;
// what is wrong with one letter stands in its Err.
func Load(ctx context.Context, opts []kgo.Opt, cases []*Case) ([]Opened, error) {
	letters := make([]envelope.Coordinates, len(cases))
	for i, c := range cases {
		letters[i] = c.At
	}
	records, err := readAt(ctx, opts, letters)
	if err != nil {
		return nil, fmt.Errorf("reading %d letters again: %w", len(cases), err)
	}
	opened := make([]Opened, len(cases))
	var mains []envelope.Coordinates
	for i, c := range cases {
		opened[i] = openLetter(c, records[c.At])
		if l := opened[i].Letter; l != nil && l.Original.Omitted {
			mains = append(mains, l.Origin.Coordinates)
		}
	}
	if records, err = readOriginals(ctx, opts, mains); err != nil {
		return nil, fmt.Errorf("reading %d originals that their letters do not hold: %w", len(mains), err)
	}
	for i := range opened {
		o := &opened[i]
		if o.Letter != nil && o.Letter.Original.Omitted {
			o.Err = restore(o.Letter, records[o.Letter.Origin.Coordinates])
		}
		o.decode()
	}
	return opened, nil
}

// readOriginals is readAt topic by topic: where one is gone, or may not be read, so are its records, and the letters of
// the other topics are not held up by it.
func readOriginals(ctx context.Context, opts []kgo.Opt, at []envelope.Coordinates) (map[envelope.Coordinates]*kgo.Record, error) {
	byTopic := make(map[string][]envelope.Coordinates)
	for _, c := range at {
		byTopic[c.Topic] = append(byTopic[c.Topic], c)
	}
	found := make(map[envelope.Coordinates]*kgo.Record, len(at))
	for _, part := range byTopic {
		records, err := readAt(ctx, opts, part)
		var denied *kadm.AuthError
		if errors.Is(err, ErrPrecondition) || errors.As(err, &denied) {
			continue
		}
		if err != nil {
			return nil, err
		}
		maps.Copy(found, records)
	}
	return found, nil
}

func openLetter(c *Case, r *kgo.Record) Opened {
	o := Opened{Case: c}
	if r == nil {
		o.Err = fmt.Errorf("letter %s is no longer at %s", c.EnvelopeID, c.At)
		return o
	}
	if o.Letter, o.Err = envelope.DecodeLetter(r.Value); o.Err != nil {
		return o
	}
	if o.Letter.EnvelopeID != c.EnvelopeID {
		o.Err = fmt.Errorf("at %s lies letter %s, not %s", c.At, o.Letter.EnvelopeID, c.EnvelopeID)
	}
	return o
}

// restore puts the record that lies on main into a letter that does not hold it, if it is the same one.
func restore(l *envelope.Letter, r *kgo.Record) error {
	where := l.Origin.Coordinates
	if r == nil {
		return fmt.Errorf("the original is not in the letter, and no longer at %s", where)
	}
	sum := sha256.Sum256(r.Value)
	size := int64(len(r.Value))
	if r.Value == nil {
		size = -1
	}
	if hex.EncodeToString(sum[:]) != l.Original.ValueSHA256 || size != l.Original.ValueSize {
		return fmt.Errorf("the original is not in the letter, and at %s lies another value", where)
	}
	own, _ := envelope.SplitHeaders(r.Headers)
	l.Original = envelope.Original{Key: r.Key, Value: r.Value, Headers: own, ValueSHA256: l.Original.ValueSHA256}
	return nil
}

// decode reads the message out of the original.
func (o *Opened) decode() {
	if o.Err == nil && o.Letter.Original.Encryption != nil {
		o.Err = errors.New("the original is sealed")
	}
	if o.Err != nil {
		o.Letter = nil
		return
	}
	l := o.Letter
	m, err := envelope.Decode(l.Original.Value, l.Original.Headers)
	if m.MessageID == "" {
		m.MessageID = l.Message.MessageID
	}
	if m.TraceID == "" {
		m.TraceID = l.Message.TraceID
	}
	m.Identify(l.Lineage.Root)
	m.Generation, m.FirstSeen, m.Key = l.Lineage.Generation+1, l.FirstSeenAt, l.Original.Key
	m.Replay = envelope.ReplayID(l.EnvelopeID)
	o.Message, o.Invalid = m, err
}

// maxHole is how many records that are not wanted may be read on the way to the next wanted one; beyond, reading begins
// anew there, which costs about as much.
const maxHole = 1000

// readAt reads the records at the given coordinates. One that is not there, or not any more, is missing in the result.
func readAt(ctx context.Context, opts []kgo.Opt, at []envelope.Coordinates) (map[envelope.Coordinates]*kgo.Record, error) {
	found := make(map[envelope.Coordinates]*kgo.Record, len(at))
	if len(at) == 0 {
		return found, nil
	}
	rounds, err := stretches(ctx, opts, at)
	if err != nil {
		return nil, err
	}
	for _, c := range at {
		found[c] = nil
	}
	for _, spans := range rounds {
		err := broker.Reader{Options: opts}.Read(ctx, spans, func(r *kgo.Record) error {
			c := envelope.CoordinatesOf(r)
			if _, wanted := found[c]; wanted {
				found[c] = r
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// stretches plans the reading: rounds of spans, each round with one span of a partition at most, that cover what of at
// can still be there.
func stretches(ctx context.Context, opts []kgo.Opt, at []envelope.Coordinates) ([][]broker.Span, error) {
	offsets := make(map[place][]int64)
	var names []string
	for _, c := range at {
		p := place{c.Topic, c.Partition}
		offsets[p] = append(offsets[p], c.Offset)
		if !slices.Contains(names, c.Topic) {
			names = append(names, c.Topic)
		}
	}
	logs, err := bounds(ctx, opts, names...)
	if err != nil {
		return nil, err
	}
	var rounds [][]broker.Span
	for _, log := range logs {
		wanted, n := offsets[place{log.Topic, log.Partition}], 0
		slices.Sort(wanted)
		for i, offset := range wanted {
			if offset < log.From || offset >= log.To {
				continue
			}
			if n > 0 && i > 0 && offset-wanted[i-1] <= maxHole {
				spans := rounds[n-1]
				spans[len(spans)-1].To = offset + 1
				continue
			}
			if n == len(rounds) {
				rounds = append(rounds, nil)
			}
			rounds[n] = append(rounds[n], broker.Span{Topic: log.Topic, Partition: log.Partition, From: offset, To: offset + 1})
			n++
		}
	}
	return rounds, nil
}
