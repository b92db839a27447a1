package testkit

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAddressesComeFromTheEnvironmentElseFromTheServicesFile(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, ".services", "env")
	if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	lines := "RECON_TEST_REDIS=redis://file:1/0\nnot a fact\nRECON_TEST_POSTGRES=postgres://file:2/recon?sslmode=disable\n"
	if err := os.WriteFile(file, []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name      string
		env       map[string]string
		root      string
		way       string
		redis, pg string
	}{
		{"file", nil, root, file, "redis://file:1/0", "postgres://file:2/recon?sslmode=disable"},
		{"neither", nil, t.TempDir(), "", "", ""},
		{"environment alone", map[string]string{envRedis: "redis://env:3/0"}, root, "the environment", "redis://env:3/0", ""},
		{"environment that says its way", map[string]string{envRedis: "redis://env:3/0", envWay: "containers"}, root, "containers", "redis://env:3/0", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := lookUp(func(key string) string { return row.env[key] }, row.root)
			if row.way != "" && got.way != row.way {
				t.Errorf("way: got %q, want %q", got.way, row.way)
			}
			if got.facts[envRedis] != row.redis || got.facts[envPostgres] != row.pg {
				t.Errorf("got Redis %q and PostgreSQL %q, want %q and %q", got.facts[envRedis], got.facts[envPostgres], row.redis, row.pg)
			}
		})
	}
}

func TestAddressAnswersWhenSomethingListensThere(t *testing.T) {
	listening, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listening.Close()
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	there, away := listening.Addr().String(), gone.Addr().String()
	for _, row := range []struct {
		fact string
		ok   bool
	}{
		{there, true},
		{there + "," + away, true},
		{"redis://user:secret@" + there + "/0", true},
		{"postgres://user:secret@" + there + "/recon?sslmode=disable", true},
		{away, false},
		{"redis://" + away + "/0", false},
		{"", false},
	} {
		if err := answers(row.fact); (err == nil) != row.ok {
			t.Errorf("%s: got %v, want an answer: %v", row.fact, err, row.ok)
		}
	}
}

// fakeTB records how a test would have ended.
type fakeTB struct {
	testing.TB
	ended string
}

func (f *fakeTB) Helper()        {}
func (f *fakeTB) Skip(a ...any)  { f.ended = "skipped: " + a[0].(string) }
func (f *fakeTB) Fatal(a ...any) { f.ended = "failed: " + a[0].(string) }

func TestMissingServiceSkipsUnlessServicesAreRequired(t *testing.T) {
	for _, row := range []struct{ required, want string }{
		{"", "skipped: no Redis"},
		{"1", "failed: no Redis"},
	} {
		t.Setenv(envRequire, row.required)
		tb := &fakeTB{TB: t}
		missing(tb, "no Redis")
		if tb.ended != row.want {
			t.Errorf("%s=%q: got %q, want %q", envRequire, row.required, tb.ended, row.want)
		}
	}
}

func TestModuleRootHoldsGoMod(t *testing.T) {
	root := moduleRoot()
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Errorf("got %s: %v", root, err)
	}
	if got, want := readable("TestReal/With SPACES_and.dots-"), "real-with-spaces-and-dots"; !strings.HasPrefix(got, want) {
		t.Errorf("a readable name: got %q, want %q", got, want)
	}
}
