package envelope

import (
	"strconv"
	"unicode/utf8"

	"recon/pkg/fault"
)

// rule is what one text of a document has to be, and how a person is told.
type rule struct {
	want string
	ok   func(string) bool
}

var (
	ruleUUID     = rule{"a lower-case UUID", isLowerUUID}
	ruleCode     = rule{"a code such as POISON_MESSAGE", isCode}
	ruleName     = rule{"a name such as fx_conversion", isName}
	ruleClass    = rule{"transient or poison", isClass}
	ruleHash     = rule{"8 to 128 visible ASCII characters without { and }", isSourceHash[string]}
	ruleCurrency = rule{"three capital letters", isCurrencyCode[string]}
	ruleAmount   = rule{"decimal text by the rule of the message", isAmount}
	ruleDecision = rule{"MATCHED, PARTIAL or UNMATCHED", func(s string) bool { return matchDecision([]byte(s)) != "" }}
	ruleDate     = rule{"a day that exists, YYYY-MM-DD", isDate[string]}
	ruleSHA256   = rule{"64 lower-case hex digits", func(s string) bool { return len(s) == 64 && isHex(s) }}
	ruleHash16   = rule{"16 lower-case hex digits", func(s string) bool { return len(s) == 16 && isHex(s) }}
)

// characters is a text of least to most characters.
func characters(least, most int) rule {
	want := strconv.Itoa(least) + " to " + strconv.Itoa(most) + " characters"
	return rule{want, func(s string) bool {
		if len(s) <= most && len(s) >= least*utf8.UTFMax { // certain without counting
			return true
		}
		n := utf8.RuneCountInString(s)
		return least <= n && n <= most
	}}
}

// oneOf is one of a few words.
func oneOf(want string, words ...string) rule {
	return rule{want, func(s string) bool {
		for _, w := range words {
			if s == w {
				return true
			}
		}
		return false
	}}
}

// isLowerUUID is the one spelling that ids of our own have.
func isLowerUUID(s string) bool {
	for i := range len(s) {
		if 'A' <= s[i] && s[i] <= 'F' {
			return false
		}
	}
	return isUUID(s)
}

// isCode is the form of error and failure codes: 1 to 64 of A-Z, 0-9 and _, the first a letter.
func isCode(s string) bool { return isIdent(s, 'A', 'Z', 64) }

// isName is the form of stages, root causes and states: 1 to 64 of a-z, 0-9 and _, the first a letter.
func isName(s string) bool { return isIdent(s, 'a', 'z', 64) }

func isIdent(s string, first, last byte, most int) bool {
	if s == "" || len(s) > most || s[0] < first || s[0] > last {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < first || c > last) && !isDigit(c) && c != '_' {
			return false
		}
	}
	return true
}

func isClass(s string) bool {
	return fault.Class(s) == fault.Transient || fault.Class(s) == fault.Poison
}

func isAmount(s string) bool {
	_, ok := scanAmount([]byte(s))
	return ok
}

func isHex(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) && (s[i] < 'a' || s[i] > 'f') {
			return false
		}
	}
	return true
}

func matchDecision(b []byte) string {
	switch string(b) {
	case Matched:
		return Matched
	case Partial:
		return Partial
	case Unmatched:
		return Unmatched
	}
	return ""
}

// isSourceHash is the rule of CONTRACT 2; braces would break the hash tag of the dedup key.
func isSourceHash[T string | []byte](s T) bool {
	if len(s) < 8 || len(s) > 128 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; c < 0x21 || c > 0x7E || c == '{' || c == '}' {
			return false
		}
	}
	return true
}

// isUUID takes the 36-character form in either case.
func isUUID[T string | []byte](s T) bool {
	if len(s) != 36 {
		return false
	}
	for i := range 36 {
		switch c := s[i]; i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if !isDigit(c) && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
				return false
			}
		}
	}
	return true
}

// hasLength counts characters, not bytes.
func hasLength(b []byte, least, most int) bool {
	n := utf8.RuneCount(b)
	return least <= n && n <= most
}
