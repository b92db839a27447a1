// Package statement turns bank files into messages for recon.main.
//
// Its promise: a file is read whole or refused whole; every booked transaction becomes exactly one record, with the
// same source_hash at every reading and another one than any other transaction; no figure passes through a float.
// Readers are chosen by what a file holds, never by its name.
package statement

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"unicode/utf8"

	"recon/pkg/envelope"
)

// Level says what of a camt file becomes a record: its entries, or the single transactions inside them.
type Level string

// Never both: one payment would be there twice, under two identities.
const (
	EntryLevel  Level = "entry"
	DetailLevel Level = "detail"
)

// Options are what a file cannot say itself.
type Options struct {
	Entity           string // ledger_entity of all records; empty: the account that the file names. A CSV names none.
	Currency         string // ISO 4217, for CSV rows that name none
	Level            Level  // empty: EntryLevel
	Intraday         bool   // read a camt.054, whose entries the camt.053 of the day repeats
	AcceptUnbalanced bool   // read a file although it does not foot
	MatchDecision    string // empty: UNMATCHED
}

// File is a bank file that was read and checked whole.
type File struct {
	Name    string
	Format  string   // camt.053, camt.054, mt940, ach, bai2, csv
	Records []Record // in the order of the file
	Checks  []Check  // every control figure of the file beside what its records give
	Skipped int      // entries left out because nothing is booked: pending ones, BAI2 texts without an amount
}

// ErrIntraday is returned for a camt.054 without Options.Intraday.
var ErrIntraday = errors.New("a camt.054 announces what the camt.053 of the day books: it is read with --intraday alone")

// NotBankFileError says that a file is none of the formats that are read here, and why.
type NotBankFileError struct{ Name, Why string }

// Error is one sentence for the person who named the file.
func (e *NotBankFileError) Error() string {
	return fmt.Sprintf("%s is no bank file: %s; camt.053, camt.054, MT940, NACHA ACH, BAI2 and CSV are read", e.Name, e.Why)
}

// UnbalancedError lists the control figures of a file that its records do not give.
type UnbalancedError struct {
	Name   string
	Failed []Check
}

// Error shows both figures of the first one.
func (e *UnbalancedError) Error() string {
	more := ""
	if n := len(e.Failed) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more)", n)
	}
	return fmt.Sprintf("%s does not foot and is refused whole: %s%s; --accept-unbalanced reads it all the same", e.Name, e.Failed[0], more)
}

// maxFile is the size from which a file is refused: all of it is checked before its first record is sent, in memory.
var maxFile int64 = 256 << 20

// Read reads the whole of r and checks it. name is only for errors, which are *NotBankFileError, *UnbalancedError,
// ErrIntraday, or a plain error that names what in the file (or in opts) is missing or contradicts itself.
func Read(name string, r io.Reader, opts Options) (*File, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	if opts.Level == "" {
		opts.Level = EntryLevel
	}
	if opts.MatchDecision == "" {
		opts.MatchDecision = envelope.Unmatched
	}
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if int64(len(data)) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d MiB: split it, a file is checked whole before its first record is sent", name, maxFile>>20)
	}
	read, why := sniff(&data)
	if read == nil {
		return nil, &NotBankFileError{name, why}
	}
	c, err := read(data, opts)
	if err != nil {
		return nil, named(name, err)
	}
	records, err := c.records(opts)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f := &File{Name: name, Format: c.format, Records: records, Checks: c.checks, Skipped: c.skipped}
	if failed := f.Failed(); len(failed) > 0 && !opts.AcceptUnbalanced {
		return nil, &UnbalancedError{name, failed}
	}
	return f, nil
}

// named puts the file's name to an error of a reader.
func named(name string, err error) error {
	if no, ok := errors.AsType[*NotBankFileError](err); ok {
		return &NotBankFileError{name, no.Why}
	}
	return fmt.Errorf("%s: %w", name, err)
}

// maxEntity is the limit of ledger_entity, in characters.
const maxEntity = 64

var currencyForm = regexp.MustCompile(`^[A-Z]{3}$`)

// Validate reports every mistake in o at once. Read calls it, too.
func (o Options) Validate() error {
	var errs []error
	switch o.Level {
	case "", EntryLevel, DetailLevel:
	default:
		errs = append(errs, fmt.Errorf("level %q: give entry or detail", o.Level))
	}
	switch o.MatchDecision {
	case "", envelope.Matched, envelope.Partial, envelope.Unmatched:
	default:
		errs = append(errs, fmt.Errorf("match decision %q: give MATCHED, PARTIAL or UNMATCHED", o.MatchDecision))
	}
	if o.Currency != "" && !currencyForm.MatchString(o.Currency) {
		errs = append(errs, fmt.Errorf("currency %q: give the three capital letters of ISO 4217", o.Currency))
	}
	if n := utf8.RuneCountInString(o.Entity); n > maxEntity {
		errs = append(errs, fmt.Errorf("entity of %d characters: give at most %d", n, maxEntity))
	}
	return errors.Join(errs...)
}
