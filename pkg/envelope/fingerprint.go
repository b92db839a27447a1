package envelope

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"

	"recon/pkg/fault"
)

// FingerprintVersion names the way parts are made. A change of the normaliser takes the next number, so that a new
// version opens new groups and never moves letters between old ones.
const FingerprintVersion = 1

// Limits of the normaliser: what lies beyond does not tell causes apart.
const (
	fingerprintReads = 4096 // bytes of the text that are looked at
	fingerprintKeeps = 512  // bytes of the normalised text that are kept
)

// Fingerprint groups letters of one cause: error code, stage, and the message without what differs from record to record.
type Fingerprint struct {
	Version int
	Hash    string   // 16 hex digits of SHA-256 over version and framed parts
	Parts   []string // error code, stage, normalised message
}

// NewFingerprint makes the fingerprint of an error text. known are values of the record (entity, references, trace id)
// that are taken out wherever they stand as a word of their own.
func NewFingerprint(code fault.Code, stage fault.Stage, text string, known ...string) Fingerprint {
	f := Fingerprint{Version: FingerprintVersion, Parts: []string{string(code), string(stage), Normalise(text, known...)}}
	b := []byte("recon.fingerprint/v1\n")
	for _, p := range f.Parts {
		b = binary.BigEndian.AppendUint32(b, uint32(len(p)))
		b = append(b, p...)
	}
	sum := sha256.Sum256(b)
	f.Hash = hex.EncodeToString(sum[:8])
	return f
}

// Normalise replaces what differs from record to record by its kind: <uuid>, <date>, <hex>, <n> for numbers and
// amounts, <id> for everything else that holds a digit and for known values, <q> for what stands between quotes.
// White space is folded, and letter case is kept.
func Normalise(text string, known ...string) string {
	if len(text) > fingerprintReads {
		text = text[:fingerprintReads]
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	var out strings.Builder
	for text != "" && out.Len() < fingerprintKeeps {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case unicode.IsSpace(r):
			text = strings.TrimLeftFunc(text, unicode.IsSpace)
			if out.Len() > 0 && text != "" {
				out.WriteByte(' ')
			}
		case isQuote(r):
			inside, rest, closed := strings.Cut(text[size:], string(r))
			if !closed || r == '\'' && strings.ContainsFunc(inside, unicode.IsSpace) { // an apostrophe
				out.WriteRune(r)
				text = text[size:]
				continue
			}
			out.WriteString("<q>")
			text = rest
		case isWordRune(r):
			word := text[:wordLen(text)]
			text = text[len(word):]
			trimmed := strings.TrimRight(word, ".:,-/")
			out.WriteString(wordKind(trimmed, known))
			out.WriteString(word[len(trimmed):])
		default:
			out.WriteRune(r)
			text = text[size:]
		}
	}
	return fault.Truncate(out.String(), fingerprintKeeps)
}

func isQuote(r rune) bool { return r == '"' || r == '\'' || r == '`' }

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// wordLen measures a word: letters, digits, underscores, and signs that stand between them (1,234.50, 2026-01-31,
// host.name:9092, recon.main/3@12).
func wordLen(s string) int {
	end := 0
	for i, r := range s {
		if isWordRune(r) {
			end = i + utf8.RuneLen(r)
			continue
		}
		if !strings.ContainsRune(".,:-/@", r) {
			break
		}
		if i > end { // two signs in a row
			break
		}
	}
	return end
}

// wordKind gives the placeholder of a word that differs from record to record, else the word.
func wordKind(w string, known []string) string {
	for _, k := range known {
		if k != "" && w == k {
			return "<id>"
		}
	}
	digits, hexes, numeric := 0, 0, 0
	for i := range len(w) {
		c := w[i]
		if isDigit(c) {
			digits++
		}
		if isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' {
			hexes++
		}
		if isDigit(c) || c == '.' || c == ',' {
			numeric++
		}
	}
	switch {
	case isUUID(w):
		return "<uuid>"
	case hexes == len(w) && len(w) >= 8 && (digits < len(w) || len(w) >= 32):
		return "<hex>"
	case digits == 0:
		return w
	case len(w) >= 10 && isDate(w[:10]) && (len(w) == 10 || w[10] == 'T'):
		return "<date>"
	case numeric == len(w):
		return "<n>"
	default:
		return "<id>"
	}
}
