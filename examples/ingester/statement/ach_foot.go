package statement

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"
)

// achSums are what control records state: the numbers of entries and addenda, the entry hash (the sum of the receiving
// banks' first eight digits, its last ten digits), and the totals of both directions.
type achSums struct {
	count         int
	hash          int64
	debit, credit decimal.Decimal
}

// achHashes is where the entry hash begins anew.
const achHashes = 10_000_000_000

func (s *achSums) add(routing string, amount decimal.Decimal, debit bool) {
	n, err := strconv.ParseInt(routing, 10, 64)
	if err != nil { // entry has checked the digits
		panic("statement: routing number " + routing)
	}
	s.hash = (s.hash + n) % achHashes
	if debit {
		s.debit = s.debit.Add(amount)
	} else {
		s.credit = s.credit.Add(amount)
	}
}

func (s *achSums) join(t achSums) {
	s.count += t.count
	s.hash = (s.hash + t.hash) % achHashes
	s.debit, s.credit = s.debit.Add(t.debit), s.credit.Add(t.credit)
}

// checks compares with the four figures of a control record.
func (s *achSums) checks(where, count, hash, debit, credit string) []Check {
	return []Check{
		{where, "entry and addenda count", plainCount(count), strconv.Itoa(s.count)},
		{where, "entry hash", plainCount(hash), strconv.FormatInt(s.hash, 10)},
		{where, "total debit", achMoney(debit), money(s.debit, "USD")},
		{where, "total credit", achMoney(credit), money(s.credit, "USD")},
	}
}

func achMoney(s string) string {
	a := minor(s, 2)
	if !a.ok {
		return "unreadable"
	}
	return money(a.value, "USD")
}

// closeBatch holds a batch against its control record.
func (f *achFile) closeBatch(l *achLine) {
	b, where := f.batch, fmt.Sprintf("batch %d", f.batch.n)
	f.out.checks = append(f.out.checks, Check{where, "batch number", l.at(88, 94), b.number})
	f.out.checks = append(f.out.checks, b.sum.checks(where, l.at(5, 10), l.at(11, 20), l.at(21, 32), l.at(33, 44))...)
	f.sum.join(b.sum)
	f.batch = nil
}

// close holds the file against its control record. The count of blocks is the last check: filling may follow.
func (f *achFile) close(l *achLine) {
	f.closed = true
	f.out.checks = append(f.out.checks, Check{"file", "batch count", plainCount(l.at(2, 7)), strconv.Itoa(f.batches)})
	f.out.checks = append(f.out.checks, f.sum.checks("file", l.at(14, 21), l.at(22, 31), l.at(32, 43), l.at(44, 55))...)
	f.out.checks = append(f.out.checks, Check{"file", "block count", plainCount(strings.TrimSpace(l.at(8, 13))), f.blocks()})
}

// blocks is how many blocks of ten lines there are, the last one full or not.
func (f *achFile) blocks() string { return strconv.Itoa((f.lines + 9) / 10) }
