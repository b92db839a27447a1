// Command ingester reads bank files and puts their transactions on recon.main.
//
// All files are read and checked before the first record is sent. Exit codes: 0 done, 1 Kafka or the output, 2 a flag or a
// file.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"recon/examples/ingester/statement"
	"recon/pkg/topics"
)

type flags struct {
	Brokers          []string        `help:"Addresses of some brokers, host:port." env:"RECON_KAFKA_BROKERS" placeholder:"ADDR"`
	Topic            string          `help:"Topic to write to; else main under the prefix."`
	TopicsPrefix     string          `help:"Beginning of the topics' names." env:"RECON_TOPICS_PREFIX" default:"recon" placeholder:"recon"`
	Entity           string          `help:"ledger_entity of all records; else the account that a file names. A CSV names none and needs it."`
	Currency         string          `help:"Currency of CSV rows that name none."`
	Level            statement.Level `help:"What becomes a record in camt files: entry or detail." default:"entry"`
	Intraday         bool            `help:"Read camt.054, whose entries the camt.053 of the day repeats."`
	AcceptUnbalanced bool            `help:"Read files although they do not foot."`
	MatchDecision    string          `help:"MATCHED, PARTIAL or UNMATCHED." default:"UNMATCHED"`
	DryRun           bool            `help:"Read and check, send nothing."`
	Timeout          time.Duration   `help:"How long to wait for Kafka." default:"30s"`
	Files            []string        `arg:"" name:"FILE" help:"camt.053, camt.054, MT940, NACHA ACH, BAI2 or CSV, known by what they hold."`
}

func main() {
	ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, out, diag io.Writer) int {
	var f flags
	left := -1
	_, err := kong.Must(&f, kong.Name("ingester"), kong.Description("Puts the transactions of bank files on main, the topic that the consumer reads."),
		kong.Writers(out, diag), kong.Exit(func(code int) { left = code })).Parse(args)
	if left >= 0 { // help
		return left
	}
	if err == nil {
		if f.Topic == "" {
			f.Topic = topics.Names{Prefix: f.TopicsPrefix}.Main()
		}
		err = ingest(ctx, &f, &page{to: out})
	}
	if err == nil {
		return 0
	}
	fmt.Fprintln(diag, "ingester:", err)
	if errors.As(err, new(*lateError)) {
		return 1
	}
	return 2
}
