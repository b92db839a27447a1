package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"recon/examples/ingester/statement"
	"recon/pkg/audit"
	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// view is what a person sees, and the count of what was expected.
type view struct {
	out         io.Writer
	held, wrong int
}

func (v *view) say(format string, args ...any) { fmt.Fprintf(v.out, format+"\n", args...) }

func (v *view) title(format string, args ...any) {
	fmt.Fprintf(v.out, "\n== "+format+" ==\n\n", args...)
}

// holds counts one expectation, and prints it only where it does not hold.
func (v *view) holds(ok bool, format string, args ...any) {
	if ok {
		v.held++
		return
	}
	v.wrong++
	v.say("NOT AS EXPECTED: "+format, args...)
}

// none counts one expectation about a thing: that nothing is wrong with it. Each thing that is has its own line.
func (v *view) none(about string, wrong []string) {
	if len(wrong) == 0 {
		v.held++
	}
	for _, w := range wrong {
		v.holds(false, "%s: %s", about, w)
	}
}

// fact counts one expectation and prints it either way.
func (v *view) fact(f fact) {
	if f.holds {
		v.say("  as it must be: %s", f.text)
	}
	v.holds(f.holds, "%s", f.text)
}

// columns are those of the table of a round.
func (v *view) columns() {
	v.say("  %-44s %3s %9s %18s %18s %18s", "", "", "records", "debit", "credit", "net")
}

// file prints the lines of one file: its outcomes, then what it foots to.
func (v *view) file(s *sample, f *statement.File, o *outcome) {
	v.say("%s: %s", s.path, strings.Join(append([]string{f.Format, checksText(f)}, flagsOf(s.opts)...), ", "))
	v.group("posted", o.posted)
	v.group("suppressed", o.suppressed)
	if o.dead.n == 0 {
		v.line("dead letters", "", "0", audit.Total{})
	} else {
		v.group("dead letters: "+codesText(o.codes), o.dead)
	}
	for _, t := range statement.Totals(f) {
		v.line("the file's records", t.Currency, count(t.Records), audit.Total{Debit: t.Debit, Credit: t.Credit, Count: t.Records})
	}
	stated, err := controls(f)
	if err != nil {
		v.say("  %v", err)
	}
	for _, c := range stated {
		v.say("  %-44s %3s %s", c.what, c.currency, c.column())
	}
}

// column puts a stated figure below the sums that it is held against.
func (c *control) column() string {
	text := fmt.Sprintf("%18s", money(c.currency, c.stated))
	switch {
	case strings.HasSuffix(c.what, "total debit"):
		return fmt.Sprintf("%9s %s", "", text)
	case strings.HasSuffix(c.what, "total credit"):
		return fmt.Sprintf("%9s %18s %s", "", "", text)
	}
	return fmt.Sprintf("%9s %18s %18s %s", "", "", "", text)
}

// group prints a line per currency, and one for records without a readable amount.
func (v *view) group(name string, g group) {
	if g.n == 0 {
		v.line(name, "", "0", audit.Total{})
	}
	for _, c := range slices.Sorted(maps.Keys(g.sums)) {
		v.line(name, c, count(g.sums[c].Count), g.sums[c])
	}
	if g.unreadable > 0 {
		v.line("  of no readable amount", "", count(g.unreadable), audit.Total{})
	}
}

func (v *view) line(name, currency, n string, t audit.Total) {
	if t.Count == 0 {
		v.say("  %-44s %3s %9s", name, currency, n)
		return
	}
	v.say("  %-44s %3s %9s %18s %18s %18s", name, currency, n, money(currency, t.Debit), money(currency, t.Credit), money(currency, net(t)))
}

// indented prints what another program said.
func (v *view) indented(text string) {
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		v.say("    %s", line)
	}
}

func checksText(f *statement.File) string {
	switch failed := len(f.Failed()); {
	case len(f.Checks) == 0:
		return "no control figures"
	case failed == 0:
		return fmt.Sprintf("%d of %d control figures hold", len(f.Checks), len(f.Checks))
	default:
		return fmt.Sprintf("accepted although it does not foot (%d of %d control figures fail)", failed, len(f.Checks))
	}
}

// codesText lists codes with their counts, `none` for none.
func codesText(codes map[fault.Code]int) string {
	var texts []string
	for _, c := range slices.Sorted(maps.Keys(codes)) {
		texts = append(texts, fmt.Sprintf("%d %s", codes[c], c))
	}
	if texts == nil {
		return "none"
	}
	return strings.Join(texts, ", ")
}

func totalText(currency string, t audit.Total) string {
	return fmt.Sprintf("%s records, %s debit %s credit %s", count(t.Count), currency, money(currency, t.Debit), money(currency, t.Credit))
}

// count writes n with commas between the thousands.
func count(n int) string { return envelope.Grouped(strconv.Itoa(n)) }

// money writes d with at least the decimals that the currency has and all that d has, and commas.
func money(currency string, d decimal.Decimal) string {
	return envelope.Grouped(envelope.Figure(d, currency))
}
