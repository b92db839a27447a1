package main

import (
	"os"

	"recon/pkg/replay"
)

// What the tests, which are external, look at.
var (
	Execute    = execute
	ExitCode   = exitCode
	IsTerminal = func(f *os.File) bool { return isTerminal(f) }

	ErrIntegrity = errIntegrity
)

// ReportJSON writes a report as --output would.
func ReportJSON(f string, r *replay.Report, after *replay.After, out interface{ Write([]byte) (int, error) }) error {
	return (&wayBack{tools: &tools{job: &job{form: form(f), out: out}}}).report(r, after)
}

// LifeJSON writes a life as --output json would.
func LifeJSON(l *replay.Life, out interface{ Write([]byte) (int, error) }) error {
	return (&job{form: asJSON, out: out}).document(lifeOf(l))
}
