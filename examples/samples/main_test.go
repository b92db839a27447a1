package main_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	main "recon/examples/samples"
	"recon/internal/testkit"
)

// complete is a folder with every bank file in it, each of them empty.
func complete(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, path := range main.Paths() {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestWhatIsMissingIsSaidBeforeAnythingIsDone(t *testing.T) {
	for _, name := range []string{"RECON_TEST_KAFKA", "RECON_TEST_REDIS", "RECON_TEST_POSTGRES"} {
		t.Setenv(name, "")
	}
	folder, bin := complete(t), t.TempDir()
	for _, p := range []string{"consumer", "replayer", "ingester"} {
		if err := os.WriteFile(filepath.Join(bin, p), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	services := []string{"--kafka=127.0.0.1:1", "--redis=redis://127.0.0.1:1", "--postgres=postgres://127.0.0.1:1/x"}
	less := complete(t)
	if err := os.Remove(filepath.Join(less, "moov-bai2", "sample3.txt")); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name  string
		args  []string
		code  int
		lines int
		says  []string
	}{
		{"no folder", append(services, "--bin="+bin, "--samples=/nowhere/at/all"), 2, 1, []string{"there is no folder /nowhere/at/all", "--samples DIR"}},
		{"no folder, but a file", append(services, "--bin="+bin, "--samples="+filepath.Join(bin, "consumer")), 2, 1, []string{"there is no folder"}},
		{"a file less", append(services, "--bin="+bin, "--samples="+less), 2, 1, []string{"moov-bai2/sample3.txt is missing"}},
		{"no programs", append(services, "--bin=/nowhere", "--samples="+folder), 2, 3, []string{"/nowhere/consumer", "/nowhere/replayer", "/nowhere/ingester", "make samples"}},
		{"no services", []string{"--bin=" + bin, "--samples=" + folder}, 2, 3, []string{"RECON_TEST_KAFKA", "RECON_TEST_REDIS", "RECON_TEST_POSTGRES"}},
		{"everything at once", []string{"--bin=/nowhere", "--samples=/nowhere"}, 2, 7, []string{"no folder", "RECON_TEST_REDIS", "/nowhere/replayer"}},
	} {
		var out, diag bytes.Buffer
		code := main.Execute(t.Context(), row.args, &out, &diag)
		if code != row.code || out.Len() > 0 || strings.Count(diag.String(), "\n") != row.lines {
			t.Errorf("%s: got exit %d, %q and\n%s", row.name, code, out.String(), diag.String())
		}
		for _, words := range row.says {
			if !strings.Contains(diag.String(), words) {
				t.Errorf("%s: got %q, want it to say %q", row.name, diag.String(), words)
			}
		}
	}
}

func TestFlagsThatDoNotExistAreUsageAndHelpIsNot(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]int{"--nonsense": 2, "--help": 0} {
		var out, diag bytes.Buffer
		if code := main.Execute(t.Context(), []string{arg}, &out, &diag); code != want || !strings.Contains(diag.String(), "-samples") {
			t.Errorf("%s: got exit %d and %q, want %d and the flags", arg, code, diag.String(), want)
		}
	}
}

// A run shares the services with others: it is told to use nothing but its own, and leaves nothing behind.
func TestRealRunHasAPlaceOfItsOwnAndTakesItAway(t *testing.T) {
	kafka, redis, postgres := testkit.Kafka(t), testkit.Redis(t), testkit.Postgres(t)
	t.Setenv("RECON_GROUP", "somebody-elses")
	s, err := main.OpenSite(t.Context(), kafka, redis, postgres)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"RECON_TOPICS_PREFIX=" + s.Name(), "RECON_GROUP=" + s.Name(), "RECON_KAFKA_BROKERS=" + kafka, "RECON_REDIS_URL=" + redis} {
		if !slices.Contains(s.Env(), want) {
			t.Errorf("the programs are not told %s", want)
		}
	}
	if slices.Contains(s.Env(), "RECON_GROUP=somebody-elses") {
		t.Error("the programs are told what the caller's environment says")
	}
	if err := s.PutCurrency(t.Context(), "EUR"); err != nil {
		t.Error(err)
	}
	if err := s.SQL(t.Context(), "INSERT INTO "+s.Schema()+".currencies VALUES ('USD')"); err != nil {
		t.Errorf("the ledger's tables are not in the run's schema: %v", err)
	}
	if got := topicsOf(t, kafka, s.Name()); !slices.Equal(got, []string{s.Name() + ".main"}) {
		t.Errorf("got topics %v, want main", got)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.SQL(t.Context(), "CREATE SCHEMA "+s.Schema()); err != nil {
		t.Errorf("the schema is still there: %v", err)
	} else if err := s.SQL(t.Context(), "DROP SCHEMA "+s.Schema()); err != nil {
		t.Error(err)
	}
	if got := topicsOf(t, kafka, s.Name()); len(got) != 0 {
		t.Errorf("got topics %v, want none", got)
	}
	if _, err := os.Stat(s.Folder()); !os.IsNotExist(err) {
		t.Errorf("the scratch folder: got %v, want none", err)
	}
}

func topicsOf(t *testing.T, kafka, prefix string) []string {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(kafka))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	all, err := kadm.NewClient(cl).ListTopics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all.Names(), func(n string) bool { return !strings.HasPrefix(n, prefix+".") })
}
