package statement_test

import (
	"strings"
	"testing"

	"recon/examples/ingester/statement"
)

var acme = statement.Options{Entity: "ACME", Currency: "EUR"}

func TestCSVColumnsAreFoundByTheirNames(t *testing.T) {
	for _, row := range []struct{ header, line, want string }{
		{"unique_identifier,amount,date,description", "A,-5.00,2026-11-27,cash", "-5.00 EUR 2026-11-27 - A cash"},
		{"trxID,amount,type,transactionTime", "A,5.00,DEBIT,2026-11-27T10:00:00Z", "-5.00 EUR 2026-11-27 - A -"},
		{"Booking Date;Value-Date;AMOUNT;Currency;Text", "2026-11-27;2026-11-28;5.00;USD;a, b", "5.00 USD 2026-11-27 2026-11-28 - a, b"},
		{"Transaction ID\tPosted_Date\tAmount\tCCY", "A\t2026-11-27\t5.00\t ", "5.00 EUR 2026-11-27 - A -"},
		{"date|amount|memo|balance", "2026-11-27|5.00|x|100", "5.00 EUR 2026-11-27 - - x"},
		{"date,amount,reference", "2026-11-27,5.00,INV-7", "5.00 EUR 2026-11-27 - INV-7 -"},
	} {
		f := mustRead(t, row.header+"\n"+row.line+"\n", acme)
		r := f.Records[0]
		got := strings.Join([]string{field(t, r, "amount"), field(t, r, "currency"), field(t, r, "booking_date"), field(t, r, "value_date"), field(t, r, "reference"), field(t, r, "description")}, " ")
		if got != row.want {
			t.Errorf("%s: got %s, want %s", row.header, got, row.want)
		}
	}
	wantColumn(t, mustRead(t, "date,amount,counterpart_ref\n2026-11-27,5,GR-1\n", acme), "counterpart_ref", "GR-1")
}

func TestCSVAmountsTravelAsTheyAreWritten(t *testing.T) {
	for _, row := range []struct{ amount, verdict string }{
		{"5", "ok"},
		{"-5.00", "ok"},
		{"5.000", "ok"},
		{"0.00", "ok"},
		{"123456789012345678.90", "ok"},
		{"-0.00", "AMOUNT_INVALID"},
		{"+5.00", "AMOUNT_INVALID"},
		{"005.00", "AMOUNT_INVALID"},
		{`"1,250.00"`, "AMOUNT_INVALID"},
		{`"75,00"`, "AMOUNT_INVALID"},
		{"5.001", "AMOUNT_INVALID"},
		{"1e3", "AMOUNT_INVALID"},
		{"\u22125.00", "AMOUNT_INVALID"},
		{"$5.00", "AMOUNT_INVALID"},
		{"", "AMOUNT_INVALID"},
		{"1234567890123456789", "AMOUNT_INVALID"},
		{strings.Repeat("9", 400), "AMOUNT_INVALID"},
	} {
		r := mustRead(t, "date,amount\n2026-11-27,"+row.amount+"\n", acme).Records[0]
		if got := field(t, r, "amount"); got != strings.Trim(row.amount, `"`) {
			t.Errorf("%s: travels as %s", row.amount, got)
		}
		if got := verdict(r); got != row.verdict {
			t.Errorf("%s: got %s, want %s", row.amount, got, row.verdict)
		}
		if row.verdict == "ok" && !r.Readable {
			t.Errorf("%s: not counted", row.amount)
		}
	}
}

func TestCSVTypeIsADirectionWhereItSaysOne(t *testing.T) {
	for _, row := range []struct{ rows, want string }{
		{"5.00,DEBIT 5.00,credit 5.00,Dr 5.00,CRDT 0.00,D", "-5.00 5.00 -5.00 5.00 0.00"},
		{"-5.00,DEBIT", "-5.00"},
		{"-5.00,CREDIT 5.00,D", "raw -5.00"},            // contradicts itself
		{"5.00,DEBIT 5.00,DEBT 5.00,", "-5.00 raw raw"}, // a typing error must not turn a debit into a credit
		{"5.00,transfer -5.00,card 5.00,", "5.00 -5.00 5.00"},
		{`"1,00",D`, "1,00"},
	} {
		f := mustRead(t, "date,amount,type\n2026-11-27,"+strings.ReplaceAll(row.rows, " ", "\n2026-11-27,")+"\n", acme)
		wantColumn(t, f, "amount", row.want)
	}
}

// Banks that write amounts without a sign say in another column which way the money went. A withdrawal is never a credit.
func TestCSVWordsOfAKindGiveAmountsWithoutASignTheirs(t *testing.T) {
	for _, row := range []struct{ header, rows, want string }{
		{"type", "75.00,Withdrawal 75.00,WITHDRAWAL 50.00,deposit", "-75.00 -75.00 50.00"},
		{"Transaction Type", "75.00,ATM-Withdrawal 20.00,direct_debit 50.00,Direct-Deposit", "-75.00 -20.00 50.00"},
		{"Debit/Credit", "75.00,D 50.00,C", "-75.00 50.00"},
		{"Dr/Cr", "75.00,Dr. 50.00,Cr.", "-75.00 50.00"},
		{"Credit Debit Indicator", "75.00,DBIT 50.00,CRDT", "-75.00 50.00"},
		{"type", "75.00,withdrawal 2.00,fee 50.00,deposit", "-75.00 raw 50.00"},        // nothing says where the fee went
		{"type", "-75.00,withdrawal -2.00,fee 9.00,transfer", "-75.00 -2.00 9.00"},     // they have their sign
		{"type", "-75.00,withdrawal 75.00,withdrawal -5.00,deposit", "-75.00 raw raw"}, // taken back, or wrong?
		{"type", "75.00,withdrawal -2.00,fee 9.00,", "-75.00 raw raw"},                 // a minus that means something else
		{"type", "75.00, 50.00,", "75.00 50.00"},                                       // the column is there and says nothing
		{"type", "0.00,transfer", "0.00"},
		{"direction,type", "75.00,D,card 50.00,C,card", "-75.00 50.00"},
		{"type,direction", "75.00,deposit,out", "-75.00"}, // direction is the one that is meant
		{"type,direction", "75.00,withdrawal,", "-75.00"},
		{"Transaction Type,type", "75.00,withdrawal,card 50.00,deposit,card", "-75.00 50.00"},
	} {
		f := mustRead(t, "date,amount,"+row.header+"\n2026-11-27,"+strings.ReplaceAll(row.rows, " ", "\n2026-11-27,")+"\n", acme)
		if got := column(t, f, "amount"); got != row.want {
			t.Errorf("%s, %s: got %s, want %s", row.header, row.rows, got, row.want)
		}
	}
}

func TestCSVIsRefusedWhereNothingSaysWhichWayTheMoneyWent(t *testing.T) {
	for header, rows := range map[string]string{
		"type":             "0.00,card 75.00,Abhebung 50.00,Einzahlung",
		"transaction type": "5.00, 75.00,Abhebung",
		"Direction":        "0.00,card 75.00,Abhebung",
	} {
		text := "date,amount," + header + "\n2026-11-27," + strings.ReplaceAll(rows, " ", "\n2026-11-27,") + "\n"
		wantText(t, refused(t, text, statement.Options{Entity: "E", Currency: "EUR", AcceptUnbalanced: true}), `line 3: the type "Abhebung" is neither a debit nor a credit, and no amount of the file has a minus`)
	}
}

func TestCSVLineThatDoesNotSplitGoesRawAlone(t *testing.T) {
	good := "2026-11-27,5.00,fine"
	for _, bad := range []string{
		`2026-11-27,5.00`, `2026-11-27,5.00,a,b`, `"2026-11-27,5.00,a`, `2026-11-27,5.00,a"b`, `2026-11-27,5.00,"a"b`,
		`2026-11-27,5.00,"opens and swallows`, "2026-11-27,5.00,M\xFCller", `garbage`,
	} {
		text := "date,amount,text\n" + good + "\n" + bad + "\n" + good + "\n" + `2026-11-28,6.00,ends"` + "\n" + good
		f := mustRead(t, text, acme)
		if got, want := column(t, f, "amount"), "5.00 raw 5.00 raw 5.00"; got != want {
			t.Errorf("%s: got %s, want %s", bad, got, want)
			continue
		}
		if r := f.Records[1]; string(r.Value) != bad || r.Key != "ACME" || r.SourceHash != "" || verdict(r) != "UNDECODABLE" {
			t.Errorf("%s: got %+v", bad, r)
		}
	}
}

func TestCSVTextMayHaveLineBreaks(t *testing.T) {
	f := mustRead(t, "date,amount,text\n\n2026-11-27,5.00,\"first\nsecond, with a comma\n\"\"third\"\"\"\n2026-11-28,6.00,x\n", acme)
	wantColumn(t, f, "amount", "5.00 6.00")
	if got := field(t, f.Records[0], "description"); got != `first second, with a comma "third"` {
		t.Errorf("got %q", got)
	}
}

func TestCSVJSONInPlaceOfARowIsRefused(t *testing.T) {
	// Sent as it is, it would be a message of its own, with an amount that no total has.
	text := "date,amount\n2026-11-27,5.00\n" + `{"source_hash":"forged-hash","ledger_entity":"X","currency":"EUR","amount":"1000000.00","match_decision":"MATCHED"}` + "\n"
	wantText(t, refused(t, text, acme), "line 3: what stands there is JSON")
}

func TestCSVNeedsWhatItCannotSay(t *testing.T) {
	wantText(t, refused(t, "date,amount\n2026-11-27,5.00\n", statement.Options{Currency: "EUR"}), "give --entity")
	wantText(t, refused(t, "date,amount\n2026-11-27,5.00\n", statement.Options{Entity: "E"}), "give --currency")
	r := mustRead(t, "date,amount,currency\n2026-11-27,5.00,\n", statement.Options{Entity: "E"}).Records[0]
	if got := verdict(r); got != "SCHEMA_INVALID" {
		t.Errorf("a row without a currency: got %s", got)
	}
}

func TestCSVCurrencyOfARowIsItsOwn(t *testing.T) {
	f := mustRead(t, "date,amount,currency\n2026-11-27,5.00,USD\n2026-11-27,5.00,\n2026-11-27,5.00,usd\n", acme)
	wantColumn(t, f, "currency", "USD EUR usd")
	if got := verdict(f.Records[2]); got != "SCHEMA_INVALID" {
		t.Errorf("small letters: got %s", got)
	}
}

func TestCSVDates(t *testing.T) {
	for _, row := range []struct{ date, want, verdict string }{
		{"2026-11-27", "2026-11-27", "ok"},
		{"2026-11-27 10:00:00", "2026-11-27", "ok"},
		{"2026-11-27T23:30:00-08:00", "2026-11-27", "ok"},
		{"2016-02-30", "2016-02-30", "SCHEMA_INVALID"},
		{"2026-13-01", "2026-13-01", "SCHEMA_INVALID"},
		{"27/11/2026", "27/11/2026", "SCHEMA_INVALID"},
		{"2026-11-271", "2026-11-271", "SCHEMA_INVALID"},
	} {
		r := mustRead(t, "date,amount\n"+row.date+",5.00\n", acme).Records[0]
		if got := field(t, r, "booking_date"); got != row.want || verdict(r) != row.verdict || !r.Readable {
			t.Errorf("%s: got %s, %s, readable %v", row.date, got, verdict(r), r.Readable)
		}
	}
}
