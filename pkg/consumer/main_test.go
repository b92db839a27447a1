package consumer_test

import (
	"testing"

	"go.uber.org/goleak"
)

// Whatever an engine starts has ended when its Run has returned, in every test of this package.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
