package testkit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Server is a real server of this test's own, on ports that it keeps over restarts, so that a test may kill it. It ends with the test.
type Server struct {
	t      testing.TB
	script string
	dir    string
	facts  map[string]string
}

// StartKafka starts a broker of this test's own; settings are pairs of broker settings and values.
func StartKafka(t testing.TB, settings ...string) *Server {
	t.Helper()
	return startServer(t, "kafka", settings)
}

// StartRedis starts a Redis of this test's own. It forgets everything when killed unless told
// StartRedis(t, "appendonly", "yes", "appendfsync", "always").
func StartRedis(t testing.TB, settings ...string) *Server {
	t.Helper()
	return startServer(t, "redis", settings)
}

// StartPostgres starts a PostgreSQL of this test's own. What it acknowledged survives its kill.
func StartPostgres(t testing.TB, settings ...string) *Server {
	t.Helper()
	return startServer(t, "postgres", settings)
}

func startServer(t testing.TB, name string, settings []string) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a real " + name + ": not part of the short suite")
	}
	dir, err := os.MkdirTemp("", "recon-"+name+"-")
	if err != nil {
		t.Fatalf("a folder for %s: %v", name, err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { // PostgreSQL runs as another user
		t.Fatalf("open the folder of %s: %v", name, err)
	}
	s := &Server{t: t, script: filepath.Join(moduleRoot(), "deploy", "services", name+".sh"), dir: dir, facts: map[string]string{}}
	t.Cleanup(func() {
		s.run("stop")
		if t.Failed() {
			t.Logf("the log of this test's %s:\n%s", name, s.logTail())
		}
		_ = os.RemoveAll(dir)
	})
	s.first(settings)
	for _, line := range strings.Split(s.run("env"), "\n") {
		if key, value, ok := strings.Cut(line, "="); ok {
			s.facts[key] = value
		}
	}
	return s
}

// Kafka returns the plain listener's address of a broker.
func (s *Server) Kafka() string { return s.facts[envKafka] }

// KafkaSASL returns the secured listener of a broker.
func (s *Server) KafkaSASL() Secured {
	return Secured{
		Address: s.facts[envKafkaSASL],
		User:    s.facts[envKafkaUser], Password: s.facts[envKafkaPassword],
		Admin: s.facts[envKafkaAdmin], AdminPassword: s.facts[envKafkaAdminPw],
	}
}

// Redis returns the URL of a Redis.
func (s *Server) Redis() string { return s.facts[envRedis] }

// Postgres returns the URL of a PostgreSQL, without a schema of its own: see Schema.
func (s *Server) Postgres() string { return s.facts[envPostgres] }

// Kill ends the server with SIGKILL, as a crash does. Its data stay.
func (s *Server) Kill() { s.t.Helper(); s.run("kill") }

// Stop ends the server with SIGTERM, and after five seconds with SIGKILL. Its data stay.
func (s *Server) Stop() { s.t.Helper(); s.run("stop") }

// Start starts a server that was killed or stopped, on its old ports and data, and returns when it serves.
func (s *Server) Start() { s.t.Helper(); s.run("start") }

// Pause freezes the server: connections stay open, nothing is answered. Resume lets it go on.
func (s *Server) Pause() { s.t.Helper(); s.run("pause") }

// Resume ends a pause.
func (s *Server) Resume() { s.t.Helper(); s.run("resume") }

// notInstalled is the exit code of a script whose program is not on this machine.
const notInstalled = 69

// first starts the server for the first time. Where its program is not installed the test is skipped, or fails with
// RECON_REQUIRE_SERVICES=1.
func (s *Server) first(settings []string) {
	s.t.Helper()
	_, err := s.try("start", settings)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == notInstalled {
		missing(s.t, err.Error())
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// run calls the service's script; an error ends the test.
func (s *Server) run(verb string) string {
	s.t.Helper()
	out, err := s.try(verb, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

func (s *Server) try(verb string, settings []string) (string, error) {
	var stderr bytes.Buffer
	cmd := exec.Command(s.script, append([]string{verb, s.dir}, settings...)...)
	cmd.Stderr = &stderr
	cmd.Env = append(os.Environ(), "SERVICE_OWNER="+strconv.Itoa(os.Getpid())) // it ends with this process, however that ends
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", filepath.Base(s.script), verb, err, stderr.String())
	}
	return string(out), nil
}

func (s *Server) logTail() string {
	const most = 4000
	b, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-most):])
}
