package main_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	main "recon/examples/ingester"
	"recon/examples/ingester/statement"
)

// TestMain is the command itself where a test asks for the exit code of the built binary.
func TestMain(m *testing.M) {
	if os.Getenv("RECON_TEST_INGESTER") != "" {
		main.Main()
	}
	os.Exit(m.Run())
}

// files writes embedded bank files into a folder of their own.
func files(t *testing.T, names ...string) []string {
	t.Helper()
	dir := t.TempDir()
	var paths []string
	for _, name := range names {
		b, err := statement.Testdata.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, write(t, dir, name, string(b)))
	}
	return paths
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// cluster is an embedded broker with the topic recon.main.
func cluster(t *testing.T) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(6, "recon.main"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// invoke runs the command in this process.
func invoke(t *testing.T, args ...string) (code int, out, diag string) {
	t.Helper()
	var o, d bytes.Buffer
	code = main.Run(t.Context(), args, &o, &d)
	return code, o.String(), d.String()
}

// consumed reads n records of recon.main.
func consumed(t *testing.T, c *kfake.Cluster, n int) []*kgo.Record {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.ConsumeTopics("recon.main"))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var got []*kgo.Record
	for len(got) < n && ctx.Err() == nil {
		got = append(got, cl.PollFetches(ctx).Records()...)
	}
	if len(got) != n {
		t.Fatalf("got %d records, want %d", len(got), n)
	}
	return got
}

func TestEveryRecordIsSentUnderItsEntityWithItsTotals(t *testing.T) {
	c := cluster(t)
	var all, others atomic.Int32
	c.ControlKey(kmsg.Produce.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if req.(*kmsg.ProduceRequest).Acks == -1 {
			all.Add(1)
		} else {
			others.Add(1)
		}
		return nil, nil, false
	})
	args := append([]string{"--brokers", strings.Join(c.ListenAddrs(), ","), "--entity", "NORDWIND-DE"},
		files(t, "camt053.xml", "mt940.sta", "card.csv")...)
	code, out, diag := invoke(t, args...)
	want := `camt053.xml: camt.053, 5 records, 1 left out because they are not booked, foots (7 control figures)
mt940.sta: mt940, 4 records, foots (1 control figures)
card.csv: csv, 9 records, no control figures
records 18 = sent 17 + sent-raw 1
EUR debit 2291.095 credit 3846.70 net 1555.605 and 1 unreadable
SEK debit 0.00 credit 310.00 net 310.00
USD debit 89.00 credit 0.00 net -89.00
`
	if code != 0 || out != want || diag != "" {
		t.Fatalf("exit %d\n%s%s\nwant\n%s", code, out, diag, want)
	}
	raw := 0
	for _, r := range consumed(t, c, 18) {
		if string(r.Key) != "NORDWIND-DE" {
			t.Errorf("key %q", r.Key)
		}
		if string(r.Value) == `CC-3006,2026-11-27,"-15.00,EUR,Parking` {
			raw++
		}
	}
	if raw != 1 {
		t.Errorf("got %d raw lines byte for byte, want 1", raw)
	}
	if all.Load() == 0 || others.Load() > 0 {
		t.Errorf("%d produce requests with acks=all, %d without", all.Load(), others.Load())
	}
}

func TestOneBadFileAndNothingIsSent(t *testing.T) {
	c := cluster(t)
	paths := files(t, "mt940.sta", "payroll.ach")
	bad := write(t, t.TempDir(), "bad.sta", strings.Replace(read(t, paths[0]), "EUR7230,00", "EUR7230,01", 1))
	notes := write(t, t.TempDir(), "notes.txt", "Dear Sir")
	code, out, diag := invoke(t, append([]string{"--brokers", c.ListenAddrs()[0]}, append(paths, bad, notes)...)...)
	if code != 2 || out != "" || strings.Count(diag, "\n") != 2 {
		t.Errorf("exit %d, %q, %q", code, out, diag)
	}
	for _, part := range []string{"bad.sta does not foot", "7230.01 EUR", "7230.00 EUR", "notes.txt is no bank file"} {
		if !strings.Contains(diag, part) {
			t.Errorf("%q does not say %q", diag, part)
		}
	}
	if code, out, _ := invoke(t, "--brokers", c.ListenAddrs()[0], "--accept-unbalanced", bad); code != 0 ||
		!strings.Contains(out, "accepted although it does not foot:\n  statement 1: closing balance") {
		t.Errorf("accepted: exit %d, %s", code, out)
	}
	consumed(t, c, 4) // the accepted one alone
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestDryRunNeedsNoKafka(t *testing.T) {
	code, out, diag := invoke(t, append([]string{"--dry-run"}, files(t, "payroll.ach")...)...)
	if code != 0 || !strings.Contains(out, "nothing was sent") || !strings.HasSuffix(out, "USD debit 2599.00 credit 5700.00 net 3101.00\n") {
		t.Errorf("exit %d, %s%s", code, out, diag)
	}
}

func TestUsageIsExit2InOneSentence(t *testing.T) {
	ach := files(t, "payroll.ach")[0]
	for _, row := range []struct {
		args []string
		says string
	}{
		{nil, "FILE"},
		{[]string{"--nonsense", ach}, "--nonsense"},
		{[]string{ach}, "--brokers (RECON_KAFKA_BROKERS) is empty"},
		{[]string{"--dry-run", "--level", "both", ach}, `level "both"`},
		{[]string{"--dry-run", "--match-decision", "x", ach}, `match decision "x"`},
		{[]string{"--dry-run", "--currency", "euro", ach}, `currency "euro"`},
		{[]string{"--dry-run", filepath.Join(t.TempDir(), "absent")}, "no such file"},
		{[]string{"--dry-run", t.TempDir()}, "directory"},
		{[]string{"--dry-run", files(t, "card.csv")[0]}, "give --entity"},
		{[]string{"--brokers", "http://x", ach}, "is a URL or a path"},
	} {
		t.Setenv("RECON_KAFKA_BROKERS", "")
		code, _, diag := invoke(t, row.args...)
		if code != 2 || !strings.Contains(diag, row.says) || strings.Count(diag, "\n") != 1 {
			t.Errorf("%v: exit %d, %q", row.args, code, diag)
		}
	}
	if code, out, _ := invoke(t, "--help"); code != 0 || !strings.Contains(out, "--accept-unbalanced") {
		t.Errorf("--help: exit %d, %s", code, out)
	}
}

func TestKafkaAwayIsExit1InOneSentence(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close() // nobody listens there now
	code, _, diag := invoke(t, append([]string{"--brokers", addr, "--timeout", "300ms"}, files(t, "payroll.ach")...)...)
	if code != 1 || !strings.Contains(diag, "nothing was sent") || !strings.Contains(diag, addr) || strings.Count(diag, "\n") != 1 {
		t.Errorf("exit %d, %q", code, diag)
	}
}

func TestWhatTheBrokerRefusesIsExit1WithTheCount(t *testing.T) {
	c := cluster(t)
	c.ControlKey(kmsg.Produce.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		resp := req.ResponseKind().(*kmsg.ProduceResponse)
		for _, topic := range req.(*kmsg.ProduceRequest).Topics {
			out := kmsg.NewProduceResponseTopic()
			out.Topic, out.TopicID = topic.Topic, topic.TopicID
			for _, p := range topic.Partitions {
				part := kmsg.NewProduceResponseTopicPartition()
				part.Partition, part.ErrorCode = p.Partition, kerr.TopicAuthorizationFailed.Code
				out.Partitions = append(out.Partitions, part)
			}
			resp.Topics = append(resp.Topics, out)
		}
		return resp, nil, true
	})
	code, out, diag := invoke(t, append([]string{"--brokers", c.ListenAddrs()[0], "--timeout", "5s"}, files(t, "payroll.ach")...)...)
	if code != 1 || strings.Contains(out, "records ") || !strings.Contains(diag, "recon.main took 0 of 4 records") || strings.Count(diag, "\n") != 1 {
		t.Errorf("exit %d, %q, %q", code, out, diag)
	}
	code, _, diag = invoke(t, append([]string{"--brokers", c.ListenAddrs()[0], "--timeout", "5s", "--topic", "absent"}, files(t, "payroll.ach")...)...)
	if code != 1 || !strings.Contains(diag, "absent took 0 of 4 records") {
		t.Errorf("absent topic: exit %d, %q", code, diag)
	}
}

func TestInterruptedBeforeKafkaAnswersSendsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, diag bytes.Buffer
	code := main.Run(ctx, append([]string{"--brokers", "127.0.0.1:1"}, files(t, "payroll.ach")...), &out, &diag)
	if code != 1 || !strings.Contains(diag.String(), "nothing was sent") {
		t.Errorf("exit %d, %q", code, diag.String())
	}
}

func TestBuiltBinaryExitsWithItsCode(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	notes := write(t, t.TempDir(), "notes.txt", "Dear Sir")
	for _, row := range []struct {
		args []string
		want int
	}{
		{append([]string{"--dry-run"}, files(t, "payroll.ach")...), 0},
		{[]string{"--dry-run", notes}, 2},
		{append([]string{"--brokers", "127.0.0.1:1", "--timeout", "100ms"}, files(t, "payroll.ach")...), 1},
	} {
		cmd := exec.CommandContext(t.Context(), self, row.args...)
		cmd.Env = append(os.Environ(), "RECON_TEST_INGESTER=1")
		text, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != row.want {
			t.Errorf("%v: exit %d, want %d: %s", row.args, got, row.want, text)
		}
	}
}

func TestBrokersComeFromTheEnvironmentToo(t *testing.T) {
	c := cluster(t)
	t.Setenv("RECON_KAFKA_BROKERS", c.ListenAddrs()[0])
	if code, _, diag := invoke(t, files(t, "bai2.txt")...); code != 0 {
		t.Errorf("exit %d, %s", code, diag)
	}
	consumed(t, c, 5)
}

func TestOneAccountsRecordsKeepTheirOrder(t *testing.T) {
	c := cluster(t)
	var rows strings.Builder
	rows.WriteString("id,date,amount,currency\n")
	for i := range 2000 {
		fmt.Fprintf(&rows, "R-%04d,2026-11-27,1.00,EUR\n", i)
	}
	path := write(t, t.TempDir(), "many.csv", rows.String())
	if code, _, diag := invoke(t, "--brokers", c.ListenAddrs()[0], "--entity", "ACME", path); code != 0 {
		t.Fatalf("exit %d, %s", code, diag)
	}
	partition := int32(-1)
	for i, r := range consumed(t, c, 2000) {
		if want := fmt.Sprintf(`"reference":"R-%04d"`, i); !strings.Contains(string(r.Value), want) {
			t.Fatalf("record %d is %s, want %s", i, r.Value, want)
		}
		if partition >= 0 && r.Partition != partition {
			t.Fatal("one key lies in two partitions")
		}
		partition = r.Partition
	}
}

func TestTwoIngestionsSendTheSameBytes(t *testing.T) {
	c := cluster(t)
	args := append([]string{"--brokers", c.ListenAddrs()[0]}, files(t, "payroll.ach", "camt053.xml")...)
	for range 2 {
		if code, _, diag := invoke(t, args...); code != 0 {
			t.Fatalf("exit %d, %s", code, diag)
		}
	}
	seen := make(map[string]int)
	for _, r := range consumed(t, c, 18) {
		seen[string(r.Value)]++
	}
	for value, n := range seen {
		if n != 2 {
			t.Errorf("%s came %d times, want 2", value, n)
		}
	}
}

func TestABrokerThatFallsSilentIsNotWaitedForForEver(t *testing.T) {
	c := cluster(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c.ControlKey(kmsg.Produce.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
		cancel() // the person gives up while the first request is under way
		return nil, errors.New("connection lost"), true
	})
	var out, diag bytes.Buffer
	code := main.Run(ctx, append([]string{"--brokers", c.ListenAddrs()[0]}, files(t, "payroll.ach")...), &out, &diag)
	if code != 1 || !strings.Contains(diag.String(), "recon.main took 0 of 4 records") || strings.Contains(out.String(), "records 4 =") {
		t.Errorf("exit %d, %q, %q", code, out.String(), diag.String())
	}
}

func TestIntradayAndLevelReachTheReader(t *testing.T) {
	notice := strings.NewReplacer("BkToCstmrStmt", "BkToCstmrDbtCdtNtfctn", "<Stmt>", "<Ntfctn>", "</Stmt>", "</Ntfctn>").
		Replace(read(t, files(t, "camt053.xml")[0]))
	path := write(t, t.TempDir(), "notice.xml", notice)
	if code, _, diag := invoke(t, "--dry-run", path); code != 2 || !strings.Contains(diag, "--intraday") {
		t.Errorf("without --intraday: exit %d, %s", code, diag)
	}
	code, out, diag := invoke(t, "--dry-run", "--intraday", "--level", "detail", path)
	if code != 0 || !strings.Contains(out, "records 7 = sent 7 + sent-raw 0\n") {
		t.Errorf("exit %d, %s%s", code, out, diag)
	}
}

func TestPrefixComesFromTheEnvironmentAndATopicThatIsNamedWins(t *testing.T) {
	c := cluster(t)
	t.Setenv("RECON_TOPICS_PREFIX", "eu")
	args := append([]string{"--brokers", c.ListenAddrs()[0], "--timeout", "1s"}, files(t, "bai2.txt")...)
	code, _, diag := invoke(t, args...)
	if code != 1 || !strings.Contains(diag, "eu.main took 0 of 5 records: there is no such topic: create it") || !strings.Contains(diag, "RECON_TOPICS_PREFIX") {
		t.Errorf("exit %d, %q, want the topic and what to do", code, diag)
	}
	for _, explicit := range [][]string{{"--topic", "recon.main"}, {"--topics-prefix", "recon"}} {
		if code, _, diag := invoke(t, append(explicit, args...)...); code != 0 {
			t.Errorf("%v: exit %d, %s", explicit, code, diag)
		}
	}
	consumed(t, c, 10)
}

func TestOutputThatIsLostIsExit1AndNothingIsSent(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	c := cluster(t)
	for _, how := range [][]string{{"--dry-run"}, {"--brokers", c.ListenAddrs()[0]}} {
		var diag bytes.Buffer
		code := main.Run(t.Context(), append(how, files(t, "bai2.txt")...), full, &diag)
		if code != 1 || !strings.Contains(diag.String(), "output: ") || !strings.Contains(diag.String(), "nothing was sent") {
			t.Errorf("%v: exit %d, %q", how, code, diag.String())
		}
	}
}
