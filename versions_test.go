package recon_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// oldest holds the versions below which the promises of this module were not tried or are known to break: franz-go before 1.22.3 could hang
// in Close during a rebalance.
var oldest = map[string]string{
	"github.com/twmb/franz-go":       "v1.22.3",
	"github.com/redis/go-redis/v9":   "v9.22.0",
	"github.com/shopspring/decimal":  "v1.6.0",
	"go.opentelemetry.io/otel/trace": "v1.44.0",
}

// exact holds the versions that change only on purpose: the embedded broker is pinned to a commit.
var exact = map[string]string{
	"github.com/twmb/franz-go/pkg/kfake": "v0.0.0-20260918054303-01f206a7e32c",
}

// unwanted are libraries that this module does without; they may come along with others, never by our own import.
var unwanted = []string{"github.com/spf13/viper", "github.com/stretchr/testify", "github.com/alicebob/miniredis", "gorm.io/gorm"}

// requirement matches a line of a require block: module, version, and whether only others import it.
var requirement = regexp.MustCompile(`(?m)^\s*(?:require )?([\w.-]+\.[\w.-]+/\S+) (v\S+)( // indirect)?$`)

func TestDependenciesAreNoOlderThanTheirFloors(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), "\ngo 1.26") {
		t.Error("go.mod does not say go 1.26")
	}
	if strings.Contains(string(b), "\nreplace") {
		t.Error("go.mod replaces a module: who embeds this one would get another")
	}
	for _, v := range wrongVersions(string(b)) {
		t.Error(v)
	}
}

// wrongVersions returns one sentence for each requirement of a go.mod that breaks a rule above.
func wrongVersions(gomod string) []string {
	var found []string
	for _, m := range requirement.FindAllStringSubmatch(gomod, -1) {
		path, version, indirect := m[1], m[2], m[3] != ""
		if floor, ok := oldest[path]; ok && older(version, floor) {
			found = append(found, path+" is "+version+", older than "+floor)
		}
		if want, ok := exact[path]; ok && version != want {
			found = append(found, path+" is "+version+", not the pinned "+want)
		}
		for _, no := range unwanted {
			if !indirect && strings.HasPrefix(path, no) {
				found = append(found, path+" is imported; this module does without it")
			}
		}
	}
	return found
}

// older compares two versions by their three numbers; a pre-release is older than its release.
func older(version, floor string) bool {
	a, b := numbers(version), numbers(floor)
	for i := range a {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return strings.Contains(version, "-")
}

func numbers(version string) (n [3]int) {
	core, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), "-")
	for i, s := range strings.SplitN(core, ".", 3) {
		n[i], _ = strconv.Atoi(s)
	}
	return n
}

func TestEachWrongVersionIsFound(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		line string
		bad  bool
	}{
		{"github.com/twmb/franz-go v1.22.3", false},
		{"github.com/twmb/franz-go v1.100.0", false},
		{"github.com/twmb/franz-go v1.22.2", true},
		{"github.com/twmb/franz-go v1.22.3-rc.1", true},
		{"github.com/redis/go-redis/v9 v9.3.0", true},
		{"github.com/twmb/franz-go/pkg/kfake v0.0.0-20260918054303-01f206a7e32c", false},
		{"github.com/twmb/franz-go/pkg/kfake v0.0.0-20260101000000-000000000000", true},
		{"github.com/stretchr/testify v1.12.1", true},
		{"github.com/stretchr/testify v1.12.1 // indirect", false},
	} {
		if got := wrongVersions("require (\n\t" + row.line + "\n)\n"); (len(got) > 0) != row.bad {
			t.Errorf("%s: got %q, want a sentence: %v", row.line, got, row.bad)
		}
	}
}
