package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// options are what the command line says.
type options struct {
	samples, bin           string
	kafka, redis, postgres string
	keep                   bool
}

// register makes a flag of each.
func (o *options) register(flags *flag.FlagSet) {
	flags.StringVar(&o.samples, "samples", "../shared/samples", "folder of the bank files")
	flags.StringVar(&o.bin, "bin", "bin", "folder of the binaries consumer, replayer and ingester")
	flags.StringVar(&o.kafka, "kafka", os.Getenv("RECON_TEST_KAFKA"), "address of a broker (RECON_TEST_KAFKA)")
	flags.StringVar(&o.redis, "redis", os.Getenv("RECON_TEST_REDIS"), "URL of the dedup store (RECON_TEST_REDIS)")
	flags.StringVar(&o.postgres, "postgres", os.Getenv("RECON_TEST_POSTGRES"), "URL of the ledger's server (RECON_TEST_POSTGRES)")
	flags.BoolVar(&o.keep, "keep", false, "leave topics and tables, and say where they are")
}

// programs are the binaries that a run needs.
var programs = []string{"consumer", "replayer", "ingester"}

// validate says at once everything that is missing; that is errUsage.
func (o *options) validate() error {
	errs := []error{complete(o.samples)}
	for _, a := range []struct{ value, flag, env string }{
		{o.kafka, "--kafka", "RECON_TEST_KAFKA"}, {o.redis, "--redis", "RECON_TEST_REDIS"}, {o.postgres, "--postgres", "RECON_TEST_POSTGRES"},
	} {
		if a.value == "" {
			errs = append(errs, fmt.Errorf("%s (%s) is empty: `make samples` finds the services", a.flag, a.env))
		}
	}
	for _, p := range programs {
		if _, err := os.Stat(filepath.Join(o.bin, p)); err != nil {
			errs = append(errs, fmt.Errorf("there is no program %s: `make samples` builds it, --bin names its folder", filepath.Join(o.bin, p)))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	return nil
}

// complete says which of the files are not in the folder.
func complete(folder string) error {
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return fmt.Errorf("there is no folder %s; name the one with the bank files by --samples DIR (make samples SAMPLES=DIR)", folder)
	}
	paths := append([]string(nil), others...)
	for i := range samples {
		paths = append(paths, samples[i].path)
	}
	var errs []error
	for _, path := range paths {
		if _, err := os.Stat(filepath.Join(folder, path)); err != nil {
			errs = append(errs, fmt.Errorf("%s is missing in the folder of the bank files: %w", path, errors.Unwrap(err)))
		}
	}
	return errors.Join(errs...)
}
