// Command consumer takes records off Kafka and posts them to the ledger.
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
)

// commands are what the consumer can be told to do; each has a file of its own.
type commands struct {
	config.Flags

	Run     runCmd     `cmd:"" default:"1" help:"Take records off Kafka and post them (the default)."`
	Check   checkCmd   `cmd:"" help:"Check the configuration; with --online also Kafka, the dedup store and the ledger."`
	Topics  topicsCmd  `cmd:"" help:"Show what the topics need; with --apply make it so."`
	Demo    demoCmd    `cmd:"" help:"Play the whole life of bank records in this process; no service needed."`
	Show    configCmd  `cmd:"" name:"config" help:"Print the settings in force and where each came from."`
	Version versionCmd `cmd:"" help:"Print the version."`
}

func main() { os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr)) }

// execute runs one command line and returns its exit code. The first signal lets what is in hand end in order, the
// second one ends the process at once, which loses nothing: what was not committed comes again.
func execute(args []string, out, errs io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)()
	signal.Ignore(syscall.SIGPIPE) // a reader who leaves is an error of the output, and the command still tidies up
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	page := observe.NewPage(out, cancel) // nobody reads what comes behind a lost line
	var c commands
	command, effective, ok, err := config.Parse("consumer", about, &c, &c.Flags, args, page)
	if err == nil && ok {
		err = command.Run(&job{ctx: ctx, settings: effective, out: page, errs: errs})
	}
	err = printed(page.Err(), err)
	if err != nil {
		fmt.Fprintln(errs, "consumer:", err)
	}
	return exitCode(err)
}

const about = "Posts reconciliation records from Kafka to the ledger; what fails waits on delay topics or becomes a dead letter."
