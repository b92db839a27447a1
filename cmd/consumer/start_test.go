package main_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	main "recon/cmd/consumer"
	"recon/internal/testkit"
)

// closedPort is an address where nobody listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Pitfall M10: whatever is away at start is waited for, then said in one sentence with its setting, exit 1; a wrong
// password the same.
func TestRealStartWithoutADependencyIsOneSentenceAndExit1(t *testing.T) {
	kafka, redis, postgres, secured := testkit.Kafka(t), testkit.Redis(t), testkit.Postgres(t), testkit.KafkaSASL(t)
	cases := []struct {
		name string
		env  []string
		want []string
	}{
		{"broker away", []string{"RECON_KAFKA_BROKERS=" + closedPort(t)}, []string{"RECON_KAFKA_BROKERS", "refused"}},
		{"redis away", []string{"RECON_REDIS_URL=redis://" + closedPort(t) + "/0"}, []string{"RECON_REDIS_URL", "refused"}},
		{"ledger away", []string{"RECON_LEDGER_URL=postgres://u:p@" + closedPort(t) + "/db"}, []string{"RECON_LEDGER_URL", "refused"}},
		{
			"wrong password of the broker",
			[]string{"RECON_KAFKA_BROKERS=" + secured.Address, "RECON_KAFKA_SASL_MECHANISM=scram-sha-512", "RECON_KAFKA_SASL_USER=" + secured.User, "RECON_KAFKA_SASL_PASSWORD=wrong"},
			[]string{"RECON_KAFKA_SASL_PASSWORD"},
		},
		{"wrong password of redis", []string{"RECON_REDIS_URL=" + withPassword(redis, "wrong")}, []string{"RECON_REDIS_URL", "WRONGPASS"}},
		{"wrong password of the ledger", []string{"RECON_LEDGER_URL=" + withPassword(postgres, "wrong")}, []string{"RECON_LEDGER_URL", "password"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			prefix := testkit.Prefix(t)
			all := append([]string{
				"RECON_KAFKA_BROKERS=" + kafka, "RECON_REDIS_URL=" + redis, "RECON_LEDGER_URL=" + postgres, "RECON_LISTEN=127.0.0.1:0",
				"RECON_TOPICS_PREFIX=" + prefix, "RECON_GROUP=" + prefix, "RECON_TIMEOUT_STARTUP=2s", "RECON_RETRY_TIERS=1s",
			}, c.env...)
			testkit.Settings(t, all...)
			if !strings.Contains(c.name, "broker") {
				testkit.CreateTopics(t, kafka, 1, nil, prefix+".main", prefix+".dlq", prefix+".dispositions", prefix+".audit", prefix+".retry.1s")
			}
			var out, errs bytes.Buffer
			if code := main.Execute([]string{"run"}, &out, &errs); code != 1 {
				t.Errorf("exit %d, want 1: %s", code, errs.String())
			}
			said := errs.String()
			for _, want := range append(c.want, "waited 2s") {
				if !strings.Contains(said, want) {
					t.Errorf("said %q, want it to name %q", said, want)
				}
			}
			if strings.Contains(said, "wrong") && strings.Contains(c.name, "wrong") && !strings.Contains(said, "wrong password") {
				t.Errorf("said %q: it shows the password", said)
			}
			if n := strings.Count(strings.TrimSpace(said), "\n"); n > 0 {
				t.Errorf("said %d lines, want one sentence:\n%s", n+1, said)
			}
		})
	}
}

var passwordOf = regexp.MustCompile(`://([^:@/]*):[^@]*@`)

func withPassword(url, password string) string {
	return passwordOf.ReplaceAllString(url, "://$1:"+password+"@")
}

func TestRealMissingTopicIsExit9WithItsName(t *testing.T) {
	p := newPlant(t, "1s,3s")
	testkit.Settings(t, append(p.env, "RECON_RETRY_TIERS=1s,3s,7s")...)
	var out, errs bytes.Buffer
	if code := main.Execute([]string{"run"}, &out, &errs); code != 9 {
		t.Errorf("exit %d, want 9", code)
	}
	if !strings.Contains(errs.String(), p.prefix+".retry.7s") || !strings.Contains(errs.String(), "consumer topics --apply") {
		t.Errorf("said %q, want the topic and what to do", errs.String())
	}
}

func TestRealTopicsApplyAndCheckOnlineAgree(t *testing.T) {
	newPlant(t, "1s,3s") // it has applied them
	var out, errs bytes.Buffer
	if code := main.Execute([]string{"topics"}, &out, &errs); code != 0 || !strings.Contains(out.String(), "nothing to do") {
		t.Errorf("topics after --apply: exit %d\n%s%s", code, out.String(), errs.String())
	}
	out.Reset()
	if code := main.Execute([]string{"check", "--online"}, &out, &errs); code != 0 {
		t.Errorf("check --online: exit %d\n%s%s", code, out.String(), errs.String())
	}
	for _, want := range []string{"kafka: ok", "dedup store: ok", "ledger: ok", "no calendar"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("check does not say %q:\n%s", want, out.String())
		}
	}
}

// Going away later: nothing is lost, ready says no, and work goes on when the dependency is back.
func TestKillAndReturnOfEachDependencyLosesNothing(t *testing.T) {
	for _, c := range []struct {
		name  string
		start func(*testing.T, *plant) *testkit.Server
	}{
		{"redis", func(t *testing.T, p *plant) *testkit.Server {
			s := testkit.StartRedis(t, "appendonly", "yes", "appendfsync", "always")
			p.set("RECON_REDIS_URL", s.Redis())
			return s
		}},
		{"postgres", func(t *testing.T, p *plant) *testkit.Server {
			s := testkit.StartPostgres(t)
			p.set("RECON_LEDGER_URL", s.Postgres())
			p.openLedger(s.Postgres())
			return s
		}},
		{"kafka", func(t *testing.T, p *plant) *testkit.Server { return p.server }},
	} {
		t.Run(c.name, func(t *testing.T) {
			var own *testkit.Server
			if c.name == "kafka" {
				own = testkit.StartKafka(t)
			}
			p := newPlantAt(t, "200ms,1s,2s", own)
			server := c.start(t, p)
			health := closedPort(t)
			p.set("RECON_LISTEN", health)
			const n = 4000
			child := testkit.Child(t, "run", "RECON_INSTANCE=one")
			until(t, "ready", func() bool { return readyz(health) == 200 })
			for _, doc := range p.load(n) {
				if err := p.ledger.PutDocument(t.Context(), doc); err != nil {
					t.Fatal(err)
				}
			}
			server.Kill()
			until(t, "not ready", func() bool { return readyz(health) == 503 })
			server.Start()
			until(t, "ready again", func() bool { return readyz(health) == 200 })
			want := n - n/100
			until(t, "all posted and committed", func() bool {
				rows, err := p.rows()
				return err == nil && rows == want && p.lag() == 0
			})
			if code := child.Stop(); code != 0 {
				t.Errorf("exit %d after a clean stop", code)
			}
			if rows, twice := p.postings(); rows != want || twice != 0 {
				t.Errorf("%d postings, %d twice, want %d and none", rows, twice, want)
			}
			if e := p.evidence(); !e.Books.Result().Closes() {
				var said bytes.Buffer
				_ = e.Books.Result().Print(&said)
				t.Errorf("the books do not close:\n%s", said.String())
			}
		})
	}
}

func readyz(address string) int {
	resp, err := http.Get("http://" + address + "/readyz?verbose")
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// until waits for a condition of processes, at most two minutes.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for limit := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("waited two minutes: %s", what)
		}
	}
}
