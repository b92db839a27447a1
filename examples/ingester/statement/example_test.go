package statement_test

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"recon/examples/ingester/statement"
)

// A file is known by what it holds; its records carry their keys and messages, and its totals are exact.
func ExampleRead() {
	text, err := statement.Testdata.Open("testdata/mt940.sta")
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := statement.Read("mt940.sta", text, statement.Options{Entity: "NORDWIND-DE"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Format, len(f.Records), "records for", f.Records[0].Key)
	for _, total := range statement.Totals(f) {
		fmt.Println(total)
	}
	// Output:
	// mt940 4 records for NORDWIND-DE
	// EUR debit 270.00 credit 2500.00 net 2230.00
}

// A file that does not foot is refused whole, and the error shows both figures.
func ExampleUnbalancedError() {
	b, err := os.ReadFile("testdata/mt940.sta")
	if err != nil {
		fmt.Println(err)
		return
	}
	short := strings.Replace(string(b), "EUR7230,00", "EUR7203,00", 1)
	_, err = statement.Read("mt940.sta", strings.NewReader(short), statement.Options{})
	if unbalanced, ok := errors.AsType[*statement.UnbalancedError](err); ok {
		fmt.Println(unbalanced.Failed[0])
	}
	// Output:
	// statement 1: closing balance (after :60F: 5000.00 EUR) is stated as 7203.00 EUR, the records give 7230.00 EUR
}
