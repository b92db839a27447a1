package statement_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"recon/examples/ingester/statement"
)

// achEdit changes columns of one line of payroll.ach, counted from 1.
func achEdit(t *testing.T, line, from int, to string) string {
	t.Helper()
	lines := strings.Split(embedded(t, "payroll.ach"), "\n")
	l := lines[line-1]
	lines[line-1] = l[:from-1] + to + l[from-1+len(to):]
	return strings.Join(lines, "\n")
}

func TestACHReadsBothDirections(t *testing.T) {
	f := mustRead(t, embedded(t, "payroll.ach"), statement.Options{})
	wantColumn(t, f, "amount", "2850.00 2850.00 -1299.50 -1299.50")
	wantColumn(t, f, "currency", "USD USD USD USD")
	wantColumn(t, f, "booking_date", "2026-11-30 2026-11-30 2026-11-30 2026-11-30")
	wantColumn(t, f, "reference", "111111110000001 111111110000002 111111110000001 111111110000002")
	if got := field(t, f.Records[0], "description"); got != "Grace Miller Salary November" {
		t.Errorf("description: got %q", got)
	}
	hashes(t, f)
}

func TestACHTransactionCodesSayTheDirection(t *testing.T) {
	for _, row := range []struct{ codes, want string }{
		{"21 22 23 24 31 32 33 34 41 42 43 44 51 52 53 54", "2850.00"},
		{"26 27 28 29 36 37 38 39 46 47 48 49 55 56", "-2850.00"},
		{"20 25 30 35 00 12 62 82 99 2x", "raw"},
	} {
		for code := range strings.FieldsSeq(row.codes) {
			f := mustRead(t, achEdit(t, 3, 2, code), statement.Options{AcceptUnbalanced: true})
			if got := strings.Fields(column(t, f, "amount"))[0]; got != row.want {
				t.Errorf("code %s: got %s, want %s", code, got, row.want)
			}
		}
	}
}

func TestACHEveryControlFigureIsHeld(t *testing.T) {
	for _, row := range []struct {
		name       string
		line, from int
		to, says   string
	}{
		{"entry amount", 3, 39, "1", "batch 1: total credit is stated as 5700.00 USD, the records give 5700.01 USD"},
		{"entry code", 3, 2, "27", "batch 1: total debit is stated as 0.00 USD, the records give 2850.00 USD"},
		{"entry bank", 3, 11, "3", "batch 1: entry hash is stated as 55555555, the records give 55555556"},
		{"batch count", 7, 10, "5", "batch 1: entry and addenda count is stated as 5, the records give 4"},
		{"batch hash", 7, 20, "6", "batch 1: entry hash is stated as 55555556, the records give 55555555"},
		{"batch debit", 7, 32, "1", "batch 1: total debit is stated as 0.01 USD, the records give 0.00 USD"},
		{"batch credit", 7, 44, "1", "batch 1: total credit is stated as 5700.01 USD, the records give 5700.00 USD"},
		{"batch number", 7, 94, "9", "batch 1: batch number is stated as 0000009, the records give 0000001"},
		{"file batches", 12, 7, "3", "file: batch count is stated as 3, the records give 2"},
		{"file blocks", 12, 13, "3", "file: block count is stated as 3, the records give 2"},
		{"file count", 12, 21, "7", "file: entry and addenda count is stated as 7, the records give 6"},
		{"file hash", 12, 31, "8", "file: entry hash is stated as 99999998, the records give 99999999"},
		{"file debit", 12, 43, "1", "file: total debit is stated as 2599.01 USD, the records give 2599.00 USD"},
		{"file credit", 12, 55, "1", "file: total credit is stated as 5700.01 USD, the records give 5700.00 USD"},
		{"blank total", 12, 44, "            ", "file: total credit is stated as unreadable"},
		{"blank count", 12, 14, "        ", "file: entry and addenda count is stated as unreadable"},
	} {
		t.Run(row.name, func(t *testing.T) {
			text := achEdit(t, row.line, row.from, row.to)
			wantUnbalanced(t, refused(t, text, statement.Options{}), row.says)
			mustRead(t, text, statement.Options{AcceptUnbalanced: true})
		})
	}
}

func TestACHIdentityIsFileBatchAndTrace(t *testing.T) {
	base := hashes(t, mustRead(t, embedded(t, "payroll.ach"), statement.Options{}))
	for name, text := range map[string]string{
		"modifier":      achEdit(t, 1, 34, "B"),
		"creation date": achEdit(t, 1, 24, "261128"),
		"origin":        achEdit(t, 1, 14, "2"),
		"batch number":  strings.Replace(achEdit(t, 2, 94, "3"), "111111110000001\n5", "111111110000003\n5", 1),
		"trace number":  achEdit(t, 3, 94, "9"),
	} {
		other := hashes(t, mustRead(t, text, statement.Options{}))
		if slices.Contains(base, other[0]) {
			t.Errorf("another %s gives the same hash", name)
		}
	}
	// The trace number begins anew in each batch, and a bank may even repeat it inside one: the file counts both.
	twice := mustRead(t, achEdit(t, 10, 94, "1"), statement.Options{})
	if got := len(hashes(t, twice)); got != 4 {
		t.Errorf("repeated trace number: got %d hashes", got)
	}
}

func TestACHDamagedEntryGoesRawWithItsAddenda(t *testing.T) {
	for name, text := range map[string]string{
		"amount":  achEdit(t, 3, 30, "00002x5000"),
		"bank":    achEdit(t, 3, 4, "2222A222"),
		"trace":   achEdit(t, 3, 80, "               "),
		"shifted": achEdit(t, 3, 55, "Gr\xC3\xA9ce"+"ce") + "\n", // columns are bytes
	} {
		if name == "shifted" {
			lines := strings.Split(text, "\n")
			lines[2] += "x"
			text = strings.Join(lines, "\n")
		}
		wantUnbalanced(t, refused(t, text, statement.Options{}), "batch 1")
		f := mustRead(t, text, statement.Options{AcceptUnbalanced: true})
		r, lines := f.Records[0], strings.Split(text, "\n")
		if want := lines[2] + "\n" + lines[3]; !r.Raw || string(r.Value) != want {
			t.Errorf("%s: got raw %v, %q", name, r.Raw, r.Value)
		}
	}
}

func TestACHEffectiveDateMayBeBlankOrUnreal(t *testing.T) {
	f := mustRead(t, achEdit(t, 2, 70, "      "), statement.Options{})
	wantColumn(t, f, "booking_date", "- - 2026-11-30 2026-11-30")
	f = mustRead(t, achEdit(t, 2, 70, "260230"), statement.Options{})
	wantColumn(t, f, "booking_date", "2026-02-30 2026-02-30 2026-11-30 2026-11-30")
	if got := verdict(f.Records[0]); got != "SCHEMA_INVALID" {
		t.Errorf("30 February: got %s", got)
	}
}

func TestACHInternationalEntriesHaveTheirAccountElsewhere(t *testing.T) {
	lines := strings.Split(embedded(t, "payroll.ach"), "\n")
	lines[1] = lines[1][:50] + "IAT" + lines[1][53:]
	lines[2] = lines[2][:39] + fmt.Sprintf("%-35s", "DE07370400440532013700") + lines[2][74:]
	f := mustRead(t, strings.Join(lines, "\n"), statement.Options{})
	if got := field(t, f.Records[0], "ledger_entity"); got != "DE07370400440532013700" {
		t.Errorf("got %s", got)
	}
}

func TestACHLayoutsThatBanksSend(t *testing.T) {
	good := embedded(t, "payroll.ach")
	want := hashes(t, mustRead(t, good, statement.Options{}))
	filled := strings.Repeat("9", 94) + "\n"
	for name, text := range map[string]string{
		"without line ends": strings.ReplaceAll(good, "\n", ""),
		"without filling":   strings.ReplaceAll(good, filled, ""),
		"blanks cut off":    strings.ReplaceAll(good, " \n", "\n"),
		"blank lines":       strings.ReplaceAll(good, "\n", "\n\n"),
	} {
		if !slices.Equal(hashes(t, mustRead(t, text, statement.Options{})), want) {
			t.Errorf("%s: the hashes differ", name)
		}
	}
}

func TestACHFlawsThatNoFlagAccepts(t *testing.T) {
	lines := strings.SplitAfter(embedded(t, "payroll.ach"), "\n")
	without := func(n ...int) string {
		var out string
		for i, l := range lines {
			if !slices.Contains(n, i+1) {
				out += l
			}
		}
		return out
	}
	for _, row := range []struct{ name, text, says string }{
		{"breaks off", strings.Join(lines[:11], ""), "has no file control record"},
		{"no batch header", without(2), `line 2: a record of type '6' does not belong here`},
		{"no batch control", without(7), `line 7: a record of type '5' does not belong here`},
		{"addenda without entry", without(3), `line 3: a record of type '7' does not belong here`},
		{"two headers", lines[0] + strings.Join(lines, ""), `line 2: a record of type '1'`},
		{"after the end", strings.Join(lines[:12], "") + lines[1], "line 13: a record after the file control record"},
		{"ADV", strings.Replace(strings.Join(lines, ""), "PPD", "ADV", 1), "line 2: an ADV batch"},
		{"stray text", strings.Join(lines[:2], "") + "hello\n" + strings.Join(lines[2:], ""), `line 3: a record of type 'h'`},
	} {
		t.Run(row.name, func(t *testing.T) {
			wantText(t, refused(t, row.text, statement.Options{AcceptUnbalanced: true}), row.says)
		})
	}
}
