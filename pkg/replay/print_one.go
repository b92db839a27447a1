package replay

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"recon/pkg/envelope"
)

// PrintLetter prints one letter: what failed, what was tried, what was decided, and what the gates say now. The payload
// is not printed. o may be nil where the letter was not opened, e the zero Entry where the gates were not asked.
func PrintLetter(w io.Writer, c *Case, o *Opened, e Entry) {
	line := func(name string, value any) {
		if s := fmt.Sprint(value); s != "" {
			fmt.Fprintf(w, "%-14s %s\n", name, safe(s))
		}
	}
	line("letter", c.EnvelopeID)
	line("status", c.Status())
	line("root", fmt.Sprintf("%s generation %d", c.Root, c.Generation))
	line("lies at", fmt.Sprintf("%s, %s", c.At, Counted(len(c.Copies), "copy", "copies")))
	line("parent", c.Parent)
	line("failure", fmt.Sprintf("%s (%s) at stage %s: %s", c.FailureCode, c.FailureClass, c.Stage, c.ErrorCode))
	line("detail", c.Detail)
	line("fingerprint", c.Fingerprint)
	line("attempts", c.Attempts)
	line("first seen", envelope.FormatTime(c.FirstSeen))
	line("dead-lettered", envelope.FormatTime(c.DeadLettered))
	line("amount", amountOf(c.Facts)+" "+c.Currency)
	line("entity", c.LedgerEntity)
	line("source_hash", c.SourceHash)
	line("message_id", c.messageID())
	line("trace_id", c.TraceID)
	line("match_decision", c.MatchDecision)
	line("booking_date", c.BookingDate)
	line("value_date", c.ValueDate)
	line("source_system", c.SourceSystem)
	line("root cause", c.RootCause())
	if o != nil && o.Letter != nil {
		l := o.Letter
		line("value", fmt.Sprintf("%d bytes, SHA-256 %s", len(l.Original.Value), l.Original.ValueSHA256))
		line("written by", strings.TrimSpace(l.Producer.Service+" "+l.Producer.Version+" "+l.Producer.Instance))
		printHistory(w, l)
	}
	printSteps(w, c.Steps)
	printGates(w, e)
}

func printHistory(w io.Writer, l *envelope.Letter) {
	if len(l.History) == 0 {
		return
	}
	t := newTable(w, []int{1, 5, 6}, "attempt", "at", "stage", "error", "waited", "took", "detail")
	for _, a := range l.History {
		t.AppendRow(table.Row{
			a.Attempt, envelope.FormatTime(a.At), a.Stage, a.ErrorCode, a.Waited.Round(time.Millisecond), a.Took.Round(time.Millisecond), safe(a.ErrorDetail),
		})
	}
	t.Render()
	if l.HistoryOmitted > 0 {
		fmt.Fprintf(w, "%d attempts are left out here; they are in the audit trail\n", l.HistoryOmitted)
	}
}

func printSteps(w io.Writer, steps []Step) {
	if len(steps) == 0 {
		return
	}
	t := newTable(w, nil, "disposition", "at", "code", "by", "run", "note")
	for _, s := range steps {
		t.AppendRow(table.Row{s.State, envelope.FormatTime(s.At), s.Code, safe(s.Actor), safe(s.RunID), safe(s.Note)})
	}
	t.Render()
}

func printGates(w io.Writer, e Entry) {
	if len(e.Gates) == 0 {
		return
	}
	t := newTable(w, nil, "gate", "passes", "code", "fact")
	for _, g := range e.Gates {
		passes := "no"
		if g.Pass {
			passes = "yes"
		}
		t.AppendRow(table.Row{g.Gate, passes, g.Code, safe(g.Fact)})
	}
	t.Render()
	fmt.Fprintf(w, "a replay would now: %s\n", e.Outcome)
}

// PrintWaiting prints what the tiers hold, the next due first, at the moment now.
func PrintWaiting(w io.Writer, held *Waiting, now time.Time) {
	t := newTable(w, []int{6, 8}, "due", "in", "tier", "code", "entity", "amount", "cur", "attempts", "source_hash", "root")
	for _, h := range held.Held {
		in := "due"
		if h.Due.After(now) {
			in = Age(h.Due.Sub(now))
		}
		t.AppendRow(table.Row{
			envelope.FormatTime(h.Due), in, h.Tier, h.Code, safe(h.LedgerEntity), amountOf(h.Facts), h.Currency, h.Attempts, safe(h.SourceHash), safe(h.Root.String()),
		})
	}
	t.Render()
	printTotals(w, fmt.Sprintf("waiting %d", len(held.Held)), held.Totals)
	PrintUnreadable(w, held.Unreadable)
}

// PrintLife prints one record's whole life.
func PrintLife(w io.Writer, l *Life) {
	t := newTable(w, []int{4}, "written", "what", "root", "gen", "code", "where", "due", "by", "detail")
	for _, m := range l.Moments {
		due := ""
		if !m.Due.IsZero() {
			due = envelope.FormatTime(m.Due)
		}
		t.AppendRow(table.Row{
			envelope.FormatTime(m.Written), safe(m.What), safe(m.Root.String()), m.Generation, m.Code, safe(m.Where.String()), due, safe(m.Actor), safe(m.Detail),
		})
	}
	t.Render()
	for _, hash := range l.Hashes {
		if v, ok := l.Stored[hash]; ok {
			fmt.Fprintf(w, "dedup store: %s is %s\n", safe(hash), safe(v.String()))
		} else {
			fmt.Fprintf(w, "dedup store: nothing of %s\n", safe(hash))
		}
		if p := l.Posted[hash]; p != nil {
			fmt.Fprintf(w, "ledger: %s is posting %s of %s generation %d at %s\n", safe(hash), safe(p.ID), safe(p.Root.String()), p.Generation, envelope.FormatTime(p.At))
		} else {
			fmt.Fprintf(w, "ledger: no posting of %s is known\n", safe(hash))
		}
	}
}
