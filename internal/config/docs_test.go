package config_test

import (
	"strings"
	"testing"

	"recon/internal/config"
	"recon/internal/testkit"
)

func TestEveryVariableThatThePagesNameIsASetting(t *testing.T) {
	known := map[string]bool{"RECON_CONFIG": true, "RECON_CACHE": true, "RECON_REQUIRE_SERVICES": true}
	e, err := config.Load(config.Source{})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range e.Lines() {
		known[l.Env] = true
	}
	n := 0
	for _, page := range testkit.Pages(t) {
		for _, name := range page.Variables() {
			n++
			if !known[name] && !strings.HasPrefix(name, "RECON_TEST_") {
				t.Errorf("%s names %s, which no setting reads", page.Name, name)
			}
		}
	}
	if n < 3 {
		t.Errorf("found %d variables, want those of README.md", n)
	}
}
