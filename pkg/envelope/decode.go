package envelope

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/fault"
)

// Headers of the record's own that Decode looks at.
const (
	HeaderSourceHash  = "source_hash"
	HeaderTraceparent = "traceparent"
)

// Decode reads a record of main by the rules of CONTRACT 2. headers are the record's own. The message is never nil: with
// an error it holds every field that could be read (of a value that is no JSON object: what the headers say), and the
// error carries the code of the first row of the bad-input table that fits: UNDECODABLE, NO_IDENTITY, AMOUNT_INVALID,
// SCHEMA_INVALID at stage decode, CURRENCY_UNMAPPED at stage currency. Decode keeps value and headers, it copies neither.
func Decode(value []byte, headers []kgo.RecordHeader) (*Message, error) {
	m := &Message{Value: value, Headers: headers}
	d := decoder{message: m}
	d.headers(headers)
	err := d.scan.read(value)
	if err == nil {
		err = d.judge()
	} else {
		d.identity() // the header alone
	}
	d.fill()
	return m, err
}

// read scans value; what a damaged value seemed to say is forgotten, since the rest might have said otherwise.
func (s *scanner) read(value []byte) error {
	s.b = value
	err := s.object()
	if err == nil {
		return nil
	}
	s.members = [fieldCount]member{}
	if value == nil {
		err = fmt.Errorf("the value is null")
	}
	return fault.At(fault.StageDecode, fault.New(fault.Undecodable, "reading the message: %w", err))
}

// decoder judges what the scanner found. The texts it accepts are gathered, then copied in one piece.
type decoder struct {
	message *Message
	scan    scanner
	texts   [fieldCount][]byte // accepted, escapes resolved
	amount  amountText
	digest  [16]byte
	hashed  bool

	hashHeader  []byte // nil: no header
	hashClash   bool   // several headers that differ
	traceHeader []byte // trace id of a well-formed traceparent
	violations  []string
}

func (d *decoder) headers(hs []kgo.RecordHeader) {
	for i := range hs {
		switch hs[i].Key {
		case HeaderSourceHash:
			v := hs[i].Value
			if v == nil {
				v = []byte{}
			}
			d.hashClash = d.hashClash || d.hashHeader != nil && !bytes.Equal(d.hashHeader, v)
			d.hashHeader = v
		case HeaderTraceparent:
			if d.traceHeader == nil {
				d.traceHeader = traceID(hs[i].Value)
			}
		}
	}
}

// judge applies the table of bad input, first row first, and gathers every field that keeps its own rule.
func (d *decoder) judge() error {
	identity := d.identity()
	amount, excess := d.amountField(), d.currencyField()
	d.plainFields()
	m := d.message
	switch {
	case identity != "":
		return fault.At(fault.StageDecode, fault.New(fault.NoIdentity, "%s", identity))
	case amount != "":
		return fault.At(fault.StageDecode, fault.New(fault.AmountInvalid, "%s", amount))
	case excess != "":
		return fault.At(fault.StageDecode, fault.New(fault.AmountInvalid, "%s", excess))
	case len(d.violations) > 0:
		return fault.At(fault.StageDecode, fault.New(fault.SchemaInvalid, "%s", strings.Join(d.violations, "; ")))
	case m.Currency == "":
		return fault.At(fault.StageCurrency, fault.New(fault.CurrencyUnmapped,
			"currency %s is not an ISO 4217 currency in use that has a minor unit", d.texts[fieldCurrency]))
	}
	in := digestInput{
		entity: d.texts[fieldLedgerEntity], currency: d.texts[fieldCurrency], amount: d.amount.canonical(),
		booking: d.texts[fieldBookingDate], value: d.texts[fieldValueDate], reversal: m.Reversal,
	}
	in.appendHex(d.digest[:0])
	d.hashed = true
	return nil
}

// identity settles source_hash from body and header. It returns what is wrong, if anything.
func (d *decoder) identity() string {
	v := d.scan.members[fieldSourceHash]
	body, header := v.text(), d.hashHeader
	switch {
	case v.kind == 0 && header == nil:
		return "source_hash is missing, in the body and as a header"
	case v.kind != 0 && v.kind != '"':
		return "source_hash in the body is not a string"
	case v.kind != 0 && !isSourceHash(body), header != nil && !isSourceHash(header):
		return "source_hash is malformed: want 8 to 128 visible ASCII characters without { and }"
	case d.hashClash:
		return "several source_hash headers disagree"
	case v.kind != 0 && header != nil && !bytes.Equal(body, header):
		return "source_hash in the body and as a header disagree"
	}
	if v.kind == 0 {
		body = header
	}
	d.texts[fieldSourceHash] = body
	return ""
}

// amountField reads the amount. It returns what AMOUNT_INVALID has to say; other types are schema violations.
func (d *decoder) amountField() string {
	v := d.scan.members[fieldAmount]
	if v.kind != '"' {
		d.require(fieldAmount, "a string of decimal text")
		return ""
	}
	text := v.text()
	a, ok := scanAmount(text)
	if !ok {
		return "amount " + shown(text) + " is outside the rule: optional minus, 1 to 18 digits without leading zeros, " +
			"at most 9 decimals after a point, no negative zero"
	}
	d.amount = a
	return ""
}

// currencyField reads the currency, and returns what AMOUNT_INVALID has to say about an amount with more decimals than
// the currency has. The message's Currency is set only for a currency that the table holds; fill sets the rest.
func (d *decoder) currencyField() string {
	v := d.scan.members[fieldCurrency]
	text := v.text()
	if v.kind != '"' || !isCurrencyCode(text) {
		d.require(fieldCurrency, "three capital letters of ISO 4217")
		return ""
	}
	d.texts[fieldCurrency] = text
	unit, ok := iso[string(text)]
	if !ok {
		return ""
	}
	d.message.Currency = unit.code
	if a := d.amount; a.decimals > unit.digits {
		d.amount = amountText{}
		return fmt.Sprintf("amount %s has %d decimals, %s has %d", a.text, a.decimals, unit.code, unit.digits)
	}
	return ""
}

// fill copies the accepted texts into the message, all in one allocation: nothing of the message aliases the record,
// so a handler that writes into Value changes no evidence.
func (d *decoder) fill() {
	m := d.message
	if d.texts[fieldTraceID] == nil {
		d.texts[fieldTraceID] = d.traceHeader
	}
	if d.amount.text != nil {
		m.Amount, m.HasAmount = d.amount.decimal(), true
		d.texts[fieldAmount] = d.amount.canonical()
	}
	size := len(d.digest)
	for _, t := range d.texts {
		size += len(t)
	}
	var all strings.Builder
	all.Grow(size)
	take := func(b []byte) string {
		from := all.Len()
		all.Write(b)
		return all.String()[from:]
	}
	m.MessageID = strings.ToLower(take(d.texts[fieldMessageID]))
	m.SourceHash = take(d.texts[fieldSourceHash])
	m.LedgerEntity = take(d.texts[fieldLedgerEntity])
	if m.Currency == "" {
		m.Currency = take(d.texts[fieldCurrency])
	}
	m.amount = take(d.texts[fieldAmount])
	m.BookingDate = take(d.texts[fieldBookingDate])
	m.ValueDate = take(d.texts[fieldValueDate])
	m.TraceID = take(d.texts[fieldTraceID])
	m.CounterpartRef = take(d.texts[fieldCounterpartRef])
	m.SourceSystem = take(d.texts[fieldSourceSystem])
	if d.hashed {
		m.Digest = take(d.digest[:])
	}
}
