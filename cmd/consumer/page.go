package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// page is standard output. It remembers its first error, so that what prints need not look at each line, and cuts the
// command short then: nobody reads what comes.
type page struct {
	to  io.Writer
	cut func()

	mu  sync.Mutex // guards err
	err error
}

// Write writes on until something is lost.
func (p *page) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return 0, p.err
	}
	n, err := p.to.Write(b)
	if err != nil {
		p.err = err
		p.cut()
	}
	return n, err
}

// verdict is how a command ended that returned err: what was lost is told where err is nothing else.
func (p *page) verdict(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil && (err == nil || errors.Is(err, p.err) || errors.Is(err, context.Canceled)) {
		return fmt.Errorf("output: %w", p.err)
	}
	return err
}
