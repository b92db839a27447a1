package replay

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"recon/pkg/audit"
	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// The printing functions write tables and lines for people. What they print of records is made safe for a terminal.
// Errors of w are the caller's to find.

// PrintOverview prints where all letters stand, at the moment now.
func PrintOverview(w io.Writer, o Overview, now time.Time) {
	t := newTable(w, []int{2}, "status", "letters")
	for _, s := range Statuses() {
		if n := o.ByStatus[s]; n > 0 {
			t.AppendRow(table.Row{s, n})
		}
	}
	t.AppendRow(table.Row{"all", o.Letters})
	t.Render()
	if !o.Oldest.IsZero() {
		fmt.Fprintf(w, "oldest open letter: %s (%s)\n", envelope.FormatTime(o.Oldest), Age(now.Sub(o.Oldest)))
		codes := newTable(w, []int{2}, "failure_code of the open", "letters")
		for _, c := range slices.Sorted(maps.Keys(o.Codes)) {
			codes.AppendRow(table.Row{c, o.Codes[c]})
		}
		codes.Render()
		printTotals(w, "open", o.Open)
	}
	if !o.OldestInFlight.IsZero() {
		fmt.Fprintf(w, "in flight since: %s (%s)\n", envelope.FormatTime(o.OldestInFlight), Age(now.Sub(o.OldestInFlight)))
		printTotals(w, "in flight", o.InFlight)
	}
	for _, n := range []struct {
		count int
		what  string
	}{
		{o.ByStatus[Unrecorded], "letters lack the disposition that their root's end gives: the next replay writes it"},
		{o.ByStatus[InQuarantine], "letters await their manual journal"},
		{o.Repeats, "further copies of letters were read"},
		{o.Unreadable, "records of DLQ or dispositions cannot be decoded: `replayer list` names them"},
		{o.Orphans, "dispositions name a letter that is not in the DLQ"},
	} {
		if n.count > 0 {
			fmt.Fprintf(w, "%d %s\n", n.count, n.what)
		}
	}
	for _, c := range o.Conflicts {
		fmt.Fprintf(w, "conflict: letter %s of %s %s\n", c.EnvelopeID, safe(c.Root.String()), safe(c.What))
	}
	for _, g := range o.Gaps {
		fmt.Fprintf(w, "gap: %s\n", safe(g))
	}
}

// PrintCases prints letters, one a line, and their sums.
func PrintCases(w io.Writer, cases []*Case, now time.Time) {
	t := newTable(w, []int{6}, "id", "status", "failure", "error", "entity", "amount", "cur", "age", "root")
	for _, c := range cases {
		t.AppendRow(table.Row{
			c.EnvelopeID, c.Status(), c.FailureCode, c.ErrorCode, safe(c.LedgerEntity), amountOf(c.Facts), c.Currency,
			Age(now.Sub(c.DeadLettered)), safe(c.Root.String()),
		})
	}
	t.Render()
	fmt.Fprintf(w, "letters listed: %d\n", len(cases))
	printTotals(w, "listed", TotalsOf(slices.Values(cases)))
}

// PrintUnreadable prints what could not be decoded.
func PrintUnreadable(w io.Writer, us []Unreadable) {
	for _, u := range us {
		fmt.Fprintf(w, "unreadable: %s: %s\n", safe(u.At.String()), safe(u.Why))
	}
}

// PrintPlan prints what a plan would do, and why not. It changes nothing, and says so.
func PrintPlan(w io.Writer, p *Plan) {
	fmt.Fprintf(w, "DRY RUN: nothing is changed. Plan %s, held until %s\n", p.ID, envelope.FormatTime(p.ExpiresAt))
	var t tally
	for _, e := range p.Entries {
		t.add(string(e.Outcome), string(e.Code), e.Fact)
	}
	t.print(w, "outcome")
	printTotals(w, "to come back", p.Totals)
	fmt.Fprintf(w, "selected %d = reinject %d + complete %d + confirm %d + suppress %d + refuse %d\n", len(p.Entries),
		p.Count(Reinject), p.Count(Complete), p.Count(Confirm), p.Count(Suppress), p.Count(Refuse))
}

// PrintReport prints what a run came to. The last lines are always the counts and the sums per currency.
func PrintReport(w io.Writer, r *Report) {
	var t tally
	for _, x := range r.Results {
		switch {
		case x.Ending == EndFailed:
			t.add(x.Ending.String(), "", x.Case.EnvelopeID+": "+x.Err.Error())
		case x.Ending == EndRefused || x.Ending == EndSuppressed:
			t.add(x.Ending.String(), string(x.Code), x.Fact)
		}
	}
	t.print(w, "ending")
	if n := r.Earlier(); n > 0 {
		fmt.Fprintf(w, "%d of these are the work of an earlier run of this plan\n", n)
	}
	if r.waited {
		a := r.After()
		for _, c := range a.Unconfirmed {
			fmt.Fprintf(w, "unconfirmed: letter %s of %s\n", c.EnvelopeID, safe(c.Root.String()))
		}
		fmt.Fprintf(w, "reinjected %d = confirmed %d + suppressed %d + failed again %d + settled by hand %d + unconfirmed %d\n",
			r.Count(EndReinjected), a.Confirmed, a.Suppressed, a.Again, a.Settled, len(a.Unconfirmed))
	}
	fmt.Fprintln(w, r.Line())
	printTotals(w, "selected", r.Totals())
	if r.Count(EndReinjected) < len(r.Results) {
		printTotals(w, "reinjected", r.Totals(EndReinjected))
	}
}

// tally counts letters that came to the same, with the fact of the first one.
type tally struct {
	rows   []kindOfEnd
	counts map[kindOfEnd]int
	facts  map[kindOfEnd]string
}

type kindOfEnd struct{ end, code string }

func (t *tally) add(end, code, fact string) {
	k := kindOfEnd{end, code}
	if t.counts == nil {
		t.counts, t.facts = make(map[kindOfEnd]int), make(map[kindOfEnd]string)
	}
	if t.counts[k]++; t.counts[k] == 1 {
		t.rows, t.facts[k] = append(t.rows, k), fact
	}
}

func (t *tally) print(w io.Writer, name string) {
	if len(t.rows) == 0 {
		return
	}
	slices.SortFunc(t.rows, func(a, b kindOfEnd) int { return strings.Compare(a.end+" "+a.code, b.end+" "+b.code) })
	lines := newTable(w, []int{3}, name, "code", "letters", "fact of the first")
	for _, k := range t.rows {
		lines.AppendRow(table.Row{safe(k.end), safe(k.code), t.counts[k], safe(t.facts[k])})
	}
	lines.Render()
}

// ConfirmCount asks the person to type how many letters are meant, and tells whether that number came.
func ConfirmCount(in io.Reader, out io.Writer, count int) bool {
	fmt.Fprintf(out, "This cannot be taken back. Type the number of letters (%d) to go on: ", count)
	line, err := bufio.NewReader(io.LimitReader(in, 64)).ReadString('\n')
	if err != nil && line == "" {
		return false
	}
	return strings.TrimSpace(line) == strconv.Itoa(count)
}

// Counted writes a number with the word for one or for more.
func Counted(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + more
}

// printTotals prints one line per currency.
func printTotals(w io.Writer, what string, t Totals) {
	for _, currency := range slices.Sorted(maps.Keys(t.Currencies)) {
		sum := t.Currencies[currency]
		fmt.Fprintf(w, "%s %s: debit %s, credit %s, amounts %d\n", safe(currency), what, envelope.Figure(sum.Debit, currency), envelope.Figure(sum.Credit, currency), sum.Count)
	}
	if t.Unreadable > 0 {
		fmt.Fprintf(w, "unreadable amounts %s: %d\n", what, t.Unreadable)
	}
}

func amountOf(f envelope.Facts) string {
	m := audit.MoneyOf(f.Currency, f.Amount)
	if !m.Readable {
		return "unreadable"
	}
	return envelope.Figure(m.Amount, f.Currency)
}

// Age writes a duration as people say it: the two largest units.
func Age(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return d.Truncate(time.Second).String()
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	default:
		return fmt.Sprintf("%dd%02dh", int(d.Hours())/24, int(d.Hours())%24)
	}
}

// safe is fault.Printable for what stands on one line, where a line break would begin another.
func safe(s string) string { return strings.ReplaceAll(fault.Printable(s), "\n", "\uFFFD") }

// newTable begins a table without frames, so that it can be cut and searched line by line. numbers are the columns,
// from 1, that stand to the right.
func newTable(w io.Writer, numbers []int, header ...any) table.Writer {
	t := table.NewWriter()
	t.SetOutputMirror(w)
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format.Header = text.FormatDefault
	t.SetStyle(style)
	t.SuppressTrailingSpaces()
	t.AppendHeader(header)
	var right []table.ColumnConfig
	for _, n := range numbers {
		right = append(right, table.ColumnConfig{Number: n, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(right)
	return t
}
