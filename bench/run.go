package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"
	"time"
)

type options struct {
	broker, only, out, profile string
	records, rounds, waiting   int
}

// round is what one pass over the topic took.
type round struct {
	rate float64 // records a second, wall clock
	cpu  float64 // microseconds of this process's CPU a record
}

// run makes every measure and writes the results.
func run(ctx context.Context, o options) error {
	if o.broker == "" {
		return errors.New("no broker: run `make services` and give -broker, or set RECON_TEST_KAFKA")
	}
	w, err := newWorkload(ctx, o)
	if err != nil {
		return err
	}
	defer w.close()
	var results []result
	for _, failing := range []int{0, 5, 30} {
		name := fmt.Sprintf("noop_%d", failing)
		if !strings.HasPrefix(name, o.only) {
			continue
		}
		rs, err := compare(ctx, w, o, name, failing, false)
		if err != nil {
			return err
		}
		results = append(results, rs...)
	}
	if strings.HasPrefix("noop_0_audit", o.only) {
		rs, err := compare(ctx, w, o, "noop_0_audit", 0, true)
		if err != nil {
			return err
		}
		results = append(results, rs[:1]...)
	}
	if strings.HasPrefix("late", o.only) {
		rs, err := lateness(ctx, o)
		if err != nil {
			return err
		}
		results = append(results, rs...)
	}
	return write(o, results)
}

// compare runs bare and ours in turn and gives the ratios of their medians.
func compare(ctx context.Context, w *workload, o options, name string, failing int, audit bool) ([]result, error) {
	var bare, ours []round
	for n := range o.rounds {
		b, err := measure(o.records, func() error { return w.bare(ctx, failing) })
		if err != nil {
			return nil, fmt.Errorf("%s, bare: %w", name, err)
		}
		stop, err := profile(o, name, n)
		if err != nil {
			return nil, err
		}
		u, err := measure(o.records, func() error { return w.ours(ctx, failing, audit) })
		stop()
		if err != nil {
			return nil, fmt.Errorf("%s, ours: %w", name, err)
		}
		bare, ours = append(bare, b), append(ours, u)
		fmt.Printf("%-14s round %d: bare %8.0f/s %5.2f us CPU, ours %8.0f/s %5.2f us CPU\n", name, n+1, b.rate, b.cpu, u.rate, u.cpu)
	}
	theirs, mine := median(bare), median(ours)
	return []result{
		{name, mine.rate / theirs.rate, "ratio of records/s", mine.rate, theirs.rate},
		{strings.Replace(name, "noop", "cpu_ratio", 1), mine.cpu / theirs.cpu, "ratio of CPU us/record", mine.cpu, theirs.cpu},
	}, nil
}

// profile begins a CPU profile of the last round where one is wanted.
func profile(o options, name string, n int) (stop func(), err error) {
	if o.profile == "" || n != o.rounds-1 {
		return func() {}, nil
	}
	f, err := os.Create(o.profile + "." + name)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close()
	}, nil
}

func measure(records int, pass func() error) (round, error) {
	runtime.GC()
	began, before := time.Now(), cpu()
	err := pass()
	took := time.Since(began).Seconds()
	return round{rate: float64(records) / took, cpu: (cpu() - before) / float64(records)}, err
}

// cpu is the user and system time of this process so far, in microseconds.
func cpu() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e3
}

func median(rs []round) round {
	rates, cpus := make([]float64, len(rs)), make([]float64, len(rs))
	for i, r := range rs {
		rates[i], cpus[i] = r.rate, r.cpu
	}
	slices.Sort(rates)
	slices.Sort(cpus)
	return round{rates[len(rs)/2], cpus[len(rs)/2]}
}
