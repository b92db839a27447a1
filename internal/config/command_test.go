package config_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"recon/internal/config"
	"recon/internal/testkit"
)

// tool is a command line with one command.
type tool struct {
	config.Flags
	Go goCmd `cmd:"" help:"Go."`
}

type goCmd struct {
	Boom boom `help:"Panic."`
}

// boom is a flag that panics when it is read.
type boom bool

func (b boom) AfterApply() error {
	if b {
		panic("boom")
	}
	return nil
}

func parse(t *testing.T, args ...string) (e *config.Effective, ok bool, out string, err error) {
	t.Helper()
	var g tool
	var printed bytes.Buffer
	_, e, ok, err = config.Parse("tool", "about", &g, &g.Flags, args, &printed)
	return e, ok, printed.String(), err
}

func TestHelpIsPrintedAndNothingElseHappens(t *testing.T) {
	testkit.Settings(t)
	t.Setenv("RECON_CONCURRENCY", "many") // would be a mistake
	e, ok, out, err := parse(t, "--help")
	if e != nil || ok || err != nil || !strings.Contains(out, "--kafka-brokers") {
		t.Errorf("settings %v, ok %v, %v, printed %q", e, ok, err, out)
	}
}

func TestMistakesOfFlagsAndOfSettingsAreUsageErrors(t *testing.T) {
	testkit.Settings(t)
	for _, c := range []struct {
		name, env string
		args      []string
		want      string
	}{
		{"flag", "1", []string{"go", "--nonsense"}, "`tool --help`"},
		{"command", "1", []string{"og"}, "og"},
		{"setting", "many", []string{"go"}, "concurrency (environment)"},
		{"file", "1", []string{"go", "--config=" + filepath.Join(t.TempDir(), "away.yaml")}, "configuration file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("RECON_CONCURRENCY", c.env)
			_, ok, _, err := parse(t, c.args...)
			var usage *config.UsageError
			if ok || !errors.As(err, &usage) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("ok %v, %v, want a usage error with %q", ok, err, c.want)
			}
			if usage != nil && errors.Unwrap(usage) != usage.Err {
				t.Error("the mistake cannot be unwrapped")
			}
		})
	}
}

func TestCommandLineBeatsEnvironmentBeatsItsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "recon.yaml")
	if err := os.WriteFile(file, []byte("group: file\ninstance: file\norder: none\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	testkit.Settings(t)
	t.Setenv("RECON_GROUP", "environment")
	t.Setenv("RECON_INSTANCE", "environment")
	e, ok, _, err := parse(t, "go", "--config="+file, "--group=flag", "--kafka-tls-enabled")
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	for path, want := range map[string]string{"group": "flag", "instance": "environment", "order": "file", "listen": "default", "kafka.tls.enabled": "flag"} {
		if l := lines(e)[path]; l.From != want || want != "default" && path != "order" && path != "kafka.tls.enabled" && l.Value != want {
			t.Errorf("%s is %q from %s, want it from %s", path, l.Value, l.From, want)
		}
	}
	if !e.Kafka.TLS.Enabled || e.Order != "none" {
		t.Errorf("typed: TLS %v, order %s", e.Kafka.TLS.Enabled, e.Order)
	}
}

func TestPanicIsNotTakenForHelp(t *testing.T) {
	testkit.Settings(t)
	defer func() {
		if r := recover(); r != "boom" {
			t.Errorf("Parse ended with panic %v, want that of the command", r)
		}
	}()
	_, _, _, err := parse(t, "go", "--boom")
	t.Errorf("Parse returned %v", err)
}

func TestGrammarThatIsNoneIsNoMistakeOfTheUser(t *testing.T) {
	var out bytes.Buffer
	_, _, ok, err := config.Parse("tool", "about", tool{}, &config.Flags{}, nil, &out)
	var usage *config.UsageError
	if ok || err == nil || errors.As(err, &usage) || !strings.Contains(err.Error(), "grammar of tool") {
		t.Errorf("ok %v, %v, want an error about the grammar of tool", ok, err)
	}
}

// A default that help names is the one in force.
func TestHelpNamesEachDefault(t *testing.T) {
	testkit.Settings(t)
	_, _, out, err := parse(t, "--help")
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Join(strings.Fields(out), " ")
	e, err := config.Load(config.Source{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, l := range e.Lines() {
		flag := "--" + strings.NewReplacer(".", "-", "_", "-").Replace(l.Path)
		_, help, ok := strings.Cut(said, " "+flag+"=")
		if !ok || l.Value == "" || l.Value == "0" || l.From != "default" {
			continue
		}
		n++
		if help, _, _ = strings.Cut(help, " --"); !strings.Contains(help, "Default: "+l.Value+".") {
			t.Errorf("%s: help says %q, want the default %s", flag, help, l.Value)
		}
	}
	if n < 15 || strings.Contains(said, "…,") {
		t.Errorf("%d defaults checked; help:\n%s", n, out)
	}
}
