package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"recon/pkg/envelope"
)

// Tally is what is known of one currency's records.
type Tally struct {
	Total             // gross, each amount once per source_hash
	Records    int    // roots
	Unreadable int    // of them, those without a readable amount
	Hash       uint64 // sum of RootHash
}

// Sums are tallies by currency; "" holds the records whose currency cannot be read.
type Sums map[string]Tally

// All is the tally over all currencies, without a total, which would add up what cannot be added.
func (s Sums) All() Tally {
	var all Tally
	for _, t := range s {
		all.Records += t.Records
		all.Unreadable += t.Unreadable
		all.Hash += t.Hash
	}
	return all
}

func (s Sums) add(root envelope.Coordinates, currency string, readable bool, amount Money) {
	t := s[currency]
	t.Records++
	t.Hash += RootHash(root)
	if !readable {
		t.Unreadable++
	}
	t.Total = t.Plus(amount)
	s[currency] = t
}

// Alarm is something that must not be, and where.
type Alarm struct {
	Root  envelope.Coordinates
	Grave bool // the books do not close with it; else it is reported
	Text  string
}

// Result is the state of the books.
type Result struct {
	Main       string
	Ingested   Sums
	By         [standings]Sums        // index with a Standing
	Missing    []envelope.Coordinates // roots without an outcome, the smallest first
	Alarms     []Alarm                // by root
	BelowStart map[int32]int          // roots per partition that main no longer holds, counted from the trail
	Copies     int                    // records of main that are replays and count for their root
	Ledger     bool                   // postings were counted in the ledger
}

// Closes tells whether the equation of CONTRACT 9 holds (a missing root leaves its two sides unequal) and no grave alarm
// speaks against it.
func (r *Result) Closes() bool {
	if slices.ContainsFunc(r.Alarms, func(a Alarm) bool { return a.Grave }) {
		return false
	}
	for currency, in := range r.Ingested {
		out := r.Accounted(currency)
		if !in.Debit.Equal(out.Debit) || !in.Credit.Equal(out.Credit) || in.Records != out.Records || in.Hash != out.Hash {
			return false
		}
	}
	return true
}

// Accounted is what all outcomes of one currency come to: what Ingested must be.
func (r *Result) Accounted(currency string) Tally {
	var all Tally
	for s := AsPosted; s < AsMissing; s++ {
		t := r.By[s][currency]
		all.Records += t.Records
		all.Unreadable += t.Unreadable
		all.Hash += t.Hash
		all.Count += t.Count
		all.Debit = all.Debit.Add(t.Debit)
		all.Credit = all.Credit.Add(t.Credit)
	}
	return all
}

// row is one root that is counted.
type row struct {
	root     envelope.Coordinates
	account  *account
	standing Standing
	in, out  claim // what main says, what the outcome's source says
}

// Result judges what was taken in so far. It changes nothing: more facts may follow.
func (b *Books) Result() *Result {
	r := &Result{Main: b.main, Ingested: Sums{}, BelowStart: make(map[int32]int), Ledger: b.ledger}
	for s := range r.By {
		r.By[s] = Sums{}
	}
	rows := b.rows(r)
	bearer := bearers(rows)
	for i := range rows {
		w := &rows[i]
		var in, out Money
		if bearer[keyOf(w)] == w.root {
			in, out = w.in.money, w.out.money
		}
		r.Ingested.add(w.root, w.in.money.Currency, w.in.money.Readable, in)
		r.By[w.standing].add(w.root, w.in.money.Currency, w.in.money.Readable, out)
		if w.standing == AsMissing {
			r.Missing = append(r.Missing, w.root)
		}
	}
	r.Alarms = b.alarms(rows)
	return r
}

// rows gives the roots that are counted, sorted.
func (b *Books) rows(r *Result) []row {
	var rows []row
	for _, root := range slices.SortedFunc(maps.Keys(b.roots), envelope.Coordinates.Compare) {
		a := b.roots[root]
		w := row{root: root, account: a}
		span, cut := b.spans[root.Partition]
		cut = cut && root.Topic == b.main
		switch {
		case a.arrival != nil && cut && root.Offset >= span.To:
			continue
		case b.copyOf(a):
			r.Copies++
			continue
		case a.arrival != nil:
			w.in = claim{true, a.arrival.SourceHash, a.arrival.Money}
		case cut && root.Offset < span.From && a.event.any:
			w.in = a.event
			r.BelowStart[root.Partition]++
		default:
			continue
		}
		w.standing, w.out = b.standing(a)
		if fromLedger := b.ledger && w.standing == AsPosted; !fromLedger && !w.out.money.Readable {
			w.out.money = w.in.money // the source says nothing of the amount; what main says stands
		}
		rows = append(rows, w)
	}
	return rows
}

// bearer decides for each amount of each hash which root's outcome it counts under: the best, then the smallest root.
func bearers(rows []row) map[string]envelope.Coordinates {
	best := make(map[string]*row, len(rows))
	for i := range rows {
		w := &rows[i]
		if known := best[keyOf(w)]; known == nil || w.standing < known.standing {
			best[keyOf(w)] = w
		}
	}
	bearer := make(map[string]envelope.Coordinates, len(best))
	for key, w := range best {
		bearer[key] = w.root
	}
	return bearer
}

// keyOf names an amount of a source_hash; a record without a hash bears its own.
func keyOf(w *row) string {
	if w.in.hash == "" {
		return w.root.String()
	}
	return w.in.hash + "\n" + w.in.money.String()
}

// alarms looks at every root, counted or not.
func (b *Books) alarms(rows []row) []Alarm {
	as := slices.Collect(maps.Keys(b.suspects))
	counted := make(map[envelope.Coordinates]bool, len(rows))
	for i := range rows {
		counted[rows[i].root] = true
		as = append(as, b.judge(&rows[i])...)
	}
	for root, a := range b.roots {
		span, cut := b.spans[root.Partition]
		if a.arrival == nil && cut && root.Topic == b.main && root.Offset >= span.From && root.Offset < span.To {
			as = append(as, Alarm{root, true, "it has an outcome, but main does not hold such a record"})
		}
	}
	for hash, by := range b.hashes {
		if len(by) > 1 {
			roots := slices.SortedFunc(maps.Keys(by), envelope.Coordinates.Compare)
			as = append(as, Alarm{roots[0], true, fmt.Sprintf("source_hash %s is posted %d times, by %s", hash, len(by), join(roots))})
		}
	}
	slices.SortFunc(as, func(x, y Alarm) int { return cmp.Or(x.Root.Compare(y.Root), strings.Compare(x.Text, y.Text)) })
	return as
}

func join(roots []envelope.Coordinates) string {
	var s []string
	for _, r := range roots {
		s = append(s, r.String())
	}
	return strings.Join(s, " and ")
}
