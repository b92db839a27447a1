package statement

import (
	"fmt"
	"sort"
	"strings"

	"github.com/shopspring/decimal"
)

// Check is a control figure of a file beside what the file's own records give.
type Check struct {
	Where  string // file, statement 2, batch 1, group 1 account 3
	What   string // closing balance, entry hash, …
	Stated string
	Found  string
}

// Foots tells whether both agree. They are compared as text, in one spelling.
func (c Check) Foots() bool { return c.Stated == c.Found }

// String shows both figures.
func (c Check) String() string {
	return fmt.Sprintf("%s: %s is stated as %s, the records give %s", c.Where, c.What, c.Stated, c.Found)
}

// Failed lists the checks that do not hold; a file with none foots.
func (f *File) Failed() []Check {
	var failed []Check
	for _, c := range f.Checks {
		if !c.Foots() {
			failed = append(failed, c)
		}
	}
	return failed
}

// Total is what was read of one currency.
type Total struct {
	Currency      string
	Records       int
	Debit, Credit decimal.Decimal // both gross and positive
	Unreadable    int             // records whose amount is no figure, counted in Records
}

// String is the total's line.
func (t Total) String() string {
	s := fmt.Sprintf("%s debit %s credit %s net %s", t.Currency, t.bare(t.Debit), t.bare(t.Credit), t.bare(t.Credit.Sub(t.Debit)))
	if t.Unreadable > 0 {
		s += fmt.Sprintf(" and %d unreadable", t.Unreadable)
	}
	return s
}

func (t Total) bare(d decimal.Decimal) string {
	s, _, _ := strings.Cut(money(d, t.Currency), " ")
	return s
}

// Totals adds up files per currency, in the order of the codes. Raw records have no currency and are not in it.
func Totals(files ...*File) []Total {
	byCode := make(map[string]*Total)
	for _, f := range files {
		for i := range f.Records {
			byCode = add(byCode, &f.Records[i])
		}
	}
	out := make([]Total, 0, len(byCode))
	for _, t := range byCode {
		out = append(out, *t)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Currency < out[j].Currency })
	return out
}

func add(to map[string]*Total, r *Record) map[string]*Total {
	if r.Raw {
		return to
	}
	t := to[r.Currency]
	if t == nil {
		t = &Total{Currency: r.Currency}
		to[r.Currency] = t
	}
	t.Records++
	switch {
	case !r.Readable:
		t.Unreadable++
	case r.Amount.IsNegative():
		t.Debit = t.Debit.Sub(r.Amount)
	default:
		t.Credit = t.Credit.Add(r.Amount)
	}
	return to
}

// balance is what an account held.
type balance struct {
	amount   amount
	currency string
	kind     string // the format's own name for it
}

func (b *balance) String() string {
	if b == nil {
		return "nothing"
	}
	if !b.amount.ok {
		return "unreadable"
	}
	return money(b.amount.value, b.currency)
}

// closes checks opening + Σ = closing. Everything is in the opening's currency, or it does not foot.
func closes(where string, opening, closing *balance, entries []entry) Check {
	sum, foreign := decimal.Zero, 0
	for i := range entries {
		e := &entries[i]
		switch {
		case !e.split || !e.amount.ok || opening != nil && e.currency != opening.currency:
			foreign++
		default:
			sum = sum.Add(e.amount.value)
		}
	}
	c := Check{Where: where, What: "closing balance", Stated: closing.String()}
	if opening == nil || !opening.amount.ok {
		c.Found = "no figure: the opening balance is " + opening.String()
		return c
	}
	c.What = "closing balance (after " + opening.kind + " " + opening.String() + ")"
	c.Found = money(opening.amount.value.Add(sum), opening.currency)
	if foreign > 0 {
		c.Found += fmt.Sprintf(" without %d that are unreadable or of another currency", foreign)
	}
	return c
}
