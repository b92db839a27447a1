// Command replayer shows what became dead letters, and brings back those whose cause is mended. What it writes, a
// person has seen as a plan and confirmed, and the broker has acknowledged.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"recon/internal/config"
	"recon/internal/observe"
	"recon/pkg/fault"
)

// commands are what the replayer can be told to do; each has a file of its own.
type commands struct {
	config.Flags
	Output form `enum:"table,json,jsonl" default:"table" placeholder:"FORM" help:"table, json or jsonl."`

	Status  statusCmd  `cmd:"" help:"Where all dead letters stand, with sums per currency."`
	List    listCmd    `cmd:"" help:"List dead letters; without --state and --all those that have not ended."`
	Show    showCmd    `cmd:"" help:"One dead letter: what failed, what was decided, and what the gates say now."`
	Waiting waitingCmd `cmd:"" help:"What the tiers hold, the next due first."`
	Trace   traceCmd   `cmd:"" help:"One record's whole life, by hash, trace id, message id or place."`
	Replay  replayCmd  `cmd:"" default:"withargs" help:"Bring dead letters back to main, by a plan (the default)."`
	Audit   auditCmd   `cmd:"" help:"The evidence: audit verify."`
}

func main() { os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr)) }

// execute runs one command line and returns its exit code. The first signal lets what is in hand end in order, the
// second one ends the process at once, which costs nothing but the wait for the run's lease.
func execute(args []string, out, errs io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)()
	var c commands
	command, effective, ok, err := config.Parse("replayer", about, &c, &c.Flags, args, out, titles, ownFlags())
	if err == nil && ok {
		page := observe.NewPage(out, nil)
		err = command.Run(&job{ctx: ctx, settings: effective, form: c.Output, in: os.Stdin, out: page, errs: errs})
		if lost := page.Err(); err == nil && lost != nil {
			err = fmt.Errorf("output: %w", lost)
		}
	}
	if err != nil {
		fmt.Fprintln(errs, "replayer:", fault.Printable(err.Error()))
	}
	return exitCode(err)
}

const about = "Shows dead letters and brings them back: by a plan that asks every gate, each letter once, with evidence."
