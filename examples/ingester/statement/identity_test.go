package statement_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"recon/examples/ingester/statement"
)

// framed is the framing of source_hash written a second time, from its description alone: a domain, then for each field
// the lengths as 32 bits, big-endian, and a byte that tells absent from present. "-" is an absent field.
func framed(domain string, fields ...string) string {
	b := []byte(domain + "\n")
	for i := 0; i < len(fields); i += 2 {
		tag, value, presence := fields[i], fields[i+1], byte(1)
		if value == "-" {
			value, presence = "", 0
		}
		b = binary.BigEndian.AppendUint32(b, uint32(len(tag)))
		b = append(append(b, tag...), presence)
		b = binary.BigEndian.AppendUint32(b, uint32(len(value)))
		b = append(b, value...)
	}
	sum := sha256.Sum256(b)
	return "v1:sha256:" + hex.EncodeToString(sum[:])
}

func TestSourceHashIsTheFramedContentAndIdentity(t *testing.T) {
	f := mustRead(t, "id,date,amount,currency,description\nA-1,2026-11-27,-0075.10,EUR,x\n A-2 ,2026-11-27,-75.10,EUR,x\n,2026-11-27,5.00,EUR,rent   for  Cafe\u0301\n",
		statement.Options{Entity: "ACME"})
	for i, want := range []string{
		framed("recon.source_hash/v1", "account", "ACME", "currency", "EUR", "amount", "-0075.10", "booking_date", "2026-11-27", "reversal", "false",
			"identity", "csv.id", "id", "A-1"), // leading zeros are no amount: hashed as they stand
		framed("recon.source_hash/v1", "account", "ACME", "currency", "EUR", "amount", "-75.1", "booking_date", "2026-11-27", "reversal", "false",
			"identity", "csv.id", "id", "A-2"),
		framed("recon.source_hash/v1", "account", "ACME", "currency", "EUR", "amount", "5", "booking_date", "2026-11-27", "reversal", "false",
			"identity", "csv.content", "value_date", "-", "type", "-", "reference", "-", "text", "rent for Caf\u00e9", "occurrence", "1"),
	} {
		if got := f.Records[i].SourceHash; got != want || field(t, f.Records[i], "source_hash") != want {
			t.Errorf("row %d: got %s, want %s", i+1, got, want)
		}
	}
	want := framed("recon.content_hash/v1", "account", "ACME", "currency", "EUR", "amount", "-75.1", "booking_date", "2026-11-27", "reversal", "false")
	if got := field(t, f.Records[1], "content_hash"); got != want {
		t.Errorf("content_hash: got %s, want %s", got, want)
	}
}

func TestAllFormatsUseTheirOwnIdentity(t *testing.T) {
	for _, row := range []struct {
		file string
		at   int
		want string
	}{
		{"camt053.xml", 1, framed("recon.source_hash/v1", "account", "DE07370400440532013700", "currency", "EUR", "amount", "-418.15",
			"booking_date", "2026-11-27", "reversal", "false", "identity", "camt.reference", "reference", "NW2711000002", "occurrence", "1")},
		{"mt940.sta", 0, framed("recon.source_hash/v1", "account", "37040044/0532013701", "currency", "EUR", "amount", "2500",
			"booking_date", "2026-11-27", "reversal", "false", "identity", "mt940.reference", "reference", "NW2711100001", "occurrence", "1")},
		{"mt940.sta", 2, framed("recon.source_hash/v1", "account", "37040044/0532013701", "currency", "EUR", "amount", "-75",
			"booking_date", "2026-11-27", "reversal", "false", "identity", "mt940.content", "value_date", "2026-11-27", "reference", "-",
			"text", "NMSC 083?00BARGELDAUSZAHLUNG?20Cash machine Hamburg Altona", "occurrence", "2")},
		{"payroll.ach", 3, framed("recon.source_hash/v1", "account", "400199007", "currency", "USD", "amount", "-1299.5",
			"booking_date", "2026-11-30", "reversal", "false", "identity", "ach.trace",
			"file", "111111118 1111111182611271830A", "batch", "0000002", "trace", "111111110000002", "occurrence", "1")},
		{"bai2.txt", 0, framed("recon.source_hash/v1", "account", "400188300", "currency", "USD", "amount", "1000",
			"booking_date", "2026-11-27", "reversal", "false", "identity", "bai2.reference", "type", "142", "reference", "BK88001", "occurrence", "1")},
		{"bai2.txt", 4, framed("recon.source_hash/v1", "account", "400188301", "currency", "USD", "amount", "-10",
			"booking_date", "2026-11-27", "reversal", "false", "identity", "bai2.content", "type", "475", "funds", "-", "customer_reference", "-",
			"text", "CHECK PAID", "occurrence", "2")},
	} {
		if got := mustRead(t, embedded(t, row.file), statement.Options{}).Records[row.at].SourceHash; got != row.want {
			t.Errorf("%s record %d: got %s, want %s", row.file, row.at+1, got, row.want)
		}
	}
}

func TestHashSeesWhatMattersAndNothingElse(t *testing.T) {
	base := map[string]string{"id": "A", "date": "2026-11-27", "amount": "10.00", "currency": "EUR", "description": "rent"}
	read := func(change map[string]string) string {
		row := make([]string, 0, 5)
		for _, name := range []string{"id", "date", "amount", "currency", "description"} {
			v, ok := change[name]
			if !ok {
				v = base[name]
			}
			row = append(row, v)
		}
		f := mustRead(t, "id,date,amount,currency,description\n"+strings.Join(row, ",")+"\n", statement.Options{Entity: "E"})
		return f.Records[0].SourceHash
	}
	same := read(nil)
	for _, row := range []struct {
		name   string
		change map[string]string
		equal  bool
	}{
		{"spelling of the amount", map[string]string{"amount": "10"}, true},
		{"free text beside an id", map[string]string{"description": "rent November"}, true},
		{"blanks around", map[string]string{"id": " A "}, true},
		{"time of day", map[string]string{"date": "2026-11-27T09:00:00Z"}, true},
		{"amount", map[string]string{"amount": "10.01"}, false},
		{"sign", map[string]string{"amount": "-10.00"}, false},
		{"currency", map[string]string{"currency": "USD"}, false},
		{"date", map[string]string{"date": "2026-11-28"}, false},
		{"id", map[string]string{"id": "B"}, false},
		{"id in small letters", map[string]string{"id": "a"}, false},
		{"no id", map[string]string{"id": ""}, false},
	} {
		if got := read(row.change) == same; got != row.equal {
			t.Errorf("%s: same hash %v, want %v", row.name, got, row.equal)
		}
	}
}

func TestAbsentReferencesAreNoIdentity(t *testing.T) {
	for _, none := range []string{"", "NOTPROVIDED", "NONREF", "nonref", " NotProvided "} {
		text := "id,date,amount,currency\n" + strings.Repeat(none+",2026-11-27,5.00,EUR\n", 3)
		if got := len(hashes(t, mustRead(t, text, statement.Options{Entity: "E"}))); got != 3 {
			t.Errorf("%q as id: got %d records, want 3 with a hash each", none, got)
		}
	}
}

func TestEqualPaymentsAreCountedPerAccountAndBookingDate(t *testing.T) {
	rows := func(rows ...string) string {
		return "date,amount,currency,description\n" + strings.Join(rows, "\n") + "\n"
	}
	monday := "2026-11-23,-75.00,EUR,cash"
	tuesday := "2026-11-24,-75.00,EUR,cash"
	a := hashes(t, mustRead(t, rows(monday, monday, tuesday), statement.Options{Entity: "E"}))
	b := hashes(t, mustRead(t, rows(tuesday, monday, monday), statement.Options{Entity: "E"}))
	if a[2] != b[0] || a[0] != b[1] || a[1] != b[2] {
		t.Errorf("the order of days changes the count:\n%v\n%v", a, b)
	}
	other := hashes(t, mustRead(t, rows(monday), statement.Options{Entity: "F"}))
	if other[0] == a[0] {
		t.Error("two accounts share a hash")
	}
}

// A reference may come again: a standing order has the same every month. Where a file gives no booking date, the next
// best tells the days apart, and a bank's second statement about the same day still does not post twice.
func TestAReferenceThatComesAgainOnAnotherDayIsAnotherTransaction(t *testing.T) {
	changed := func(from, to string) func(string) string {
		return func(text string) string { return strings.ReplaceAll(text, from, to) }
	}
	for _, row := range []struct {
		name, text        string
		otherDay, sameDay func(string) string
	}{
		{
			"mt940", mt940("C261126EUR10,00", "C261127EUR5,00", ":61:261127D5,00NSTONONREF//SO77"),
			changed(":61:261127", ":61:261227"), changed(":28C:1/1", ":28C:9/1"),
		},
		{
			"camt by value date", strings.ReplaceAll(camt(ntry("DBIT", "5.00", "SO77")), "BookgDt>", "ValDt>"),
			changed("<ValDt><Dt>2026-11-27", "<ValDt><Dt>2026-12-27"), changed("S-1", "MONTH-11"),
		},
		{
			"camt by statement", strings.ReplaceAll(camt(ntry("DBIT", "5.00", "SO77")), "BookgDt>", "Other>"),
			changed("S-1", "S-2"), changed("</MsgId>", "</MsgId><MsgPgntn><PgNb>2</PgNb></MsgPgntn>"),
		},
	} {
		opts := statement.Options{AcceptUnbalanced: true}
		one := hashes(t, mustRead(t, row.text, opts))
		if other := hashes(t, mustRead(t, row.otherDay(row.text), opts)); slices.Equal(one, other) {
			t.Errorf("%s: two payments under one reference share a hash", row.name)
		}
		if again := hashes(t, mustRead(t, row.sameDay(row.text), opts)); !slices.Equal(one, again) {
			t.Errorf("%s: one payment has two hashes", row.name)
		}
	}
}

// A row that names neither a day nor an id equals tomorrow's: suppressing it in silence would lose money.
func TestACSVRowThatNothingIdentifiesIsALetter(t *testing.T) {
	f := mustRead(t, "id,date,valuedate,amount\n,,,-5.00\nA,,,-5.00\n,,2026-11-27,-5.00\n", acme)
	for i, want := range []string{"NO_IDENTITY", "ok", "ok"} {
		if r := f.Records[i]; verdict(r) != want || !r.Readable || field(t, r, "amount") != "-5.00" || (r.SourceHash == "") != (want != "ok") {
			t.Errorf("row %d: got %s, hash %q, want %s", i+1, verdict(r), r.SourceHash, want)
		}
	}
}

func TestARowThatStandsTwiceUnderOneIDIsOneTransaction(t *testing.T) {
	f := mustRead(t, "id,date,amount,currency\nA,2026-11-27,5.00,EUR\nA,2026-11-27,5.00,EUR\nA,2026-11-27,6.00,EUR\n", statement.Options{Entity: "E"})
	if f.Records[0].SourceHash != f.Records[1].SourceHash {
		t.Error("the duplicate has a hash of its own and would post")
	}
	if f.Records[0].SourceHash == f.Records[2].SourceHash {
		t.Error("another amount under the id is suppressed in silence")
	}
}

func TestContentHashIsEqualForEqualPayments(t *testing.T) {
	f := mustRead(t, embedded(t, "mt940.sta"), statement.Options{})
	if a, b := field(t, f.Records[1], "content_hash"), field(t, f.Records[2], "content_hash"); a != b || a == f.Records[1].SourceHash {
		t.Errorf("content hashes of two equal payments: %s and %s", a, b)
	}
}

func TestFramingKeepsNeighboursApart(t *testing.T) {
	// Concatenation and delimiters collide: ACME1+23.00 and ACME+123.00 (reference/audit-hash-inputs 2.2).
	var seen []string
	for i, row := range [][2]string{{"ACME1", "23.00"}, {"ACME", "123.00"}} {
		f := mustRead(t, "id,date,amount,currency\nX,2026-11-27,"+row[1]+",EUR\n", statement.Options{Entity: row[0]})
		seen = append(seen, f.Records[0].SourceHash)
		if slices.Contains(seen[:i], seen[i]) {
			t.Error(fmt.Sprint(row), "collides")
		}
	}
}
