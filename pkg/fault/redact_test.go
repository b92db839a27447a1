package fault_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"recon/pkg/fault"
)

func TestRedactTakesOutWhatMustNotBeTold(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"nothing to hide", "connection refused by 10.0.0.1:5432", "connection refused by 10.0.0.1:5432"},
		{"double quotes", `field "name" is "Jane"`, `field "[redacted]" is "[redacted]"`},
		{"empty quotes", `got ""`, `got ""`},
		{"escaped quote", `got "a\"b" here`, `got "[redacted]" here`},
		{"single quotes", `payer 'Jane' is unknown`, `payer '[redacted]' is unknown`},
		{"doubled in SQL", `payer 'O''Brien' is unknown`, `payer '[redacted]' is unknown`},
		{"apostrophe in a quoted name", `payer 'O'Brien' is unknown`, `payer '[redacted]' is unknown`},
		{"apostrophes outside", `can't post, doesn't balance`, `can't post, doesn't balance`},
		{"backticks", "got `x\\` here", "got `[redacted]` here"},
		{"typographic", "“Jane” «Max» ‘Kim’ it’s", "“[redacted]” «[redacted]» ‘[redacted]’ it’s"},
		{"German quotes", "„Jane“ „Max” ‚Kim‘ ‚Ed’.", "„[redacted]“ „[redacted]” ‚[redacted]‘ ‚[redacted]’."},
		{"guillemets inwards", "»Jane« and »Max« ›Kim‹", "»[redacted]« and »[redacted]« ›[redacted]‹"},
		{"guillemets outwards", "« Jane » and «Max» ‹Kim›", "«[redacted]» and «[redacted]» ‹[redacted]›"},
		{"guillemets both ways", "»Jane» and «Max» and »Kim«", "»[redacted]» and «[redacted]» and »[redacted]«"},
		{"guillemet never closed", "got »Jane and the rest", "got »[redacted]"},
		{"never closed", `got "Jane and the rest`, `got "[redacted]`},
		{"card", "card 4111111111111111 declined", "card [redacted number] declined"},
		{"card with blanks", "card 4111 1111 1111 1111 declined", "card [redacted number] declined"},
		{"card with dashes", "card 4111-1111-1111-1111.", "card [redacted number]."},
		{"card after a date", "2026-01-05 4111111111111111", "2026-01-05 [redacted number]"},
		{"13 digits", "4222222222222", "[redacted number]"},
		{"19 digits", "6304000000000000000", "[redacted number]"},
		{"Luhn fails", "4111111111111112", "4111111111111112"},
		{"12 digits pass but are short", "411111111116", "411111111116"},
		{"20 digits are long", "41111111111111111111", "41111111111111111111"},
		{"IBAN", "from DE89370400440532013000 to", "from [redacted IBAN] to"},
		{"IBAN in groups", "from DE89 3704 0044 0532 0130 00 was refused", "from [redacted IBAN] was refused"},
		{"IBAN in groups that do not break", "from DE89\u00a03704\u00a00044\u00a00532\u00a00130\u00a000 was", "from [redacted IBAN] was"},
		{"IBAN in groups with narrow blanks", "from DE89\u202f3704\u202f0044\u202f0532\u202f0130\u202f00", "from [redacted IBAN]"},
		{"IBAN in groups with blanks of a figure's width", "DE89\u20073704\u20070044\u20070532\u20070130\u200700.", "[redacted IBAN]."},
		{"IBAN in groups with dashes that do not break", "DE89\u20113704\u20110044\u20110532\u20110130\u201100.", "[redacted IBAN]."},
		{"card in groups that do not break", "card 4111\u00a01111\u202f1111\u20071111 declined", "card [redacted number] declined"},
		{"two blanks part groups", "4111 1111\u00a0 1111 1111", "4111 1111\u00a0 1111 1111"},
		{"IBAN in lower case", "from gb82west12345698765432", "from [redacted IBAN]"},
		{"IBAN with its currency", ":25:NL91ABNA0417164300EUR", ":25:[redacted IBAN]EUR"},
		{"IBAN behind the number of its subfield", "?30COBADEFF?31DE89370400440532013000?32JANE", "?30COBADEFF?31[redacted IBAN]?32JANE"},
		{"IBAN behind the word", "IBANde89370400440532013000, IBAN", "IBAN[redacted IBAN], IBAN"},
		{"no IBAN behind either", "31DE88370400440532013000 IBAN1 IBANX", "31DE88370400440532013000 IBAN1 IBANX"},
		{"shortest IBAN", "NO9386011117947", "[redacted IBAN]"},
		{"longest kind in use", "LC55HEMM000100010012001200023015", "[redacted IBAN]"},
		{"check digits wrong", "DE88370400440532013000", "DE88370400440532013000"},
		{"line breaks", "one\ntwo\r\nthree\tfour\n", "one; two; three four"},
		{"invalid UTF-8", "a\xffb", "a\uFFFDb"},
		{"coordinates stay", "recon.main/3@1234", "recon.main/3@1234"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := fault.Redact(tt.in); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestRedactingTwiceChangesNothing(t *testing.T) {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{"\"", "'", "`", "“", "”", "„", "‚", "‘", "’", "«", "»", "‹", "›", "\\", " ", "\u00a0", "\u202f", "-", "\n", "a", "é", "7", "\xc3"}),
		rapid.SampledFrom([]string{"4111111111111111", "DE89370400440532013000", "NL91ABNA0417164300EUR", "4111 1111 1111 1111", "IBAN", "31DE"}),
		rapid.StringN(0, 6, -1),
	)
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOfN(piece, 0, 20).Draw(t, "pieces"), "")
		once := fault.Redact(in)
		if !utf8.ValidString(once) || strings.ContainsAny(once, "\n\r") {
			t.Fatalf("not one line of UTF-8: %q", once)
		}
		if twice := fault.Redact(once); twice != once {
			t.Fatalf("of %q\nonce  %q\ntwice %q", in, once, twice)
		}
	})
}

func TestAQuotedSecretNeverSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mark := rapid.SampledFrom([]string{`""`, "''", "``", "“”", "„“", "„”", "‚‘", "«»", "»«", "»»", "‹›", "›‹"}).Draw(t, "quotes")
		opening, closing := string([]rune(mark)[0]), string([]rune(mark)[1])
		around := rapid.StringMatching(`[a-z ]{0,8}`)
		in := around.Draw(t, "before") + " " + opening + "SECRET" + closing + " " + around.Draw(t, "after")
		if got := fault.Redact(in); strings.Contains(got, "SECRET") {
			t.Fatalf("%q became %q", in, got)
		}
	})
}

// Pitfall H10: long text is cut at its limit, on a rune border, and says so.
func TestTruncateCutsOnARuneAndMarksIt(t *testing.T) {
	tests := []struct {
		name, in string
		limit    int
		want     string
	}{
		{"fits", "abc", 3, "abc"},
		{"cut in the middle", "posting: connection refused", 15, "post… refused"},
		{"no room for the mark", "abcdef", 2, ""},
		{"room for the mark alone", "abcdef", 3, "…"},
		{"limit 0", "abc", 0, ""},
		{"negative limit", "abc", -1, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := fault.Truncate(tt.in, tt.limit); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestTruncateKeepsBothEndsWithinTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, limit := rapid.String().Draw(t, "text"), rapid.IntRange(0, 60).Draw(t, "limit")
		got := fault.Truncate(in, limit)
		if len(got) > limit || !utf8.ValidString(got) {
			t.Fatalf("%d bytes of %q for a limit of %d", len(got), got, limit)
		}
		head, tail, cut := strings.Cut(got, "…")
		if len(in) > limit && limit >= len("…") && !strings.Contains(in, "…") && (!cut || !strings.HasPrefix(in, head) || !strings.HasSuffix(in, tail)) {
			t.Fatalf("%q cut to %q", in, got)
		}
	})
}
