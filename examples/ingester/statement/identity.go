package statement

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"

	"recon/pkg/envelope"
)

// identity tells a transaction from every other one, also from one of equal content. kind names what gives it and
// parts its values, in the order that the kind fixes.
//
//	ach.trace       file id, batch number, trace number
//	camt.reference  AcctSvcrRef; the statement's id is no part of it, since the camt.054 and the camt.053 that announce
//	                and book one entry never share one, and would post it twice. The booking date stands for the date;
//	                where there is none, the value date, else statement id and date.
//	camt.content    statement id, its date and page, value date, references and texts
//	mt940.reference the account servicer's reference, after //; value date where there is no entry date
//	mt940.content   value date, type, references, texts
//	bai2.reference  bank reference
//	bai2.content    the record's own fields
//	csv.id          row id: a row that stands there twice is one transaction
//	csv.content     the row's own fields; a row without a date and without an id has no identity
//
// All but csv.id are followed by the occurrence: the n-th of this identity and content in the file. A file that foots
// counts each of its lines, so each must have a hash of its own.
type identity struct {
	kind  string
	parts []part
	once  bool // csv.id: no occurrence
}

// part is one tagged value of an identity; blank is absent.
type part struct{ tag, value string }

// frame hashes tagged fields so that no two lists of fields give the same bytes: lengths are 32 bits, big-endian, and a
// byte tells absent from empty (reference/audit-hash-inputs 2.2).
type frame struct{ hash.Hash }

func newFrame(domain string) frame {
	f := frame{sha256.New()}
	f.Write([]byte(domain))
	return f
}

// put appends one field; an empty value is absent.
func (f frame) put(tag, value string) {
	var length [4]byte
	binary.BigEndian.PutUint32(length[:], uint32(len(tag)))
	f.Write(length[:])
	f.Write([]byte(tag))
	presence := byte(1)
	if value == "" {
		presence = 0
	}
	f.Write([]byte{presence})
	binary.BigEndian.PutUint32(length[:], uint32(len(value)))
	f.Write(length[:])
	f.Write([]byte(value))
}

func (f frame) text() string { return "v1:sha256:" + hex.EncodeToString(f.Sum(nil)) }

// putContent appends the business content that every hash begins with.
func (e *entry) putContent(f frame) {
	f.put("account", norm.NFC.String(e.account))
	f.put("currency", strings.ToUpper(e.currency))
	f.put("amount", e.amount.canonical())
	f.put("booking_date", e.booking)
	f.put("reversal", strconv.FormatBool(e.reversal))
}

// contentHash is equal for equal payments: for warnings, never for suppression.
func (e *entry) contentHash() string {
	f := newFrame("recon.content_hash/v1\n")
	e.putContent(f)
	return f.text()
}

// occurrences counts equal identities over a whole file.
type occurrences map[[sha256.Size]byte]int

// hash gives e its source_hash and counts it.
func (o occurrences) hash(e *entry) string {
	f := newFrame("recon.source_hash/v1\n")
	e.putContent(f)
	f.put("identity", e.id.kind)
	for _, p := range e.id.parts {
		f.put(p.tag, norm.NFC.String(p.value))
	}
	if e.id.once {
		return f.text()
	}
	key := [sha256.Size]byte(f.Sum(nil))
	o[key]++
	f.put("occurrence", strconv.Itoa(o[key]))
	return f.text()
}

// present is s without blanks around it, or empty where s says in one of the banks' ways that there is nothing.
func present(s string) string {
	s = strings.TrimSpace(s)
	switch strings.ToUpper(s) {
	case "NOTPROVIDED", "NONREF":
		return ""
	}
	return s
}

// collapse makes every run of blanks and line breaks one blank: formats wrap texts where a line is full.
func collapse(s string) string { return strings.Join(strings.Fields(s), " ") }

// canonical is what the hash sees of an amount: one spelling of one figure, or the text that is no figure.
func (a amount) canonical() string {
	if a.ok {
		return envelope.CanonicalAmount(a.value)
	}
	return strings.TrimSpace(a.text)
}
