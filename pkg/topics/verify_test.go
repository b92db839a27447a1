package topics_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"recon/pkg/topics"
)

// told compares findings with what a test wants, each as the beginning of its line.
func told(t *testing.T, got []topics.Finding, want ...string) {
	t.Helper()
	for i, f := range got {
		if i >= len(want) || !strings.HasPrefix(f.String(), want[i]) {
			t.Errorf("finding %d: got %s", i, f)
		}
		if f.Do == "" {
			t.Errorf("finding %d does not say what to do: %s", i, f)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %d findings, want %d:\n%s", len(got), len(want), strings.Join(want, "\n"))
	}
}

func TestNothingIsFoundAfterAPlanWasApplied(t *testing.T) {
	c := newCluster(t, 3)
	c.create("recon.main", 6, 3, "min.insync.replicas", "2", "max.message.bytes", "2000000")
	c.apply()
	told(t, c.inspect().Verify())
}

// Pitfall G2, G7: what is missing is told, and main's absence is upstream's affair.
func TestMissingTopicsAreToldEachWithWhoMakesThem(t *testing.T) {
	c := newCluster(t, 1)
	f := c.inspect()
	told(t, f.Verify(),
		"error: recon.main: topic is missing, want there: it belongs to upstream",
		"error: recon.retry.2s: topic is missing, want there: `consumer topics --apply`",
		"error: recon.retry.1h: topic is missing", "error: recon.dlq: topic is missing",
		"error: recon.dispositions: topic is missing", "error: recon.quarantine: topic is missing", "error: recon.audit: topic is missing")
	if got, want := f.Missing([]string{"recon.dlq", "x"}), []string{"recon.dlq", "x"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Pitfall G8, and the settings that Kafka takes without a word: an empty cleanup.policy is neither delete nor compact.
func TestEverySettingIsComparedAsTheContractSays(t *testing.T) {
	tests := []struct {
		topic, setting, value, want string
	}{
		{"recon.main", "cleanup.policy", "compact", "error: recon.main: cleanup.policy is compact, want delete: compaction deletes"},
		{"recon.dlq", "cleanup.policy", "compact,delete", "error: recon.dlq: cleanup.policy is compact,delete, want delete: `consumer topics --apply`"},
		{"recon.dispositions", "cleanup.policy", "compact", "error: recon.dispositions: cleanup.policy is compact, want delete"},
		{"recon.audit", "cleanup.policy", "compact", "error: recon.audit: cleanup.policy is compact, want delete"},
		{"recon.retry.2s", "retention.ms", "86400000", "error: recon.retry.2s: retention.ms is 86400000, want ≥ 2592000000"},
		{"recon.dlq", "retention.ms", "2592000000", "error: recon.dlq: retention.ms is 2592000000, want -1"},
		{"recon.audit", "retention.ms", "2592000000", "error: recon.audit: retention.ms is 2592000000, want -1"},
		{"recon.quarantine", "retention.bytes", "1000000", "error: recon.quarantine: retention.bytes is 1000000, want -1"},
		{"recon.retry.1h", "max.message.bytes", "1048588", "error: recon.retry.1h: max.message.bytes is 1048588, want ≥ 1114124"},
		{"recon.dlq", "max.message.bytes", "1463653", "error: recon.dlq: max.message.bytes is 1463653, want ≥ 1463654"},
		{"recon.quarantine", "max.message.bytes", "1463653", "error: recon.quarantine: max.message.bytes is 1463653, want ≥ 1463654"},
		{"recon.retry.1h", "min.insync.replicas", "1", "warning: recon.retry.1h: min.insync.replicas is 1, want ≥ 2: `consumer topics --apply`"},
		{"recon.main", "min.insync.replicas", "1", "warning: recon.main: min.insync.replicas is 1, want ≥ 2: a write"},
		{"recon.retry.1h", "retention.ms", "-1", ""},
		{"recon.retry.1h", "retention.ms", "9999999999", ""},
		{"recon.dlq", "max.message.bytes", "9999999", ""},
		{"recon.retry.1h", "min.insync.replicas", "3", ""},
		{"recon.main", "retention.ms", "1000", ""},
	}
	for _, tt := range tests {
		t.Run(tt.topic+" "+tt.setting+" "+tt.value, func(t *testing.T) {
			c := newCluster(t, 3)
			c.create("recon.main", 3, 3, "min.insync.replicas", "2")
			c.apply()
			c.set(tt.topic, tt.setting, tt.value)
			if tt.want == "" {
				told(t, c.inspect().Verify())
				return
			}
			told(t, c.inspect().Verify(), tt.want)
		})
	}
}

// Pitfall G1, G8: partitions and replicas are counted.
func TestPartitionsAreMainsAndCopiesAreCounted(t *testing.T) {
	c := newCluster(t, 3)
	c.create("recon.main", 6, 2)
	c.apply()
	told(t, c.inspect().Verify(), "warning: recon.main: replicas is 2, want 3: its records are lost with 2 disks: have its partitions reassigned")
	c.ladder = append(c.ladder, 2*h, 3*h)
	c.create("recon.retry.2h", 9, 1, "cleanup.policy", "delete", "retention.ms", "-1", "max.message.bytes", "1114124", "min.insync.replicas", "2")
	c.create("recon.retry.3h", 2, 3, "cleanup.policy", "delete", "retention.ms", "-1", "max.message.bytes", "1114124", "min.insync.replicas", "2")
	// Pitfall M12: the setting says 2, one replica accepts every write all the same.
	told(t, c.inspect().Verify(),
		"warning: recon.main: replicas is 2",
		"warning: recon.retry.2h: partitions is 9, want 6: harmless",
		"warning: recon.retry.2h: replicas is 1, want 3: min.insync.replicas 2 does not help here; its records are lost with one disk",
		"error: recon.retry.3h: partitions is 2, want 6: `consumer topics --apply`")
	if plan, err := c.inspect().Plan(); err != nil || len(plan) != 1 || plan[0].String() != "recon.retry.3h: grow to 6 partitions" {
		t.Errorf("plan: got %v, %v, want the tier that is too small to grow", plan, err)
	}
}

// A topic is as safe as its least copied partition.
func TestThePartitionWithTheFewestReplicasCounts(t *testing.T) {
	detail := kadm.TopicDetail{Partitions: kadm.PartitionDetails{0: {Replicas: []int32{1, 2, 3}}, 1: {Replicas: []int32{2}}, 2: {Replicas: []int32{3, 1}}}}
	if got := topics.TopicOf("recon.main", detail); got.Partitions != 3 || got.Replicas != 1 {
		t.Errorf("got %d partitions and %d replicas, want 3 and 1", got.Partitions, got.Replicas)
	}
}

func TestATopicDeletedWhileWeLookIsMissing(t *testing.T) {
	c := newCluster(t, 1)
	c.create("recon.main", 1, 1)
	c.apply()
	c.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.DescribeConfigs}, Resource: "recon.dlq", Err: kerr.UnknownTopicOrPartition})
	told(t, topics.Wrongs(c.inspect().Verify()), "error: recon.dlq: topic is missing")
}

func TestASmallClusterIsWarnedAboutAndNotRefused(t *testing.T) {
	c := newCluster(t, 1)
	c.create("recon.main", 1, 1)
	c.apply()
	got := c.inspect().Verify()
	if wrong := topics.Wrongs(got); len(wrong) != 0 {
		t.Errorf("got %v, want warnings only", wrong)
	}
	if len(got) != 7 || !strings.Contains(got[0].String(), "run three brokers") {
		t.Errorf("got %d findings, first %v, want one for each topic, telling to run three brokers", len(got), got[:min(1, len(got))])
	}
}

// Pitfall G4: tiers of an earlier configuration are told, read and left alone; other names are not taken for tiers.
func TestTiersNoLongerConfiguredAreDrained(t *testing.T) {
	c := newCluster(t, 3)
	c.create("recon.main", 2, 3, "min.insync.replicas", "2")
	c.apply()
	c.create("recon.retry.10m", 1, 3, "min.insync.replicas", "2")
	c.create("recon.retry.60s", 1, 3)
	c.create("recon.retry.2s.main", 1, 3)
	f := c.inspect()
	if got, want := f.Tiers(), []string{"recon.retry.2s", "recon.retry.10m", "recon.retry.1h"}; !slices.Equal(got, want) {
		t.Errorf("to be read: got %v, want %v", got, want)
	}
	if got, want := f.Leftover(), []string{"recon.retry.10m"}; !slices.Equal(got, want) {
		t.Errorf("left over: got %v, want %v", got, want)
	}
	told(t, f.Verify(),
		"warning: recon.retry.10m: topic is not configured, want a tier of retry.tiers: it is read until it is empty",
		"warning: recon.retry.2s.main: topic is another name", "warning: recon.retry.60s: topic is another name")
	if plan, err := f.Plan(); err != nil || len(plan) != 0 {
		t.Errorf("plan: got %v, %v, want none", plan, err)
	}
}

func TestWhatThisUserMayNotSeeIsToldAndStopsThePlan(t *testing.T) {
	all := []string{"recon.main", "recon.retry.2s", "recon.retry.1h", "recon.dlq", "recon.dispositions", "recon.quarantine"}
	may := func(op kmsg.ACLOperation, names []string) (acls []kfake.ACL) {
		for _, name := range names {
			acls = append(acls, kfake.ACL{Resource: kmsg.ACLResourceTypeTopic, Name: name, Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: op, Allow: true})
		}
		return acls
	}
	acls := append(may(kmsg.ACLOperationDescribe, all), may(kmsg.ACLOperationDescribeConfigs, slices.Delete(slices.Clone(all), 3, 4))...)
	c := newCluster(t, 3, kfake.EnableSASL(), kfake.EnableACLs(), kfake.Superuser("PLAIN", "admin", "pw"), kfake.User("PLAIN", "recon", "pw", acls...))
	admin, user := c.as("admin", "pw"), c.as("recon", "pw")
	admin.create("recon.main", 2, 3, "min.insync.replicas", "2")
	admin.apply()

	f := user.inspect()
	told(t, f.Verify(),
		"error: recon.dlq: settings is unreadable (TOPIC_AUTHORIZATION_FAILED), want readable: allow this user DESCRIBE_CONFIGS",
		"error: recon.audit: topic is not shown (TOPIC_AUTHORIZATION_FAILED), want there: allow this user DESCRIBE")
	_, err := f.Plan()
	for _, part := range []string{"recon.dlq", "DESCRIBE_CONFIGS", "recon.audit", "allow DESCRIBE on"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("plan: got %v, want %q named", err, part)
		}
	}
	limits := f.Limits()
	if _, known := limits["recon.dlq"]; known || limits["recon.main"] != 1_048_588 {
		t.Errorf("limits: got %v, want main's and none that nobody told", limits)
	}
	if got, want := f.Missing([]string{"recon.main", "recon.audit"}), []string{"recon.audit"}; !slices.Equal(got, want) {
		t.Errorf("missing: got %v, want %v", got, want)
	}
}
