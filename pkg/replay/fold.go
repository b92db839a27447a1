package replay

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// Fold is the state of all dead letters, made of letters and dispositions in any order and with any repeats: the same
// set of them gives the same state. It has one owner; it is not safe for concurrent use.
type Fold struct {
	cases  map[string]*Case // by envelope id
	lines  map[envelope.Coordinates]*lineage
	unread map[envelope.Coordinates]string // what could not be decoded, and why
	words  map[string]string               // one copy of each text that many letters share

	next map[place]int64 // where reading goes on
	gaps map[place]gap   // what a topic has lost before it could be read
}

// place is one partition of a topic.
type place struct {
	topic     string
	partition int32
}

// gap is a stretch of offsets that was there once and cannot be read any more.
type gap struct{ from, to int64 }

// NewFold makes an empty one.
func NewFold() *Fold {
	return &Fold{
		cases: make(map[string]*Case), lines: make(map[envelope.Coordinates]*lineage),
		unread: make(map[envelope.Coordinates]string), words: make(map[string]string),
		next: make(map[place]int64), gaps: make(map[place]gap),
	}
}

// Letter takes the dead letter that lies at. Of several copies the one written first speaks, the others are counted.
func (f *Fold) Letter(at envelope.Coordinates, l *envelope.Letter) {
	at.Topic = f.word(at.Topic)
	c := f.of(envelope.EnvelopeID(l.Lineage.Root, l.Lineage.Generation), l.Lineage.Root, l.Lineage.Generation)
	i, again := slices.BinarySearchFunc(c.Copies, at, envelope.Coordinates.Compare)
	if again {
		return
	}
	c.Copies = slices.Insert(c.Copies, i, at)
	c.differs = c.differs || c.known && c.ValueSHA256 != l.Original.ValueSHA256
	if c.known && !before(l, at, c) {
		return
	}
	c.known = true
	f.summarise(c, at, l)
}

// before tells whether the copy l at was written before the one that c speaks of.
func before(l *envelope.Letter, at envelope.Coordinates, c *Case) bool {
	if d := l.DeadLetteredAt.Compare(c.DeadLettered); d != 0 {
		return d < 0
	}
	return at.Compare(c.At) < 0
}

// maxDetail bounds what a summary keeps of error_detail, in bytes.
const maxDetail = 200

func (f *Fold) summarise(c *Case, at envelope.Coordinates, l *envelope.Letter) {
	c.At, c.Parent, c.Origin = at, l.Lineage.Parent, l.Origin.Coordinates
	c.Origin.Topic = f.word(c.Origin.Topic)
	c.FailureCode, c.FailureClass = fault.Failure(f.word(string(l.FailureCode))), fault.Class(f.word(string(l.FailureClass)))
	c.ErrorCode, c.Stage = fault.Code(f.word(string(l.ErrorCode))), fault.Stage(f.word(string(l.SourceStage)))
	c.Fingerprint, c.Attempts = f.word(l.Fingerprint.Hash), l.AttemptCount
	c.Detail = strings.Clone(fault.Truncate(l.ErrorDetail, maxDetail))
	c.Facts = l.Message
	for _, text := range []*string{&c.LedgerEntity, &c.Currency, &c.MatchDecision, &c.BookingDate, &c.ValueDate} {
		*text = f.word(*text)
	}
	c.ValueSHA256, c.Omitted, c.Sealed = l.Original.ValueSHA256, l.Original.Omitted, l.Original.Encryption != nil
	c.SourceSystem = ""
	if !c.Omitted && !c.Sealed {
		m, _ := envelope.Decode(l.Original.Value, l.Original.Headers) // an invalid one still says what can be read
		c.SourceSystem = f.word(m.SourceSystem)
	}
	c.FirstSeen, c.DeadLettered = l.FirstSeenAt, l.DeadLetteredAt
	c.size = len(l.Original.Key) + len(l.Original.Value) + int(max(0, l.Original.ValueSize))
}

// Disposition takes one change of a letter's state. Repeats of an event count once.
func (f *Fold) Disposition(d *envelope.Disposition) {
	c := f.of(d.EnvelopeID, d.Root, d.Generation)
	id := d.EventID
	if id == "" {
		id = d.ID()
	}
	s := Step{
		EventID: id, State: envelope.State(f.word(string(d.State))), At: d.At, Code: fault.Failure(f.word(string(d.Code))),
		RunID: f.word(d.RunID), PlanID: f.word(d.PlanID), ReplayID: d.ReplayID, Actor: f.word(d.Actor),
		RootCause: f.word(d.RootCause), Outcome: f.word(d.Outcome), Lifts: d.Lifts, Ticket: f.word(d.Ticket), Note: d.Note,
	}
	if i := slices.IndexFunc(c.Steps, func(k Step) bool { return k.EventID == s.EventID }); i >= 0 {
		if compareSteps(s, c.Steps[i]) >= 0 {
			return
		}
		c.Steps = slices.Delete(c.Steps, i, i+1)
	}
	i, _ := slices.BinarySearchFunc(c.Steps, s, compareSteps)
	c.Steps = slices.Insert(c.Steps, i, s)
}

// Undecodable takes a record of the DLQ or of the dispositions that cannot be read: it is counted and listed.
func (f *Fold) Undecodable(at envelope.Coordinates, err error) {
	f.unread[at] = err.Error()
}

// of finds the case of a letter, or begins it.
func (f *Fold) of(id string, root envelope.Coordinates, generation int) *Case {
	if c := f.cases[id]; c != nil {
		return c
	}
	root.Topic = f.word(root.Topic)
	line := f.lines[root]
	if line == nil {
		line = new(lineage)
		f.lines[root] = line
	}
	c := &Case{EnvelopeID: strings.Clone(id), Root: root, Generation: generation, line: line}
	f.cases[c.EnvelopeID] = c
	line.cases = append(line.cases, c)
	slices.SortFunc(line.cases, compareCases)
	return c
}

// word keeps one copy of a text: a hundred thousand letters name a dozen entities.
func (f *Fold) word(s string) string {
	if s == "" {
		return ""
	}
	if known, ok := f.words[s]; ok {
		return known
	}
	s = strings.Clone(s)
	f.words[s] = s
	return s
}

// Case gives a letter by its envelope id, and whether it was read.
func (f *Fold) Case(envelopeID string) (*Case, bool) {
	c := f.cases[envelopeID]
	return c, c != nil && c.known
}

// All yields every letter that was read, ordered by ledger entity, first seen, root and generation.
func (f *Fold) All() iter.Seq[*Case] {
	return func(yield func(*Case) bool) {
		cases := slices.DeleteFunc(slices.Collect(maps.Values(f.cases)), func(c *Case) bool { return !c.known })
		slices.SortFunc(cases, compareCases)
		for _, c := range cases {
			if !yield(c) {
				return
			}
		}
	}
}

// Open yields the open letters in the order of All: no terminal state, no child, not in flight, and their root has not
// ended otherwise.
func (f *Fold) Open() iter.Seq[*Case] {
	return f.in(Open)
}

// InFlight yields the letters whose original is on main again and that nothing has ended yet.
func (f *Fold) InFlight() iter.Seq[*Case] {
	return f.in(InFlight)
}

func (f *Fold) in(s Status) iter.Seq[*Case] {
	return func(yield func(*Case) bool) {
		for c := range f.All() {
			if c.Status() == s && !yield(c) {
				return
			}
		}
	}
}

// Unreadable is a record of the DLQ or of the dispositions that could not be decoded.
type Unreadable struct {
	At  envelope.Coordinates
	Why string
}

// Unreadable lists them by position.
func (f *Fold) Unreadable() []Unreadable {
	var us []Unreadable
	for at, why := range f.unread {
		us = append(us, Unreadable{at, why})
	}
	slices.SortFunc(us, func(a, b Unreadable) int { return a.At.Compare(b.At) })
	return us
}

// Gaps tells what the topics have lost to retention before it was read: states that nobody knows any more.
func (f *Fold) Gaps() []string {
	var gaps []string
	for p, g := range f.gaps {
		gaps = append(gaps, fmt.Sprintf("%s/%d has lost its offsets %d to %d", p.topic, p.partition, g.from, g.to-1))
	}
	slices.Sort(gaps)
	return gaps
}
