package topics

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Severity says whether the service may run with a finding.
type Severity string

// Wrong breaks a promise of the service; Warning weakens one, or is only worth knowing.
const (
	Wrong   Severity = "error"
	Warning Severity = "warning"
)

// Finding is one thing about the topics that is not as it should be.
type Finding struct {
	Topic    string
	Setting  string // a setting of Kafka, or topic, partitions, replicas
	Want     string
	Have     string
	Severity Severity
	Do       string // what a person does about it
}

// String is the finding in one line.
func (f Finding) String() string {
	return fmt.Sprintf("%s: %s: %s is %s, want %s: %s", f.Severity, f.Topic, f.Setting, f.Have, f.Want, f.Do)
}

const apply = "`consumer topics --apply` sets it"

// Verify compares what was found with what is wanted. Findings stand in the order of Wanted, then what is left over.
// None means that everything is as the contract says.
func (f *Found) Verify() []Finding {
	var all []Finding
	for _, spec := range Wanted(f.names, f.ladder, f.facts()) {
		t, ok := f.topics[spec.Topic]
		if !ok {
			all = append(all, f.absent(spec))
			continue
		}
		all = append(all, f.settings(spec, t)...)
		all = append(all, partitions(spec, t)...)
		all = append(all, f.copies(spec, t)...)
	}
	return append(all, f.strangers()...)
}

// Wrongs are the findings that the service must not run with.
func Wrongs(findings []Finding) []Finding {
	return slices.DeleteFunc(slices.Clone(findings), func(f Finding) bool { return f.Severity != Wrong })
}

func (f *Found) absent(spec Spec) Finding {
	missing := Finding{spec.Topic, "topic", "there", "missing", Wrong, "`consumer topics --apply` creates it"}
	if spec.Upstream {
		missing.Do = "it belongs to upstream: have it created there, or look at topics.prefix (RECON_TOPICS_PREFIX)"
	}
	if err, denied := f.hidden[spec.Topic]; denied {
		missing.Have, missing.Do = "not shown ("+name(err)+")", "allow this user DESCRIBE on it"
	}
	return missing
}

func (f *Found) settings(spec Spec, t Topic) (found []Finding) {
	if t.Err != nil {
		return []Finding{{t.Name, "settings", "readable", "unreadable (" + name(t.Err) + ")", Wrong, "allow this user DESCRIBE_CONFIGS on it"}}
	}
	for _, r := range spec.Rules {
		if have := t.Settings[r.Setting].Value; !r.Met(have) {
			do := apply
			if spec.Upstream {
				do = "compaction deletes records that nobody has posted: have upstream change it"
			}
			found = append(found, Finding{t.Name, r.Setting, r.Want(), quoted(have), Wrong, do})
		}
	}
	return found
}

func partitions(spec Spec, t Topic) []Finding {
	found := Finding{t.Name, "partitions", fmt.Sprint(spec.Partitions), fmt.Sprint(t.Partitions), Wrong, apply}
	switch {
	case !spec.AsMain || spec.Partitions == 0 || t.Partitions == spec.Partitions:
		return nil
	case t.Partitions > spec.Partitions:
		found.Severity, found.Do = Warning, "harmless, and Kafka cannot take partitions away: the surplus stays empty"
	}
	return []Finding{found}
}

// copies looks at what survives a lost disk. The number of replicas is counted: a topic with one replica accepts every
// write although min.insync.replicas says 2 (Apache Kafka 4.3.1).
func (f *Found) copies(spec Spec, t Topic) (found []Finding) {
	insync, _ := strconv.Atoi(t.Settings[MinInsync].Value)
	if t.Replicas < wantReplicas {
		do := "its records are lost with " + disks(t.Replicas) + ": have its partitions reassigned to three brokers (kafka-reassign-partitions)"
		if f.Brokers < wantReplicas {
			do = "its records are lost with " + disks(t.Replicas) + ": run three brokers for anything that must not be lost"
		}
		if insync > t.Replicas {
			do = fmt.Sprintf("%s %d does not help here; %s", MinInsync, insync, do)
		}
		found = append(found, Finding{t.Name, "replicas", strconv.Itoa(wantReplicas), strconv.Itoa(t.Replicas), Warning, do})
	}
	if t.Replicas >= wantReplicas && t.Err == nil && insync < wantInsync {
		do := apply
		if spec.Upstream {
			do = "a write that one broker alone has seen counts as written: have upstream change it"
		}
		found = append(found, Finding{t.Name, MinInsync, "≥ " + strconv.Itoa(wantInsync), strconv.Itoa(insync), Warning, do})
	}
	return found
}

func disks(replicas int) string {
	if replicas == 1 {
		return "one disk"
	}
	return fmt.Sprintf("%d disks", replicas)
}

// strangers are topics under the tiers' prefix that nothing is written to.
func (f *Found) strangers() (found []Finding) {
	for _, topic := range f.Leftover() {
		found = append(found, Finding{
			topic, "topic", "a tier of retry.tiers", "not configured", Warning,
			"it is read until it is empty and gets nothing new; delete it then, or add its delay to retry.tiers (RECON_RETRY_TIERS)",
		})
	}
	var odd []string
	for topic := range f.topics {
		if _, ok := f.names.DelayOf(topic); !ok && strings.HasPrefix(topic, f.names.TierPrefix()) {
			odd = append(odd, topic)
		}
	}
	slices.Sort(odd)
	for _, topic := range odd {
		found = append(found, Finding{
			topic, "topic", "a delay in its largest units after " + f.names.TierPrefix(), "another name", Warning,
			"it is no tier and is never read: move it away from this prefix",
		})
	}
	return found
}

func quoted(value string) string {
	if value == "" {
		return `""`
	}
	return value
}

// name is Kafka's name of an error without its explanation.
func name(err error) string {
	var known *kerr.Error
	if errors.As(err, &known) {
		return known.Message
	}
	return err.Error()
}
