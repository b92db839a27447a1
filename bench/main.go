// Command bench measures the engine against a bare loop in one run on one broker: the same records, the same decoder,
// the same failures. It writes ratios, and what they were taken from.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	var o options
	flag.StringVar(&o.broker, "broker", os.Getenv("RECON_TEST_KAFKA"), "address of a broker (make services)")
	flag.IntVar(&o.records, "records", 300_000, "records of a throughput round")
	flag.IntVar(&o.rounds, "rounds", 3, "rounds, bare and ours in turn; the median counts")
	flag.IntVar(&o.waiting, "waiting", 5000, "records of the lateness measure")
	flag.StringVar(&o.only, "only", "", "measures to run, by prefix")
	flag.StringVar(&o.out, "out", "bench", "folder of results.jsonl and RESULTS.md")
	flag.StringVar(&o.profile, "profile", "", "write a CPU profile of our rounds to this file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
