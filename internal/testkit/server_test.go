package testkit_test

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/internal/testkit"
)

func TestKillRedisOfOnesOwnComesBackWithWhatItWasToldToKeep(t *testing.T) {
	for _, row := range []struct {
		name     string
		settings []string
		want     string
	}{
		{"nothing kept", nil, "$-1"},
		{"every write kept", []string{"appendonly", "yes", "appendfsync", "always"}, "$1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			server := testkit.StartRedis(t, row.settings...)
			if got := redis(t, server.Redis(), "SET k v"); got != "+OK" {
				t.Fatalf("SET: got %q", got)
			}
			server.Kill()
			if _, err := net.Dial("tcp", host(t, server.Redis())); err == nil {
				t.Fatal("a killed Redis accepts a connection")
			}
			server.Start()
			if got := redis(t, server.Redis(), "GET k"); got != row.want {
				t.Errorf("GET after a kill: got %q, want %q", got, row.want)
			}
		})
	}
}

func TestKillPostgresOfOnesOwnKeepsWhatItAcknowledged(t *testing.T) {
	server := testkit.StartPostgres(t)
	address := testkit.Schema(t, server.Postgres())
	query(t, address, "create table posting as select 'kept' as note")
	server.Kill()
	server.Start()
	if got := query(t, address, "select note from posting"); got != "kept" {
		t.Errorf("after a kill: got %q, want what was committed", got)
	}
}

func TestKillKafkaOfOnesOwnServesAgainOnItsOldAddress(t *testing.T) {
	server := testkit.StartKafka(t, "message.max.bytes", "2000000")
	topic := testkit.Prefix(t)
	testkit.CreateTopics(t, server.Kafka(), 1, nil, topic)
	client := newClient(t, kgo.SeedBrokers(server.Kafka()), kgo.ConsumeTopics(topic), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()))
	produce(t, client, topic)
	server.Kill()
	server.Start()
	server.Pause()
	time.AfterFunc(time.Second, server.Resume)
	produce(t, client, topic)
	if got, want := pollOne(t, client).Offset, int64(0); got != want {
		t.Errorf("first offset: got %d, want %d", got, want)
	}
	server.Stop()
}

func TestKillOfATestEndsTheServersThatItStarted(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real Redis: not part of the short suite")
	}
	owner := testkit.Child(t, "until told")
	owner.Await("ready", patience)
	dir := filepath.Join(t.TempDir(), "redis")
	script := filepath.Join("..", "..", "deploy", "services", "redis.sh")
	start := exec.Command(script, "start", dir)
	start.Env = append(os.Environ(), fmt.Sprintf("SERVICE_OWNER=%d", owner.Pid()))
	if out, err := start.CombinedOutput(); err != nil {
		t.Fatalf("start: %v\n%s", err, out)
	}
	facts, err := exec.Command(script, "env", dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	address := host(t, strings.TrimSpace(strings.TrimPrefix(string(facts), "RECON_TEST_REDIS=")))
	serves := func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}
	if !serves() {
		t.Fatal("the Redis of a living owner does not serve")
	}
	owner.Kill()
	over := time.After(patience)
	for tick := time.Tick(50 * time.Millisecond); serves(); {
		select {
		case <-tick:
		case <-over:
			t.Fatal("the Redis of a killed owner still serves")
		}
	}
}

// redis sends one inline command and returns the answer's first line without its end.
func redis(t *testing.T, address, command string) string {
	t.Helper()
	conn, err := net.Dial("tcp", host(t, address))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(command + "\r\n")); err != nil {
		t.Fatal(err)
	}
	var answer []byte
	for one := make([]byte, 1); ; answer = append(answer, one[0]) {
		if _, err := conn.Read(one); err != nil || one[0] == '\r' {
			return string(answer)
		}
	}
}

func host(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}
