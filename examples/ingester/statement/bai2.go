package statement

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"recon/pkg/envelope"
)

// bai2File is a BAI2 file while it is read.
type bai2File struct {
	opts    Options
	out     content
	file    bai2Sum
	group   *bai2Group
	account *bai2Account
	closed  bool
}

type bai2Group struct {
	n        int
	date     string
	currency string
	sum      bai2Sum
}

type bai2Account struct {
	where, number, currency, date string
	sum                           bai2Sum
	credit, debit                 tally // what its 16 records give
	stated                        map[string]bai2Stated
}

// readBAI2 reads a BAI2 file.
func readBAI2(data []byte, opts Options) (*content, error) {
	f := &bai2File{opts: opts, out: content{format: "bai2"}}
	records := bai2Records(data)
	for i := range records {
		if err := f.record(&records[i]); err != nil {
			return nil, fmt.Errorf("line %d: %w", records[i].line, err)
		}
	}
	if !f.closed {
		return nil, errors.New("the file breaks off: it has no file trailer (99)")
	}
	return &f.out, nil
}

// record takes one record in its turn, and counts it for whatever encloses it.
func (f *bai2File) record(r *bai2Record) error {
	first := f.file.records == 0
	f.file.records += r.count
	if f.group != nil {
		f.group.sum.records += r.count
	}
	if f.account != nil {
		f.account.sum.records += r.count
	}
	switch {
	case f.closed:
		return fmt.Errorf("a record %s after the file trailer", r.code)
	case r.code == "01" && first:
	case r.code == "02" && f.group == nil && !first:
		return f.openGroup(r)
	case r.code == "03" && f.group != nil && f.account == nil:
		return f.openAccount(r)
	case r.code == "16" && f.account != nil:
		return f.detail(r)
	case r.code == "49" && f.account != nil:
		f.closeAccount(r)
	case r.code == "98" && f.group != nil && f.account == nil:
		f.closeGroup(r)
	case r.code == "99" && f.group == nil && !first:
		f.close(r)
	default:
		return fmt.Errorf("a record %s does not belong here", r.code)
	}
	return nil
}

// bai2Refused says of each group status but 1, update, why it is not posted and what to do. A correction repeats what an
// earlier file brought, with other amounts: posted, both would stand in the ledger.
var bai2Refused = map[string]string{
	"2": " (deletion), which takes back what an earlier file brought: only updates (1) are posted; reverse the postings by hand",
	"3": " (correction), which would be posted beside what an earlier file brought: only updates (1) are posted; correct the postings by hand",
	"4": " (test only), about money that did not move: only updates (1) are posted; ask the bank for the real file",
}

func (f *bai2File) openGroup(r *bai2Record) error {
	f.file.parts++
	if status := at(r.fields, 2); status != "" && status != "1" {
		return fmt.Errorf("group %d has the status %s%s", f.file.parts, status, cmp.Or(bai2Refused[status],
			", which BAI2 does not know: only updates (1) are posted; ask the bank for the group as one"))
	}
	if at(r.fields, 3) == "" {
		return fmt.Errorf("group %d has no as-of date: its payments could not be told from equal ones of another day", f.file.parts)
	}
	f.group = &bai2Group{n: f.file.parts, date: civil(at(r.fields, 3)), currency: at(r.fields, 5), sum: bai2Sum{records: r.count}}
	return nil
}

func (f *bai2File) openAccount(r *bai2Record) error {
	f.group.sum.parts++
	where := fmt.Sprintf("group %d account %d", f.group.n, f.group.sum.parts)
	a := &bai2Account{where: where, number: at(r.fields, 0), currency: at(r.fields, 1), date: f.group.date, sum: bai2Sum{records: r.count}}
	if a.number == "" && f.opts.Entity == "" {
		return errors.New(where + " has no number: give --entity")
	}
	if a.currency == "" {
		a.currency = f.group.currency
	}
	if a.currency == "" {
		a.currency = "USD" // the format's default
	}
	f.account = a
	return a.summaries(r.fields)
}

// detail reads a 16. Types 100 to 399 are credits, 400 to 699 debits, 890 is text about no money.
func (f *bai2File) detail(r *bai2Record) error {
	a := f.account
	kind, figure := at(r.fields, 0), at(r.fields, 1)
	if kind == "890" && (figure == "" || strings.Trim(figure, "0") == "") {
		f.out.skipped++
		return nil
	}
	e := entry{raw: r.raw, line: r.line, account: a.number, currency: a.currency, booking: a.date}
	e.amount = minor(figure, a.decimals())
	if e.amount.ok {
		a.sum.add(figure)
	}
	debit, known := bai2Direction(kind)
	known = known && bai2FundsKnown(at(r.fields, 2))
	if e.split = known && e.amount.ok; e.split {
		f.place(&e, r, kind)
		if debit {
			a.debit.add(e.amount.value)
			e.amount = e.amount.debit()
		} else {
			a.credit.add(e.amount.value)
		}
	}
	f.out.entries = append(f.out.entries, e)
	return nil
}

// decimals are those of the account's currency; of one that has none the letter shall show the usual two.
func (a *bai2Account) decimals() int {
	if n, known := envelope.MinorUnits(a.currency); known {
		return n
	}
	return 2
}

// place finds what the funds type moves about: value date, references, text.
func (f *bai2File) place(e *entry, r *bai2Record, kind string) {
	text := bai2Text(r.fields)
	bank, customer := present(at(r.fields, text-2)), present(at(r.fields, text-1))
	if at(r.fields, 2) == "V" {
		e.value = civil(at(r.fields, 3))
	}
	if text < len(r.fields) {
		e.text = strings.Join(r.fields[text:], ",")
	}
	if e.reference = bank; bank != "" {
		e.id = identity{kind: "bai2.reference", parts: []part{{"type", kind}, {"reference", bank}}}
		return
	}
	e.reference = customer
	e.id = identity{kind: "bai2.content", parts: []part{
		{"type", kind},
		{"funds", collapse(strings.Join(r.fields[2:max(2, min(text-2, len(r.fields)))], ","))},
		{"customer_reference", customer},
		{"text", collapse(e.text)},
	}}
}

func bai2Direction(kind string) (debit, known bool) {
	if len(kind) != 3 || !digits(kind) {
		return false, false
	}
	return kind >= "400", "100" <= kind && kind <= "699"
}

func bai2FundsKnown(s string) bool {
	switch s {
	case "", "Z", "0", "1", "2", "S", "V", "D":
		return true
	}
	return false
}
