package testkit

import (
	"bufio"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// The variables that name the real services. Makefile, CI and `make services` set the same ones.
const (
	envKafka         = "RECON_TEST_KAFKA"
	envKafkaSASL     = "RECON_TEST_KAFKA_SASL"
	envKafkaUser     = "RECON_TEST_KAFKA_USER"
	envKafkaPassword = "RECON_TEST_KAFKA_PASSWORD"
	envKafkaAdmin    = "RECON_TEST_KAFKA_ADMIN"
	envKafkaAdminPw  = "RECON_TEST_KAFKA_ADMIN_PASSWORD"
	envRedis         = "RECON_TEST_REDIS"
	envPostgres      = "RECON_TEST_POSTGRES"
	// envRequire makes a missing service a failure: a suite that must be real never passes by skipping.
	envRequire = "RECON_REQUIRE_SERVICES"
	// envWay names who started the services, for the one line that says so.
	envWay = "RECON_TEST_WAY"
)

// services holds what was found, read once per test process.
type services struct {
	way   string
	facts map[string]string
}

var find = sync.OnceValue(func() services { return lookUp(os.Getenv, moduleRoot()) })

// lookUp takes the addresses from the environment when it names any, else from the file that `make services` writes at the module's root.
func lookUp(getenv func(string) string, root string) services {
	facts := map[string]string{}
	for _, key := range []string{envKafka, envKafkaSASL, envKafkaUser, envKafkaPassword, envKafkaAdmin, envKafkaAdminPw, envRedis, envPostgres} {
		if v := getenv(key); v != "" {
			facts[key] = v
		}
	}
	if len(facts) > 0 {
		way := getenv(envWay)
		if way == "" {
			way = "the environment"
		}
		return services{way: way, facts: facts}
	}
	file := filepath.Join(root, ".services", "env")
	return services{way: file, facts: readFacts(file)}
}

// readFacts reads KEY=VALUE lines; a missing file holds none.
func readFacts(file string) map[string]string {
	facts := map[string]string{}
	f, err := os.Open(file)
	if err != nil {
		return facts
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), "="); ok {
			facts[key] = value
		}
	}
	return facts
}

// moduleRoot is the folder of go.mod above the test's working directory, which is its package's folder.
func moduleRoot() string {
	dir, err := os.Getwd()
	if err != nil {
		return "."
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

// need returns the fact called key, whose address answers. A test that runs under -short, or whose service is not there, is skipped; with
// RECON_REQUIRE_SERVICES=1 a missing service is fatal.
func need(t testing.TB, name, key string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a real " + name + ": not part of the short suite")
	}
	found := find()
	fact, ok := found.facts[key]
	if !ok {
		missing(t, fmt.Sprintf("no real %s for this test: run 'make services', or set %s", name, key))
	}
	if err := answers(fact); err != nil {
		missing(t, fmt.Sprintf("%s names a %s that does not answer (%v): run 'make services', or set %s", found.way, name, err, key))
	}
	announce(found.way)
	return fact
}

// missing skips the test with one sentence, or fails it where services are required.
func missing(t testing.TB, sentence string) {
	t.Helper()
	end := t.Skip
	if os.Getenv(envRequire) != "" {
		end = t.Fatal
	}
	end(sentence)
}

// answers dials the address, which is host:port or a URL.
func answers(fact string) error {
	address := fact
	if u, err := url.Parse(fact); err == nil && u.Host != "" {
		address = u.Host
	}
	conn, err := net.DialTimeout("tcp", strings.Split(address, ",")[0], 5*time.Second)
	if err != nil {
		return err
	}
	return conn.Close()
}

var announced sync.Once

// announce says once per test process where its services come from.
func announce(way string) {
	announced.Do(func() { fmt.Printf("testkit: real services by %s\n", way) })
}
