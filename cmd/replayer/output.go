package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// form is how a command says what it found: table for people, json as one document, jsonl as one document a line.
type form string

const (
	asTable form = "table"
	asJSON  form = "json"
	asLines form = "jsonl"
)

// document writes one JSON document: indented, or as one line.
func (j *job) document(v any) error {
	var opts []json.Options
	if j.form == asJSON {
		opts = append(opts, jsontext.WithIndent("  "))
	}
	b, err := json.Marshal(v, append(opts, json.Deterministic(true))...)
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	_, err = j.out.Write(append(b, '\n'))
	return err
}

// lines writes each of vs as one JSON line.
func lines[T any](j *job, vs []T) error {
	for _, v := range vs {
		if err := j.document(v); err != nil {
			return err
		}
	}
	return nil
}

// aside is where people read what is not the output itself: standard output in a table, else standard error.
func (j *job) aside() io.Writer {
	if j.form == asTable {
		return j.out
	}
	return j.errs
}

// isTerminal tells whether a person may be at the other end of a stream.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	it, err := f.Stat()
	if err != nil || it.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	nothing, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(it, nothing)
}

// redraw is how often progress is drawn at most.
const redraw = 100 * time.Millisecond

// progress is one line on a terminal that tells how far something is. Elsewhere it writes nothing.
type progress struct {
	what string
	to   io.Writer // nil: no terminal

	mu    sync.Mutex // guards what follows
	drawn bool
	next  time.Time
}

func (j *job) progress(what string) *progress {
	p := &progress{what: what}
	if isTerminal(j.errs) {
		p.to = j.errs
	}
	return p
}

// at draws how much is done.
func (p *progress) at(done, total int64) {
	if p.to == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); now.After(p.next) {
		p.drawn, p.next = true, now.Add(redraw)
		fmt.Fprintf(p.to, "\r%s: %d of %d\x1b[K", p.what, done, total)
	}
}

// end takes the line away.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn {
		fmt.Fprint(p.to, "\r\x1b[K")
	}
	p.drawn = false
}
