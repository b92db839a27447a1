package statement

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"strings"
)

// csvColumns says which column holds what.
type csvColumns struct {
	comma  rune
	width  int
	column map[string]int
	sign   csvSign // known when all rows were read
}

// csvNames are the names that a header may give a column, in lower case and without blanks and signs.
var csvNames = map[string]string{
	"id": "id", "uniqueidentifier": "id", "trxid": "id", "txid": "id", "transactionid": "id", "rowid": "id", "entryid": "id",
	"amount": "amount",
	"date":   "date", "bookingdate": "date", "transactiondate": "date", "transactiontime": "date", "postingdate": "date", "posteddate": "date",
	"valuedate": "value",
	"currency":  "currency", "ccy": "currency", "currencycode": "currency",
	"type":      "type",
	"direction": "direction", "debitcredit": "direction", "creditdebit": "direction", "drcr": "direction", "crdr": "direction",
	"dc": "direction", "cd": "direction", "debitcreditindicator": "direction", "creditdebitindicator": "direction", "cdtdbtind": "direction",
	"transactiontype": "kind", "trxtype": "kind", "txtype": "kind", "entrytype": "kind",
	"description": "text", "text": "text", "memo": "text", "details": "text", "narrative": "text",
	"reference": "reference", "ref": "reference",
	"counterpartref": "counterpart",
}

// csvHeader reads the first line of data. ok is false when it names no date or no amount, or one column twice.
func csvHeader(data []byte) (csvColumns, bool) {
	line := firstLine(data)
	c := csvColumns{comma: ',', column: make(map[string]int)}
	for _, other := range ";\t|" {
		if bytes.Count(line, []byte(string(other))) > bytes.Count(line, []byte(string(c.comma))) {
			c.comma = other
		}
	}
	names, ok := c.split(line)
	c.width = len(names)
	for i, name := range names {
		name = strings.Map(letters, strings.ToLower(name))
		if column := csvNames[name]; column != "" {
			if _, twice := c.column[column]; twice {
				return c, false
			}
			c.column[column] = i
		}
	}
	_, date := c.column["date"]
	_, amount := c.column["amount"]
	return c, ok && date && amount
}

func letters(r rune) rune {
	if 'a' <= r && r <= 'z' {
		return r
	}
	return -1
}

// split reads one row, strictly. After the header was read it must have as many fields.
func (c *csvColumns) split(row []byte) ([]string, bool) {
	r := csv.NewReader(bytes.NewReader(row))
	r.Comma, r.FieldsPerRecord = c.comma, c.width
	fields, err := r.Read()
	if err != nil || r.InputOffset() < int64(len(bytes.TrimRight(row, "\r\n"))) {
		return nil, false
	}
	return fields, true
}

// csvRow is one row; without fields it is a line that did not split.
type csvRow struct {
	raw    []byte
	line   int
	fields []string
}

// get is a field of a row, empty where there is no such column or the line did not split.
func (c *csvColumns) get(r *csvRow, column string) string {
	if i, ok := c.column[column]; ok && r.fields != nil {
		return strings.TrimSpace(r.fields[i])
	}
	return ""
}

// csvWrapped is how many lines one row with line breaks in its texts may have.
const csvWrapped = 20

// readCSV reads rows under a header. A CSV has no control figures: nothing but its columns can be checked.
func readCSV(data []byte, opts Options) (*content, error) {
	c, _ := csvHeader(bytes.TrimLeft(data, " \t\r\n"))
	if opts.Entity == "" {
		return nil, errors.New("a CSV names no account: give --entity")
	}
	if _, ok := c.column["currency"]; !ok && opts.Currency == "" {
		return nil, errors.New("this CSV has no currency column: give --currency")
	}
	rows := c.rows(data)
	if err := c.learnSign(rows); err != nil {
		return nil, err
	}
	out := &content{format: "csv", entries: make([]entry, len(rows))}
	for i := range rows {
		out.entries[i] = c.entry(&rows[i], opts)
	}
	return out, nil
}

// rows splits data into what follows the header.
func (c *csvColumns) rows(data []byte) []csvRow {
	var out []csvRow
	lines := bytes.SplitAfter(data, []byte("\n"))
	header := true
	for i := 0; i < len(lines); {
		switch {
		case len(bytes.TrimSpace(lines[i])) == 0:
			i++
			continue
		case header:
			header = false
			i++
			continue
		}
		row, n := c.row(lines[i:])
		row.line = i + 1
		out = append(out, row)
		i += n
	}
	return out
}

// row finds where the row that begins with the first line ends: there, unless a quote is still open and a later line
// closes it. What never becomes a row is its first line alone, and so is what would swallow a line that is a row itself.
func (c *csvColumns) row(lines [][]byte) (r csvRow, n int) {
	raw := lines[0]
	for n = 1; n < min(csvWrapped, len(lines)) && bytes.Count(raw, []byte(`"`))%2 == 1; n++ {
		if _, ok := c.split(lines[n]); ok {
			break
		}
		raw = append(raw[:len(raw):len(raw)], lines[n]...)
	}
	if fields, ok := c.split(raw); ok {
		return csvRow{raw: raw, fields: fields}, n
	}
	return csvRow{raw: lines[0]}, 1
}

// entry reads one row.
func (c *csvColumns) entry(r *csvRow, opts Options) entry {
	e := entry{raw: r.raw, line: r.line, account: opts.Entity, currency: opts.Currency}
	if r.fields == nil {
		return e
	}
	if own := c.get(r, "currency"); own != "" {
		e.currency = own
	}
	e.amount, e.split = c.amount(r)
	e.booking, e.value = day(c.get(r, "date")), day(c.get(r, "value"))
	e.counterpart, e.text, e.reference = c.get(r, "counterpart"), c.get(r, "text"), c.get(r, "reference")
	if id := present(c.get(r, "id")); id != "" {
		e.reference = id
		e.id = identity{kind: "csv.id", parts: []part{{"id", id}}, once: true}
		return e
	}
	if e.booking == "" && e.value == "" { // equal to a row of any other day: without an identity it becomes a letter
		return e
	}
	e.id = identity{kind: "csv.content", parts: []part{
		{"value_date", e.value}, {"type", strings.ToUpper(cmp.Or(c.get(r, "direction"), c.get(r, "type")))}, {"reference", e.reference}, {"text", collapse(e.text)},
	}}
	return e
}
