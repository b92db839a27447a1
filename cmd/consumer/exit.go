package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"recon/internal/config"
	"recon/pkg/consumer"
	"recon/pkg/dedup"
)

// job is what every command is given.
type job struct {
	ctx       context.Context //nolint:containedctx // the command's whole life
	settings  *config.Effective
	out, errs io.Writer
}

// The exit codes of the contract that the consumer uses.
const (
	exitOK           = 0
	exitError        = 1
	exitUsage        = 2
	exitPrecondition = 9
)

// errPrecondition is a condition that must hold before anything may run.
var errPrecondition = errors.New("a precondition does not hold")

// printed is how a command ended that returned err and whose output lost something: that is told where err is nothing else.
func printed(lost, err error) error {
	if lost != nil && (err == nil || errors.Is(err, lost) || errors.Is(err, context.Canceled)) {
		return fmt.Errorf("output: %w", lost)
	}
	return err
}

func exitCode(err error) int {
	var usage *config.UsageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage):
		return exitUsage
	}
	for _, p := range []error{
		errPrecondition, dedup.ErrMemoryLost, dedup.ErrGroupReset, dedup.ErrEvicting,
		consumer.ErrTopicMissing, consumer.ErrTopicTooSmall, consumer.ErrTopicCompacted, consumer.ErrTopicRecreated, consumer.ErrOffsetGone,
	} {
		if errors.Is(err, p) {
			return exitPrecondition
		}
	}
	return exitError
}
