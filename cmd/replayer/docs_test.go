package main_test

import (
	"bytes"
	"strings"
	"testing"

	main "recon/cmd/replayer"
	"recon/internal/testkit"
)

// A line is read to its end before its help is printed: a command or a flag that does not exist ends it with 2.
func TestEveryCommandThatThePagesShowExists(t *testing.T) {
	testkit.Settings(t)
	var errs bytes.Buffer
	n := 0
	for _, page := range testkit.Pages(t) {
		for _, args := range page.Commands("replayer") {
			n++
			errs.Reset()
			if code := main.Execute(append(args, "--help"), new(bytes.Buffer), &errs); code != 0 {
				t.Errorf("%s shows `replayer %s`: exit %d, %s", page.Name, strings.Join(args, " "), code, errs.String())
			}
		}
	}
	if n < 5 {
		t.Errorf("found %d command lines, want those of README.md", n)
	}
	for _, args := range [][]string{{"list", "--eror-code=X", "--help"}, {"staus", "--help"}} {
		if code := main.Execute(args, new(bytes.Buffer), new(bytes.Buffer)); code != 2 {
			t.Errorf("%v: exit %d, want 2", args, code)
		}
	}
}
