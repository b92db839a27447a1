package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// answer is what one run of a program came to.
type answer struct {
	code      int
	out, diag string
}

// call runs one of the binaries to its end. An error: it could not be run, or the run was interrupted.
func (s *site) call(ctx context.Context, program string, args ...string) (answer, error) {
	var out, diag bytes.Buffer
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, program), args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = s.env, &out, &diag
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(syscall.SIGTERM) }, grace
	err := cmd.Run()
	if ctx.Err() != nil {
		return answer{}, context.Cause(ctx)
	}
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		return answer{}, fmt.Errorf("run %s: %w", program, err)
	}
	return answer{cmd.ProcessState.ExitCode(), out.String(), diag.String()}, nil
}

// grace is how long a program may take to end once it was asked to.
const grace = 40 * time.Second

// service is `consumer run` at work.
type service struct {
	cmd  *exec.Cmd
	log  string // file
	done chan struct{}

	grace time.Duration
}

// serve starts the consumer. Whoever calls ends it by stop.
func (s *site) serve(ctx context.Context) (*service, error) {
	p := &service{log: filepath.Join(s.folder, "consumer.log"), done: make(chan struct{}), grace: grace}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own handle
	// The end of ctx does not kill it: stop asks it to end in order.
	p.cmd = exec.CommandContext(context.WithoutCancel(ctx), filepath.Join(s.bin, "consumer"), "run")
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = s.env, log, log
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("run consumer: %w", err)
	}
	go func() {
		_ = p.cmd.Wait() // the exit code is in ProcessState
		close(p.done)
	}()
	return p, nil
}

// stop asks the process to end by SIGTERM, waits, and returns its exit code; one that does not end is killed: -1.
// Stopping one that has ended returns its exit code again.
func (p *service) stop() int {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // an error: it has ended
	select {
	case <-p.done:
	case <-time.After(p.grace):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
	return p.cmd.ProcessState.ExitCode()
}

// lastLines are the end of the log.
func (p *service) lastLines(n int) string {
	content, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(content), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-n):], []byte("\n")))
}

// settled waits until every record that is on main has an outcome. It gives up when nothing moves for patience.
func (s *site) settled(ctx context.Context, p *service) error {
	var before int64
	for limit := time.Now().Add(s.patience); ; {
		left, err := s.left(ctx)
		switch {
		case err == nil && left == 0:
			return nil
		case err == nil && left != before:
			before, limit = left, time.Now().Add(s.patience)
		case time.Now().After(limit):
			return errors.Join(fmt.Errorf("for %s nothing has moved, and %d records on main or tiers have no outcome", s.patience, left), err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-p.done:
			return fmt.Errorf("consumer run ended with exit %d while %d records had no outcome", p.cmd.ProcessState.ExitCode(), left)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
