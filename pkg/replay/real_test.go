package replay_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/internal/testkit"
	"recon/pkg/audit"
	"recon/pkg/dedup"
	"recon/pkg/envelope"
	"recon/pkg/replay"
	"recon/pkg/topics"
)

// realLease lets the next process begin soon after one was killed.
var realLease = dedup.Options{RunLease: time.Second, TTL: time.Hour}

// newRealWorld stands on a real broker and a real Redis, with names of its own.
func newRealWorld(t *testing.T) (w *world, redis string) {
	t.Helper()
	w = &world{t: t, seed: testkit.Kafka(t), names: topics.Names{Prefix: testkit.Prefix(t)}}
	redis = testkit.Redis(t)
	testkit.CreateTopics(t, w.seed, partitions, nil, w.names.Written(short)...)
	store := realStore(t.Context(), redis, w.names.Prefix)
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return w.open(store), redis
}

func realStore(ctx context.Context, redis, prefix string) dedup.Store {
	options := realLease
	options.Prefix = prefix
	store, err := dedup.Open(redis, options)
	if err == nil {
		err = store.Open(ctx, false, false)
	}
	if err != nil {
		panic(err)
	}
	return store
}

// replayer is a process that runs the plan of a file, with an audit chain of its own; it exits as the command would.
func replayer() int {
	ctx := context.Background()
	names := topics.Names{Prefix: os.Getenv("T_PREFIX")}
	options := []kgo.Opt{kgo.SeedBrokers(os.Getenv("T_KAFKA"))}
	err := func() error {
		file, err := os.ReadFile(os.Getenv("T_PLAN"))
		if err != nil {
			return err
		}
		p, err := replay.DecodePlan(file)
		if err != nil {
			return err
		}
		cl, err := kgo.NewClient(append(options, kgo.RecordPartitioner(topics.Partitioner(names)))...)
		if err != nil {
			return err
		}
		chain, err := audit.Open(ctx, audit.Config{Topic: names.Audit(), Service: "recon-replayer", Instance: "child"}, cl)
		if err != nil {
			return err
		}
		store := realStore(ctx, os.Getenv("T_REDIS"), names.Prefix)
		r, err := replay.New(replay.Config{
			Topics: names, Options: options, Producer: cl, Journal: chain, Store: store,
			Gates: []replay.Gate{replay.Integrity{}, replay.Cause{}, replay.Idempotency{Store: store}, replay.Temporal{}},
			Owner: fmt.Sprint("child ", os.Getpid()), Actor: "kim", Reason: "mapping added", RootCause: "mapping_missing", Rate: 100,
			Observe: func(e replay.Event) { fmt.Printf("letter %d of %d\n", e.Done, e.Total) },
		})
		if err != nil {
			return err
		}
		report, err := r.Run(ctx, nil, p)
		if report != nil {
			replay.PrintReport(os.Stdout, report)
		}
		return err
	}()
	if err != nil {
		fmt.Println(err)
	}
	return int(replay.ExitOf(err))
}

// planned writes letters and a plan for them, and gives the environment of a replayer that executes it.
func (w *world) planned(redis string, letters int) []string {
	w.t.Helper()
	w.deadOf(letters, 5)
	file := filepath.Join(w.t.TempDir(), "plan.json")
	if err := os.WriteFile(file, encode(w.t, w.plan()), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return []string{"T_PREFIX=" + w.names.Prefix, "T_KAFKA=" + w.seed, "T_REDIS=" + redis, "T_PLAN=" + file}
}

// trail takes the events of the audit topic into the journal of the rig.
func (w *world) trail() {
	w.t.Helper()
	var chains audit.Verifier
	for _, r := range w.all(w.names.Audit()) {
		rec, err := chains.Add(envelope.Coordinates{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}, r.Value)
		if err != nil {
			w.t.Fatal(err)
		}
		if rec.Entry != nil {
			w.journal.events = append(w.journal.events, rec.Entry.Events...)
		}
	}
	if findings := chains.Result().Findings; len(findings) > 0 {
		w.t.Errorf("the trail: %v", findings)
	}
}

// Pitfalls R2, R17 with real processes: a second replayer is told who holds the lease, exits 8 and touches nothing.
func TestRealSecondReplayerIsToldWhoHoldsTheLease(t *testing.T) {
	w, redis := newRealWorld(t)
	const letters = 300
	environment := w.planned(redis, letters)
	first := testkit.Child(t, "replayer", environment...)
	first.Await("letter 5 of 300\n", time.Minute)
	second := testkit.Child(t, "replayer", environment...)
	if code := replay.Exit(second.Wait()); code != replay.ExitLease || !strings.Contains(second.Output(), fmt.Sprint("child ", first.Pid())) {
		t.Errorf("the second exits with %d:\n%s\nwant 8 and the name of the first, child %d", code, second.Output(), first.Pid())
	}
	if code := replay.Exit(first.Wait()); code != replay.ExitDone {
		t.Errorf("the first exits with %d, want 0", code)
	}
	if again := testkit.Child(t, "replayer", environment...); replay.Exit(again.Wait()) != replay.ExitNothing {
		t.Errorf("the same plan again:\n%s\nwant exit 3", again.Output())
	}
	w.trail()
	checkComplete(t, w, letters)
}

// Pitfalls R1, R20, R33, R36 with real processes: killed with -9 at random moments, the plan ends with every letter
// brought back as one record that a consumer accepts, told once; also while the consumer works in between.
func TestKillReplayersAtRandomLosesAndDoublesNothing(t *testing.T) {
	w, redis := newRealWorld(t)
	const letters, kills, killed = 200, 6, -1
	environment := w.planned(redis, letters)
	for n := 0; ; {
		p := testkit.Child(t, "replayer", environment...)
		if n < kills {
			select {
			case <-time.After(time.Duration(300+rand.IntN(2000)) * time.Millisecond):
				p.Kill()
				n++
			case <-p.Done():
			}
			if rand.IntN(2) == 0 {
				w.consume(nil)
			}
		}
		code := replay.Exit(p.Wait())
		if code == replay.ExitDone || code == replay.ExitNothing {
			break
		}
		if code != killed && code != replay.ExitLease { // the lease of a killed one ends by itself
			t.Fatalf("a replayer that nobody killed exits with %d", code)
		}
	}
	w.trail()
	checkComplete(t, w, letters)
	if f := w.fold(); f.Overview().Letters != letters || len(f.Conflicts()) != 0 {
		t.Errorf("%d letters, conflicts %v; want %d and none", f.Overview().Letters, f.Conflicts(), letters)
	}
}
