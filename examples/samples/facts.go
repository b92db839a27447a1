package main

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"recon/examples/ingester/statement"
	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/ledger"
)

// seen is a file and what is known of it once it was ingested.
type seen struct {
	file     *statement.File
	content  []byte
	outcome  *outcome
	postings map[string]ledger.Posting // the whole ledger, by source_hash
	letters  []*envelope.Letter        // of this file's records
}

// fact is a sentence about single payments, and whether it holds.
type fact struct {
	text  string
	holds bool
}

// posted gives the postings of the records that pick chooses; records without one are left out.
func (s *seen) posted(pick func(*envelope.Message) bool) []ledger.Posting {
	var found []ledger.Posting
	for _, r := range s.file.Records {
		m, _ := envelope.Decode(r.Value, nil) // an invalid one still says what can be read
		p, ok := s.postings[r.SourceHash]
		if ok && pick(m) {
			found = append(found, p)
		}
	}
	return found
}

// roots counts the records of main that postings go back to.
func roots(ps []ledger.Posting) int {
	known := make(map[envelope.Coordinates]bool)
	for _, p := range ps {
		known[p.Root] = true
	}
	return len(known)
}

func achFacts(s *seen) []fact {
	n := roots(s.posted(func(*envelope.Message) bool { return true }))
	return []fact{{
		fmt.Sprintf("of 5,000 entries that differ in nothing but batch and trace number %s are posted and %s suppressed", count(n), count(s.outcome.suppressed.n)),
		n == 5000 && s.outcome.suppressed.n == 0,
	}}
}

// markRC finds the lines of an MT940 that take a credit back, and their amounts.
var markRC = regexp.MustCompile(`(?m)^:61:\d{6}(?:\d{4})?RC[A-Z]?(\d+),(\d*)`)

func reversedCredits(s *seen) []fact {
	var lines, postings []string
	for _, m := range markRC.FindAllSubmatch(s.content, -1) {
		lines = append(lines, "-"+string(m[1])+"."+string(m[2]))
	}
	for _, p := range s.posted(func(m *envelope.Message) bool { return m.Reversal }) {
		postings = append(postings, p.Amount.StringFixed(2))
	}
	slices.Sort(lines)
	slices.Sort(postings)
	return []fact{{
		fmt.Sprintf("the %d RC lines (reversal of a credit) are posted as debits: %s EUR", len(lines), strings.Join(postings, ", ")),
		len(lines) == 2 && slices.Equal(lines, postings),
	}}
}

// equalWithdrawals: two payments that differ in nothing but the row are two payments.
func equalWithdrawals(s *seen) []fact {
	amount := decimal.NewFromInt(-75)
	ps := s.posted(func(m *envelope.Message) bool { return m.Amount.Equal(amount) })
	ok := len(ps) == 2 && roots(ps) == 2 && ps[0].SourceHash != ps[1].SourceHash && ps[0].Digest == ps[1].Digest
	return []fact{{fmt.Sprintf("of the two equal withdrawals of 75.00 on one day %d are posted", len(ps)), ok}}
}

func thirtiethOfFebruary(s *seen) []fact {
	ok := len(s.letters) == 1
	for _, l := range s.letters {
		ok = ok && l.FailureCode == fault.FailedPoison && l.ErrorCode == fault.SchemaInvalid && l.Message.Amount == "-6" &&
			l.Message.Currency == "EUR" && bytes.Contains(l.Original.Value, []byte(`"2016-02-30"`))
	}
	return []fact{{"the value date 30 February is a letter that still says -6.00 EUR", ok}}
}

func footsFromPreviousClose(s *seen) []fact {
	ok := len(s.file.Checks) == 1 && s.file.Checks[0].Foots() && strings.Contains(s.file.Checks[0].What, "PRCD")
	return []fact{{"it has no opening balance and foots from the previous close (PRCD)", ok}}
}

func trailersHold(s *seen) []fact {
	var facts []fact
	for _, t := range []struct {
		code string
		n    int
	}{{"49", 15}, {"98", 1}, {"99", 1}} {
		held, all := 0, 0
		for _, c := range s.file.Checks {
			if c.What != "control total ("+t.code+")" {
				continue
			}
			all++
			if c.Foots() {
				held++
			}
		}
		facts = append(facts, fact{fmt.Sprintf("%d of %d control totals of record %s hold", held, all, t.code), held == t.n && all == t.n})
	}
	return facts
}

// raise makes the first control total of BAI2 trailers with this code one higher.
func raise(code string) func([]byte) ([]byte, bool) {
	total := regexp.MustCompile(`(?m)(?:^|\s)` + code + `,(\d+)`)
	return func(content []byte) ([]byte, bool) {
		at := total.FindSubmatchIndex(content)
		if at == nil {
			return nil, false
		}
		n, err := strconv.ParseInt(string(content[at[2]:at[3]]), 10, 64)
		if err != nil {
			return nil, false
		}
		return slices.Concat(content[:at[2]], []byte(strconv.FormatInt(n+1, 10)), content[at[3]:]), true
	}
}
