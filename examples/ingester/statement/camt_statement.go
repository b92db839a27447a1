package statement

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"
)

// camtStatement is one Stmt or Ntfctn as it was read.
type camtStatement struct {
	format, id, created, page string
	account                   xmlAccount
	balances                  []xmlBalance
	summary                   xmlSummary
	entries                   []camtEntry
	skipped                   int
}

type camtEntry struct {
	xmlEntry
	raw  []byte
	line int
}

// read turns the statement into entries, at the level asked for, and its control figures into checks.
func (s *camtStatement) read(where string, opts Options) ([]entry, []Check, error) {
	account := strings.TrimSpace(s.account.IBAN)
	if account == "" {
		account = strings.TrimSpace(s.account.Other)
	}
	if account == "" && opts.Entity == "" {
		return nil, nil, errors.New("it names no account: give --entity")
	}
	all := make([]entry, 0, len(s.entries))
	booked := make([]entry, 0, len(s.entries))
	out := make([]entry, 0, len(s.entries))
	var checks []Check
	for i := range s.entries {
		x := &s.entries[i]
		e := s.entry(x, account)
		all = append(all, e)
		if !x.booked() {
			s.skipped++
			continue
		}
		if s.format == "camt.054" && (e.id.kind != "camt.reference" || e.booking == "") {
			return nil, nil, fmt.Errorf("entry %d has no AcctSvcrRef or no booking date: it could not be told again in the camt.053 of the day", i+1)
		}
		booked = append(booked, e)
		if opts.Level == DetailLevel && len(x.Details) > 0 {
			single, check := s.details(x, e, fmt.Sprintf("%s entry %d", where, i+1))
			out, checks = append(out, single...), append(checks, check)
			continue
		}
		out = append(out, e)
	}
	if s.format == "camt.053" {
		opening, closing := s.ends()
		checks = append(checks, closes(where, opening, closing, booked))
	}
	return out, append(checks, s.summaryChecks(where, all)...), nil
}

// entry is the record of x as a whole.
func (s *camtStatement) entry(x *camtEntry, account string) entry {
	e := entry{
		raw: x.raw, line: x.line, account: account, currency: currencyOf(x.Amount, s.account.Currency),
		booking: x.Booking.day(), value: x.Value.day(), reversal: isTrue(x.Reversal),
	}
	e.amount, e.split = signed(unsigned(x.Amount.Text, "."), x.Sign)
	reference := present(x.Reference)
	if reference == "" && len(x.Details) == 1 {
		reference = present(x.Details[0].Reference)
	}
	texts := []string{x.Info}
	for i := range x.Details {
		texts = append(texts, x.Details[i].texts()...)
	}
	e.text = strings.Join(texts, " ")
	e.reference = reference
	if e.reference == "" && len(x.Details) == 1 {
		e.reference = present(x.Details[0].EndToEnd)
	}
	e.id = s.identity(reference, &e)
	return e
}

// identity prefers the bank's own reference; without one the entry is known by its statement and its content. A
// reference may come again on another day: where no booking date says which, the value date does, else the statement.
func (s *camtStatement) identity(reference string, e *entry) identity {
	statement := []part{{"statement", strings.TrimSpace(s.id)}, {"statement_date", s.date()}}
	known := identity{kind: "camt.reference", parts: []part{{"reference", reference}}}
	switch {
	case reference == "":
		return identity{kind: "camt.content", parts: append(
			statement, part{"page", s.page}, part{"value_date", e.value}, part{"text", collapse(e.text)},
		)}
	case e.booking != "":
	case e.value != "":
		known.parts = append(known.parts, part{"value_date", e.value})
	default:
		known.parts = append(known.parts, statement...)
	}
	return known
}

// date is the day of the closing balance, else of the statement's making.
func (s *camtStatement) date() string {
	for _, b := range s.balances {
		if b.Kind == "CLBD" && b.Date.day() != "" {
			return b.Date.day()
		}
	}
	return day(strings.TrimSpace(s.created))
}

// details are the single transactions of an entry, which must add up to it.
func (s *camtStatement) details(x *camtEntry, e entry, where string) ([]entry, Check) {
	out := make([]entry, 0, len(x.Details))
	sum, whole := decimal.Zero, e.amount.ok
	for i := range x.Details {
		d := &x.Details[i]
		one := e
		one.text = strings.Join(append([]string{x.Info}, d.texts()...), " ")
		if end := present(d.EndToEnd); end != "" {
			one.reference = end
		}
		if a := d.amount(); a.Text != "" && (len(x.Details) > 1 || a.Currency == e.currency) {
			sign := d.Sign
			if sign == "" {
				sign = x.Sign
			}
			one.currency = currencyOf(a, e.currency)
			one.amount, one.split = signed(unsigned(a.Text, "."), sign)
		} else if len(x.Details) > 1 {
			one.amount = amount{}
		}
		one.id.parts = append(append([]part(nil), e.id.parts...), part{"detail", strconv.Itoa(i + 1)})
		whole = whole && one.split && one.amount.ok && one.currency == e.currency
		sum = sum.Add(one.amount.value)
		out = append(out, one)
	}
	c := Check{Where: where, What: "its amount", Stated: "unreadable", Found: "details that are unreadable or of another currency"}
	if e.amount.ok {
		c.Stated = money(e.amount.value, e.currency)
	}
	if whole {
		c.Found = money(sum, e.currency)
	}
	return out, c
}

// amount is the detail's own figure, else what it says the transaction's was.
func (d *xmlDetail) amount() xmlAmount {
	if strings.TrimSpace(d.Amount.Text) != "" {
		return d.Amount
	}
	return d.TxAmount
}

// texts are the references and texts of a detail, without those that say that there is none.
func (d *xmlDetail) texts() []string {
	texts := []string{present(d.EndToEnd), present(d.Tx)}
	texts = append(texts, d.Remitted...)
	texts = append(texts, d.Creditor...)
	return append(texts, d.Info)
}

func currencyOf(a xmlAmount, otherwise string) string {
	if c := strings.TrimSpace(a.Currency); c != "" {
		return c
	}
	return strings.TrimSpace(otherwise)
}

func isTrue(s string) bool {
	s = strings.TrimSpace(s)
	return s == "true" || s == "1"
}
