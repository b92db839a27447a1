package testkit

import (
	"os"
	"strings"
	"testing"
)

// Settings makes env, of the form NAME=value, all that the environment says of the service's settings until the test
// ends, whatever it says besides. The variables that tests themselves are told by stay.
func Settings(t testing.TB, env ...string) {
	t.Helper()
	for _, kv := range os.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, "RECON_") || strings.HasPrefix(name, "RECON_TEST_") || name == envRequire {
			continue
		}
		t.Setenv(name, value) // restored at the end
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		t.Setenv(name, value)
	}
}
