package fault_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"recon/pkg/fault"
)

//go:generate go test -race -run ^TestErrorsPageIsTheTable$ -update

var update = flag.Bool("update", false, "write docs/errors.md anew from the table")

func TestErrorsPageIsTheTable(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "errors.md")
	want := errorsPage()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("docs/errors.md is not what the table says: run `go generate ./pkg/fault` and commit the page")
	}
}

// errorsPage renders the table for people.
func errorsPage() []byte {
	var b strings.Builder
	b.WriteString(`# Error codes and failure codes

<!-- Generated from the table of pkg/fault by "go generate ./pkg/fault". Changes here are lost. -->

Every failed attempt has an **error code**: what went wrong. It decides whether the record waits and tries again (transient) or becomes a dead letter at once (poison).
A dead letter or a refused replay has a **failure code**: why it was given up.

## Transient: tried again

The wait after a failure is drawn evenly between 0 and the smaller of *cap* and *base* × 2ⁿ, n being the earlier failures of the same code (full jitter), so that what failed together does not come back together.
*Attempts* counts the first one too and only failures of this code; over all codes a record is given up after `)
	fmt.Fprintf(&b, "%d attempts.\nThe times to the dead letter assume that every attempt fails with this code and leave out how long the attempts themselves take.\n\n", fault.Ceiling)
	b.WriteString("| error code | attempts | base | cap | dead letter after (expected, longest) | stage |\n|---|---|---|---|---|---|\n")
	for _, r := range fault.Rows() {
		if r.Policy.Class == fault.Transient {
			expected, longest, ends := fault.Defaults().TimeToDLQ(r.Code)
			after := "never by itself"
			if ends {
				after = short(expected.String()) + ", " + short(longest.String())
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | `%s` |\n", r.Code, attempts(r.Policy, ends),
				short(r.Policy.Base.String()), short(r.Policy.Cap.String()), after, r.Stage)
		}
	}
	b.WriteString("\nWith a matching deadline, a wait that would pass it ends at it; a failure at or after it gives the record up as `MATCHING_WINDOW_CLOSED`.\n")
	meanings(&b, fault.Transient)
	b.WriteString("\n## Poison: a dead letter on the first occurrence\n\n| error code | failure code | stage |\n|---|---|---|\n")
	for _, r := range fault.Rows() {
		if r.Policy.Class == fault.Poison {
			fmt.Fprintf(&b, "| `%s` | `%s` | `%s` |\n", r.Code, r.First, r.Stage)
		}
	}
	b.WriteString("\nAn error without a known code is `UNCLASSIFIED`, and the consumer writes one warning line `unclassified_exception`.\n")
	meanings(&b, fault.Poison)
	b.WriteString("\n## Failure codes\n\n| failure code | stands on a | meaning |\n|---|---|---|\n")
	for _, o := range fault.Outcomes() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", o.Failure, o.On, o.Meaning)
	}
	b.WriteString("\n## Stages\n\n")
	var stages []string
	for _, r := range fault.Stages() {
		stages = append(stages, "`"+string(r)+"`")
	}
	b.WriteString(strings.Join(stages[:7], ", ") + ", and those that a handler registers with `fault.Register`.\n")
	return []byte(b.String())
}

func meanings(b *strings.Builder, class fault.Class) {
	b.WriteString("\n| error code | meaning | what to do |\n|---|---|---|\n")
	for _, r := range fault.Rows() {
		if r.Policy.Class == class {
			fmt.Fprintf(b, "| `%s` | %s | %s |\n", r.Code, r.Meaning, r.Action)
		}
	}
}

func attempts(p fault.Policy, ends bool) string {
	switch {
	case !ends:
		return "no limit"
	case p.UntilDeadline:
		return fmt.Sprintf("until the deadline, %d without one", p.MaxAttempts)
	}
	return fmt.Sprint(p.MaxAttempts)
}

// short drops the zero units that Go prints: 5m0s is 5m.
func short(d string) string {
	if strings.HasSuffix(d, "m0s") {
		d = strings.TrimSuffix(d, "0s")
	}
	if strings.HasSuffix(d, "h0m") {
		d = strings.TrimSuffix(d, "0m")
	}
	return d
}
