package statement

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
)

// camtReader goes once through a camt file of any version: elements are found by their local names, which have been the
// same from version 2 to 13.
type camtReader struct {
	dec  *xml.Decoder
	data []byte
	opts Options
	out  content
	page string         // the group header's page number
	n    int            // statements so far
	seen map[string]int // their bytes: which one it was
}

// readCamt reads camt.053, and camt.054 where it is asked for.
func readCamt(data []byte, opts Options) (*content, error) {
	data, err := utf8XML(data)
	if err != nil {
		return nil, err
	}
	c := &camtReader{dec: xml.NewDecoder(bytes.NewReader(data)), data: data, opts: opts, seen: make(map[string]int)}
	c.dec.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil } // utf8XML saw to it
	root := ""
	for {
		tok, err := c.dec.Token()
		if err == io.EOF {
			return c.end(root)
		}
		if err != nil {
			return nil, c.bad(root, err)
		}
		start, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		if root == "" {
			root = start.Name.Local
		}
		if err := c.element(start); err != nil {
			return nil, err
		}
	}
}

// bad tells a damaged bank file from XML-like text that never was one.
func (c *camtReader) bad(root string, err error) error {
	if c.out.format == "" {
		return &NotBankFileError{Why: "it begins as XML, which breaks off before any statement: " + err.Error()}
	}
	line, _ := c.dec.InputPos()
	return fmt.Errorf("line %d: %w", line, err)
}

func (c *camtReader) end(root string) (*content, error) {
	switch {
	case c.out.format == "":
		return nil, &NotBankFileError{Why: fmt.Sprintf("it is XML with the root %s and no camt.053 or camt.054 in it", root)}
	case c.n == 0:
		return nil, fmt.Errorf("the %s holds no statement", c.out.format)
	}
	return &c.out, nil
}

// element acts on what stands outside of statements.
func (c *camtReader) element(start xml.StartElement) error {
	switch start.Name.Local {
	case "BkToCstmrStmt":
		return c.kind("camt.053")
	case "BkToCstmrDbtCdtNtfctn":
		if !c.opts.Intraday {
			return ErrIntraday
		}
		return c.kind("camt.054")
	case "BkToCstmrAcctRpt":
		return &NotBankFileError{Why: "it is a camt.052, which reports what may still change: the camt.053 of the day books it"}
	case "GrpHdr":
		if c.out.format == "" {
			return nil
		}
		var h struct {
			Page string `xml:"MsgPgntn>PgNb"`
		}
		if err := c.dec.DecodeElement(&h, &start); err != nil {
			return c.bad("", err)
		}
		c.page = h.Page
	case "Stmt", "Ntfctn":
		if c.out.format != "" {
			return c.statement(start)
		}
	}
	return nil
}

func (c *camtReader) kind(format string) error {
	if c.out.format != "" && c.out.format != format {
		return errors.New("camt.053 and camt.054 in one file: give them apart")
	}
	c.out.format = format
	return nil
}

// statement reads one Stmt or Ntfctn, entry by entry.
func (c *camtReader) statement(start xml.StartElement) error {
	from := c.dec.InputOffset()
	s := &camtStatement{format: c.out.format, page: c.page}
	for {
		before := c.dec.InputOffset()
		tok, err := c.dec.Token()
		if err != nil {
			return c.bad("", err)
		}
		switch t := tok.(type) {
		case xml.StartElement:
			line, _ := c.dec.InputPos()
			if err := s.child(c.dec, t); err != nil {
				return c.bad("", err)
			}
			if n := len(s.entries); t.Name.Local == "Ntry" {
				s.entries[n-1].raw, s.entries[n-1].line = c.data[before:c.dec.InputOffset()], line
			}
		case xml.EndElement:
			return c.add(s, string(c.data[from:before]))
		}
	}
}

// add takes a finished statement over, with its checks.
func (c *camtReader) add(s *camtStatement, raw string) error {
	c.n++
	where := fmt.Sprintf("statement %d", c.n)
	if first, again := c.seen[raw]; again && len(s.entries) > 0 {
		return fmt.Errorf("%s repeats statement %d byte for byte: it would post twice", where, first)
	}
	c.seen[raw] = c.n
	entries, checks, err := s.read(where, c.opts)
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	c.out.entries = append(c.out.entries, entries...)
	c.out.checks = append(c.out.checks, checks...)
	c.out.skipped += s.skipped
	return nil
}

var xmlEncoding = regexp.MustCompile(`^\s*<\?xml[^>]*?encoding\s*=\s*["']([A-Za-z0-9_.:-]+)["']`)

// utf8XML turns a file that declares ISO 8859-1 into UTF-8, where each of its bytes is the code point of its number.
func utf8XML(data []byte) ([]byte, error) {
	m := xmlEncoding.FindSubmatch(data)
	if m == nil {
		return data, nil
	}
	switch string(bytes.ToUpper(m[1])) {
	case "UTF-8", "UTF8", "US-ASCII", "ASCII":
		return data, nil
	case "ISO-8859-1", "LATIN1", "LATIN-1":
	default:
		return nil, fmt.Errorf("the encoding %s is not read here: save the file as UTF-8", m[1])
	}
	out := make([]byte, 0, len(data)+len(data)/8)
	for _, b := range data {
		out = append(out, string(rune(b))...)
	}
	return out, nil
}
