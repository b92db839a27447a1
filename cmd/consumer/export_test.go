package main

import "context"

// What the tests, which are external, look at.
var (
	Execute  = execute
	ExitCode = exitCode

	ErrPrecondition = errPrecondition
)

// Watch keeps asking ping until ctx ends; ready adds what it last heard to the reasons of others.
func Watch(ping func(context.Context) error, others func() []string) (run func(context.Context), ready func() []string) {
	w := &ledgerWatch{ping: ping}
	return w.run, w.with(others)
}
