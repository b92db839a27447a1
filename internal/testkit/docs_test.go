package testkit_test

import (
	"fmt"
	"slices"
	"testing"

	"recon/internal/testkit"
)

func TestPagesShowTheirCommandsAndVariables(t *testing.T) {
	p := testkit.Page{Text: "Say `tool list --all` or `tool`, not `a tool` or `tools x`.\n\n```sh\nmake x   # tool no\n" +
		"export RECON_A_B=1 \\\n  RECON_C=2\nbin/tool go --x \"a b\" \\\n   --y  # says `tool no`\ngo run ./cmd/tool run\n/usr/bin/tool no\n```\n\n```go\ntool no\n```\n`RECON_…`\n"}
	got := fmt.Sprintf("%q", p.Commands("tool"))
	if want := `[["go" "--x" "a b" "--y"] ["run"] ["list" "--all"] []]`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := p.Variables(), []string{"RECON_A_B", "RECON_C"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPagesOfThisModuleAreFound(t *testing.T) {
	var names []string
	for _, p := range testkit.Pages(t) {
		names = append(names, p.Name)
	}
	for _, want := range []string{"README.md", "CONTRIBUTING.md", "docs/errors.md"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not among %q", want, names)
		}
	}
	if slices.Contains(names, "CHANGELOG.md") {
		t.Error("CHANGELOG.md is among them")
	}
}
