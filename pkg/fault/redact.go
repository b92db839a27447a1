package fault

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// What stands in for what was taken out. None of them matches a rule again: redacting twice changes nothing.
const (
	redactedValue  = "[redacted]"
	redactedNumber = "[redacted number]"
	redactedIBAN   = "[redacted IBAN]"
	cutMark        = "…"
)

// Redact takes out of a text what must not stand in logs, headers or letters: everything between quotes (the quotes
// stay, whichever way round a language writes them), runs of 13 to 19 digits that pass the Luhn check (ISO/IEC 7812-1) and IBANs that pass mod 97 (ISO 13616),
// both also when written in groups with blanks or dashes, those that do not break included. A quote that never closes hides the rest. The result is
// valid UTF-8 on one line: line breaks become "; ", other control characters blanks.
func Redact(s string) string {
	s = oneLine(s)
	for {
		redacted := numbers(ibans(quotes(s)))
		if redacted == s {
			return s
		}
		s = redacted // what stuck to something taken out may now stand free
	}
}

// Truncate shortens s to at most limit bytes of valid UTF-8, cut between runes. It cuts in the middle and marks the
// cut with "…": the beginning says what was attempted, the end is the root cause. A limit too small for the mark
// gives the empty text.
func Truncate(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= limit {
		return s
	}
	room := limit - len(cutMark)
	if room < 0 {
		return ""
	}
	head := room / 3
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	tail := len(s) - (room - head)
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return s[:head] + cutMark + s[tail:]
}

func oneLine(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.IndexFunc(s, unicode.IsControl) < 0 {
		return s
	}
	s = strings.ReplaceAll(strings.TrimRight(s, "\r\n"), "\r\n", "\n")
	s = strings.ReplaceAll(s, "\n", "; ")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}

// closers pairs each opening quote with those that may end it: languages use guillemets both ways, and end low quotes with
// either high one. An apostrophe opens only where no word runs into it.
var closers = map[rune]string{
	'"': `"`, '\'': `'`, '`': "`", '“': "”", '‘': "’", '„': "“”", '‚': "‘’", '«': "»", '»': "«»", '‹': "›", '›': "‹›",
}

func quotes(s string) string {
	var out strings.Builder
	before := ' '
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		ends, opens := closers[r]
		if !opens || ((r == '\'' || r == '‘') && word(before)) {
			out.WriteRune(r)
			before, i = r, i+size
			continue
		}
		inside, after := quoted(s[i+size:], r, ends)
		out.WriteRune(r)
		if inside > 0 {
			out.WriteString(redactedValue)
		}
		i += size
		out.WriteString(s[i+inside : i+after])
		before, _ = utf8.DecodeRuneInString(ends)
		i += after
	}
	return out.String()
}

// quoted measures what an opening quote holds: the bytes up to one of its closing quotes, and up to behind it. Backslashes
// escape, SQL's doubled apostrophe does not close, nor does an apostrophe within a word. Unclosed: all of s, twice.
func quoted(s string, opening rune, closing string) (inside, after int) {
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		next, nextSize := utf8.DecodeRuneInString(s[i+size:])
		switch {
		case r == '\\' && opening != '`' && nextSize > 0:
			size += nextSize
		case !strings.ContainsRune(closing, r):
		case r == '\'' && next == '\'' && nextSize > 0:
			size += nextSize
		case (r == '\'' || r == '’') && nextSize > 0 && word(next):
		default:
			return i, i + size
		}
		i += size
	}
	return len(s), len(s)
}

func word(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// token is a run of digits, or of letters and digits, as it lies in a text.
type token struct{ from, to int }

// tokens splits s into runs of bytes that belong.
func tokens(s string, belongs func(byte) bool) (runs []token) {
	for i := 0; i < len(s); i++ {
		if !belongs(s[i]) {
			continue
		}
		from := i
		for i < len(s) && belongs(s[i]) {
			i++
		}
		runs = append(runs, token{from, i})
	}
	return runs
}

// joined reports whether b follows a after a single blank or dash of any kind: both may be groups of one number.
func joined(s string, a, b token) bool {
	r, size := utf8.DecodeRuneInString(s[a.to:])
	return b.from == a.to+size && unicode.In(r, unicode.Zs, unicode.Pd)
}

// replace puts mark in the place of every span that find recognises as beginning at a token; find returns the end of
// the span, or a negative number.
func replace(s, mark string, runs []token, find func(runs []token) int) string {
	var out strings.Builder
	done := 0
	for i, t := range runs {
		if t.from < done {
			continue
		}
		end := find(runs[i:])
		if end < 0 {
			continue
		}
		out.WriteString(s[done:t.from])
		out.WriteString(mark)
		done = end
	}
	out.WriteString(s[done:])
	return out.String()
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isAlnum(c byte) bool {
	return isDigit(c) || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')
}

// numbers takes out card and account numbers.
func numbers(s string) string {
	runs := tokens(s, isDigit)
	return replace(s, redactedNumber, runs, func(runs []token) int {
		end, sum := -1, make([]byte, 0, 19)
		for i, t := range runs {
			if i > 0 && !joined(s, runs[i-1], t) {
				break
			}
			if len(sum)+t.to-t.from > 19 {
				break
			}
			sum = append(sum, s[t.from:t.to]...)
			if len(sum) >= 13 && luhn(sum) {
				end = t.to
			}
		}
		return end
	})
}

func luhn(digits []byte) bool {
	sum := 0
	for i := range digits {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}

// ibans takes out account numbers; up to three letters that stick to the end (a currency, as MT940 writes it) are
// left standing.
func ibans(s string) string {
	runs := tokens(s, isAlnum)
	for i, t := range runs {
		runs[i].from += ibanHead(s[t.from:t.to])
	}
	return replace(s, redactedIBAN, runs, func(runs []token) int {
		end, text := -1, make([]byte, 0, 40)
		for i, t := range runs {
			if i > 0 && !joined(s, runs[i-1], t) {
				break
			}
			if len(text)+t.to-t.from > 34+3 {
				break
			}
			text = append(text, s[t.from:t.to]...)
			for cut := 0; cut <= 3; cut++ {
				if cut > 0 && (t.to-t.from <= cut || isDigit(s[t.to-cut])) {
					break
				}
				if mod97(text[:len(text)-cut]) {
					end = t.to - cut
					break
				}
			}
		}
		return end
	})
}

// ibanHead is how much of a word banks write right before an account number without a blank: the number of a subfield, as
// MT940 has it (?31DE89…), or the word IBAN.
func ibanHead(word string) int {
	switch {
	case len(word) > 6 && isDigit(word[0]) && isDigit(word[1]) && !isDigit(word[2]) && !isDigit(word[3]) && isDigit(word[4]) && isDigit(word[5]):
		return 2
	case len(word) > 4 && strings.EqualFold(word[:4], "IBAN"):
		return 4
	}
	return 0
}

// mod97 reports whether text is formed as an IBAN, 15 to 34 characters, and its check digits are right.
func mod97(text []byte) bool {
	if len(text) < 15 || len(text) > 34 || isDigit(text[0]) || isDigit(text[1]) || !isDigit(text[2]) || !isDigit(text[3]) {
		return false
	}
	rest := 0
	for i := range text {
		c := text[(i+4)%len(text)]
		if isDigit(c) {
			rest = (rest*10 + int(c-'0')) % 97
		} else {
			rest = (rest*100 + int(c|0x20-'a') + 10) % 97
		}
	}
	return rest == 1
}
