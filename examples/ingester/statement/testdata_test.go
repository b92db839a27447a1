package statement_test

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"recon/examples/ingester/statement"
	"recon/pkg/envelope"
)

func TestDemoAccountsHaveRightCheckDigits(t *testing.T) {
	n := 0
	for _, iban := range regexp.MustCompile(`\b[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}\b`).FindAllString(embedded(t, "camt053.xml"), -1) {
		n++
		var digits strings.Builder
		for _, c := range iban[4:] + iban[:4] {
			v, err := strconv.ParseInt(string(c), 36, 64)
			if err != nil {
				t.Fatal(err)
			}
			digits.WriteString(strconv.FormatInt(v, 10))
		}
		number, _ := new(big.Int).SetString(digits.String(), 10)
		if rest := number.Mod(number, big.NewInt(97)); rest.Int64() != 1 { // ISO 13616
			t.Errorf("%s: the check digits are wrong", iban)
		}
	}
	for line := range strings.Lines(embedded(t, "payroll.ach")) {
		if line[0] != '6' {
			continue
		}
		n++
		sum := 0
		for i, weight := range []int{3, 7, 1, 3, 7, 1, 3, 7, 1} { // the check digit of routing numbers
			sum += weight * int(line[3+i]-'0')
		}
		if sum%10 != 0 {
			t.Errorf("routing number %s: the check digit is wrong", line[3:12])
		}
	}
	if n != 12 {
		t.Errorf("%d accounts were looked at, want 12", n)
	}
}

// TestDemoHoldsEveryCaseItTells keeps the cases that the demo needs in the files: change them together.
func TestDemoHoldsEveryCaseItTells(t *testing.T) {
	opts := statement.Options{Entity: "NORDWIND-DE"}
	camt := mustRead(t, embedded(t, "camt053.xml"), opts)
	wantColumn(t, camt, "amount", "1250.00 -418.150 -12.345 96.40 -1503.20")
	wantColumn(t, camt, "reversal", "- - - true -")
	if camt.Skipped != 1 {
		t.Errorf("camt053.xml: %d entries left out, want the pending one", camt.Skipped)
	}
	mt := mustRead(t, embedded(t, "mt940.sta"), opts)
	wantColumn(t, mt, "amount", "2500 -75.00 -75.00 -120.00")
	hashes(t, mt) // two equal withdrawals, and both post
	card := mustRead(t, embedded(t, "card.csv"), opts)
	wantColumn(t, card, "amount", "-49.90 -1,250.00 310.00 -89.00 -18.75 -18.75 raw 0.10 0.20")
	wantColumn(t, card, "currency", "EUR EUR SEK USD EUR EUR raw EUR EUR")
	if card.Records[4].SourceHash != card.Records[5].SourceHash {
		t.Error("card.csv: the duplicate is none")
	}
	lines := strings.Split(strings.TrimSpace(embedded(t, "feed.jsonl")), "\n")
	var got []string
	for _, line := range lines {
		m, _ := envelope.Decode([]byte(line), nil)
		got = append(got, strings.Join([]string{m.LedgerEntity, envelope.CanonicalAmount(m.Amount), m.Currency, m.SourceSystem, m.CounterpartRef}, " "))
	}
	want := "NORDWIND-DE 740 EUR purchasing GR-2026-0815; NORDWIND-DE -64.3 EUR carrier-billing ; NORDWIND-DE 22 EUR purchasing "
	if strings.Join(got, "; ") != want {
		t.Errorf("feed.jsonl: got %q, want %q", strings.Join(got, "; "), want)
	}
}

func TestErrorsNameNoAccountAndNoText(t *testing.T) {
	for name, text := range map[string]string{
		"camt": strings.Replace(embedded(t, "camt053.xml"), ">9412.705<", ">9412.706<", 1),
		"mt":   strings.Replace(embedded(t, "mt940.sta"), "EUR7230,00", "EUR7230,01", 1),
		"ach":  strings.Replace(embedded(t, "payroll.ach"), "0000285000", "0000285001", 1),
		"bai2": strings.Replace(embedded(t, "bai2.txt"), "142,100000", "142,100001", 1),
	} {
		err := refused(t, text, statement.Options{})
		for _, secret := range []string{"DE07", "37040044", "40018", "Hansen", "Miller", "HARBOR", "NWH-"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %q tells %s", name, err, secret)
			}
		}
	}
}
