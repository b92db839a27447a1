// Package topics knows every topic of the service: its name, which tier a wait goes to, the settings it must have, and
// how to bring a cluster there.
//
// Promise: what belongs to upstream is looked at and never changed, nothing is ever deleted, and no topic comes into
// being unless a person applies a plan.
package topics

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// DefaultPrefix begins every topic's name unless another is configured.
const DefaultPrefix = "recon"

// Names gives the topics' names.
type Names struct {
	Prefix string // default DefaultPrefix
}

func (n Names) with(suffix string) string {
	if n.Prefix == "" {
		return DefaultPrefix + suffix
	}
	return n.Prefix + suffix
}

// Main is where upstream writes.
func (n Names) Main() string { return n.with(".main") }

// DLQ holds the dead letters.
func (n Names) DLQ() string { return n.with(".dlq") }

// Dispositions holds what became of letters.
func (n Names) Dispositions() string { return n.with(".dispositions") }

// Quarantine holds what waits for a manual journal.
func (n Names) Quarantine() string { return n.with(".quarantine") }

// Audit holds the trail.
func (n Names) Audit() string { return n.with(".audit") }

// Tier is the topic of the tier with that delay.
func (n Names) Tier(delay time.Duration) string { return n.TierPrefix() + Suffix(delay) }

// TierPrefix begins the names of all tiers, configured or not.
func (n Names) TierPrefix() string { return n.with(".retry.") }

// DelayOf tells a tier from other topics: it returns the delay that the name says, and false for a name that Tier
// never gives.
func (n Names) DelayOf(topic string) (time.Duration, bool) {
	suffix, ok := strings.CutPrefix(topic, n.TierPrefix())
	if !ok {
		return 0, false
	}
	delay, err := ParseSuffix(suffix)
	return delay, err == nil
}

// Written are the topics that consumer and replayer write to or read, with the tiers of the ladder, without quarantine.
func (n Names) Written(l Ladder) []string {
	all := []string{n.Main(), n.DLQ(), n.Dispositions(), n.Audit()}
	for _, d := range l {
		all = append(all, n.Tier(d))
	}
	return all
}

// longestPrefix leaves room for the longest suffix within the 249 characters that Kafka allows.
const longestPrefix = 200

// Validate checks the prefix against Kafka's rule for topic names, with room for the longest suffix.
func (n Names) Validate() error {
	p := n.with("")
	ok := len(p) <= longestPrefix
	for _, c := range p {
		ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("._-", c))
	}
	if !ok || strings.Trim(p, ".") == "" {
		return fmt.Errorf("topics.prefix %q: want 1 to %d characters of a-z A-Z 0-9 . _ -", p, longestPrefix)
	}
	return nil
}

// ValidateGroup refuses a consumer group that is named like a topic of ours: in tools that show both, and in rules on
// name prefixes, one would be taken for the other.
func (n Names) ValidateGroup(group string) error {
	switch {
	case group == "":
		return fmt.Errorf("group (RECON_GROUP) is empty: give the consumer group a name")
	case strings.HasPrefix(group, n.TierPrefix()), slices.Contains(append(n.Written(nil), n.Quarantine()), group):
		return fmt.Errorf("group %q (RECON_GROUP) is the name of a topic: give the consumer group another name", group)
	}
	return nil
}
