package testkit

import "testing"

// Redis returns the URL of a real Redis, shared by all tests of a run, or skips the test. Keep to keys under Prefix and never flush.
// The URL carries the test user and its password: another password is refused by the server.
func Redis(t testing.TB) string {
	t.Helper()
	return need(t, "Redis", envRedis)
}
