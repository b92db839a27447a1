package main_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	main "recon/examples/ingester"
)

// What is wrong with a flag is said once, before a file is opened, and not for each file.
func TestMistakeInAFlagIsSaidOnceHoweverManyFilesThereAre(t *testing.T) {
	paths := append(files(t, "payroll.ach", "mt940.sta"), filepath.Join(t.TempDir(), "absent"))
	code, _, diag := invoke(t, append([]string{"--dry-run", "--level", "both"}, paths...)...)
	if code != 2 || strings.Count(diag, `level "both"`) != 1 || strings.Contains(diag, "absent") {
		t.Errorf("exit %d, %q, want the level named once", code, diag)
	}
}

// An entry that names no account goes without a key, wherever there is room, and not under the empty key, which would put
// all such entries in one partition.
func TestRecordWithoutAnEntityHasNoKey(t *testing.T) {
	c := cluster(t)
	lines := strings.Split(read(t, files(t, "payroll.ach")[0]), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "6") {
			lines[i] = l[:12] + strings.Repeat(" ", 17) + l[29:] // the account's number
			break
		}
	}
	path := write(t, t.TempDir(), "odd.ach", strings.Join(lines, "\n"))
	if code, _, diag := invoke(t, "--brokers", c.ListenAddrs()[0], path); code != 0 {
		t.Fatalf("exit %d, %s", code, diag)
	}
	without := 0
	for _, r := range consumed(t, c, 4) {
		switch {
		case r.Key == nil:
			without++
		case len(r.Key) == 0:
			t.Errorf("%s has the empty key", r.Value)
		}
	}
	if without != 1 {
		t.Errorf("%d records without a key, want the one of no account", without)
	}
}

func TestRecordsGoToTheTopicThatIsNamed(t *testing.T) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "recon.main", "mine"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if code, _, diag := invoke(t, append([]string{"--brokers", c.ListenAddrs()[0], "--topic", "mine"}, files(t, "payroll.ach")...)...); code != 0 {
		t.Fatalf("exit %d, %s", code, diag)
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.ConsumeTopics("recon.main", "mine"))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for n := 0; n < 4; {
		fetches := cl.PollFetches(ctx)
		if ctx.Err() != nil {
			t.Fatalf("%d records, want 4", n)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if n++; r.Topic != "mine" {
				t.Errorf("a record is on %s", r.Topic)
			}
		})
	}
}

// answer is a broker's word on every partition of a request to produce, each with the next code.
func answer(req kmsg.Request, next func() *kerr.Error) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.ProduceResponse)
	for _, topic := range req.(*kmsg.ProduceRequest).Topics {
		out := kmsg.NewProduceResponseTopic()
		out.Topic, out.TopicID = topic.Topic, topic.TopicID
		for _, p := range topic.Partitions {
			part := kmsg.NewProduceResponseTopicPartition()
			part.Partition, part.ErrorCode = p.Partition, next().Code
			out.Partitions = append(out.Partitions, part)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

// The first reason is the cause; those after it are often its consequences.
func TestFirstOfSeveralRefusalsIsTheOneThatIsTold(t *testing.T) {
	c := cluster(t)
	var answers atomic.Int32
	c.ControlKey(kmsg.Produce.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		return answer(req, func() *kerr.Error {
			if answers.Add(1) == 1 {
				return kerr.TopicAuthorizationFailed
			}
			return kerr.InvalidRecord
		}), nil, true
	})
	code, _, diag := invoke(t, append([]string{"--brokers", c.ListenAddrs()[0], "--timeout", "5s"}, files(t, "payroll.ach", "bai2.txt", "mt940.sta")...)...)
	if answers.Load() < 2 {
		t.Fatalf("%d answers, want those of two partitions", answers.Load())
	}
	if code != 1 || !strings.Contains(diag, kerr.TopicAuthorizationFailed.Message) || strings.Contains(diag, kerr.InvalidRecord.Message) {
		t.Errorf("exit %d, %q, want %s alone", code, diag, kerr.TopicAuthorizationFailed.Message)
	}
}

// Kafka's errors that pass are tried again, and so is a lost connection, but not for ever: --timeout, of a second at
// least, ends it.
func TestBrokerThatNeverTakesARecordEndsWithTheTimeout(t *testing.T) {
	for _, row := range []struct {
		name, timeout string
		respond       func(kmsg.Request) (kmsg.Response, error)
	}{
		{"refuses for now", "100ms", func(req kmsg.Request) (kmsg.Response, error) {
			return answer(req, func() *kerr.Error { return kerr.NotEnoughReplicas }), nil
		}},
		{"hangs up", "1s", func(kmsg.Request) (kmsg.Response, error) { return nil, errors.New("connection lost") }},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c := cluster(t)
			c.ControlKey(kmsg.Produce.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
				c.KeepControl()
				resp, err := row.respond(req)
				return resp, err, true
			})
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // its end is no part of what is wanted
			defer cancel()
			var out, diag bytes.Buffer
			code := main.Run(ctx, append([]string{"--brokers", c.ListenAddrs()[0], "--timeout", row.timeout}, files(t, "payroll.ach")...), &out, &diag)
			if code != 1 || ctx.Err() != nil || !strings.Contains(diag.String(), "recon.main took 0 of 4 records") {
				t.Errorf("exit %d, the caller's end %v, %q", code, ctx.Err(), diag.String())
			}
		})
	}
}

// What is sent meanwhile is waited for; a signal ends the wait with a word and an exit code, and does not cut it off.
func TestSignalEndsTheBinaryWithAWord(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		silent, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
		cmd := exec.CommandContext(t.Context(), self, append([]string{"--brokers", silent.Addr().String()}, files(t, "payroll.ach")...)...)
		cmd.Env = append(os.Environ(), "RECON_TEST_INGESTER=1")
		var text bytes.Buffer
		cmd.Stdout, cmd.Stderr = &text, &text
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		conn, err := silent.Accept()
		if err == nil {
			_, err = bufio.NewReader(conn).ReadByte() // it asks, so it listens for signals
			defer conn.Close()
		}
		if err := errors.Join(err, cmd.Process.Signal(sig)); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(text.String(), "nothing was sent") {
			t.Errorf("%s: exit %d, %q, want 1 and that nothing was sent", sig, code, text.String())
		}
	}
}
