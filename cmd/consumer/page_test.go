package main_test

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	main "recon/cmd/consumer"
	"recon/internal/testkit"
	"recon/pkg/ledger"
)

// single is the configuration of a broker in this process that has main alone, of a ledger file, and of a store that is away.
func single(t *testing.T) []string {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(3, "recon.main"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return []string{
		"RECON_KAFKA_BROKERS=" + c.ListenAddrs()[0], "RECON_REDIS_URL=redis://" + closedPort(t) + "/0",
		"RECON_LEDGER_URL=sqlite:" + t.TempDir() + "/ledger.db", "RECON_RETRY_TIERS=1s,3s",
	}
}

// What could not be written, nobody has read: that is no success.
func TestOutputThatIsLostIsSaidWithExit1(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	t.Setenv("TMPDIR", t.TempDir())
	env := single(t)
	for _, args := range [][]string{{"--help"}, {"version"}, {"config"}, {"check"}, {"topics"}, {"demo"}} {
		testkit.Settings(t, env...)
		var errs bytes.Buffer
		code := main.Execute(args, full, &errs)
		if code != 1 || !strings.HasPrefix(errs.String(), "consumer: output: ") || !strings.Contains(errs.String(), "no space left") {
			t.Errorf("%v: exit %d, %q", args, code, errs.String())
		}
	}
	left(t, os.Getenv("TMPDIR"))
}

// left wants a folder empty.
func left(t *testing.T, dir string) {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil || len(found) > 0 {
		t.Errorf("left behind: %v, %v", found, err)
	}
}

func TestDemoWhoseReaderLeavesTidiesUp(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	testkit.Settings(t)
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), "RECON_TEST_CHILD=demo", "TMPDIR="+dir)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdin, err := cmd.StdinPipe() // the child ends with it
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Errorf("the first line: %q, %v", line, err)
	}
	_ = out.Close()
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(errs.String(), syscall.EPIPE.Error()) {
		t.Errorf("exit %d, %q, want 1 and why", code, errs.String())
	}
	left(t, dir)
}

func TestCheckSaysEachFaultOnceAndWarnsOfALedgerThatMapsNothing(t *testing.T) {
	env := single(t)
	if code, out, errs := command(t, env, "topics", "--apply"); code != 0 {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	code, out, errs := command(t, env, "check", "--online")
	if code != 9 || errs != "consumer: a precondition does not hold: dedup store\n" || strings.Count(out, "connection refused") != 1 {
		t.Errorf("exit %d, %q\n%s", code, errs, out)
	}
	if !hasLine(out, []string{"warning: ledger", "currencies", "consumer run"}) || !hasLine(out, []string{"ledger: ok"}) {
		t.Errorf("nothing about tables that are not there:\n%s", out)
	}
	l, err := ledger.Open(strings.TrimPrefix(env[2], "RECON_LEDGER_URL="), ledger.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, out, _ = command(t, env, "check", "--online"); !hasLine(out, []string{"warning: ledger: it maps no currency", "CURRENCY_UNMAPPED"}) {
		t.Errorf("nothing about a ledger that maps nothing:\n%s", out)
	}
	if err := l.PutCurrency(t.Context(), "EUR"); err != nil {
		t.Fatal(err)
	}
	if _, out, _ = command(t, env, "check", "--online"); strings.Contains(out, "warning: ledger") {
		t.Errorf("a warning about a ledger that maps EUR:\n%s", out)
	}
}

func TestWhatIsToBeSaidOfManyTopicsIsOneLine(t *testing.T) {
	code, out, errs := command(t, single(t), "topics", "--apply")
	if code != 0 || strings.Count(out, "replicas is 1, want 3") != 1 {
		t.Errorf("exit %d, %q, want the warning once\n%s", code, errs, out)
	}
	for _, topic := range []string{"recon.main", "recon.retry.1s", "recon.retry.3s", "recon.dlq", "recon.audit"} {
		if !hasLine(out, []string{"warning", topic, "replicas is 1, want 3"}) {
			t.Errorf("the warning does not name %s:\n%s", topic, out)
		}
	}
}

// hangs is an output that never takes anything.
type hangs struct{}

func (hangs) Write([]byte) (int, error) {
	_, _ = os.Stderr.WriteString("it hangs\n")
	select {}
}

// The first signal asks, and the second one ends the process at once, whatever it hangs on.
func TestSecondSignalEndsACommandThatHangs(t *testing.T) {
	testkit.Settings(t)
	child := testkit.Child(t, "hangs")
	child.Await("it hangs", time.Minute)
	for sent := 0; ; {
		if err := syscall.Kill(child.Pid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		sent++
		select {
		case <-child.Done():
			if code := child.Wait(); code != -1 || sent < 2 { // -1: by a signal
				t.Errorf("exit %d after %d signals, want the end by the second", code, sent)
			}
			return
		case <-time.After(200 * time.Millisecond):
		}
		if sent == 20 {
			t.Fatal("it outlives 20 signals")
		}
	}
}
