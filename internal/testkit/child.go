package testkit

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// envRole is what tells a test binary that it is a child and which part it plays.
const envRole = "RECON_TEST_CHILD"

// MaybeRunChild belongs first into TestMain of a package with kill tests: in a process that Child started it plays the named role and exits
// with what the role returns; in every other process it does nothing. A child whose parent has died ends too.
func MaybeRunChild(roles map[string]func() int) {
	name := os.Getenv(envRole)
	if name == "" {
		return
	}
	role, ok := roles[name]
	if !ok {
		_, _ = io.WriteString(os.Stderr, "testkit: no role "+name+" in this test binary\n")
		os.Exit(2)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // the parent holds the other end until it dies
		os.Exit(3)
	}()
	os.Exit(role())
}

// Process is a child of this test: the test binary itself, playing a role, so that it shares the race build.
type Process struct {
	t     testing.TB
	cmd   *exec.Cmd
	stdin io.Closer
	out   *output
	done  chan struct{}
	err   error
}

// Child starts a process that plays role, with env (KEY=VALUE) added to this process's environment. It is killed when the test ends, at the
// latest, and its output is logged when the test failed.
func Child(t testing.TB, role string, env ...string) *Process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatalf("the path of the test binary: %v", err)
	}
	p := &Process{t: t, cmd: exec.Command(self), out: newOutput(), done: make(chan struct{})}
	// The race detector otherwise waits a second at every exit.
	p.cmd.Env = append(append(os.Environ(), "GORACE=atexit_sleep_ms=0"), append(env, envRole+"="+role)...)
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatalf("a pipe for the child %s: %v", role, err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start the child %s: %v", role, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("output of the child %s:\n%s", role, p.out.tail(8000))
		}
	})
	return p
}

// Pid is the child's process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Kill ends the child with SIGKILL, as a crash does, and waits until it is gone. Killing a dead child does nothing.
func (p *Process) Kill() { p.end(syscall.SIGKILL) }

// Stop asks the child to end with SIGTERM, waits until it is gone and returns its exit code; -1 when a signal ended it.
func (p *Process) Stop() int {
	p.t.Helper()
	p.end(syscall.SIGTERM)
	return p.cmd.ProcessState.ExitCode()
}

func (p *Process) end(signal syscall.Signal) {
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	_ = p.cmd.Process.Signal(signal)
	<-p.done
}

// Pause freezes the child, as a long garbage collection or a stopped machine would. Resume lets it go on.
func (p *Process) Pause() { p.signal(syscall.SIGSTOP) }

// Resume ends a pause.
func (p *Process) Resume() { p.signal(syscall.SIGCONT) }

func (p *Process) signal(signal syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		p.t.Fatalf("signal %v to the child: %v", signal, err)
	}
}

// Done is closed when the child has ended, by itself or not.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits until the child ends by itself and returns its exit code; -1 when a signal ended it.
func (p *Process) Wait() int {
	<-p.done
	return p.cmd.ProcessState.ExitCode()
}

// Output is what the child has written so far, standard output and error as they came.
func (p *Process) Output() string { return p.out.tail(1 << 30) }

// Await waits until the child has written text; the test ends when the child ends or limit passes before.
func (p *Process) Await(text string, limit time.Duration) {
	p.t.Helper()
	over := time.After(limit)
	for {
		changed := p.out.changed()
		if strings.Contains(p.Output(), text) {
			return
		}
		select {
		case <-changed:
		case <-p.done:
			if strings.Contains(p.Output(), text) {
				return
			}
			p.t.Fatalf("the child ended (%v) before it wrote %q", p.err, text)
		case <-over:
			p.t.Fatalf("the child did not write %q within %s", text, limit)
		}
	}
}

// output collects what a child writes and tells who waits that there is more.
type output struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	more chan struct{}
}

func newOutput() *output { return &output{more: make(chan struct{})} }

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.more)
	o.more = make(chan struct{})
	return o.buf.Write(b)
}

// changed returns a channel that the next write closes.
func (o *output) changed() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.more
}

func (o *output) tail(most int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	b := o.buf.Bytes()
	return string(b[max(0, len(b)-most):])
}
