package statement

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/shopspring/decimal"
)

// Record is what goes to recon.main for one transaction.
type Record struct {
	Value      []byte // a message as JSON; of a Raw record the bytes of the file
	Key        string // ledger_entity
	SourceHash string // empty when Raw, and where nothing tells the transaction from others: that becomes a letter, too
	Raw        bool   // the line did not split into its fields: it goes as it is, to become a letter and not a silence

	Currency string
	Amount   decimal.Decimal // signed, credit positive; means nothing without Readable
	Readable bool
}

// content is what a reader found.
type content struct {
	format  string
	entries []entry
	checks  []Check
	skipped int
}

// entry is one transaction in the terms that all formats share.
type entry struct {
	raw         []byte // its bytes in the file
	line        int    // where it begins, from 1
	split       bool   // false: nothing below can be relied on but account
	account     string
	currency    string
	amount      amount
	booking     string // YYYY-MM-DD, existing or not
	value       string
	reversal    bool
	counterpart string
	reference   string // for people; the identity decides alone
	text        string
	id          identity // without a kind: nothing identifies it
}

// message is the wire form, CONTRACT 2; what follows source_system is for people and travels on untouched.
type message struct {
	SourceHash     string `json:"source_hash,omitzero"`
	LedgerEntity   string `json:"ledger_entity"`
	Currency       string `json:"currency"`
	Amount         string `json:"amount"`
	MatchDecision  string `json:"match_decision"`
	BookingDate    string `json:"booking_date,omitzero"`
	ValueDate      string `json:"value_date,omitzero"`
	Reversal       bool   `json:"reversal,omitzero"`
	CounterpartRef string `json:"counterpart_ref,omitzero"`
	SourceSystem   string `json:"source_system"`
	ContentHash    string `json:"content_hash"`
	Reference      string `json:"reference,omitzero"`
	Description    string `json:"description,omitzero"`
}

// maxText is how many characters of a free text travel: 140, as many as a SEPA remittance has.
const maxText = 140

// records gives each entry its identity and its wire form.
func (c *content) records(opts Options) ([]Record, error) {
	out := make([]Record, 0, len(c.entries))
	seen := make(occurrences)
	for i := range c.entries {
		e := &c.entries[i]
		r, err := e.record(c.format, opts, seen)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", e.line, err)
		}
		out = append(out, r)
	}
	return out, nil
}

func (e *entry) record(format string, opts Options, seen occurrences) (Record, error) {
	entity := opts.Entity
	if entity == "" {
		entity = e.account
	}
	if !e.split || !e.isText() {
		raw := bytes.TrimRight(e.raw, "\r\n")
		if isJSON(raw) {
			return Record{}, fmt.Errorf("what stands there is JSON and no line of a %s file: sent as it is, it would be a message of its own", format)
		}
		return Record{Value: raw, Key: entity, Raw: true}, nil
	}
	hash := ""
	if e.id.kind != "" {
		hash = seen.hash(e)
	}
	value, err := json.Marshal(message{
		SourceHash: hash, LedgerEntity: entity, Currency: e.currency, Amount: e.amount.text, MatchDecision: opts.MatchDecision,
		BookingDate: e.booking, ValueDate: e.value, Reversal: e.reversal, CounterpartRef: e.counterpart,
		SourceSystem: format, ContentHash: e.contentHash(), Reference: cut(present(e.reference)), Description: cut(collapse(e.text)),
	})
	if err != nil {
		return Record{}, err
	}
	return Record{
		Value: value, Key: entity, SourceHash: hash,
		Currency: e.currency, Amount: e.amount.value, Readable: e.amount.ok,
	}, nil
}

// isText is false for bytes that are not UTF-8: they are never repaired, since two repairs of one text give two hashes.
func (e *entry) isText() bool { return utf8.Valid(e.raw) }

// cut shortens a free text to maxText characters.
func cut(s string) string {
	n := 0
	for i := range s {
		if n == maxText {
			return s[:i]
		}
		n++
	}
	return s
}
