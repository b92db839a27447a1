package replay_test

import (
	"testing"

	"go.uber.org/goleak"

	"recon/internal/testkit"
)

func TestMain(m *testing.M) {
	testkit.MaybeRunChild(map[string]func() int{"replayer": replayer})
	goleak.VerifyTestMain(m)
}
