package statement_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"recon/examples/ingester/statement"
)

// flip puts another digit in the place of the one at i.
func flip(text string, i int, r *rand.Rand) string {
	b := []byte(text)
	b[i] = '0' + (b[i]-'0'+byte(1+r.IntN(9)))%10
	return string(b)
}

func TestAThousandFlippedDigitsNeverMoveMoneySilently(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	for name, text := range map[string]string{
		"camt":  camt(bal("OPBD", "CRDT", "1.00"), bal("CLBD", "CRDT", "8.50"), ntry("CRDT", "10.00", "A"), ntry("DBIT", "2.50", "B1")),
		"mt940": embedded(t, "mt940.sta"), "ach": embedded(t, "payroll.ach"), "bai2": embedded(t, "bai2.txt"),
	} {
		want := money(mustRead(t, text, statement.Options{Entity: "E"}))
		digits := regexp.MustCompile(`[0-9]`).FindAllStringIndex(text, -1)
		for range 1000 {
			at := digits[r.IntN(len(digits))][0]
			f, err := statement.Read(name, strings.NewReader(flip(text, at, r)), statement.Options{Entity: "E"})
			if err == nil && !sent(f) {
				continue // it became a letter: not silent
			}
			if err == nil && money(f) != want {
				t.Fatalf("seed %d: %s with another digit at %d foots with %s, not %s", seed, name, at, money(f), want)
			}
		}
	}
}

// money is what a file would post.
func money(f *statement.File) string { return fmt.Sprint(len(f.Records), statement.Totals(f)) }

// sent is true when nothing of f is raw.
func sent(f *statement.File) bool {
	for _, r := range f.Records {
		if r.Raw {
			return false
		}
	}
	return true
}

func TestEveryFlippedDigitOfAFigureIsRefused(t *testing.T) {
	for name, where := range map[string]string{
		"camt053.xml": `(?s)(?:<Bal>.{0,80}?(?:OPBD|CLBD).{0,80}?|<Ntry>\s*)<Amt Ccy="EUR">([0-9.]+)<|<(?:Sum|NbOfNtries)>([0-9.]+)<`,
		"mt940.sta":   `(?m)^:6[02]F:[CD][0-9]{6}EUR([0-9]+,[0-9]*)|^:61:[0-9]{10}(?:RC|C|D)R?([0-9]+,[0-9]*)N`,
		"payroll.ach": `(?m)^6..([0-9]{8}).{18}([0-9]{10})|^8...([0-9]{40})|^9([0-9]{54})[ ]`,
		"bai2.txt":    `(?m)^(?:16,[0-9]{3}|49|98|99),([0-9]+)|^(?:49|98|99),[0-9]+,([0-9]+)/?|^9[89],[0-9]+,[0-9]+,([0-9]+)|(?:010|015|100|400),([0-9]+)`,
	} {
		text, r, n := embedded(t, name), rand.New(rand.NewPCG(7, 7)), 0
		for _, m := range regexp.MustCompile(where).FindAllStringSubmatchIndex(text, -1) {
			for g := 2; g < len(m); g += 2 {
				for i := max(m[g], 0); i < m[g+1]; i++ {
					if text[i] < '0' || text[i] > '9' {
						continue
					}
					n++
					mutant := flip(text, i, r)
					if f, err := statement.Read(name, strings.NewReader(mutant), statement.Options{Entity: "E"}); err == nil {
						t.Errorf("%s: another digit at %d (…%s…) foots: %v", name, i, mutant[max(0, i-12):min(len(mutant), i+6)], statement.Totals(f))
					}
				}
			}
		}
		if n < 25 {
			t.Errorf("%s: only %d digits were tried", name, n)
		}
	}
}
