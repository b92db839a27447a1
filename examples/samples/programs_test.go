package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/topics"
)

// programsIn writes shell scripts under the names of programs.
func programsIn(t *testing.T, scripts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, script := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestACallTellsExitCodeAndBothOutputsAndOnlyTheSitesEnvironment(t *testing.T) {
	t.Parallel()
	s := &site{env: []string{"RECON_GROUP=g"}}
	s.bin = programsIn(t, map[string]string{"ingester": "echo \"$RECON_GROUP $HOME $1\"\necho said >&2\nexit 2"})
	got, err := s.call(t.Context(), "ingester", "--x")
	if want := (answer{2, "g  --x\n", "said\n"}); got != want || err != nil {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if _, err := s.call(t.Context(), "replayer"); err == nil {
		t.Error("a program that is not there: got nil, want an error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.call(ctx, "ingester"); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted call: got %v", err)
	}
}

func TestTheConsumerIsEndedBySIGTERMAndByForceOnlyWhenItDoesNotEnd(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, script string
		grace        time.Duration
		want         int
	}{
		{"in order", "trap 'exit 7' TERM\necho ready\nwhile :; do sleep 0.01; done", time.Minute, 7},
		{"by force", "trap '' TERM\necho ready\nwhile :; do sleep 0.01; done", 50 * time.Millisecond, -1},
		{"it has ended by itself", "echo ready\nexit 3", time.Minute, 3},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := &site{folder: t.TempDir(), env: os.Environ()}
			s.bin = programsIn(t, map[string]string{"consumer": row.script})
			p, err := s.serve(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			p.grace = row.grace
			for !strings.Contains(p.lastLines(1), "ready") {
				time.Sleep(time.Millisecond)
			}
			if row.want == 3 {
				<-p.done
			}
			if got := p.stop(); got != row.want {
				t.Errorf("got exit %d, want %d", got, row.want)
			}
			if got := p.stop(); got != row.want {
				t.Errorf("stopped again: got exit %d, want %d", got, row.want)
			}
		})
	}
}

func TestTheLastLinesOfALogAreItsLast(t *testing.T) {
	t.Parallel()
	p := &service{log: filepath.Join(t.TempDir(), "log")}
	if got := p.lastLines(2); !strings.Contains(got, "no such file") {
		t.Errorf("no log: got %q", got)
	}
	if err := os.WriteFile(p.log, []byte("a\nb\nc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]string{2: "b\nc", 5: "a\nb\nc"} {
		if got := p.lastLines(n); got != want {
			t.Errorf("%d lines: got %q, want %q", n, got, want)
		}
	}
}

// siteOn is a site on an embedded broker with main and one tier.
func siteOn(t *testing.T) (*site, *kgo.Client) {
	t.Helper()
	s := &site{name: "r", names: topics.Names{Prefix: "r"}, patience: time.Minute}
	s.tiers = []string{s.names.Tier(time.Second)}
	cl := embeddedKafka(t, s.names.Main(), s.tiers[0])
	s.adm = kadm.NewClient(cl)
	return s, cl
}

func TestARecordIsLeftUntilItsPositionIsCommittedOnMainAndOnTiers(t *testing.T) {
	t.Parallel()
	s, cl := siteOn(t)
	left := func(want int64) {
		t.Helper()
		if got, err := s.left(t.Context()); got != want || err != nil {
			t.Errorf("got %d left and %v, want %d", got, err, want)
		}
	}
	commit := func(topic string, partition int32, to int64) {
		t.Helper()
		var at kadm.Offsets
		at.AddOffset(topic, partition, to, -1)
		if err := s.adm.CommitAllOffsets(t.Context(), s.name, at); err != nil {
			t.Fatal(err)
		}
	}
	main, tier := s.names.Main(), s.tiers[0]
	left(0)
	records := []*kgo.Record{{Topic: main, Partition: 0}, {Topic: main, Partition: 0}, {Topic: main, Partition: 1}, {Topic: tier, Partition: 1}}
	manual, err := kgo.NewClient(append(brokersOf(cl), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	if err != nil {
		t.Fatal(err)
	}
	defer manual.Close()
	if err := manual.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	left(4)
	commit(main, 0, 1)
	left(3)
	commit(main, 0, 2)
	commit(main, 1, 1)
	left(1)
	commit(tier, 1, 1)
	left(0)
	if ends, err := s.ends(t.Context()); err != nil || ends[0] != 2 || ends[1] != 1 {
		t.Errorf("main ends at %v, %v, want 2 and 1", ends, err)
	}
	if err := s.settled(t.Context(), &service{done: make(chan struct{})}); err != nil {
		t.Errorf("got %v, want nil", err)
	}
}

func TestWaitingEndsWithTheConsumerWithPatienceAndWithTheRun(t *testing.T) {
	t.Parallel()
	s, cl := siteOn(t)
	if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: s.names.Main()}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	s.folder, s.env = t.TempDir(), os.Environ()
	s.bin = programsIn(t, map[string]string{"consumer": "exit 9"})
	p, err := s.serve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.settled(t.Context(), p); err == nil || !strings.Contains(err.Error(), "consumer run ended with exit 9 while 1 records") {
		t.Errorf("the consumer is gone: got %v", err)
	}
	alive := &service{done: make(chan struct{})}
	s.patience = 20 * time.Millisecond
	if err := s.settled(t.Context(), alive); err == nil || !strings.Contains(err.Error(), "nothing has moved, and 1 records") {
		t.Errorf("nothing moves: got %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	s.patience = time.Minute
	interrupted := errors.New("interrupted")
	cancel(interrupted)
	if err := s.settled(ctx, alive); !errors.Is(err, interrupted) {
		t.Errorf("the run is interrupted: got %v", err)
	}
}
