package statement

import (
	"strings"
)

// entry reads an entry detail. The receiving account is the record's account.
func (f *achFile) entry(l *achLine) {
	b := f.batch
	b.entry = true
	e := entry{raw: l.raw, line: l.line, currency: "USD", booking: b.booking, value: b.booking}
	account, name := l.trimmed(13, 29), l.trimmed(55, 76)
	if b.class == "IAT" {
		account, name = l.trimmed(40, 74), ""
	}
	e.account, e.text = account, name
	trace := l.at(80, 94)
	e.reference = trace
	e.id = identity{kind: "ach.trace", parts: []part{
		{"file", strings.TrimSpace(f.id)}, {"batch", b.number}, {"trace", strings.TrimSpace(trace)},
	}}
	e.amount = minor(l.at(30, 39), 2)
	debit, known := achDirection(l.at(2, 3))
	e.split = known && e.amount.ok && digits(l.at(4, 11)) && digits(trace) && len(l.text) == achWidth
	b.sum.count++
	if e.split {
		b.sum.add(l.at(4, 11), e.amount.value, debit)
	}
	if debit {
		e.amount = e.amount.debit()
	}
	f.out.entries = append(f.out.entries, e)
}

// achDirection knows the transaction codes of demand (2x), savings (3x), general ledger (4x) and loan accounts (5x):
// x1 to x4 credit the receiving account, x6 to x9 debit it, and so does 55, the reversal of a loan credit.
func achDirection(code string) (debit, known bool) {
	if code[0] < '2' || code[0] > '5' {
		return false, false
	}
	switch c := code[1]; {
	case code == "55", '6' <= c && c <= '9':
		return true, true
	case '1' <= c && c <= '4':
		return false, true
	}
	return false, false
}

// addenda adds a record's text to its entry, and its bytes.
func (f *achFile) addenda(l *achLine) {
	f.batch.sum.count++
	e := &f.out.entries[len(f.out.entries)-1]
	e.raw = append(e.raw[:len(e.raw):len(e.raw)], l.raw...)
	if l.at(2, 3) == "05" {
		e.text += " " + l.trimmed(4, 83)
	}
}
