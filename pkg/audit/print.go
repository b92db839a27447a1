package audit

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// maxListed bounds how many roots and alarms Print lists one by one.
const maxListed = 20

// Print writes the completeness line of CONTRACT 9 for a person, then the sums per currency, and what speaks against
// it. The error is w's.
func (r *Result) Print(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "ingested %s = %s\n", count(r.Ingested.All().Records), r.equation())
	for _, currency := range slices.Sorted(maps.Keys(r.Ingested)) {
		if currency != "" {
			r.printCurrency(&b, currency)
		}
	}
	if n := r.Ingested.All().Unreadable; n > 0 {
		fmt.Fprintf(&b, "unreadable amounts %s = %s\n", count(n), r.terms(func(s Sums) (string, bool) {
			n := s.All().Unreadable
			return count(n), n > 0
		}))
	}
	fmt.Fprintf(&b, "hash total %016x, accounted for %016x\n", r.Ingested.All().Hash, r.accountedHash())
	r.printNotes(&b)
	r.printAgainst(&b)
	_, err := io.WriteString(w, fault.Printable(b.String()))
	return err
}

// equation is the right side of the completeness line, every term shown.
func (r *Result) equation() string {
	n := func(s Standing) int { return r.By[s].All().Records }
	line := fmt.Sprintf("posted %s + suppressed %s + waiting in tiers %s + open dead letters %s + quarantined %s (awaiting journal %s | journal posted %s) + resolved %s",
		count(n(AsPosted)), count(n(AsSuppressed)), count(n(AsWaiting)), count(n(AsOpen)),
		count(n(AsQuarantined)+n(AsJournaled)), count(n(AsQuarantined)), count(n(AsJournaled)), count(n(AsResolved)))
	if n(AsMissing) > 0 {
		line += fmt.Sprintf(" + MISSING %s", count(n(AsMissing)))
	}
	return line
}

func (r *Result) printCurrency(b *bytes.Buffer, currency string) {
	in := r.Ingested[currency]
	for _, side := range []struct {
		name string
		of   func(Tally) decimal.Decimal
	}{
		{"debit ", func(t Tally) decimal.Decimal { return t.Debit }},
		{"credit", func(t Tally) decimal.Decimal { return t.Credit }},
	} {
		if side.of(in).IsZero() {
			continue
		}
		fmt.Fprintf(b, "%s gross %s %s = %s\n", currency, side.name, amount(currency, side.of(in)), r.terms(func(s Sums) (string, bool) {
			d := side.of(s[currency])
			return amount(currency, d), !d.IsZero()
		}))
	}
}

// order is the order of the terms in the contract's equation; what is missing comes last.
var order = [...]Standing{AsPosted, AsSuppressed, AsWaiting, AsOpen, AsQuarantined, AsJournaled, AsResolved, AsMissing}

// terms gives the outcomes that have a part in a figure, joined by plus signs.
func (r *Result) terms(of func(Sums) (string, bool)) string {
	var terms []string
	for _, s := range order {
		if text, any := of(r.By[s]); any {
			terms = append(terms, s.String()+" "+text)
		}
	}
	if len(terms) == 0 {
		return "0"
	}
	return strings.Join(terms, " + ")
}

func (r *Result) accountedHash() (h uint64) {
	for s := range AsMissing {
		h += r.By[s].All().Hash
	}
	return h
}

// printNotes says on what the figures rest, where that is not the usual.
func (r *Result) printNotes(b *bytes.Buffer) {
	if r.Copies > 0 {
		fmt.Fprintf(b, "%s records of %s are replays; they count for the record that they replay\n", count(r.Copies), r.Main)
	}
	for _, p := range slices.Sorted(maps.Keys(r.BelowStart)) {
		fmt.Fprintf(b, "%s/%d: %s records that are no longer there were counted from the audit trail\n", r.Main, p, count(r.BelowStart[p]))
	}
	if !r.Ledger {
		fmt.Fprintln(b, "postings were not counted in the ledger: what is posted is taken from the audit trail")
	}
}

// printAgainst lists what is missing and the alarms, and says whether the books close.
func (r *Result) printAgainst(b *bytes.Buffer) {
	for i, root := range r.Missing {
		if i == maxListed {
			fmt.Fprintf(b, "missing: %s more\n", count(len(r.Missing)-i))
			break
		}
		fmt.Fprintf(b, "missing: %s has no outcome\n", root)
	}
	for i, a := range r.Alarms {
		if i == maxListed {
			fmt.Fprintf(b, "%s more alarms and notes\n", count(len(r.Alarms)-i))
			break
		}
		kind := "note"
		if a.Grave {
			kind = "ALARM"
		}
		fmt.Fprintf(b, "%s: %s: %s\n", kind, a.Root, a.Text)
	}
	if r.Closes() {
		fmt.Fprintln(b, "completeness closes")
	} else {
		fmt.Fprintln(b, "completeness DOES NOT CLOSE")
	}
}

// count writes n with commas between the thousands.
func count(n int) string { return envelope.Grouped(strconv.Itoa(n)) }

// amount writes d with at least the decimals that the currency has and all that d has, and commas.
func amount(currency string, d decimal.Decimal) string {
	return envelope.Grouped(envelope.Figure(d, currency))
}
