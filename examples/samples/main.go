// Command samples brings real bank files through the built binaries on real services, and holds the outcome of every file
// against what the file itself foots to.
//
// Its promise: it believes no program's own account. Postings are counted in the ledger, letters on the DLQ, suppressions
// in the trail; each expectation that does not hold is a line `NOT AS EXPECTED`, and then the exit code is 1.
// Exit codes: 0 all as expected, 1 something is not or could not be done, 2 a flag is wrong or a file is missing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// errUsage is a mistake of whoever calls: exit 2.
var errUsage = errors.New("nothing was done")

// errUnexpected ends a run whose expectations do not all hold. They have been printed.
var errUnexpected = errors.New("not everything is as expected")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// execute runs one command line and returns its exit code.
func execute(ctx context.Context, args []string, out, diag io.Writer) int {
	var o options
	flags := flag.NewFlagSet("samples", flag.ContinueOnError)
	flags.SetOutput(diag)
	o.register(flags)
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	err := run(ctx, o, out)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUsage):
		fmt.Fprintln(diag, "samples:", err)
		return 2
	}
	fmt.Fprintln(diag, "samples:", err)
	return 1
}
