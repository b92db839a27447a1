package replay_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/internal/testkit"
	"recon/pkg/audit"
	"recon/pkg/dedup"
	"recon/pkg/replay"
	"recon/pkg/topics"
)

// realLease lets the next process begin soon after one was killed.
var realLease = dedup.Options{RunLease: time.Second}

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

// Pitfalls R1, R20, R33, R36 with real processes: killed with -9 at random moments, the plan ends with every letter
// brought back as one record that a consumer accepts, told once; also while the consumer works in between.
func TestKillReplayersAtRandomLosesAndDoublesNothing(t *testing.T) {
	w, redis := newRealWorld(t)
	const letters, kills, killed = 200, 6, -1
	w.deadOf(letters, 5)
	file := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(file, encode(t, w.plan()), 0o600); err != nil {
		t.Fatal(err)
	}
	environment := []string{"T_PREFIX=" + w.names.Prefix, "T_KAFKA=" + w.seed, "T_REDIS=" + redis, "T_PLAN=" + file}
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
	for _, r := range w.all(w.names.Audit()) {
		rec, err := audit.Decode(r.Value)
		if err != nil {
			t.Fatal(err)
		}
		if rec.Entry != nil {
			w.journal.events = append(w.journal.events, rec.Entry.Events...)
		}
	}
	checkComplete(t, w, letters)
	if f := w.fold(); f.Overview().Letters != letters || len(f.Conflicts()) != 0 {
		t.Errorf("%d letters, conflicts %v; want %d and none", f.Overview().Letters, f.Conflicts(), letters)
	}
}
