package statement

import (
	"fmt"
	"strings"
	"unicode"
)

// csvSign is how a file says which way its money went: by words in a column, by the figures' own signs, or both.
type csvSign struct {
	column string // the column whose words count; empty: no column says debit or credit
	signed bool   // a minus means money that went out, and its absence money that came in
}

// csvSigned are the columns that may have such words, the one most likely to mean them first.
var csvSigned = []string{"direction", "type", "kind"}

// csvWords are what is taken for a direction. Words that some banks use for both, such as payment or transfer, are not
// here, nor is a word inside a longer text: a credit card payment is a debit.
var csvWords = map[string]struct{ debit bool }{
	"CREDIT": {}, "CRDT": {}, "CR": {}, "C": {},
	"DEPOSIT": {}, "CASH DEPOSIT": {}, "DIRECT DEPOSIT": {}, "ACH CREDIT": {},
	"INCOMING": {}, "INFLOW": {}, "IN": {}, "MONEY IN": {}, "PAID IN": {},

	"DEBIT": {true}, "DBIT": {true}, "DR": {true}, "D": {true},
	"WITHDRAWAL": {true}, "ATM WITHDRAWAL": {true}, "CASH WITHDRAWAL": {true}, "DIRECT DEBIT": {true}, "ACH DEBIT": {true},
	"OUTGOING": {true}, "OUTFLOW": {true}, "OUT": {true}, "MONEY OUT": {true}, "PAID OUT": {true},
}

func csvDirection(s string) (debit, known bool) {
	words := strings.FieldsFunc(strings.ToUpper(s), func(r rune) bool { return !unicode.IsLetter(r) })
	word, known := csvWords[strings.Join(words, " ")]
	return word.debit, known
}

// learnSign finds out from all rows how this file says which way its money went. It is an error when there is a column
// that should say it, in words that nobody knows, and no figure has a sign: all debits would be posted as credits.
func (c *csvColumns) learnSign(rows []csvRow) error {
	for _, column := range csvSigned {
		for i := range rows {
			if _, known := csvDirection(c.get(&rows[i], column)); known {
				c.sign = csvSign{column: column, signed: c.signed(rows, column)}
				return nil
			}
		}
	}
	c.sign.signed = c.signed(rows, "")
	for i := range rows {
		for _, column := range csvSigned {
			word := c.get(&rows[i], column)
			if word != "" && !c.sign.signed && asWritten(c.get(&rows[i], "amount")).value.IsPositive() {
				return fmt.Errorf("line %d: the type %q is neither a debit nor a credit, and no amount of the file has a minus: "+
					"give a column debit/credit that says D or C, or debits a minus", rows[i].line, word)
			}
		}
	}
	return nil
}

// signed tells whether figures have their own sign: debits have a minus, or what no word explains has one, while none of
// the debits lacks it.
func (c *csvColumns) signed(rows []csvRow, column string) bool {
	var minus, unsigned bool
	for i := range rows {
		a := asWritten(c.get(&rows[i], "amount")).value
		debit, known := csvDirection(c.get(&rows[i], column))
		switch {
		case debit && a.IsNegative():
			return true
		case debit && a.IsPositive():
			unsigned = true
		case !known && a.IsNegative():
			minus = true
		}
	}
	return minus && !unsigned
}

// amount applies the words, where there are some, to the figure. A word that is missing or unknown beside a figure without
// a sign, or one that contradicts the sign, leaves it open where the money went: such a row does not split.
func (c *csvColumns) amount(r *csvRow) (amount, bool) {
	a := asWritten(c.get(r, "amount"))
	if c.sign.column == "" {
		return a, true
	}
	debit, known := csvDirection(c.get(r, c.sign.column))
	switch {
	case !known:
		return a, c.sign.signed
	case !debit:
		return a, !a.value.IsNegative()
	case !a.value.IsPositive():
		return a, true
	}
	return a.debit(), !c.sign.signed
}
