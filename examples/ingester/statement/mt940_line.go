package statement

import (
	"regexp"
	"strings"
)

// mt940Line is the first line of :61: in the order of SWIFT's field definition: value date, entry date, mark, funds
// code (third letter of the currency), amount, transaction type, and both references around //.
var mt940Line = regexp.MustCompile(`^([0-9]{6})([0-9]{4})?(RC|RD|C|D)([A-Z])?([0-9]{1,14},[0-9]{0,13})([A-Z][A-Z0-9]{3})(.*)$`)

// mt940Entry reads a :61:. What follows the first line is the bank's supplement.
func mt940Entry(f *mt940Text) entry {
	e := entry{raw: f.raw, line: f.line}
	m := mt940Line.FindStringSubmatch(f.lines[0])
	if m == nil {
		return e
	}
	e.split = true
	e.value = civil(m[1])
	if m[2] != "" {
		e.booking = near(e.value, m[2])
	}
	e.amount = unsigned(m[5], ",")
	if m[3] == "D" || m[3] == "RC" { // a reversed credit leaves the account
		e.amount = e.amount.debit()
	}
	e.reversal = m[3] == "RC" || m[3] == "RD"
	customer, bank, _ := strings.Cut(m[7], "//")
	e.text = strings.Join(append([]string{m[6]}, f.lines[1:]...), " ")
	if e.reference = present(bank); e.reference != "" {
		e.id = identity{kind: "mt940.reference", parts: []part{{"reference", e.reference}}}
		if e.booking == "" { // the reference of a standing order comes again: the day must tell
			e.id.parts = append(e.id.parts, part{"value_date", e.value})
		}
	} else {
		e.reference = present(customer)
	}
	return e
}
