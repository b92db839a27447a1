package demo

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"recon/pkg/audit"
	"recon/pkg/consumer"
	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/replay"
)

// view is what a person sees: plain lines, as things happen.
type view struct {
	mu    sync.Mutex // guards out: events come from several goroutines
	out   io.Writer
	began time.Time
}

func newView(out io.Writer) *view { return &view{out: out, began: time.Now()} }

// say prints a line of the scenario.
func (v *view) say(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	fmt.Fprintf(v.out, format+"\n", args...)
}

// title prints what a person did, or what the scenario has reached.
func (v *view) title(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	fmt.Fprintf(v.out, "\n%6s  == "+format+" ==\n", append([]any{v.clock()}, args...)...)
}

// settings prints what the demo changes.
func (v *view) settings(yaml []byte) {
	v.say("demo.yaml:\n\n    %s\n", strings.ReplaceAll(string(bytes.TrimSpace(yaml)), "\n", "\n    "))
}

func (v *view) clock() string { return fmt.Sprintf("%.1fs", time.Since(v.began).Seconds()) }

// event prints one outcome in the words of somebody who keeps books.
func (v *view) event(ev consumer.Event) {
	var what string
	switch ev.Kind {
	case consumer.Posted:
		what = "posted"
		if ev.Attempt > 1 {
			what = fmt.Sprintf("posted on attempt %d", ev.Attempt)
		}
	case consumer.Suppressed:
		what = "suppressed: this transaction is posted already"
	case consumer.RetryScheduled:
		what = fmt.Sprintf("waits on %s until %s: %s (%s at %s, attempt %d failed)",
			ev.Topic, ev.Due.Local().Format("15:04:05.000"), reasons[ev.Code], ev.Code, ev.Stage, ev.Attempt)
	case consumer.DeadLettered:
		what = fmt.Sprintf("dead letter: %s (%s at %s after %s)", reasons[ev.Code], ev.Code, ev.Stage, times(ev.Attempt))
	default:
		return
	}
	amount, entity := "unreadable", "–"
	if m := ev.Message; m != nil {
		if m.HasAmount {
			amount = m.Amount.StringFixed(2)
		}
		if amount += " " + m.Currency; m.LedgerEntity != "" {
			entity = m.LedgerEntity
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	fmt.Fprintf(v.out, "%6s  %-24s %14s  %s\n", v.clock(), entity, strings.TrimSpace(amount), what)
}

// reasons say the codes that the scenario meets in a finance person's words.
var reasons = map[fault.Code]string{
	fault.CarrierUnreachable:    "the carrier does not answer",
	fault.CounterpartNotArrived: "the goods receipt is not there yet",
	fault.RateNotPublished:      "the exchange rate of that day is not published yet",
	fault.CurrencyUnmapped:      "the ledger does not know the currency",
	fault.AmountInvalid:         "the amount is none that may be booked",
	fault.SchemaInvalid:         "a field breaks its rule",
	fault.NoIdentity:            "nothing says which transaction it is",
	fault.Undecodable:           "it is no message at all",
	fault.DuplicateInFlight:     "its twin is still at work",
	fault.LockContention:        "the ledger is busy",
}

func times(n int) string {
	if n == 1 {
		return "1 attempt"
	}
	return fmt.Sprintf("%d attempts", n)
}

// plan prints the dry run.
func (v *view) plan(p *replay.Plan) {
	v.title("a plan to bring the dead letters back: every gate is asked, nothing is written")
	v.mu.Lock()
	defer v.mu.Unlock()
	replay.PrintPlan(v.out, p)
}

// report prints what the run did.
func (v *view) report(r *replay.Report) {
	v.title("the plan is executed; what went back is confirmed by the consumer")
	v.mu.Lock()
	defer v.mu.Unlock()
	replay.PrintReport(v.out, r)
}

// books prints the table of outcomes and the completeness line.
func (v *view) books(r *audit.Result, trail audit.Trail) {
	v.title("the books, from the topics and the ledger alone")
	v.mu.Lock()
	defer v.mu.Unlock()
	fmt.Fprintln(v.out, outcomes(r))
	fmt.Fprintln(v.out)
	if err := r.Print(v.out); err != nil {
		fmt.Fprintln(v.out, err)
	}
	if trail.Intact() {
		fmt.Fprintln(v.out, "audit trail: intact, self-attested")
	} else {
		fmt.Fprintln(v.out, "audit trail:", trail.Findings)
	}
}

// outcomes is the table of what became of every record, by outcome and currency.
func outcomes(r *audit.Result) string {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Options = table.OptionsNoBordersAndSeparators
	t.Style().Format.Header = text.FormatDefault
	t.AppendHeader(table.Row{"outcome", "currency", "records", "debit", "credit"})
	t.SetColumnConfigs([]table.ColumnConfig{
		{Number: 1, Align: text.AlignLeft, AlignHeader: text.AlignLeft}, {Number: 3, Align: text.AlignRight}, {Number: 4, Align: text.AlignRight}, {Number: 5, Align: text.AlignRight},
	})
	for s := audit.AsPosted; s < audit.AsMissing; s++ {
		for _, currency := range slices.Sorted(maps.Keys(r.By[s])) {
			sum := r.By[s][currency]
			if currency == "" {
				currency = "unreadable"
			}
			t.AppendRow(table.Row{s, currency, sum.Records, envelope.Figure(sum.Debit, currency), envelope.Figure(sum.Credit, currency)})
		}
	}
	return t.Render()
}
