package statement

import (
	"strconv"
	"strings"

	"github.com/shopspring/decimal"
)

// ends are the booked balances around the statement's entries: OPBD, else PRCD (the close of the day before), to CLBD.
// A page in the middle begins and ends with ITBD. Available and forward balances hold what is not booked.
func (s *camtStatement) ends() (opening, closing *balance) {
	interim := s.find("ITBD")
	opening = first(s.find("OPBD"), s.find("PRCD"))
	if opening == nil {
		opening = first(interim)
		if len(interim) > 0 {
			interim = interim[1:]
		}
	}
	if closing = first(s.find("CLBD")); closing == nil && len(interim) > 0 {
		closing = interim[len(interim)-1]
	}
	return opening, closing
}

// find lists the balances of a kind, those in the account's own currency first.
func (s *camtStatement) find(kind string) []*balance {
	var own, other []*balance
	for i := range s.balances {
		x := &s.balances[i]
		if strings.TrimSpace(x.Kind) != kind {
			continue
		}
		b := &balance{kind: kind, currency: currencyOf(x.Amount, s.account.Currency)}
		var known bool
		b.amount, known = signed(unsigned(x.Amount.Text, "."), x.Sign)
		b.amount.ok = b.amount.ok && known
		if b.currency == strings.TrimSpace(s.account.Currency) {
			own = append(own, b)
		} else {
			other = append(other, b)
		}
	}
	return append(own, other...)
}

func first(lists ...[]*balance) *balance {
	for _, l := range lists {
		if len(l) > 0 {
			return l[0]
		}
	}
	return nil
}

// summaryChecks holds the statement's own summary, where it has one, against all its entries, booked or not. The indicator
// says which direction one counts for: a figure of zero has no sign.
func (s *camtStatement) summaryChecks(where string, all []entry) []Check {
	var credit, debit tally
	for i := range all {
		if strings.TrimSpace(s.entries[i].Sign) == "DBIT" {
			debit.add(all[i].amount.value.Neg())
		} else {
			credit.add(all[i].amount.value)
		}
	}
	x := &s.summary
	both := tally{credit.n + debit.n, credit.sum.Add(debit.sum)}
	out := x.All.check(where, "entries", both)
	out = append(out, x.Credit.check(where, "credit entries", credit)...)
	return append(out, x.Debit.check(where, "debit entries", debit)...)
}

type tally struct {
	n   int
	sum decimal.Decimal
}

func (t *tally) add(d decimal.Decimal) { t.n, t.sum = t.n+1, t.sum.Add(d) }

func (x xmlCount) check(where, what string, found tally) []Check {
	var out []Check
	if n := strings.TrimSpace(x.Number); n != "" {
		out = append(out, Check{where, "number of " + what, plainCount(n), strconv.Itoa(found.n)})
	}
	if sum := strings.TrimSpace(x.Sum); sum != "" {
		c := Check{where, "sum of " + what, "unreadable", money(found.sum, "")}
		if a := unsigned(sum, "."); a.ok {
			c.Stated = money(a.value, "")
		}
		out = append(out, c)
	}
	return out
}

// plainCount is a count without zeros in front, so that it can be compared as text.
func plainCount(s string) string {
	if s = strings.TrimSpace(s); s == "" || !digits(s) {
		return "unreadable"
	}
	if s = strings.TrimLeft(s, "0"); s == "" {
		return "0"
	}
	return s
}
