package topics_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"

	"recon/pkg/topics"
)

func TestAPlanCreatesWhatIsMissingWithAllItsSettings(t *testing.T) {
	c := newCluster(t, 3)
	c.create("recon.main", 6, 3, "max.message.bytes", "3000000")
	plan, err := c.inspect().Plan()
	if err != nil {
		t.Fatal(err)
	}
	letters := ": create with 6 partitions, 3 replicas, cleanup.policy=delete, max.message.bytes=4065536, min.insync.replicas=2, retention.bytes=-1, retention.ms=-1"
	small := ": create with 6 partitions, 3 replicas, cleanup.policy=delete, min.insync.replicas=2, retention.bytes=-1, retention.ms=-1"
	tier := ": create with 6 partitions, 3 replicas, cleanup.policy=delete, max.message.bytes=3065536, min.insync.replicas=2, retention.bytes=-1, retention.ms=2592000000"
	want := []string{
		"recon.retry.2s" + tier, "recon.retry.1h" + tier, "recon.dlq" + letters, "recon.dispositions" + small, "recon.quarantine" + letters, "recon.audit" + small,
	}
	if len(plan) != len(want) {
		t.Fatalf("got %d steps, want %d", len(plan), len(want))
	}
	for i, step := range plan {
		if step.String() != want[i] {
			t.Errorf("step %d:\ngot  %s\nwant %s", i, step, want[i])
		}
	}
	before, _ := c.inspect().Topic("recon.main")
	if err := plan.Apply(c.ctx(), c.adm); err != nil {
		t.Fatal(err)
	}
	after := c.inspect()
	if main, _ := after.Topic("recon.main"); !maps.Equal(main.Settings, before.Settings) || main.Partitions != before.Partitions {
		t.Error("main was changed")
	}
	if again, err := after.Plan(); err != nil || len(again) != 0 {
		t.Errorf("second plan: got %v, %v, want none", again, err)
	}
	if dlq, _ := after.Topic("recon.dlq"); dlq.Partitions != 6 || dlq.Replicas != 3 || !dlq.Settings["retention.ms"].Own || dlq.Settings["message.timestamp.type"].Own {
		t.Errorf("dlq: got %+v", dlq)
	}
}

// Pitfall G3: main keeps what it has, whatever that is, and topics that are not ours too.
func TestAPlanNeverTouchesMainNorForeignTopics(t *testing.T) {
	c := newCluster(t, 3)
	c.create("recon.main", 2, 1, "cleanup.policy", "compact", "retention.bytes", "77", "min.insync.replicas", "1")
	c.create("recon.retry.60s", 1, 1, "cleanup.policy", "compact")
	c.create("recon.retry.7m", 1, 1, "retention.ms", "1000")
	c.create("recon.main.copy", 1, 1, "cleanup.policy", "compact")
	for _, step := range c.apply() {
		if step.Topic == "recon.main" || strings.HasPrefix(step.Topic, "recon.main.") || step.Topic == "recon.retry.60s" || step.Topic == "recon.retry.7m" {
			t.Errorf("a step for %s", step)
		}
	}
	main, _ := c.inspect().Topic("recon.main")
	if main.Settings["cleanup.policy"].Value != "compact" || main.Settings["retention.bytes"].Value != "77" || main.Partitions != 2 {
		t.Errorf("main: got %+v, want it untouched", main)
	}
}

func TestAPlanSetsOnlyWhatIsWrong(t *testing.T) {
	c := newCluster(t, 3)
	c.create("recon.main", 2, 3, "min.insync.replicas", "2")
	c.apply()
	c.set("recon.dlq", "retention.ms", "1000", "max.message.bytes", "5000000", "compression.type", "zstd")
	c.set("recon.retry.1h", "min.insync.replicas", "1")
	plan := c.apply()
	if len(plan) != 2 || plan[0].String() != "recon.retry.1h: min.insync.replicas=2" || plan[1].String() != "recon.dlq: retention.ms=-1" {
		t.Errorf("got %v", plan)
	}
	dlq, _ := c.inspect().Topic("recon.dlq")
	for setting, want := range map[string]string{"retention.ms": "-1", "max.message.bytes": "5000000", "compression.type": "zstd"} {
		if got := dlq.Settings[setting].Value; got != want {
			t.Errorf("%s: got %s, want %s", setting, got, want)
		}
	}
}

func TestOnlyTiersAndLettersGrowWithMain(t *testing.T) {
	c := newCluster(t, 1)
	c.create("recon.main", 2, 1)
	c.apply()
	if _, err := c.adm.UpdatePartitions(c.ctx(), 5, "recon.main"); err != nil {
		t.Fatal(err)
	}
	for main, _ := c.inspect().Topic("recon.main"); main.Partitions != 5; main, _ = c.inspect().Topic("recon.main") {
	}
	for _, step := range c.apply() {
		if want := step.Topic + ": grow to 5 partitions"; step.String() != want {
			t.Errorf("got %s, want %s", step, want)
		}
	}
	f := c.inspect()
	if wrong := topics.Wrongs(f.Verify()); len(wrong) != 0 {
		t.Errorf("after the plan: %v", wrong)
	}
	for topic, want := range map[string]int32{"recon.retry.2s": 5, "recon.retry.1h": 5, "recon.dlq": 5, "recon.quarantine": 5, "recon.dispositions": 2, "recon.audit": 2} {
		if got, _ := f.Topic(topic); got.Partitions != want {
			t.Errorf("%s: got %d partitions, want %d", topic, got.Partitions, want)
		}
	}
}

func TestWithoutMainThereIsNoPlan(t *testing.T) {
	c := newCluster(t, 1)
	plan, err := c.inspect().Plan()
	if plan != nil || err == nil || !strings.Contains(err.Error(), "recon.main does not exist") || !strings.Contains(err.Error(), "RECON_TOPICS_PREFIX") {
		t.Errorf("got %v, %v, want an error that names main and the prefix", plan, err)
	}
}

func TestASmallClusterGetsTheReplicasItCanHold(t *testing.T) {
	for brokers, want := range map[int]string{1: "1 replicas", 2: "2 replicas", 4: "3 replicas"} {
		c := newCluster(t, brokers)
		c.create("recon.main", 1, 1)
		for _, step := range c.apply() {
			if !strings.Contains(step.String(), want) || strings.Contains(step.String(), "min.insync") != (brokers > 2) {
				t.Errorf("%d brokers: got %s, want %s", brokers, step, want)
			}
		}
	}
}

// One step that fails is told with Kafka's reason, and the others are done; applying again goes on.
func TestAFailedStepKeepsNoOtherFromBeingDone(t *testing.T) {
	c := newCluster(t, 1)
	c.create("recon.main", 2, 1)
	plan, err := c.inspect().Plan()
	if err != nil {
		t.Fatal(err)
	}
	broken := append(topics.Plan{}, plan...)
	broken[2].Replicas = 5
	broken = append(broken, topics.Step{Topic: "recon.none", Settings: map[string]string{"retention.ms": "-1"}}, topics.Step{Topic: "recon.none", Partitions: 9})
	err = broken.Apply(c.ctx(), c.adm)
	if err == nil || len(strings.Split(err.Error(), "\n")) < 3 {
		t.Errorf("got %v, want three failures", err)
	}
	for _, part := range []string{"recon.dlq: create", "INVALID_REPLICATION_FACTOR", "recon.none: retention.ms=-1: UNKNOWN_TOPIC", "recon.none: grow to 9"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("missing %q in %v", part, err)
		}
	}
	if rest := c.apply(); len(rest) != 1 || rest[0].Topic != "recon.dlq" {
		t.Errorf("left: got %v, want the letters' topic alone", rest)
	}
}

func TestTwoWhoApplyAtOnceDoNotDisturbEachOther(t *testing.T) {
	c := newCluster(t, 1)
	c.create("recon.main", 2, 1)
	plan, err := c.inspect().Plan()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := plan.Apply(c.ctx(), c.adm); err != nil {
			t.Error(err)
		}
	}
	plan[0].Partitions = 9 // what the other one thought of main
	if err := plan.Apply(c.ctx(), c.adm); err != nil {
		t.Error(err)
	}
}

func TestABrokerThatRefusesIsTold(t *testing.T) {
	c := newCluster(t, 1, kfake.EnableSASL(), kfake.EnableACLs(), kfake.Superuser("PLAIN", "admin", "pw"), kfake.User("PLAIN", "recon", "pw"))
	plan := topics.Plan{{Topic: "recon.dlq", Create: true, Partitions: 1, Replicas: 1}}
	if err := plan.Apply(c.ctx(), c.as("recon", "pw").adm); err == nil || !strings.Contains(err.Error(), kerr.TopicAuthorizationFailed.Message) {
		t.Errorf("got %v, want the refusal", err)
	}
}
