package testkit_test

import (
	"os"
	"testing"

	"recon/internal/testkit"
)

func TestSettingsAreWhatATestSaysAndAfterItWhatTheyWere(t *testing.T) {
	t.Setenv("RECON_GROUP", "outside")
	t.Setenv("RECON_ORDER", "hash")
	t.Setenv("RECON_TEST_WAY", "stays")
	t.Run("inside", func(t *testing.T) {
		testkit.Settings(t, "RECON_GROUP=a=b")
		if got := os.Getenv("RECON_GROUP"); got != "a=b" {
			t.Errorf("RECON_GROUP is %q, want a=b", got)
		}
		if got, any := os.LookupEnv("RECON_ORDER"); any {
			t.Errorf("RECON_ORDER is %q, want none", got)
		}
		if got := os.Getenv("RECON_TEST_WAY"); got != "stays" {
			t.Errorf("RECON_TEST_WAY is %q, want what tests are told", got)
		}
	})
	for name, want := range map[string]string{"RECON_GROUP": "outside", "RECON_ORDER": "hash"} {
		if got := os.Getenv(name); got != want {
			t.Errorf("afterwards %s is %q, want %q", name, got, want)
		}
	}
}
