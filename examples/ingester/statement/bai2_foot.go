package statement

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"recon/pkg/envelope"
)

// bai2Sum is what a trailer states: a control total, the number of parts, the number of records. Totals are counts of
// smallest units with their signs, over summaries and details alike, whatever the direction.
type bai2Sum struct {
	total   decimal.Decimal
	parts   int
	records int
}

// add counts a figure; what is none is left to the comparison of the totals.
func (s *bai2Sum) add(figure string) {
	if d, ok := bai2Figure(figure); ok {
		s.total = s.total.Add(d)
	}
}

// bai2Figure reads a summary's or trailer's figure, which may have a sign.
func bai2Figure(s string) (decimal.Decimal, bool) {
	a := minor(strings.TrimLeft(s, "+-"), 0)
	if strings.HasPrefix(s, "-") {
		a = a.debit()
	}
	return a.value, a.ok && strings.Count(s, "-")+strings.Count(s, "+") <= 1
}

// bai2Stated is a summary of an account: how much of a type, in how many items.
type bai2Stated struct{ amount, items string }

// summaries reads the status and summary fields of a 03: type, amount, item count, funds type, over and over. A blank
// where a type should stand is the comma that some banks put before the end of a record.
func (a *bai2Account) summaries(f []string) error {
	a.stated = make(map[string]bai2Stated)
	for i := 2; i < len(f); i = bai2Funds(f, i+3) {
		for i < len(f)-1 && at(f, i) == "" {
			i++
		}
		kind, figure := at(f, i), at(f, i+1)
		if _, ok := bai2Figure(figure); figure != "" && !ok {
			return fmt.Errorf("%s: the amount of type %s is no number", a.where, kind)
		}
		a.sum.add(figure)
		a.stated[kind] = bai2Stated{figure, at(f, i+2)}
	}
	return nil
}

func (f *bai2File) closeAccount(r *bai2Record) {
	a := f.account
	f.out.checks = append(f.out.checks, a.sum.total49(a.where, r.fields)...)
	f.out.checks = append(f.out.checks, a.direction("credits (type 100)", a.stated["100"], a.credit)...)
	f.out.checks = append(f.out.checks, a.direction("debits (type 400)", a.stated["400"], a.debit)...)
	f.group.sum.total = f.group.sum.total.Add(a.sum.total)
	f.account = nil
}

// total49 are the two figures of an account trailer.
func (s *bai2Sum) total49(where string, fields []string) []Check {
	return []Check{
		{where, "control total (49)", figureText(at(fields, 0)), envelope.CanonicalAmount(s.total)},
		{where, "record count (49)", plainCount(at(fields, 1)), strconv.Itoa(s.records)},
	}
}

// direction holds the details of one direction against the account's summary, since control totals have no sign: there
// may be fewer details than the summary counts, but not more, and as many must give its amount.
func (a *bai2Account) direction(what string, stated bai2Stated, found tally) []Check {
	items := minor(stated.items, 0)
	if !items.ok || found.n == 0 || stated.amount == "" {
		return nil
	}
	switch n := int(items.value.IntPart()); {
	case found.n > n:
		return []Check{{a.where, "number of " + what, plainCount(stated.items), strconv.Itoa(found.n)}}
	case found.n == n:
		return []Check{{a.where, "sum of " + what, figureText(stated.amount), envelope.CanonicalAmount(found.sum.Shift(int32(a.decimals())))}}
	}
	return nil
}

func figureText(s string) string {
	d, ok := bai2Figure(s)
	if !ok {
		return "unreadable"
	}
	return envelope.CanonicalAmount(d)
}

func (f *bai2File) closeGroup(r *bai2Record) {
	g, where := f.group, fmt.Sprintf("group %d", f.group.n)
	f.out.checks = append(f.out.checks, g.sum.enclosing(where, "accounts", "98", r.fields)...)
	f.file.total = f.file.total.Add(g.sum.total)
	f.group = nil
}

func (f *bai2File) close(r *bai2Record) {
	f.closed = true
	f.out.checks = append(f.out.checks, f.file.enclosing("file", "groups", "99", r.fields)...)
}

// enclosing are the three figures of a group's or file's trailer.
func (s *bai2Sum) enclosing(where, parts, code string, fields []string) []Check {
	return []Check{
		{where, "control total (" + code + ")", figureText(at(fields, 0)), envelope.CanonicalAmount(s.total)},
		{where, "number of " + parts + " (" + code + ")", plainCount(at(fields, 1)), strconv.Itoa(s.parts)},
		{where, "record count (" + code + ")", plainCount(at(fields, 2)), strconv.Itoa(s.records)},
	}
}
