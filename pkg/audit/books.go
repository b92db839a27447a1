package audit

import (
	"recon/pkg/broker"
	"recon/pkg/envelope"
)

// Books fold what the topics and the ledger say into one outcome per root (CONTRACT 9). Facts may come in any order and
// any number of times: the same facts give the same Result. Not safe for concurrent use.
//
// # Which records of main are counted
//
// Every record of main is a root of its own, but for the copies that a replay put there: those count for the root that
// they replay, or the record would be ingested twice. A copy names that root in its headers, but anyone may write to
// main, so the headers alone make none: an invented one would take its own record out of the count. A record is held
// for a copy only if all of this is so:
//
//   - its envelope id is the id of (root, generation − 1), its replay id the one of that envelope, as only one replay
//     can have them;
//   - that letter is in the DLQ, and its original is this very value, by its SHA-256;
//   - something that only the service writes shows that the consumer handled it as that replay: an outcome (event,
//     letter, tier copy, posting) of that root at that generation or a later one, or a disposition `confirmed` or
//     `suppressed` of that letter. `reinjected` alone is the replayer's word that it wrote the copy, not that the
//     consumer believed it; it is enough only where a person has settled the root, because then the consumer tells
//     nothing;
//   - nothing names the record itself as a root. The consumer judges the headers by its own store, and where it did
//     not believe them it handled the record as a new root: then its outcome carries the record's own coordinates, and
//     it is counted as what it was handled as.
//
// A record that fails these and has no outcome either is missing, and named: doubt never takes a record out of the
// count.
//
// # Whose amount is counted
//
// An amount counts once per source_hash, under the best outcome that a record of this hash has; the others count as
// records only. Two records under one hash that disagree about the amount (IDENTITY_CONFLICT) are two transactions:
// both amounts count. Ingested amounts are those of main; each outcome's are its own source's (ledger, letter, tier
// copy, disposition, event), so the two sides are equal only if nothing was altered on the way.
type Books struct {
	main     string
	ledger   bool
	spans    map[int32]broker.Span
	roots    map[envelope.Coordinates]*account
	letters  map[string]*letter                           // by envelope id
	parents  map[string]bool                              // envelope ids of letters that have a child
	hashes   map[string]map[envelope.Coordinates]*Posting // the ledger's rows by source_hash
	suspects map[Alarm]bool
}

// Arrival is one record of main.
type Arrival struct {
	At         envelope.Coordinates
	SourceHash string // empty: unreadable
	Digest     string // empty: undecodable
	Money      Money
	Replay     *Replay // what its headers claim, nil where they claim nothing
}

// Replay is what a record on main says of itself in its recon-* headers, with what can be checked of it.
type Replay struct {
	Root        envelope.Coordinates
	Generation  int // its own, from 1
	ReplayID    string
	EnvelopeID  string // of the letter it replays
	ValueSHA256 string // of the record's value, 64 hex digits
}

// Posting is one row of the ledger.
type Posting struct {
	SourceHash string
	Root       envelope.Coordinates
	Generation int
	Digest     string
	Money      Money
}

// Wait is one record on a tier, from the committed position on.
type Wait struct {
	Root       envelope.Coordinates
	Generation int
	Attempt    int // attempts made
	SourceHash string
	Money      Money
}

// account is what is known of one root.
type account struct {
	arrival *Arrival
	posting *Posting
	named   bool // something else than its arrival names this root
	reached int  // the highest generation that an outcome names

	event                      claim // what the trail says of it
	toldPosted, toldSuppressed bool
	wait                       claim
	letters                    []*letter
	hand                       *hand
}

// claim is what one source says of hash and amount.
type claim struct {
	any   bool
	hash  string
	money Money
}

// meet takes in what the source says again. Sources repeat themselves; should they not, the choice must not depend on
// the order: readable before unreadable, then the smaller text.
func (c *claim) meet(hash string, m Money) {
	if !c.any {
		*c = claim{true, hash, m}
		return
	}
	if c.hash == "" || hash != "" && hash < c.hash {
		c.hash = hash
	}
	if m.Readable && !c.money.Readable || m.Readable == c.money.Readable && m.String() < c.money.String() {
		c.money = m
	}
}

// letter is what matters of one dead letter.
type letter struct {
	envelopeID string
	generation int
	sha        string
	claim      claim
	root       envelope.Coordinates
}

// hand is what people and replays decided about the letters of one root.
type hand struct {
	claim       claim
	states      map[string]map[envelope.State]bool // by envelope id
	quarantines map[string]string                  // event id to envelope id
	lifted      map[string]bool                    // event ids of quarantines taken back
}

// NewBooks makes empty books about the topic main. ledger says whether Posted will be told all postings: then they
// decide what is posted, and an event or disposition that says so without a posting is an alarm. Without, events and
// dispositions decide, and the result says that postings were not counted.
func NewBooks(main string, ledger bool) *Books {
	return &Books{
		main: main, ledger: ledger,
		spans:    make(map[int32]broker.Span),
		roots:    make(map[envelope.Coordinates]*account),
		letters:  make(map[string]*letter),
		parents:  make(map[string]bool),
		hashes:   make(map[string]map[envelope.Coordinates]*Posting),
		suspects: make(map[Alarm]bool),
	}
}

// Cut says which records of a partition of main are accounted for: those from the log's start up to the committed
// position. Later ones count nowhere. Those below the start are gone from main; the ones that the trail tells of are
// counted from it. Without a cut every arrival counts.
func (b *Books) Cut(partition int32, start, committed int64) {
	b.spans[partition] = broker.Span{Topic: b.main, Partition: partition, From: start, To: committed}
}

// Ingested takes one record of main.
func (b *Books) Ingested(a Arrival) {
	b.account(a.At).arrival = &a
}

// Posted takes one row of the ledger.
func (b *Books) Posted(p Posting) {
	if b.hashes[p.SourceHash] == nil {
		b.hashes[p.SourceHash] = make(map[envelope.Coordinates]*Posting, 1)
	}
	b.hashes[p.SourceHash][p.Root] = &p
	a := b.name(p.Root, p.Generation)
	if a.posting == nil || p.SourceHash < a.posting.SourceHash { // more than one: an alarm, whichever is kept
		a.posting = &p
	}
}

// Event takes one event of the trail. Only what the consumer says of a record changes the books; what a replay or a
// person did is taken from the dispositions.
func (b *Books) Event(e Event) {
	if e.Root.IsZero() {
		return
	}
	switch e.Type {
	case EventPosted, EventSuppressed, EventRetry, EventDead:
	default:
		return
	}
	a := b.name(e.Root, e.Generation)
	a.event.meet(e.SourceHash, e.money())
	a.toldPosted = a.toldPosted || e.Type == EventPosted
	a.toldSuppressed = a.toldSuppressed || e.Type == EventSuppressed
}

// Waiting takes one record of a tier.
func (b *Books) Waiting(w Wait) {
	b.name(w.Root, w.Generation).wait.meet(w.SourceHash, w.Money)
}

// Letter takes one dead letter.
func (b *Books) Letter(l *envelope.Letter) {
	root, generation := l.Lineage.Root, l.Lineage.Generation
	id := envelope.EnvelopeID(root, generation)
	a := b.name(root, generation)
	if l.Lineage.Parent != "" {
		b.parents[l.Lineage.Parent] = true
	}
	m := MoneyOf(l.Message.Currency, l.Message.Amount)
	if known := b.letters[id]; known != nil {
		known.claim.meet(l.Message.SourceHash, m)
		return
	}
	k := &letter{
		envelopeID: id, generation: generation, sha: l.Original.ValueSHA256, root: root,
		claim: claim{true, l.Message.SourceHash, m},
	}
	b.letters[id] = k
	a.letters = append(a.letters, k)
}

// Disposition takes one change of a letter's state.
func (b *Books) Disposition(d *envelope.Disposition) {
	a := b.name(d.Root, d.Generation)
	if a.hand == nil {
		a.hand = &hand{
			states:      make(map[string]map[envelope.State]bool, 1),
			quarantines: make(map[string]string),
			lifted:      make(map[string]bool),
		}
	}
	h := a.hand
	h.claim.meet(d.SourceHash, MoneyOf(d.Currency, d.Amount))
	switch d.State {
	case envelope.Confirmed:
		a.reached = max(a.reached, d.Generation+1)
	case envelope.Suppressed:
		if d.ReplayID != "" { // by the consumer, of the replayed record
			a.reached = max(a.reached, d.Generation+1)
		}
	case envelope.Quarantined:
		id := d.EventID
		if id == "" {
			id = d.ID()
		}
		h.quarantines[id] = d.EnvelopeID
		return
	case envelope.Released:
		h.lifted[d.Lifts] = true
	}
	if h.states[d.EnvelopeID] == nil {
		h.states[d.EnvelopeID] = make(map[envelope.State]bool, 1)
	}
	h.states[d.EnvelopeID][d.State] = true
}

// Suspect takes what a reader found wrong with the evidence itself: a letter that cannot be read, a topic whose
// beginning is gone. The books do not close with it.
func (b *Books) Suspect(at envelope.Coordinates, what string) {
	b.suspects[Alarm{Root: at, Grave: true, Text: what}] = true
}

func (b *Books) account(root envelope.Coordinates) *account {
	a := b.roots[root]
	if a == nil {
		a = new(account)
		b.roots[root] = a
	}
	return a
}

// name is account for an outcome that names the root at generation.
func (b *Books) name(root envelope.Coordinates, generation int) *account {
	a := b.account(root)
	a.named = true
	a.reached = max(a.reached, generation)
	return a
}
