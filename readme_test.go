package recon_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	pages "recon/internal/testkit"
)

// targets are what `make` alone prints.
func targets(t *testing.T) map[string]bool {
	t.Helper()
	out, err := exec.Command("make", "--no-print-directory", "help").CombinedOutput()
	if err != nil {
		t.Fatalf("make: %v\n%s", err, out)
	}
	found := make(map[string]bool)
	for _, m := range regexp.MustCompile(`(?m)^  make (\S+)\s+\S`).FindAllStringSubmatch(string(out), -1) {
		found[m[1]] = true
	}
	return found
}

func TestEveryTargetThatThePagesShowIsPrintedByMake(t *testing.T) {
	t.Parallel()
	printed := targets(t)
	n := 0
	for _, page := range pages.Pages(t) {
		for _, args := range page.Commands("make") {
			for _, arg := range args {
				if n++; !strings.Contains(arg, "=") && !printed[arg] {
					t.Errorf("%s shows `make %s`, which is no target that make prints", page.Name, strings.Join(args, " "))
				}
			}
		}
	}
	if n < 5 || len(printed) < 10 {
		t.Errorf("found %d targets shown and %d printed", n, len(printed))
	}
}

var link = regexp.MustCompile(`\]\(([^)#\s]+)(#[^)]*)?\)`)

func TestEveryPageThatAPageLinksToExists(t *testing.T) {
	t.Parallel()
	n := 0
	for _, page := range pages.Pages(t) {
		for _, m := range link.FindAllStringSubmatch(page.Text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			n++
			if _, err := os.Stat(filepath.Join(filepath.Dir(page.Name), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", page.Name, m[1], err)
			}
		}
	}
	if n < 3 {
		t.Errorf("found %d links, want those of README.md", n)
	}
}

// folder is a path of this module in a code span; one with a star or a place holder names many.
var folder = regexp.MustCompile("`((?:cmd|pkg|internal|docs|examples|bench|schemas|deploy)/[a-zA-Z0-9_./-]*)`")

func TestEveryFolderThatThePagesNameExists(t *testing.T) {
	t.Parallel()
	for _, page := range pages.Pages(t) {
		for _, m := range folder.FindAllStringSubmatch(page.Text, -1) {
			if _, err := os.Stat(m[1]); err != nil {
				t.Errorf("%s names %s: %v", page.Name, m[1], err)
			}
		}
	}
}
