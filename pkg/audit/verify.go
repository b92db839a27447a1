package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"recon/pkg/envelope"
)

// Fault is what is wrong with a chain.
type Fault string

// The faults of a trail. A record that comes twice with the same bytes is none: it was written anew because the answer
// to the first write was lost.
const (
	// Undecodable is a record that no chain of this version wrote.
	Undecodable Fault = "undecodable"
	// Gap is a missing seq between two that are there: a record was taken out.
	Gap Fault = "gap"
	// Fork is one seq with two different records: somebody wrote a second one beside the first.
	Fork Fault = "fork"
	// Broken is a record whose prev is not the hash of the record before it: one of the two was altered, exchanged or
	// put in. Both a fork and a break at one place: the line goes on from only one of the two.
	Broken Fault = "broken link"
	// NoGenesis is a chain whose first record is missing.
	NoGenesis Fault = "no genesis"
	// AfterClosing is a record after the closing one.
	AfterClosing Fault = "after closing"
	// Cut is a chain that ends before the head that its successor saw, or has other bytes there.
	Cut Fault = "cut"
)

// Finding is one fault and its place.
type Finding struct {
	Chain string // empty: not known
	Seq   int64  // -1: not known
	Fault Fault
	Text  string // what is where, for a person
}

// ChainState is what a chain looks like as a whole.
type ChainState struct {
	ID      string
	Head    Head // the record with the highest seq
	Records int  // repeats not counted
	Closed  bool // ends with its closing record; false: still written, or ended by a crash
}

// Trail is the verdict on all chains that were read.
type Trail struct {
	Chains   []ChainState // by name
	Findings []Finding    // by chain and seq
}

// Intact tells that nothing was found. The newest chain of an instance may still have been cut at its end: see Cut.
func (t Trail) Intact() bool { return len(t.Findings) == 0 }

// Verifier folds the records of the audit topic, in any order and with any repeats, into a verdict per chain.
// The zero value is ready. It is not safe for concurrent use.
type Verifier struct {
	lines map[string]*line
	stray map[envelope.Coordinates]string
}

// line is one chain as far as it was read.
type line struct {
	at           map[int64][]link // more than one at a seq: a fork
	closed       int64            // seq of the closing record, -1 for none
	predecessors []Head           // of its genesis record; more than one: a fork there
}

type link struct {
	hash, prev string
	head       Head
}

// Add takes one record as it lies in the topic; at says where, for findings. It returns the record decoded, or why it
// cannot be, which is a finding as well.
func (v *Verifier) Add(at envelope.Coordinates, value []byte) (*Record, error) {
	r, err := Decode(value)
	if err != nil {
		if v.stray == nil {
			v.stray = make(map[envelope.Coordinates]string)
		}
		v.stray[at] = err.Error()
		return nil, err
	}
	l := v.line(r.Chain)
	for _, known := range l.at[r.Seq] {
		if known.hash == r.Hash {
			return r, nil
		}
	}
	l.at[r.Seq] = append(l.at[r.Seq], link{hash: r.Hash, prev: r.Prev, head: r.Head()})
	if r.Closing && (l.closed < 0 || r.Seq < l.closed) {
		l.closed = r.Seq
	}
	if r.Genesis != nil {
		l.predecessors = append(l.predecessors, r.Genesis.Predecessor)
	}
	return r, nil
}

func (v *Verifier) line(chain string) *line {
	if v.lines == nil {
		v.lines = make(map[string]*line)
	}
	l := v.lines[chain]
	if l == nil {
		l = &line{at: make(map[int64][]link), closed: -1}
		v.lines[chain] = l
	}
	return l
}

// Result judges what was added so far.
func (v *Verifier) Result() Trail {
	var t Trail
	for _, at := range slices.SortedFunc(maps.Keys(v.stray), envelope.Coordinates.Compare) {
		t.Findings = append(t.Findings, Finding{"", -1, Undecodable, at.String() + ": " + v.stray[at]})
	}
	for _, name := range slices.Sorted(maps.Keys(v.lines)) {
		l := v.lines[name]
		seqs := slices.Sorted(maps.Keys(l.at))
		last := seqs[len(seqs)-1]
		t.Chains = append(t.Chains, ChainState{
			ID: name, Head: l.head(last), Records: len(seqs), Closed: l.closed == last,
		})
		t.Findings = append(t.Findings, l.findings(name, seqs)...)
		t.Findings = append(t.Findings, v.cuts(name, l.predecessors)...)
	}
	return t
}

// head gives the record at seq; of a fork the one with the smallest hash, in whatever order they were read.
func (l *line) head(seq int64) Head {
	return slices.MinFunc(l.at[seq], func(a, b link) int { return strings.Compare(a.hash, b.hash) }).head
}

// findings walks the line from its genesis on.
func (l *line) findings(name string, seqs []int64) []Finding {
	var fs []Finding
	add := func(seq int64, fault Fault, format string, args ...any) {
		fs = append(fs, Finding{name, seq, fault, fmt.Sprintf(format, args...)})
	}
	if seqs[0] != 0 {
		add(0, NoGenesis, "the first record that is there has seq %d", seqs[0])
	}
	for i, seq := range seqs {
		if here := l.at[seq]; len(here) > 1 {
			add(seq, Fork, "%d different records have this seq: %s; the line goes on from %s", len(here), hashes(here), l.onward(seq))
		}
		if l.closed >= 0 && seq > l.closed {
			add(seq, AfterClosing, "the chain was closed at seq %d", l.closed)
		}
		if i == 0 {
			continue
		}
		if before := seqs[i-1]; before != seq-1 {
			add(before+1, Gap, "%d records are missing before seq %d", seq-before-1, seq)
			continue
		}
		for _, k := range l.at[seq] {
			if !contains(l.at[seq-1], k.prev) {
				add(seq, Broken, "it was written after a record with hash %s; the record before it has %s", k.prev, hashes(l.at[seq-1]))
			}
		}
	}
	return fs
}

// onward names which of the records at seq the next one was written after.
func (l *line) onward(seq int64) string {
	var on []link
	for _, k := range l.at[seq] {
		if slices.ContainsFunc(l.at[seq+1], func(next link) bool { return next.prev == k.hash }) {
			on = append(on, k)
		}
	}
	if len(on) == 0 {
		return "none of them"
	}
	return hashes(on)
}

// cuts gives the findings about all predecessors of a chain, the same ones in whatever order they were read.
func (v *Verifier) cuts(name string, seen []Head) []Finding {
	var fs []Finding
	for _, h := range seen {
		if f, cut := v.cut(name, h); cut {
			fs = append(fs, f)
		}
	}
	slices.SortFunc(fs, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Chain, b.Chain), cmp.Compare(a.Seq, b.Seq), strings.Compare(a.Text, b.Text))
	})
	return fs
}

// cut compares the head that the chain name saw of its predecessor with what is there of it now. A predecessor that is
// not there at all was cut as a whole. One that goes on after that head is none: it was still closing.
func (v *Verifier) cut(name string, seen Head) (Finding, bool) {
	if seen.Chain == "" {
		return Finding{}, false
	}
	var there []link
	if l := v.lines[seen.Chain]; l != nil {
		there = l.at[seen.Seq]
	}
	switch {
	case contains(there, seen.Hash):
		return Finding{}, false
	case len(there) == 0:
		return Finding{seen.Chain, seen.Seq, Cut, "its successor " + name + " saw a record here with hash " + seen.Hash + "; it is gone"}, true
	default:
		return Finding{seen.Chain, seen.Seq, Cut, "its successor " + name + " saw hash " + seen.Hash + " here; now it is " + hashes(there)}, true
	}
}

func contains(ls []link, hash string) bool {
	return slices.ContainsFunc(ls, func(l link) bool { return l.hash == hash })
}

// hashes lists them in an order that does not depend on the order of reading.
func hashes(ls []link) string {
	s := make([]string, len(ls))
	for i, l := range ls {
		s[i] = l.hash
	}
	slices.Sort(s)
	return strings.Join(s, ", ")
}
