package statement

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// mt940Text is one :tag: with its lines.
type mt940Text struct {
	tag   string // "-" ends a statement
	lines []string
	raw   []byte
	line  int
}

var mt940Tag = regexp.MustCompile(`^:([0-9]{2}[A-Z]?):`)

// mt940Fields splits a file into its fields. Block headers and whatever else stands outside of a statement is no field.
func mt940Fields(data []byte) []mt940Text {
	var out []mt940Text
	open := false
	for line, from := 1, 0; from < len(data); line++ {
		to := from + bytes.IndexByte(data[from:], '\n') + 1
		if to == from {
			to = len(data)
		}
		raw := data[from:to]
		text := strings.TrimRight(string(raw), "\r\n")
		switch m := mt940Tag.FindStringSubmatch(text); {
		case m != nil:
			out = append(out, mt940Text{tag: m[1], lines: []string{text[len(m[0]):]}, raw: raw, line: line})
			open = true
		case strings.TrimSpace(text) == "-" || strings.HasPrefix(text, "-}"):
			out = append(out, mt940Text{tag: "-", line: line})
			open = false
		case open:
			last := &out[len(out)-1]
			last.lines = append(last.lines, text)
			last.raw = data[from-len(last.raw) : to]
		}
		from = to
	}
	return out
}

// text joins the lines as they were before they were wrapped.
func (f *mt940Text) text() string { return strings.Join(f.lines, "") }

// mt940Statement is what stands between :20: and its end.
type mt940Statement struct {
	account          string
	opening, closing *balance
	entries          []entry
	raw              strings.Builder
}

// readMT940 reads statements of the SWIFT message MT940, with or without its block headers.
func readMT940(data []byte, opts Options) (*content, error) {
	out := &content{format: "mt940"}
	var s *mt940Statement
	n, seen := 0, make(map[string]int)
	finish := func() error {
		if s == nil {
			return nil
		}
		n++
		err := s.finish(out, opts, n, seen)
		s = nil
		return err
	}
	for _, f := range mt940Fields(data) {
		switch {
		case f.tag == "20" || f.tag == "-":
			if err := finish(); err != nil {
				return nil, err
			}
			if f.tag == "20" {
				s = new(mt940Statement)
			}
		case s == nil:
			return nil, fmt.Errorf("line %d: field %s stands outside of a statement, which begins with field 20", f.line, f.tag)
		default:
			if err := s.field(&f); err != nil {
				return nil, fmt.Errorf("line %d: %w", f.line, err)
			}
		}
	}
	return out, finish()
}

// field takes one field of the statement.
func (s *mt940Statement) field(f *mt940Text) error {
	s.raw.Write(f.raw)
	switch f.tag {
	case "25", "25P":
		if s.account != "" {
			return errors.New("a second account in one statement")
		}
		s.account = strings.TrimSpace(f.lines[0])
	case "60F", "60M":
		return setBalance(&s.opening, f)
	case "62F", "62M":
		return setBalance(&s.closing, f)
	case "61":
		s.entries = append(s.entries, mt940Entry(f))
	case "86":
		if n := len(s.entries); n > 0 && s.closing == nil {
			e := &s.entries[n-1]
			e.text = strings.TrimSpace(e.text + " " + f.text())
			e.raw = append(e.raw[:len(e.raw):len(e.raw)], f.raw...)
		}
	}
	return nil
}

var mt940Balance = regexp.MustCompile(`^([CD])([0-9]{6})([A-Z]{3})([0-9]+,[0-9]*)\s*$`)

func setBalance(to **balance, f *mt940Text) error {
	m := mt940Balance.FindStringSubmatch(f.text())
	if m == nil {
		return fmt.Errorf("the balance :%s: does not split into sign, date, currency and amount", f.tag)
	}
	if *to != nil {
		return fmt.Errorf("a second balance :%s: in one statement", f.tag)
	}
	b := &balance{kind: ":" + f.tag + ":", currency: m[3], amount: unsigned(m[4], ",")}
	if m[1] == "D" {
		b.amount = b.amount.debit()
	}
	*to = b
	return nil
}

// finish gives the entries what the statement knows, and hands all over with the check of its balances.
func (s *mt940Statement) finish(out *content, opts Options, n int, seen map[string]int) error {
	where := fmt.Sprintf("statement %d", n)
	if s.account == "" && opts.Entity == "" {
		return fmt.Errorf("%s has no account (:25:): give --entity", where)
	}
	if s.opening == nil {
		return fmt.Errorf("%s has no opening balance (:60F: or :60M:), which names its currency", where)
	}
	if first, again := seen[s.raw.String()]; again && len(s.entries) > 0 {
		return fmt.Errorf("%s repeats statement %d byte for byte: it would post twice", where, first)
	}
	seen[s.raw.String()] = n
	for i := range s.entries {
		e := &s.entries[i]
		e.account, e.currency = s.account, s.opening.currency
		if len(e.id.parts) == 0 {
			e.id = identity{kind: "mt940.content", parts: []part{
				{"value_date", e.value}, {"reference", e.reference}, {"text", collapse(e.text)},
			}}
		}
	}
	out.entries = append(out.entries, s.entries...)
	out.checks = append(out.checks, closes(where, s.opening, s.closing, s.entries))
	return nil
}
