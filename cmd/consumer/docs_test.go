package main_test

import (
	"strings"
	"testing"

	"recon/internal/testkit"
)

// A line is read to its end before its help is printed: a command or a flag that does not exist ends it with 2.
func TestEveryCommandThatThePagesShowExists(t *testing.T) {
	n := 0
	for _, page := range testkit.Pages(t) {
		for _, args := range page.Commands("consumer") {
			n++
			if code, _, errs := command(t, nil, append(args, "--help")...); code != 0 {
				t.Errorf("%s shows `consumer %s`: exit %d, %s", page.Name, strings.Join(args, " "), code, errs)
			}
		}
	}
	if n < 3 {
		t.Errorf("found %d command lines, want those of README.md", n)
	}
	for _, args := range [][]string{{"topics", "--aply", "--help"}, {"chek", "--help"}} {
		if code, _, _ := command(t, nil, args...); code != 2 {
			t.Errorf("%v: exit %d, want 2", args, code)
		}
	}
}
