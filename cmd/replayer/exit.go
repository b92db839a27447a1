package main

import (
	"context"
	"errors"
	"io"

	"recon/internal/config"
	"recon/pkg/replay"
)

// job is what every command is given.
type job struct {
	ctx       context.Context //nolint:containedctx // the command's whole life
	settings  *config.Effective
	form      form
	in        io.Reader
	out, errs io.Writer
}

// errIntegrity is evidence that does not hold: exit 10.
var errIntegrity = errors.New("the evidence does not hold")

// exitCode is the contract's, by what a command returned.
func exitCode(err error) int {
	var usage *config.UsageError
	switch {
	case errors.As(err, &usage):
		return int(replay.ExitUsage)
	case errors.Is(err, errIntegrity):
		return int(replay.ExitIntegrity)
	default:
		return int(replay.ExitOf(err))
	}
}
