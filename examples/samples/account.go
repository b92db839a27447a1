package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"recon/examples/ingester/statement"
	"recon/pkg/audit"
	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// sums are gross totals by currency.
type sums map[string]audit.Total

// group is the records of a file that came to the same end.
type group struct {
	n, unreadable int
	sums          sums
}

func (g *group) add(m audit.Money) {
	g.n++
	if !m.Readable {
		g.unreadable++
		return
	}
	if g.sums == nil {
		g.sums = make(sums)
	}
	g.sums[m.Currency] = g.sums[m.Currency].Plus(m)
}

// outcome is what became of the records that one ingestion of a file put on main.
type outcome struct {
	records                  int
	posted, suppressed, dead group // dead: letters that nothing has ended
	codes                    map[fault.Code]int
	lost, doubled            []envelope.Coordinates // roots without an end, and with more than one
}

// all is the sum of every end, for one currency.
func (o *outcome) all(currency string) audit.Total {
	var all audit.Total
	for _, g := range []group{o.posted, o.suppressed, o.dead} {
		t := g.sums[currency]
		all = audit.Total{Debit: all.Debit.Add(t.Debit), Credit: all.Credit.Add(t.Credit), Count: all.Count + t.Count}
	}
	return all
}

// currencies are those of the outcome, sorted.
func (o *outcome) currencies() []string {
	known := make(map[string]bool)
	for _, g := range []group{o.posted, o.suppressed, o.dead} {
		for c := range g.sums {
			known[c] = true
		}
	}
	return slices.Sorted(maps.Keys(known))
}

// want is what an ingestion must come to.
type want struct {
	posted, suppressed int
	dead               map[fault.Code]int
	suppressedSums     sums // nil: none, since nothing is suppressed
}

// first is what the first ingestion of a file must come to: all of it posts, but for the letters that are known.
func (s *sample) first() want {
	w := want{posted: s.records, dead: s.dead}
	for _, n := range s.dead {
		w.posted -= n
	}
	return w
}

// again is what a further ingestion must come to: nothing posts, what had posted is suppressed, each letter comes again.
func (o *outcome) again() want {
	return want{suppressed: o.posted.n, dead: o.codes, suppressedSums: o.posted.sums}
}

// judge holds an outcome against what was expected and against what the file foots to, and says what differs.
func judge(s *sample, file *statement.File, o *outcome, w want) []string {
	var wrong []string
	unless := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	unless(len(file.Records) == s.records, "%d records were read, want %d", len(file.Records), s.records)
	unless(o.records == len(file.Records), "%d records are on main, the file has %d", o.records, len(file.Records))
	if s.checks > 0 {
		unless(len(file.Checks) == s.checks && len(file.Failed()) == 0, "%d of %d control figures hold, want all of %d",
			len(file.Checks)-len(file.Failed()), len(file.Checks), s.checks)
	}
	unless(len(o.lost) == 0, "%d records have no outcome: %v", len(o.lost), o.lost)
	unless(len(o.doubled) == 0, "%d records have more than one outcome: %v", len(o.doubled), o.doubled)
	unless(o.posted.n == w.posted, "posted %d, want %d", o.posted.n, w.posted)
	unless(o.suppressed.n == w.suppressed, "suppressed %d, want %d", o.suppressed.n, w.suppressed)
	unless(maps.Equal(o.codes, w.dead), "dead letters %s, want %s", codesText(o.codes), codesText(w.dead))
	for currency := range w.suppressedSums {
		got, want := o.suppressed.sums[currency], w.suppressedSums[currency]
		unless(equal(got, want), "suppressed are %s, but posted had %s", totalText(currency, got), totalText(currency, want))
	}
	return append(wrong, differences(file, o)...)
}

// differences compares with the file's sums, then with its control figures: records and figures must be there to the cent.
func differences(file *statement.File, o *outcome) []string {
	var wrong []string
	unreadable, of := 0, make(sums)
	for _, t := range statement.Totals(file) {
		of[t.Currency] = audit.Total{Debit: t.Debit, Credit: t.Credit, Count: t.Records - t.Unreadable}
		unreadable += t.Unreadable
	}
	for _, r := range file.Records {
		if r.Raw {
			unreadable++
		}
	}
	for _, c := range slices.Compact(slices.Sorted(slices.Values(append(o.currencies(), slices.Collect(maps.Keys(of))...)))) {
		if got := o.all(c); !equal(got, of[c]) {
			wrong = append(wrong, fmt.Sprintf("all outcomes come to %s, the file's records to %s", totalText(c, got), totalText(c, of[c])))
		}
	}
	if got := o.posted.unreadable + o.suppressed.unreadable + o.dead.unreadable; got != unreadable {
		wrong = append(wrong, fmt.Sprintf("%d outcomes have no readable amount, %d of the file's records have none", got, unreadable))
	}
	stated, err := controls(file)
	if err != nil {
		return append(wrong, err.Error())
	}
	for _, c := range stated {
		if got := c.of(o.all(c.currency)); !got.Equal(c.stated) {
			wrong = append(wrong, fmt.Sprintf("%s: %s %s, but all outcomes come to %s", c.what, money(c.currency, c.stated), c.currency, money(c.currency, got)))
		}
	}
	return wrong
}

func equal(a, b audit.Total) bool {
	return a.Count == b.Count && a.Debit.Equal(b.Debit) && a.Credit.Equal(b.Credit)
}

// control is a figure that a file states about itself, and how it comes out of sums.
type control struct {
	what, currency string
	stated         decimal.Decimal
	of             func(audit.Total) decimal.Decimal
}

func debit(t audit.Total) decimal.Decimal  { return t.Debit }
func credit(t audit.Total) decimal.Decimal { return t.Credit }
func net(t audit.Total) decimal.Decimal    { return t.Credit.Sub(t.Debit) }

// controls are the sums that a file states: the totals of an ACH control record, and by how much the balances of all
// statements move. A file that does not foot states none that could be held against anything.
func controls(f *statement.File) ([]control, error) {
	if len(f.Failed()) > 0 {
		return nil, nil
	}
	var cs []control
	moved := make(map[string]decimal.Decimal)
	var errs []error
	for _, c := range f.Checks {
		switch {
		case c.Where == "file" && (c.What == "total debit" || c.What == "total credit"):
			amount, currency, err := figure(c.Stated)
			of := credit
			if c.What == "total debit" {
				of = debit
			}
			cs, errs = append(cs, control{"control record: " + c.What, currency, amount, of}), append(errs, err)
		case strings.HasPrefix(c.What, "closing balance"):
			_, after, _ := strings.Cut(strings.TrimSuffix(c.What, ")"), "(after ")
			_, after, _ = strings.Cut(after, " ")
			opening, currency, err := figure(after)
			closing, same, err2 := figure(c.Stated)
			if currency != same {
				err = errors.Join(err, fmt.Errorf("%s: it opens in %s and closes in %s", c.Where, currency, same))
			}
			moved[currency], errs = moved[currency].Add(closing).Sub(opening), append(errs, err, err2)
		}
	}
	for _, currency := range slices.Sorted(maps.Keys(moved)) {
		cs = append(cs, control{"the balances move by", currency, moved[currency], net})
	}
	return cs, errors.Join(errs...)
}

// figure reads an amount as control figures write it: `1000.01 EUR`.
func figure(text string) (decimal.Decimal, string, error) {
	amount, currency, _ := strings.Cut(text, " ")
	d, err := decimal.NewFromString(amount)
	if err != nil || len(currency) != 3 {
		return decimal.Zero, currency, fmt.Errorf("the control figure %q is no amount with a currency", text)
	}
	return d, currency, nil
}
