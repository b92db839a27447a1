package statement

import (
	"bytes"
	"regexp"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// reader reads a whole file of its format; opts are checked and complete.
type reader func(data []byte, opts Options) (*content, error)

var (
	mt940Start = regexp.MustCompile(`(?m)^:20:`)
	mt940Field = regexp.MustCompile(`(?m)^:(?:25P?|60[FM]):`)
	bai2Start  = regexp.MustCompile(`^01,[^\n]*(?:/[ \t]*|\n)02,`)
	achStart   = regexp.MustCompile(`^101[ 0-9A-Za-z]{20}[0-9]{6}.{5}094101`)
)

// sniff finds the reader for data by what it holds, and takes a byte order mark off it. A nil reader comes with the reason.
func sniff(data *[]byte) (read reader, why string) {
	*data = bytes.TrimPrefix(*data, []byte("\uFEFF"))
	text := bytes.TrimLeft(*data, " \t\r\n")
	switch {
	case len(text) == 0:
		return nil, "it is empty"
	case bytes.HasPrefix(text, []byte{0xFF, 0xFE}), bytes.HasPrefix(text, []byte{0xFE, 0xFF}):
		return nil, "it is UTF-16 text, to be saved as UTF-8 first"
	case bytes.IndexByte(text, 0) >= 0:
		return nil, "it holds bytes that no text has"
	case text[0] == '<':
		return readCamt, ""
	case achStart.Match(text):
		return readACH, ""
	case bai2Start.Match(text):
		return readBAI2, ""
	case mt940Start.Match(text) && mt940Field.Match(text):
		return readMT940, ""
	case text[0] == '{' && !bytes.HasPrefix(text, []byte("{1:")), text[0] == '[':
		return nil, "it looks like JSON"
	}
	if _, ok := csvHeader(text); ok {
		return readCSV, ""
	}
	if !utf8.Valid(firstLine(text)) {
		return nil, "its first line is not UTF-8 text"
	}
	return nil, "its first line is no known beginning, and no CSV header with a date and an amount"
}

func firstLine(b []byte) []byte {
	line, _, _ := bytes.Cut(b, []byte("\n"))
	return bytes.TrimRight(line, "\r")
}

// isJSON tells whether raw bytes would be read as a message of their own.
func isJSON(b []byte) bool { return jsontext.Value(b).IsValid() }
