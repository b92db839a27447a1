package main_test

import (
	"strings"
	"testing"

	"recon/internal/testkit"
)

// A line is read to its end before its help is printed: a flag that does not exist ends it with 2.
func TestEveryCommandThatThePagesShowExists(t *testing.T) {
	n := 0
	for _, page := range testkit.Pages(t) {
		for _, args := range page.Commands("ingester") {
			n++
			if code, _, diag := invoke(t, append(args, "--help")...); code != 0 {
				t.Errorf("%s shows `ingester %s`: exit %d, %s", page.Name, strings.Join(args, " "), code, diag)
			}
		}
	}
	if n == 0 {
		t.Error("found no command line, want that of README.md")
	}
	if code, _, _ := invoke(t, "--nonsense", "--help"); code != 2 {
		t.Errorf("--nonsense: exit %d, want 2", code)
	}
}
