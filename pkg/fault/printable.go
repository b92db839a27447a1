package fault

import (
	"strings"
	"unicode"
)

// Printable takes out of a text what would steer a terminal, but for line breaks: topics, stores, the ledger and files
// hold what others wrote. What is taken out is seen as U+FFFD.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || unicode.IsGraphic(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}
