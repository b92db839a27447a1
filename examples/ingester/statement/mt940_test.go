package statement_test

import (
	"slices"
	"strings"
	"testing"

	"recon/examples/ingester/statement"
)

// mt940 builds one statement around its lines.
func mt940(opening, closing string, lines ...string) string {
	return ":20:REF\n:25:37040044/0532013701\n:28C:1/1\n:60F:" + opening + "\n" + strings.Join(lines, "\n") + "\n:62F:" + closing + "\n-\n"
}

func TestMT940LineSplitsIntoItsFields(t *testing.T) {
	for _, row := range []struct{ line, amount, booking, value, reversal, reference string }{
		{"2611271127C5,00NTRFREF//BANK", "5.00", "2026-11-27", "2026-11-27", "-", "BANK"},
		{"2611271127CR5,NTRFREF//BANK", "5", "2026-11-27", "2026-11-27", "-", "BANK"},
		{"261127C5,00NTRFREF", "5.00", "-", "2026-11-27", "-", "REF"}, // no entry date: booked on the value date
		{"2611271127D005,10S940NONREF", "-5.10", "2026-11-27", "2026-11-27", "-", "-"},
		{"2611271127RC5,00NTRFNONREF//B", "-5.00", "2026-11-27", "2026-11-27", "true", "B"}, // a reversed credit is a debit
		{"2611271127RCR5,00NTRFNONREF//B", "-5.00", "2026-11-27", "2026-11-27", "true", "B"},
		{"2611271127RD5,00FTRFNONREF//B", "5.00", "2026-11-27", "2026-11-27", "true", "B"}, // a reversed debit is a credit
		{"2611271127RDR5,00FTRFNONREF//B", "5.00", "2026-11-27", "2026-11-27", "true", "B"},
		{"2611271127D0,00NTRFNONREF", "0.00", "2026-11-27", "2026-11-27", "-", "-"},
		{"2612310102C5,00NTRFREF", "5.00", "2027-01-02", "2026-12-31", "-", "REF"}, // booked after the turn of the year
		{"2701021231C5,00NTRFREF", "5.00", "2026-12-31", "2027-01-02", "-", "REF"},
		{"9912311231C5,00NTRFREF", "5.00", "1999-12-31", "1999-12-31", "-", "REF"},
		{"1602300301D6,00N024NONREF", "-6.00", "2016-03-01", "2016-02-30", "-", "-"},
		{"2613990001C5,00NTRFREF", "5.00", "2027-00-01", "2026-13-99", "-", "REF"},
		{"2611271127C5,00NTRF", "5.00", "2026-11-27", "2026-11-27", "-", "-"},
		{"2611271127C5,00NTRFNONREF//NONREF", "5.00", "2026-11-27", "2026-11-27", "-", "-"},
	} {
		f := mustRead(t, mt940("C261126EUR10,00", "C261127EUR10,00", ":61:"+row.line), statement.Options{AcceptUnbalanced: true})
		r := f.Records[0]
		if r.Raw {
			t.Errorf("%s: went raw", row.line)
			continue
		}
		got := [5]string{field(t, r, "amount"), field(t, r, "booking_date"), field(t, r, "value_date"), field(t, r, "reversal"), field(t, r, "reference")}
		if want := [5]string{row.amount, row.booking, row.value, row.reversal, row.reference}; got != want {
			t.Errorf("%s: got %q, want %q", row.line, got, want)
		}
	}
}

func TestMT940LineThatDoesNotSplitGoesRawWithItsText(t *testing.T) {
	for _, line := range []string{
		"", "2611271127", "26112C5,00NTRFREF", "2611271127X5,00NTRFREF", "2611271127EC5,00NTRFREF", "2611271127C5.00NTRFREF",
		"2611271127C5NTRFREF", "2611271127C,00NTRFREF", "2611271127C5,00", "2611271127C5,00ntrfREF", "2611271127C1.234,00NTRFREF",
		"2611271127C123456789012345,00NTRFREF",
	} {
		text := mt940("C261126EUR10,00", "C261127EUR10,00", ":61:"+line, ":86:text", "more")
		wantUnbalanced(t, refused(t, text, statement.Options{}), "without 1 that are unreadable")
		f := mustRead(t, text, statement.Options{AcceptUnbalanced: true})
		r := f.Records[0]
		if want := ":61:" + line + "\n:86:text\nmore"; !r.Raw || string(r.Value) != want || r.Key != "37040044/0532013701" || verdict(r) != "UNDECODABLE" {
			t.Errorf("%q: got %+v (%s)", line, r, r.Value)
		}
	}
}

func TestMT940TextThatIsNoUTF8GoesRawAndStillFoots(t *testing.T) {
	text := mt940("C261126EUR10,00", "C261127EUR15,00", ":61:2611271127C5,00NTRFREF", ":86:M\xFCller")
	f := mustRead(t, text, statement.Options{})
	if r := f.Records[0]; !r.Raw || string(r.Value) != ":61:2611271127C5,00NTRFREF\n:86:M\xFCller" {
		t.Errorf("got %+v", r)
	}
}

func TestMT940StatementFoots(t *testing.T) {
	credit := ":61:2611271127C5,00NTRFREF//B"
	for _, row := range []struct{ name, text, says string }{
		{"plain", mt940("C261126EUR10,00", "C261127EUR15,", credit), ""},
		{"through zero", mt940("D261126EUR2,00", "C261127EUR3,00", credit), ""},
		{"pages", mt940("C261126EUR10,00", "C261127EUR15,00", credit) + strings.NewReplacer("60F", "60M", "62F", "62M").Replace(mt940("C261126EUR15,00", "C261127EUR20,00", credit)), ""},
		{"no lines", mt940("C261126EUR10,00", "C261127EUR10,00"), ""},
		{"a cent off", mt940("C261126EUR10,00", "C261127EUR15,01", credit), "statement 1: closing balance (after :60F: 10.00 EUR) is stated as 15.01 EUR, the records give 15.00 EUR"},
		{"other currency", mt940("C261126EUR10,00", "C261127USD15,00", credit), "stated as 15.00 USD, the records give 15.00 EUR"},
		{"second one", mt940("C261126EUR10,00", "C261127EUR15,00", credit) + mt940("C261126EUR10,00", "C261127EUR10,00", credit), "statement 2: closing"},
		{"no closing", strings.ReplaceAll(mt940("C261126EUR10,00", "C261127EUR15,00", credit), ":62F:", ":64:"), "stated as nothing"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.says == "" {
				mustRead(t, row.text, statement.Options{})
				return
			}
			wantUnbalanced(t, refused(t, row.text, statement.Options{}), row.says)
			mustRead(t, row.text, statement.Options{AcceptUnbalanced: true})
		})
	}
}

func TestMT940FlawsThatNoFlagAccepts(t *testing.T) {
	good := mt940("C261126EUR10,00", "C261127EUR15,00", ":61:2611271127C5,00NTRFREF//B")
	for _, row := range []struct{ name, text, says string }{
		{"no account", strings.ReplaceAll(good, ":25:", ":26:"), "statement 1 has no account (:25:): give --entity"},
		{"two accounts", strings.ReplaceAll(good, ":28C:", ":25:"), "line 3: a second account"},
		{"no opening", good + ":20:X\n:25:Y\n-\n", "statement 2 has no opening balance"},
		{"two openings", strings.ReplaceAll(good, ":28C:1/1", ":60M:C261126EUR10,00"), "line 4: a second balance :60F:"},
		{"opening does not split", strings.ReplaceAll(good, "C261126EUR", "X261126EUR"), "line 4: the balance :60F: does not split"},
		{"outside", good + good[strings.Index(good, ":25:"):], "line 8: field 25 stands outside of a statement"},
		{"twice the same", good + good, "statement 2 repeats statement 1 byte for byte"},
	} {
		t.Run(row.name, func(t *testing.T) {
			wantText(t, refused(t, row.text, statement.Options{AcceptUnbalanced: true}), row.says)
		})
	}
}

func TestMT940EqualLinesOnTwoPagesBothCount(t *testing.T) {
	credit := ":61:2611271127C5,00NTRFNONREF\n:86:cash"
	first := strings.ReplaceAll(mt940("C261126EUR10,00", "C261127EUR20,00", credit, credit), "62F", "62M")
	second := strings.ReplaceAll(mt940("C261126EUR20,00", "C261127EUR25,00", credit), "60F", "60M")
	if got := hashes(t, mustRead(t, first+second, statement.Options{})); len(got) != 3 {
		t.Errorf("got %d hashes", len(got))
	}
}

func TestMT940WrappingDoesNotChangeTheIdentity(t *testing.T) {
	one := mt940("C261126EUR10,00", "C261127EUR15,00", ":61:2611271127C5,00NTRFNONREF", ":86:166?20SVWZ+Invoice 4711?32Hansen")
	two := mt940("C261126EUR10,00", "C261127EUR15,00", ":61:2611271127C5,00NTRFNONREF", ":86:166?20SVWZ+Invo", "ice 4711?32Han", "sen")
	if !slices.Equal(hashes(t, mustRead(t, one, statement.Options{})), hashes(t, mustRead(t, two, statement.Options{}))) {
		t.Error("another line length gives another hash")
	}
	for _, other := range []string{"REF2", "NONREF//X"} {
		changed := strings.ReplaceAll(one, "NONREF", other)
		if slices.Equal(hashes(t, mustRead(t, one, statement.Options{})), hashes(t, mustRead(t, changed, statement.Options{}))) {
			t.Errorf("reference %s gives the same hash", other)
		}
	}
}

func TestMT940BlockHeadersAndOtherFieldsAreLeftOut(t *testing.T) {
	text := "{1:F01BANKDEFFAXXX0000000000}{2:O9401830}{4:\n" +
		strings.NewReplacer(":25:37040044/0532013701", ":25P:37040044/0532013701\nBANKDEFF", "\n-\n", "\n:65:C261128EUR1,00\n:86:info on the statement\n-}\n").
			Replace(mt940("C261126EUR10,00", "C261127EUR15,00", ":13D:2611271800+0100", ":61:2611271127C5,00NTRFREF//B", "supplement", ":86:first", ":86:second")) +
		"{5:{CHK:1}}\n"
	f := mustRead(t, text, statement.Options{})
	wantColumn(t, f, "ledger_entity", "37040044/0532013701")
	wantColumn(t, f, "description", "NTRF supplement first second")
	mustRead(t, "BANKDEFF\n940\nBANKDEFF\n"+mt940("C261126EUR10,00", "C261127EUR10,00"), statement.Options{})
}
