package recon_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// floors lists every package of the module, lowest floor first. A package imports packages of lower floors only, never one of its own floor:
// what two of them share belongs below, and what joins them above.
var floors = [][]string{
	{"", "pkg/fault", "schemas"},
	{"pkg/envelope", "pkg/broker"},
	{"pkg/audit", "pkg/dedup", "pkg/topics", "pkg/period", "examples/ingester/statement"},
	{"pkg/consumer", "pkg/replay", "pkg/ledger"},
	{"internal/observe", "internal/sandbox"},
	{"internal/config", "internal/testkit", "internal/testkit/containers"},
	{"internal/demo"},
	{"cmd/consumer", "cmd/replayer", "bench", "examples/ingester", "examples/samples"},
}

// owners names, for what only some packages may know, those packages. Tests may know everything but container clients.
var owners = map[string][]string{
	"github.com/redis/go-redis/v9":                {"pkg/dedup"},
	"database/sql":                                {"pkg/ledger"},
	"github.com/jackc/pgx/v5":                     {"pkg/ledger", testkit, "examples/samples"}, // the last makes a schema of its own
	"modernc.org/sqlite":                          {"pkg/ledger"},
	"github.com/twmb/franz-go/pkg/kfake":          {"internal/sandbox", testkit},
	"github.com/prometheus/client_golang":         {"internal/observe"},
	"github.com/testcontainers/testcontainers-go": {},
}

const (
	testkit = "internal/testkit"
	// containers may use a container client, in its tests only.
	containers = "internal/testkit/containers"
	// bottom knows the standard library only.
	bottom = "pkg/fault"
)

// listed is one package as `go list` shows it.
type listed struct {
	ImportPath                         string
	Module                             struct{ Path string }
	Imports, TestImports, XTestImports []string
}

func TestImportsGoDown(t *testing.T) {
	t.Parallel()
	packages := listPackages(t)
	if len(packages) < 3 {
		t.Fatalf("go list found %d packages, want the module's", len(packages))
	}
	for _, v := range violations(packages) {
		t.Error(v)
	}
}

// listPackages asks the go command, with the tag under which every test file is seen.
func listPackages(t *testing.T) []listed {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command("go", "list", "-tags=synctests", "-json=ImportPath,Module,Imports,TestImports,XTestImports", "./...")
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var packages []listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatalf("what go list wrote: %v", err)
		}
		packages = append(packages, p)
	}
}

// violations returns one sentence for each import that breaks the house.
func violations(packages []listed) []string {
	var found []string
	for _, p := range packages {
		module := p.Module.Path
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		if floorOf(name) < 0 {
			found = append(found, p.ImportPath+" stands on no floor: add it to layers_test.go, where its imports put it")
			continue
		}
		check := func(kind string, imports []string) {
			for _, imported := range imports {
				if v := violation(module, name, kind, imported); v != "" {
					found = append(found, v)
				}
			}
		}
		check(production, p.Imports)
		check(internalTest, p.TestImports)
		check(externalTest, p.XTestImports)
	}
	return found
}

// The kinds of file that import.
const (
	production   = "the package"
	internalTest = "its internal tests"
	externalTest = "its external tests"
)

// violation judges one import of package name; "" is a good one.
func violation(module, name, kind, imported string) string {
	own, isOwn := strings.CutPrefix(imported, module+"/")
	if !isOwn {
		return foreignViolation(name, kind, imported)
	}
	switch {
	case own == testkit && kind == externalTest, own == name && kind == externalTest:
		return ""
	case own == testkit:
		return fmt.Sprintf("%s: %s imports %s; only external tests may", name, kind, own)
	case floorOf(own) == floorOf(name):
		return fmt.Sprintf("%s: %s imports %s of the same floor", name, kind, own)
	case floorOf(own) > floorOf(name) || floorOf(own) < 0:
		return fmt.Sprintf("%s: %s imports %s, which is not below it", name, kind, own)
	}
	return ""
}

// foreignViolation judges an import from outside the module.
func foreignViolation(name, kind, imported string) string {
	if name == bottom && kind == production && strings.Contains(strings.Split(imported, "/")[0], ".") {
		return fmt.Sprintf("%s imports %s; it knows the standard library only", name, imported)
	}
	for library, allowed := range owners {
		if imported != library && !strings.HasPrefix(imported, library+"/") {
			continue
		}
		isContainer := library == "github.com/testcontainers/testcontainers-go"
		if kind != production && (!isContainer || name == containers) || slices.Contains(allowed, name) {
			continue
		}
		return fmt.Sprintf("%s: %s imports %s; only %v may", name, kind, imported, allowed)
	}
	return ""
}

// floorOf returns the floor of a package, -1 when it is not listed.
func floorOf(name string) int {
	return slices.IndexFunc(floors, func(floor []string) bool { return slices.Contains(floor, name) })
}

func TestEachBrokenRuleOfTheHouseIsFound(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, pkg, kind, imported string
		bad                       bool
	}{
		{"down", "pkg/consumer", production, "pkg/dedup", false},
		{"down two floors in a test", "pkg/consumer", externalTest, "pkg/fault", false},
		{"up", "pkg/fault", production, "pkg/envelope", true},
		{"up in an external test", "pkg/dedup", externalTest, "pkg/consumer", true},
		{"same floor", "pkg/consumer", production, "pkg/ledger", true},
		{"same floor in an internal test", "pkg/replay", internalTest, "pkg/consumer", true},
		{"same floor in an external test", "pkg/replay", externalTest, "pkg/consumer", true},
		{"itself in an external test", "pkg/replay", externalTest, "pkg/replay", false},
		{"an unlisted one", "pkg/replay", production, "pkg/util", true},
		{"testkit in an external test", "pkg/fault", externalTest, testkit, false},
		{"testkit in an internal test", "cmd/consumer", internalTest, testkit, true},
		{"testkit in a command", "cmd/consumer", production, testkit, true},
		{"Redis in dedup", "pkg/dedup", production, "!github.com/redis/go-redis/v9", false},
		{"Redis elsewhere", "pkg/replay", production, "!github.com/redis/go-redis/v9", true},
		{"SQL in ledger", "pkg/ledger", production, "!github.com/jackc/pgx/v5/pgxpool", false},
		{"SQL elsewhere", "cmd/consumer", production, "!database/sql", true},
		{"embedded broker in the sandbox", "internal/sandbox", production, "!github.com/twmb/franz-go/pkg/kfake", false},
		{"embedded broker in an external test", "pkg/topics", externalTest, "!github.com/twmb/franz-go/pkg/kfake", false},
		{"embedded broker in an internal test", "examples/ingester", internalTest, "!github.com/twmb/franz-go/pkg/kfake", false},
		{"embedded broker elsewhere", "internal/demo", production, "!github.com/twmb/franz-go/pkg/kfake", true},
		{"containers in their test", containers, externalTest, "!github.com/testcontainers/testcontainers-go/wait", false},
		{"containers in testkit", testkit, production, "!github.com/testcontainers/testcontainers-go", true},
		{"containers in another test", "pkg/dedup", externalTest, "!github.com/testcontainers/testcontainers-go", true},
		{"the taxonomy and a library", bottom, production, "!github.com/google/uuid", true},
		{"the taxonomy and the standard library", bottom, production, "!encoding/json", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			imported, foreign := strings.CutPrefix(row.imported, "!")
			if !foreign {
				imported = "m/" + imported
			}
			p := listed{ImportPath: "m/" + row.pkg, Module: struct{ Path string }{"m"}}
			switch row.kind {
			case production:
				p.Imports = []string{imported}
			case internalTest:
				p.TestImports = []string{imported}
			default:
				p.XTestImports = []string{imported}
			}
			if got := violations([]listed{p}); (len(got) > 0) != row.bad {
				t.Errorf("%s of %s imports %s: got %q, want a violation: %v", row.kind, row.pkg, imported, got, row.bad)
			}
		})
	}
	t.Run("a package without a floor", func(t *testing.T) {
		t.Parallel()
		p := listed{ImportPath: "m/pkg/util", Module: struct{ Path string }{"m"}}
		if got := violations([]listed{p}); len(got) != 1 {
			t.Errorf("got %q, want one sentence", got)
		}
	})
}
