package statement

import (
	"regexp"
	"strings"
)

// bai2Record is one logical record: 01, 02, 03, 16, 49, 98 or 99 with the 88 records that continue it.
type bai2Record struct {
	code   string
	fields []string // without the code
	count  int      // records as the file counts them: itself and its continuations
	from   int      // where it begins in the file
	raw    []byte
	line   int
}

var (
	bai2Begin = regexp.MustCompile(`^[ \t]*(01|02|03|16|49|88|98|99),`)
	bai2Break = regexp.MustCompile(`/[ \t]*(?:01|02|03|16|49|88|98|99),`)
)

// bai2Records splits a file into its logical records. Several may stand in one line, each ended by a slash; a line that
// begins with no record code is text of the record before it.
func bai2Records(data []byte) []bai2Record {
	var out []bai2Record
	for _, c := range bai2Chunks(data) {
		text := strings.TrimRight(string(data[c.from:c.to]), " \t\r\n")
		text = strings.TrimRight(strings.TrimSuffix(text, "/"), " \t")
		m := bai2Begin.FindStringSubmatch(text)
		if m != nil && m[1] != "88" {
			fields := strings.Split(text[len(m[0]):], ",")
			out = append(out, bai2Record{code: m[1], fields: fields, count: 1, from: c.from, raw: data[c.from:c.to], line: c.line})
			continue
		}
		if len(out) == 0 { // sniff saw a 01 at the beginning
			continue
		}
		r := &out[len(out)-1]
		r.raw = data[r.from:c.to]
		if m == nil {
			r.fields[len(r.fields)-1] += " " + text
			continue
		}
		r.count++
		r.extend(text[len(m[0]):])
	}
	return out
}

// extend adds what an 88 brings: more text where the text of a 16 has begun, else more fields.
func (r *bai2Record) extend(s string) {
	if last := len(r.fields) - 1; r.code == "16" && last >= bai2Text(r.fields) {
		r.fields[last] += " " + s
		return
	}
	r.fields = append(r.fields, strings.Split(s, ",")...)
}

// bai2Chunk is a stretch of the file that may be a record.
type bai2Chunk struct{ from, to, line int }

// bai2Chunks cuts at line ends, and inside a line after each slash that a record code follows.
func bai2Chunks(data []byte) []bai2Chunk {
	var out []bai2Chunk
	for line, from := 1, 0; from < len(data); line++ {
		end := from
		for end < len(data) && data[end] != '\n' {
			end++
		}
		end = min(end+1, len(data))
		for from < end {
			to := end
			if m := bai2Break.FindIndex(data[from:end]); m != nil {
				to = from + m[0] + 1
			}
			out = append(out, bai2Chunk{from, to, line})
			from = to
		}
	}
	return out
}

// bai2Text is the index of the text among the fields of a 16: before it stand type, amount, funds type with the fields
// that it brings, bank reference and customer reference.
func bai2Text(f []string) int { return bai2Funds(f, 2) + 2 }

// bai2Funds is the index after a funds type at i and its own fields: S has three amounts, V a date and a time, D a
// number of pairs.
func bai2Funds(f []string, i int) int {
	if i >= len(f) {
		return i + 1
	}
	switch f[i] {
	case "S":
		return i + 4
	case "V":
		return i + 3
	case "D":
		if n := minor(at(f, i+1), 0); n.ok && len(f[i+1]) <= 2 {
			return i + 2 + 2*int(n.value.IntPart())
		}
		return i + 2
	}
	return i + 1
}

// at is a field that may not be there.
func at(f []string, i int) string {
	if i < 0 || i >= len(f) {
		return ""
	}
	return strings.TrimSpace(f[i])
}
