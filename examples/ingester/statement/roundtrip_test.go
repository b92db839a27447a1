package statement_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"recon/examples/ingester/statement"
)

// payment is one transaction of a generated statement, in cents.
type payment struct {
	cents    int64 // signed
	day      string
	ref      string // empty: the bank gives none
	reversal bool
}

func (p payment) value() decimal.Decimal { return decimal.New(p.cents, -2) }

// size is the figure without its sign, with mark in the place of the point.
func (p payment) size(mark string) string {
	return strings.Replace(p.value().Abs().StringFixed(2), ".", mark, 1)
}

// book is a generated account statement that foots.
type book struct {
	opening int64
	all     []payment
}

func (b book) closing() int64 {
	sum := b.opening
	for _, p := range b.all {
		sum += p.cents
	}
	return sum
}

// books draws statements with few distinct amounts and references, so that equal payments are common.
var books = rapid.Custom(func(t *rapid.T) book {
	one := rapid.Custom(func(t *rapid.T) payment {
		p := payment{
			cents:    rapid.OneOf(rapid.Just(int64(-7500)), rapid.Int64Range(-999_999_999, 999_999_999)).Draw(t, "cents"),
			day:      rapid.SampledFrom([]string{"2026-11-26", "2026-11-27"}).Draw(t, "day"),
			ref:      rapid.SampledFrom([]string{"", "NONREF", "R1", "R2"}).Draw(t, "ref"),
			reversal: rapid.Bool().Draw(t, "reversal"),
		}
		if p.cents == 0 {
			p.cents = 1
		}
		return p
	})
	return book{rapid.Int64Range(-1e9, 1e9).Draw(t, "opening"), rapid.SliceOfN(one, 0, 12).Draw(t, "payments")}
})

// side is one of two words by the sign.
func side(cents int64, credit, debit string) string {
	if cents < 0 {
		return debit
	}
	return credit
}

func (b book) camt() string {
	body := []string{
		bal("OPBD", side(b.opening, "CRDT", "DBIT"), payment{cents: b.opening}.size(".")),
		bal("CLBD", side(b.closing(), "CRDT", "DBIT"), payment{cents: b.closing()}.size(".")),
	}
	for _, p := range b.all {
		e := ntry(side(p.cents, "CRDT", "DBIT"), p.size("."), p.ref, fmt.Sprintf("<RvslInd>%v</RvslInd>", p.reversal))
		body = append(body, strings.Replace(e, "2026-11-27", p.day, 1))
	}
	return camt(body...)
}

func (b book) mt940() string {
	var lines []string
	for _, p := range b.all {
		mark := side(p.cents, "C", "D")
		if p.reversal {
			mark = side(p.cents, "RD", "RC")
		}
		date := strings.ReplaceAll(p.day, "-", "")[2:]
		lines = append(lines, ":61:"+date+date[2:]+mark+p.size(",")+"NTRFNONREF//"+p.ref, ":86:text")
	}
	balance := func(cents int64) string {
		return side(cents, "C", "D") + "261127EUR" + payment{cents: cents}.size(",")
	}
	return mt940(balance(b.opening), balance(b.closing()), lines...)
}

func (b book) bai2() string {
	var details []string
	total := int64(0)
	for _, p := range b.all {
		details = append(details, fmt.Sprintf("16,%s,%s,Z,%s,,text/", side(p.cents, "142", "451"), strings.TrimLeft(p.size(""), "0"), p.ref))
		total += max(p.cents, -p.cents)
	}
	text := bai2("", 0, len(details)+2, details...)
	for _, trailer := range []string{"49", "98", "99"} {
		text = strings.Replace(text, "\n"+trailer+",0,", fmt.Sprintf("\n%s,%d,", trailer, total), 1)
	}
	return text
}

func (b book) csv() string {
	text := "date,amount,type\n"
	for _, p := range b.all {
		text += p.day + "," + p.size(".") + "," + side(p.cents, "CREDIT", "DEBIT") + "\n"
	}
	return text
}

// TestWhatABankWritesIsWhatIsRead: for any statement that foots, in any format, each payment becomes one record with its
// sign and its cents, all hashes differ, and the totals are the statement's.
func TestWhatABankWritesIsWhatIsRead(t *testing.T) {
	formats := map[string]func(book) string{"camt": book.camt, "mt940": book.mt940, "bai2": book.bai2, "csv": book.csv}
	for name, write := range formats {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				b := books.Draw(t, "book")
				f, err := statement.Read(name, strings.NewReader(write(b)), statement.Options{Entity: "E", Currency: "EUR"})
				if err != nil {
					t.Fatalf("%v\n%s", err, write(b))
				}
				if len(f.Records) != len(b.all) {
					t.Fatalf("got %d records, want %d", len(f.Records), len(b.all))
				}
				var seen []string
				for i, r := range f.Records {
					if r.Raw || !r.Amount.Equal(b.all[i].value()) || slices.Contains(seen, r.SourceHash) || verdict(r) != "ok" {
						t.Fatalf("payment %+v became %s (%s)", b.all[i], r.Value, verdict(r))
					}
					seen = append(seen, r.SourceHash)
				}
				for _, total := range statement.Totals(f) {
					if got, want := total.Credit.Sub(total.Debit), decimal.New(b.closing()-b.opening, -2); !got.Equal(want) {
						t.Fatalf("net %s, want %s", got, want)
					}
				}
			})
		})
	}
}

// TestAnyCentMissingIsNoticed: a statement of which one payment was lost or doubled on the way never foots.
func TestAnyCentMissingIsNoticed(t *testing.T) {
	for name, write := range map[string]func(book, book) string{
		"camt": func(b, other book) string {
			return strings.Replace(other.camt(), ntryPart(other.camt()), ntryPart(b.camt()), 1)
		},
		"mt940": func(b, other book) string {
			whole := b.mt940()
			return strings.Replace(whole, between(whole, ":28C:1/1\n:60F:", ":62F:"), between(other.mt940(), ":28C:1/1\n:60F:", ":62F:"), 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				b := books.Filter(func(b book) bool { return len(b.all) > 0 }).Draw(t, "book")
				other := book{b.opening, slices.Clone(b.all)}
				at := rapid.IntRange(0, len(b.all)-1).Draw(t, "at")
				if rapid.Bool().Draw(t, "lost") {
					other.all = slices.Delete(other.all, at, at+1)
				} else {
					other.all = append(other.all, other.all[at])
				}
				text := write(b, other)
				if _, err := statement.Read(name, strings.NewReader(text), statement.Options{}); err == nil {
					t.Fatalf("foots:\n%s", text)
				}
			})
		})
	}
}

// ntryPart is everything after the balances of a camt that was built here.
func ntryPart(text string) string { return text[strings.LastIndex(text, "</Bal>"):] }

// between is what stands from one mark to another.
func between(text, from, to string) string {
	text = text[strings.Index(text, from):]
	return text[:strings.Index(text, to)]
}
