package statement

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// achWidth is the length of every NACHA record.
const achWidth = 94

// achLine is one record, with blanks where the file cut them off.
type achLine struct {
	text string
	raw  []byte
	line int
}

// at cuts columns out, counted from 1 and inclusive as in the NACHA tables.
func (l *achLine) at(from, to int) string { return l.text[from-1 : to] }

// trimmed is at without blanks around it.
func (l *achLine) trimmed(from, to int) string { return strings.TrimSpace(l.at(from, to)) }

// achFile is a NACHA file while it is read.
type achFile struct {
	id      string // destination, origin, creation date and time, modifier: what NACHA tells two files apart by
	out     content
	batch   *achBatch
	batches int
	lines   int
	sum     achSums // over the batches' entries
	closed  bool
}

type achBatch struct {
	n       int
	number  string
	class   string // PPD, CCD, IAT, …
	booking string
	sum     achSums
	entry   bool // an entry may be followed by its addenda
}

// readACH reads a NACHA file. All amounts are US dollars.
func readACH(data []byte, _ Options) (*content, error) {
	f := &achFile{out: content{format: "ach"}}
	for _, l := range achLines(data) {
		f.lines++
		if err := f.record(&l); err != nil {
			return nil, fmt.Errorf("line %d: %w", l.line, err)
		}
	}
	if !f.closed {
		return nil, errors.New("the file breaks off: it has no file control record (9)")
	}
	return &f.out, nil
}

// achLines splits data at line ends, or every 94 characters where there are none.
func achLines(data []byte) []achLine {
	var out []achLine
	if !bytes.ContainsRune(bytes.TrimSpace(data), '\n') {
		for n := 1; len(bytes.TrimSpace(data)) > 0; n++ {
			cut := min(achWidth, len(data))
			out = append(out, newACHLine(data[:cut], n))
			data = data[cut:]
		}
		return out
	}
	n := 0
	for raw := range bytes.Lines(data) {
		if n++; len(bytes.TrimSpace(raw)) > 0 {
			out = append(out, newACHLine(raw, n))
		}
	}
	return out
}

func newACHLine(raw []byte, n int) achLine {
	text := strings.TrimRight(string(raw), "\r\n")
	if pad := achWidth - len(text); pad > 0 {
		text += strings.Repeat(" ", pad)
	}
	return achLine{text: text, raw: raw, line: n}
}

// record takes one line in its turn: header, batches of entries, control, filling.
func (f *achFile) record(l *achLine) error {
	if f.closed {
		if strings.Trim(l.text, "9 ") != "" {
			return errors.New("a record after the file control record")
		}
		f.out.checks[len(f.out.checks)-1].Found = f.blocks()
		return nil
	}
	inBatch := f.batch != nil
	switch kind := l.text[0]; {
	case kind == '1' && f.id == "":
		f.id = l.at(4, 34)
	case kind == '5' && !inBatch:
		return f.open(l)
	case kind == '6' && inBatch:
		f.entry(l)
	case kind == '7' && inBatch && f.batch.entry:
		f.addenda(l)
	case kind == '8' && inBatch:
		f.closeBatch(l)
	case kind == '9' && !inBatch:
		f.close(l)
	default:
		return fmt.Errorf("a record of type %q does not belong here", kind)
	}
	return nil
}

func (f *achFile) open(l *achLine) error {
	f.batches++
	f.batch = &achBatch{n: f.batches, number: l.at(88, 94), class: l.at(51, 53), booking: civil(l.trimmed(70, 75))}
	if f.batch.class == "ADV" {
		return errors.New("an ADV batch holds accounting advices and no payments")
	}
	return nil
}
