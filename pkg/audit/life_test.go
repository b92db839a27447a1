package audit_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/shopspring/decimal"

	"recon/pkg/audit"
	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// fact is one thing that a topic or the ledger says.
type fact func(b *audit.Books)

// life is what can become of one record on main, and what the books must make of it.
type life struct {
	name  string
	want  audit.Standing
	roots int // of its own; more where a record was handled as one of its own
	write func(w *world, root envelope.Coordinates)
}

// world collects facts. Arrivals are apart: losing an outcome must be found, losing the arrival is another matter.
type world struct {
	arrivals []fact
	outcomes map[envelope.Coordinates][]fact
	next     int64 // free offsets on main, for copies
	amount   string
	main     map[envelope.Coordinates]bool // records on main that are roots
}

func newWorld() *world {
	return &world{outcomes: make(map[envelope.Coordinates][]fact), next: 1000, main: make(map[envelope.Coordinates]bool)}
}

func (w *world) say(root envelope.Coordinates, f fact) {
	w.outcomes[root] = append(w.outcomes[root], f)
}

// facts gives all of them, without what is said of the roots left out.
func (w *world) facts(without ...envelope.Coordinates) []fact {
	all := append([]fact(nil), w.arrivals...)
	for root, fs := range w.outcomes {
		if len(without) == 0 || root != without[0] {
			all = append(all, fs...)
		}
	}
	return all
}

func hashOf(root envelope.Coordinates) string { return "v1:" + root.String() }

func valueOf(root envelope.Coordinates) string { return "value of " + root.String() }

func shaOf(value string) string {
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:])
}

// arrive puts the record on main.
func (w *world) arrive(root envelope.Coordinates, hash, digest string) {
	w.main[root] = true
	a := audit.Arrival{At: root, SourceHash: hash, Digest: digest, Money: audit.MoneyOf("EUR", w.amount)}
	w.arrivals = append(w.arrivals, func(b *audit.Books) { b.Ingested(a) })
}

func (w *world) event(kind string, root envelope.Coordinates, generation int, hash string) {
	e := audit.Event{Type: kind, Root: root, Generation: generation, SourceHash: hash, Currency: "EUR", Amount: w.amount}
	w.say(root, func(b *audit.Books) { b.Event(e) })
}

func (w *world) post(root envelope.Coordinates, generation int, hash, digest string) {
	p := audit.Posting{SourceHash: hash, Root: root, Generation: generation, Digest: digest, Money: audit.MoneyOf("EUR", w.amount)}
	w.say(root, func(b *audit.Books) { b.Posted(p) })
	w.event(audit.EventPosted, root, generation, hash)
}

func (w *world) wait(root envelope.Coordinates, generation int, hash string) {
	t := audit.Wait{Root: root, Generation: generation, Attempt: 1, SourceHash: hash, Money: audit.MoneyOf("EUR", w.amount)}
	w.say(root, func(b *audit.Books) { b.Waiting(t) })
	w.event(audit.EventRetry, root, generation, hash)
}

func (w *world) die(root envelope.Coordinates, generation int, hash string) {
	l := &envelope.Letter{
		FailureCode: fault.FailedPoison, ErrorCode: fault.SchemaInvalid,
		Message: envelope.Facts{SourceHash: hash, Currency: "EUR", Amount: w.amount},
		Lineage: envelope.Lineage{Root: root, Generation: generation},
	}
	l.Original.ValueSHA256 = shaOf(valueOf(root))
	if generation > 0 {
		l.Lineage.Parent = envelope.EnvelopeID(root, generation-1)
		l.Lineage.ReplayID = envelope.ReplayID(l.Lineage.Parent)
	}
	w.say(root, func(b *audit.Books) { b.Letter(l) })
	w.event(audit.EventDead, root, generation, hash)
}

// dispose changes the state of the letter of root and generation; change may fill more fields.
func (w *world) dispose(root envelope.Coordinates, generation int, s envelope.State, change func(*envelope.Disposition)) string {
	d := &envelope.Disposition{
		EnvelopeID: envelope.EnvelopeID(root, generation), Root: root, Generation: generation, State: s,
		SourceHash: hashOf(root), Currency: "EUR", Amount: w.amount, RunID: "run-1",
	}
	if s == envelope.Reinjected || s == envelope.Confirmed {
		d.ReplayID = envelope.ReplayID(d.EnvelopeID)
	}
	if change != nil {
		change(d)
	}
	d.EventID = d.ID()
	w.say(root, func(b *audit.Books) { b.Disposition(d) })
	return d.EventID
}

// replay puts the original of root's letter on main again and returns where it lies.
func (w *world) replay(root envelope.Coordinates, generation int) envelope.Coordinates {
	copyAt := at(root.Partition, w.next)
	w.next++
	r := replayOf(root, generation)
	a := audit.Arrival{At: copyAt, SourceHash: hashOf(root), Digest: "d", Money: audit.MoneyOf("EUR", w.amount), Replay: &r}
	w.arrivals = append(w.arrivals, func(b *audit.Books) { b.Ingested(a) })
	return copyAt
}

// replayOf is what a true copy says of itself.
func replayOf(root envelope.Coordinates, generation int) audit.Replay {
	letter := envelope.EnvelopeID(root, generation-1)
	return audit.Replay{
		Root: root, Generation: generation, EnvelopeID: letter, ReplayID: envelope.ReplayID(letter), ValueSHA256: shaOf(valueOf(root)),
	}
}

var lives = []life{
	{"posted", audit.AsPosted, 1, func(w *world, r envelope.Coordinates) {
		w.arrive(r, hashOf(r), "d")
		w.post(r, 0, hashOf(r), "d")
	}},
	{"posted after a wait whose copy is still read", audit.AsPosted, 1, func(w *world, r envelope.Coordinates) {
		w.arrive(r, hashOf(r), "d")
		w.wait(r, 0, hashOf(r))
		w.post(r, 0, hashOf(r), "d")
	}},
	{"waiting", audit.AsWaiting, 1, func(w *world, r envelope.Coordinates) {
		w.arrive(r, hashOf(r), "d")
		w.wait(r, 0, hashOf(r))
	}},
	{"dead", audit.AsOpen, 1, func(w *world, r envelope.Coordinates) {
		w.arrive(r, hashOf(r), "")
		w.die(r, 0, hashOf(r))
	}},
	{"acknowledged and refused is still open", audit.AsOpen, 1, func(w *world, r envelope.Coordinates) {
		w.arrive(r, hashOf(r), "")
		w.die(r, 0, hashOf(r))
		w.dispose(r, 0, envelope.Acknowledged, nil)
		w.dispose(r, 0, envelope.Refused, func(d *envelope.Disposition) { d.Code = fault.FailedCauseNotFixed })
	}},
	{"replayed, not yet read again", audit.AsOpen, 1, func(w *world, r envelope.Coordinates) {
		w.arrive(r, hashOf(r), "d")
		w.die(r, 0, hashOf(r))
		w.dispose(r, 0, envelope.Reinjected, nil)
	}},
	{"replayed and confirmed", audit.AsPosted, 1, func(w *world, r envelope.Coordinates) {
		w.arrive(r, hashOf(r), "d")
		w.die(r, 0, hashOf(r))
		w.dispose(r, 0, envelope.Reinjected, nil)
		w.replay(r, 1)
		w.post(r, 1, hashOf(r), "d")
		w.dispose(r, 0, envelope.Confirmed, nil)
	}},
	{"replayed by a run that ended before it could say so", audit.AsPosted, 1, func(w *world, r envelope.Coordinates) {
		w.arrive(r, hashOf(r), "d")
		w.die(r, 0, hashOf(r))
		w.replay(r, 1)
		w.post(r, 1, hashOf(r), "d")
	}},
	{"replayed twice into main", audit.AsPosted, 1, func(w *world, r envelope.Coordinates) {
		w.arrive(r, hashOf(r), "d")
		w.die(r, 0, hashOf(r))
		w.replay(r, 1)
		w.replay(r, 1)
		w.dispose(r, 0, envelope.Reinjected, nil)
		w.post(r, 1, hashOf(r), "d")
	}},
	{"replayed and dead again", audit.AsOpen, 1, func(w *world, r envelope.Coordinates) {
		w.arrive(r, hashOf(r), "d")
		w.die(r, 0, hashOf(r))
		w.dispose(r, 0, envelope.Reinjected, nil)
		w.replay(r, 1)
		w.die(r, 1, hashOf(r))
	}},
	{"replayed and waiting", audit.AsOpen, 1, func(w *world, r envelope.Coordinates) {
		w.arrive(r, hashOf(r), "d")
		w.die(r, 0, hashOf(r))
		w.replay(r, 1)
		w.wait(r, 1, hashOf(r))
	}},
	{"replayed, not believed: two roots", audit.AsOpen, 2, func(w *world, r envelope.Coordinates) {
		w.arrive(r, hashOf(r), "d")
		w.die(r, 0, hashOf(r))
		w.dispose(r, 0, envelope.Reinjected, nil)
		alias := w.replay(r, 1)
		w.main[alias] = true
		w.post(alias, 0, hashOf(r), "d")
	}},
	{"quarantined", audit.AsQuarantined, 1, func(w *world, r envelope.Coordinates) {
		w.arrive(r, hashOf(r), "d")
		w.die(r, 0, hashOf(r))
		w.dispose(r, 0, envelope.Quarantined, nil)
	}},
	{"journal posted", audit.AsJournaled, 1, func(w *world, r envelope.Coordinates) {
		w.arrive(r, hashOf(r), "d")
		w.die(r, 0, hashOf(r))
		w.dispose(r, 0, envelope.Quarantined, nil)
		w.dispose(r, 0, envelope.JournalPosted, nil)
	}},
	{"released", audit.AsOpen, 1, func(w *world, r envelope.Coordinates) {
		w.arrive(r, hashOf(r), "d")
		w.die(r, 0, hashOf(r))
		id := w.dispose(r, 0, envelope.Quarantined, nil)
		w.dispose(r, 0, envelope.Released, func(d *envelope.Disposition) { d.Lifts = id })
	}},
	{"released and quarantined again", audit.AsQuarantined, 1, func(w *world, r envelope.Coordinates) {
		w.arrive(r, hashOf(r), "d")
		w.die(r, 0, hashOf(r))
		id := w.dispose(r, 0, envelope.Quarantined, nil)
		w.dispose(r, 0, envelope.Released, func(d *envelope.Disposition) { d.Lifts = id })
		w.dispose(r, 0, envelope.Quarantined, func(d *envelope.Disposition) { d.RunID = "run-2" })
	}},
	{"resolved", audit.AsResolved, 1, func(w *world, r envelope.Coordinates) {
		w.arrive(r, hashOf(r), "d")
		w.die(r, 0, hashOf(r))
		w.dispose(r, 0, envelope.Resolved, func(d *envelope.Disposition) { d.Outcome = envelope.OutcomePostedManually })
	}},
	{"suppressed beside its posted twin", audit.AsSuppressed, 2, func(w *world, r envelope.Coordinates) {
		twin := at(r.Partition, w.next)
		w.next++
		w.arrive(twin, hashOf(r), "d")
		w.post(twin, 0, hashOf(r), "d")
		w.arrive(r, hashOf(r), "d")
		w.event(audit.EventSuppressed, r, 0, hashOf(r))
	}},
	{"dead, re-sent and posted, suppressed by a replay", audit.AsSuppressed, 2, func(w *world, r envelope.Coordinates) {
		twin := at(r.Partition, w.next)
		w.next++
		w.arrive(r, hashOf(r), "d")
		w.die(r, 0, hashOf(r))
		w.arrive(twin, hashOf(r), "d")
		w.post(twin, 0, hashOf(r), "d")
		w.dispose(r, 0, envelope.Suppressed, func(d *envelope.Disposition) { d.Code = fault.FailedReplayDuplicate })
	}},
	{"another transaction under a posted hash", audit.AsOpen, 2, func(w *world, r envelope.Coordinates) {
		twin := at(r.Partition, w.next)
		w.next++
		w.arrive(twin, hashOf(r), "d")
		w.post(twin, 0, hashOf(r), "d")
		old := w.amount
		w.amount = "77.77"
		w.arrive(r, hashOf(r), "other")
		w.die(r, 0, hashOf(r))
		w.amount = old
	}},
}

// amounts of the records of a life story, by turns.
var amounts = []string{"10.00", "-2.50", "0.01", "", "-1000000.00"}

// story writes n lives, drawn by pick, and returns them by root.
func story(n int, pick func(i int) int) (*world, map[envelope.Coordinates]life) {
	w, of := newWorld(), make(map[envelope.Coordinates]life)
	for i := range n {
		root := at(int32(i%3), int64(i))
		w.amount = amounts[i%len(amounts)]
		l := lives[pick(i)]
		l.write(w, root)
		of[root] = l
	}
	return w, of
}

// books folds facts in the given order.
func books(ledger bool, facts []fact) *audit.Books {
	b := audit.NewBooks("recon.main", ledger)
	for _, f := range facts {
		f(b)
	}
	return b
}

// text is the whole result, for comparing.
func text(r *audit.Result) string {
	var b strings.Builder
	if err := r.Print(&b); err != nil {
		return err.Error()
	}
	return b.String() + fmt.Sprint(r.Missing, r.Alarms)
}

func dec(s string) decimal.Decimal { return decimal.RequireFromString(s) }
