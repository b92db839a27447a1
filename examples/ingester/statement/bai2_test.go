package statement_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"recon/examples/ingester/statement"
)

// bai2 builds a file of one account around its details; total and count are of the account, for its 49.
func bai2(summary string, total, count int, details ...string) string {
	lines := append([]string{"03,4711,," + summary + "/"}, details...)
	return fmt.Sprintf("01,S,R,261127,1830,1,,,2/\n02,R,S,1,261127,,,2/\n%s\n49,%d,%d/\n98,%d,1,%d/\n99,%d,1,%d/\n",
		strings.Join(lines, "\n"), total, count, total, count+2, total, count+4)
}

func TestBAI2TypesSayTheDirection(t *testing.T) {
	for _, row := range []struct{ kinds, want string }{
		{"100 142 195 399", "1.00"},
		{"400 451 475 699", "-1.00"},
		{"099 700 721 900 999 1a2 42 1000", "raw"},
	} {
		for kind := range strings.FieldsSeq(row.kinds) {
			f := mustRead(t, bai2("", 100, 3, "16,"+kind+",100,Z,,,text/"), statement.Options{})
			if got := column(t, f, "amount"); got != row.want {
				t.Errorf("type %s: got %s, want %s", kind, got, row.want)
			}
		}
	}
}

func TestBAI2AmountsAreInTheCurrencysSmallestUnits(t *testing.T) {
	for _, row := range []struct{ currency, figure, want string }{
		{"", "12345", "123.45"},
		{"USD", "00", "0.00"},
		{"USD", "5", "0.05"},
		{"JPY", "12345", "12345"},
		{"KWD", "12345", "12.345"},
		{"XXX", "12345", "123.45"}, // a letter anyway: CURRENCY_UNMAPPED
	} {
		total := strings.TrimLeft(row.figure, "0")
		text := bai2("", 0, 3, "16,142,"+row.figure+",Z,,,text/")
		text = strings.NewReplacer("03,4711,,", "03,4711,"+row.currency+",", "49,0,", "49,"+total+",", "98,0,", "98,"+total+",", "99,0,", "99,"+total+",").Replace(text)
		if total == "" {
			text = bai2("", 0, 3, "16,142,"+row.figure+",Z,,,text/")
		}
		wantColumn(t, mustRead(t, text, statement.Options{}), "amount", row.want)
	}
	byGroup := strings.Replace(bai2("", 100, 3, "16,142,100,Z,,,text/"), "261127,,,2/", "261127,,JPY,2/", 1)
	wantColumn(t, mustRead(t, byGroup, statement.Options{}), "currency", "JPY")
}

func TestBAI2FundsTypesMoveTheReferences(t *testing.T) {
	for _, row := range []struct{ detail, reference, value, text string }{
		{"16,142,100,Z,BANK,CUST,text/", "BANK", "-", "text"},
		{"16,142,100,,,CUST,text, with/ commas/", "CUST", "-", "text, with/ commas"},
		{"16,142,100,1,BANK/", "BANK", "-", "-"},
		{"16,142,100,0/", "-", "-", "-"},
		{"16,142,100/", "-", "-", "-"},
		{"16,142,100,S,50,30,20,BANK,CUST,text/", "BANK", "-", "text"},
		{"16,142,100,V,261130,0900,BANK,,text/", "BANK", "2026-11-30", "text"},
		{"16,142,100,D,2,0,60,1,40,BANK,,text/", "BANK", "-", "text"},
		{"16,142,100,D,x,BANK/", "BANK", "-", "-"},
		{"16,142,100,Z,NONREF,,text/", "-", "-", "text"},
	} {
		f := mustRead(t, bai2("", 100, 3, row.detail), statement.Options{})
		got := [3]string{column(t, f, "reference"), column(t, f, "value_date"), column(t, f, "description")}
		if want := [3]string{row.reference, row.value, row.text}; got != want {
			t.Errorf("%s: got %q, want %q", row.detail, got, want)
		}
	}
}

func TestBAI2ContinuationsJoinTheirRecord(t *testing.T) {
	f := mustRead(t, bai2("010,500,,,/\n88,015,600,,", 1200, 6,
		"16,142,100,S,50,30,20/", "88,BANK,CUST,LOCKBOX", "88,DEPOSIT, NORTH", "  second line of it/"), statement.Options{})
	wantColumn(t, f, "description", "LOCKBOX DEPOSIT, NORTH second line of it")
	wantColumn(t, f, "reference", "BANK")
}

func TestBAI2SeveralRecordsInOneLine(t *testing.T) {
	text := strings.ReplaceAll(bai2("010,0,,,", 100, 3, "16,142,100,Z,,,PPD/ CHIME/"), "/\n", "/   ")
	f := mustRead(t, text, statement.Options{})
	wantColumn(t, f, "description", "PPD/ CHIME")
}

func TestBAI2TrailersAreHeld(t *testing.T) {
	good := bai2("010,500,,,100,300,2,,400,50,1,", 500+300+50+100+200+50, 5, "16,142,100,Z,,,a/", "16,142,200,Z,,,b/", "16,451,50,Z,,,c/")
	mustRead(t, good, statement.Options{})
	for _, row := range []struct{ name, old, new, says string }{
		{"detail", "16,142,100", "16,142,101", "group 1 account 1: control total (49) is stated as 1200, the records give 1201"},
		{"summary", "010,500", "010,-500", "control total (49) is stated as 1200, the records give 200"},
		{"account total", "49,1200", "49,1210", "control total (49) is stated as 1210, the records give 1200"},
		{"account records", "49,1200,5", "49,1200,6", "record count (49) is stated as 6, the records give 5"},
		{"group total", "98,1200", "98,1201", "group 1: control total (98) is stated as 1201, the records give 1200"},
		{"group accounts", "98,1200,1", "98,1200,2", "group 1: number of accounts (98) is stated as 2, the records give 1"},
		{"group records", "98,1200,1,7", "98,1200,1,8", "group 1: record count (98) is stated as 8, the records give 7"},
		{"file total", "99,1200", "99,x", "file: control total (99) is stated as unreadable, the records give 1200"},
		{"file groups", "99,1200,1", "99,1200,3", "file: number of groups (99) is stated as 3, the records give 1"},
		{"file records", "99,1200,1,9", "99,1200,1,", "file: record count (99) is stated as unreadable, the records give 9"},
		{"credit turned debit", "16,142,200", "16,442,200", "number of debits (type 400) is stated as 1, the records give 2"},
		{"two amounts swapped", "16,142,200,Z,,,b/\n16,451,50", "16,142,50,Z,,,b/\n16,451,200", "sum of credits (type 100) is stated as 300, the records give 150"},
	} {
		t.Run(row.name, func(t *testing.T) {
			text := strings.Replace(good, row.old, row.new, 1)
			wantUnbalanced(t, refused(t, text, statement.Options{}), row.says)
			mustRead(t, text, statement.Options{AcceptUnbalanced: true})
		})
	}
	fewer := bai2("100,300,3,", 300+100, 3, "16,142,100,Z,,,the only one that is itemised/")
	mustRead(t, fewer, statement.Options{})
}

// A currency without minor units is a letter for each payment, and no reason to refuse the file: both sides of the check
// count in the same hundredths.
func TestBAI2SummaryIsHeldInTheUnitsOfItsDetails(t *testing.T) {
	for _, currency := range []string{"XXX", "DEM", "USD", "JPY"} {
		text := strings.Replace(bai2("400,100,1,", 200, 3, "16,475,100,Z,REF,,x/"), "03,4711,,", "03,4711,"+currency+",", 1)
		mustRead(t, text, statement.Options{})
	}
}

func TestBAI2IdentityIsBankReferenceElseCountedContent(t *testing.T) {
	section := func(n int) string {
		return strings.Repeat("16,475,100,Z,,,CHECK/\n", n) + "16,475,100,Z,REF,,CHECK/"
	}
	one := bai2("", 300, 5, section(2))
	two := strings.Replace(one, "98,", "03,4711,,/\n"+section(2)+"\n49,300,5/\n98,", 1)
	two = strings.NewReplacer("98,300,1,7", "98,600,2,12", "99,300,1,9", "99,600,1,14").Replace(two)
	a, b := hashes(t, mustRead(t, one, statement.Options{})), hashes(t, mustRead(t, two, statement.Options{}))
	if len(b) != 6 || !slices.Equal(a, b[:3]) { // counted over the whole file, not per section
		t.Errorf("got %d and %d hashes", len(a), len(b))
	}
	nextDay := hashes(t, mustRead(t, strings.Replace(one, "1,261127,,,2/", "1,261128,,,2/", 1), statement.Options{}))
	for _, h := range nextDay {
		if slices.Contains(a, h) {
			t.Error("another day gives the same hash")
		}
	}
}

func TestBAI2DamagedDetailGoesRaw(t *testing.T) {
	for _, detail := range []string{"16,142,-100,Z,,,x/", "16,142,,Z,,,x/", "16,142,1.00,Z,,,x/", "16,142/"} {
		f := mustRead(t, bai2("", 0, 3, detail), statement.Options{})
		if r := f.Records[0]; !r.Raw || string(r.Value) != detail || r.Key != "4711" {
			t.Errorf("%s: got %+v", detail, r)
		}
	}
	f := mustRead(t, bai2("", 100, 3, "16,142,100,Q,,,x/"), statement.Options{})
	if !f.Records[0].Raw {
		t.Error("an unknown funds type leaves open where the references stand")
	}
}

func TestBAI2TextWithoutMoneyIsLeftOut(t *testing.T) {
	f := mustRead(t, bai2("", 100, 5, "16,890,,Z,,,see branch/", "16,142,100,Z,,,x/", "16,890,0,Z,,,x/"), statement.Options{})
	if len(f.Records) != 1 || f.Skipped != 2 {
		t.Errorf("got %d records and %d skipped", len(f.Records), f.Skipped)
	}
}

func TestBAI2UpdatesAreTaken(t *testing.T) {
	for _, status := range []string{"1", " 1 ", ""} {
		mustRead(t, strings.Replace(bai2("", 100, 3, "16,142,100,Z,,,a/"), "02,R,S,1,", "02,R,S,"+status+",", 1), statement.Options{})
	}
}

func TestBAI2FlawsThatNoFlagAccepts(t *testing.T) {
	good := bai2("010,500,,,", 600, 3, "16,142,100,Z,,,a/")
	for _, row := range []struct{ name, text, says string }{
		{"breaks off", good[:strings.Index(good, "99,")], "has no file trailer"},
		{"no account header", strings.Replace(good, "03,4711,,010,500,,,/\n", "", 1), "line 3: a record 16 does not belong here"},
		{"no account trailer", strings.Replace(good, "49,600,3/\n", "", 1), "line 5: a record 98 does not belong here"},
		{"no group trailer", strings.Replace(good, "98,600,1,5/\n", "", 1), "line 6: a record 99 does not belong here"},
		{"after the trailer", good + "16,142,100,Z,,,a/\n", "line 8: a record 16 after the file trailer"},
		{"no as-of date", strings.Replace(good, "02,R,S,1,261127", "02,R,S,1,", 1), "line 2: group 1 has no as-of date"},
		{"deleted group", strings.Replace(good, "02,R,S,1,", "02,R,S,2,", 1), "line 2: group 1 has the status 2 (deletion)"},
		{"corrected group", strings.Replace(good, "02,R,S,1,", "02,R,S,3,", 1), "line 2: group 1 has the status 3 (correction)"},
		{"test group", strings.Replace(good, "02,R,S,1,", "02,R,S,4,", 1), "line 2: group 1 has the status 4 (test only)"},
		{"group of no known status", strings.Replace(good, "02,R,S,1,", "02,R,S,5,", 1), "line 2: group 1 has the status 5, which BAI2 does not know"},
		{"what to do about it", strings.Replace(good, "02,R,S,1,", "02,R,S,3,", 1), "correct the postings by hand"},
		{"no account number", strings.Replace(good, "4711", "", 1), "group 1 account 1 has no number: give --entity"},
		{"summary", strings.Replace(good, "010,500", "010,5x0", 1), "the amount of type 010 is no number"},
	} {
		t.Run(row.name, func(t *testing.T) {
			wantText(t, refused(t, row.text, statement.Options{AcceptUnbalanced: true}), row.says)
		})
	}
}
