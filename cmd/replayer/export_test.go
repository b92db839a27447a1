package main

import (
	"io"
	"os"

	"recon/pkg/audit"
	"recon/pkg/replay"
)

// What the tests, which are external, look at.
var (
	Execute    = execute
	ExitCode   = exitCode
	IsTerminal = func(f *os.File) bool { return isTerminal(f) }

	ErrIntegrity = errIntegrity
)

func writer(f string, out io.Writer) *wayBack {
	return &wayBack{tools: &tools{job: &job{form: form(f), out: out}}}
}

// WriteReport writes a report as --output would.
func WriteReport(f string, r *replay.Report, after *replay.After, out io.Writer) error {
	return writer(f, out).report(r, after)
}

// WritePlan writes a plan as --output=jsonl would.
func WritePlan(p *replay.Plan, out io.Writer) error { return writer("jsonl", out).planLines(p) }

// WriteLife writes a life as --output=json would.
func WriteLife(l *replay.Life, out io.Writer) error { return writer("json", out).document(lifeOf(l)) }

// WriteEvidence writes evidence as --output=json would.
func WriteEvidence(e *audit.Evidence, out io.Writer) error {
	return writer("json", out).document(evidenceOf(e, e.Books.Result()))
}

// Progress draws to a terminal, or nowhere.
func Progress(what string, to io.Writer) (at func(done, total int64), end func()) {
	p := &progress{what: what, to: to}
	return p.at, p.end
}
