package testkit_test

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"recon/internal/testkit"
)

// patience is how long a child may take to say something on a busy machine.
const patience = 60 * time.Second

var roles = map[string]func() int{
	"seven": func() int { fmt.Println(os.Getenv("WORD")); return 7 },
	"parent": func() int {
		grandchild := exec.Command(os.Args[0])
		grandchild.Env = append(os.Environ(), "RECON_TEST_CHILD=until told")
		if _, err := grandchild.StdinPipe(); err != nil {
			return 1
		}
		if err := grandchild.Start(); err != nil {
			return 1
		}
		fmt.Println("grandchild", grandchild.Process.Pid, "started")
		_ = grandchild.Wait()
		return 0
	},
	"until told": func() int {
		stop := make(chan os.Signal, 1)
		signal.Notify(stop, syscall.SIGTERM)
		fmt.Println("ready")
		<-stop
		fmt.Println("stopping")
		return 0
	},
}

func TestChildPlaysItsRoleAndReturnsItsCode(t *testing.T) {
	child := testkit.Child(t, "seven", "WORD=heard")
	if got := child.Wait(); got != 7 {
		t.Errorf("exit code: got %d, want 7", got)
	}
	if got := child.Output(); got != "heard\n" {
		t.Errorf("output: got %q, want %q", got, "heard\n")
	}
}

func TestUnknownRoleIsAnError(t *testing.T) {
	if got := testkit.Child(t, "nobody").Wait(); got != 2 {
		t.Errorf("exit code: got %d, want 2", got)
	}
}

func TestStoppedChildEndsInOrderAndKilledOneDoesNot(t *testing.T) {
	stopped := testkit.Child(t, "until told")
	stopped.Await("ready", patience)
	if got := stopped.Stop(); got != 0 {
		t.Errorf("exit code after SIGTERM: got %d, want 0", got)
	}
	if got := stopped.Output(); got != "ready\nstopping\n" {
		t.Errorf("output after SIGTERM: got %q", got)
	}
	killed := testkit.Child(t, "until told")
	killed.Await("ready", patience)
	killed.Pause()
	killed.Kill()
	if got := killed.Output(); got != "ready\n" {
		t.Errorf("output after SIGKILL: got %q, want no word of stopping", got)
	}
}

func TestKillOfAParentEndsItsChildren(t *testing.T) {
	parent := testkit.Child(t, "parent")
	parent.Await("started", patience)
	var pid int
	if _, err := fmt.Sscanf(parent.Output(), "grandchild %d", &pid); err != nil {
		t.Fatalf("the parent wrote %q: %v", parent.Output(), err)
	}
	parent.Kill()
	over := time.After(patience)
	for tick := time.Tick(20 * time.Millisecond); syscall.Kill(pid, 0) == nil; {
		select {
		case <-tick:
		case <-over:
			t.Fatalf("process %d outlives its killed parent", pid)
		}
	}
}

func TestAwaitEndsTheTestWhenTheChildIsSilentOrGone(t *testing.T) {
	for _, row := range []struct {
		name, role string
		limit      time.Duration
		want       string
	}{
		{"silent", "until told", 100 * time.Millisecond, "did not write"},
		{"gone", "seven", patience, "the child ended"},
	} {
		t.Run(row.name, func(t *testing.T) {
			recorder := &fatalTB{TB: t}
			child := testkit.Child(recorder, row.role)
			done := make(chan struct{})
			go func() {
				defer close(done)
				child.Await("a word it never says", row.limit)
			}()
			<-done
			if !strings.Contains(recorder.fatal, row.want) {
				t.Errorf("the test ended with %q, want %q in it", recorder.fatal, row.want)
			}
		})
	}
}

// fatalTB records the sentence with which a test would have ended.
type fatalTB struct {
	testing.TB
	fatal string
}

func (f *fatalTB) Fatalf(format string, a ...any) {
	f.fatal = fmt.Sprintf(format, a...)
	runtime.Goexit()
}
