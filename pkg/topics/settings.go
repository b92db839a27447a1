package topics

import (
	"math"
	"strconv"
	"time"
)

// The settings of a topic that matter here, as Kafka calls them.
const (
	CleanupPolicy   = "cleanup.policy"
	RetentionMs     = "retention.ms"
	RetentionBytes  = "retention.bytes"
	MaxMessageBytes = "max.message.bytes"
	MinInsync       = "min.insync.replicas"
)

const (
	// leastRetention is how long a tier keeps a record at least, so that an outage of weeks loses none.
	leastRetention = 30 * 24 * time.Hour
	// headroom is what our headers and a letter's facts add to a record, in bytes.
	headroom = 64 << 10
	// wantReplicas and wantInsync let one broker of three fail without losing or refusing a record.
	wantReplicas = 3
	wantInsync   = 2
)

// Rule is one setting that a topic must have.
type Rule struct {
	Setting string
	Value   string // what a plan sets
	AtLeast bool   // a larger number is as good, for retention also -1 (without end); else exactly Value
}

// Met reports whether the value that a topic has is good enough.
func (r Rule) Met(have string) bool {
	if !r.AtLeast {
		return have == r.Value
	}
	if have == "-1" {
		return r.Setting == RetentionMs || r.Setting == RetentionBytes
	}
	want, _ := strconv.ParseInt(r.Value, 10, 64)
	got, err := strconv.ParseInt(have, 10, 64)
	return err == nil && got >= want
}

// Want says what good means, for people.
func (r Rule) Want() string {
	if r.AtLeast {
		return "≥ " + r.Value
	}
	return r.Value
}

// Spec is what one topic must be like.
type Spec struct {
	Topic      string
	Upstream   bool  // belongs to upstream: looked at, never created or changed
	Partitions int32 // to be created with; 0 when main's are not known
	AsMain     bool  // must have main's number of partitions, and grows to it
	Rules      []Rule
}

// Facts are what the settings of all topics derive from: those of main. Zero where they are not known.
type Facts struct {
	Partitions int32
	MaxBytes   int64 // its max.message.bytes
}

// Wanted is the table of CONTRACT 1: main first, then tiers by delay, then the rest. Size rules are left out while
// main's limit is not known. Beyond the contract, retention.bytes is -1 everywhere: a size limit inherited from the
// broker would delete letters whatever retention.ms says.
func Wanted(n Names, l Ladder, main Facts) []Spec {
	specs := []Spec{{Topic: n.Main(), Upstream: true, Partitions: main.Partitions, Rules: []Rule{{CleanupPolicy, "delete", false}}}}
	for _, delay := range l {
		retention := max(leastRetention, 2*delay)
		specs = append(specs, ours(n.Tier(delay), main, true,
			Rule{RetentionMs, strconv.FormatInt(retention.Milliseconds(), 10), true},
			atLeast(main.MaxBytes, main.MaxBytes+headroom)))
	}
	forever := Rule{RetentionMs, "-1", false}
	letter := atLeast(main.MaxBytes, (4*main.MaxBytes+2)/3+headroom)
	return append(specs,
		ours(n.DLQ(), main, true, forever, letter),
		ours(n.Dispositions(), main, false, forever),
		ours(n.Quarantine(), main, true, forever, letter),
		ours(n.Audit(), main, false, forever))
}

func ours(topic string, main Facts, asMain bool, rules ...Rule) Spec {
	s := Spec{Topic: topic, Partitions: main.Partitions, AsMain: asMain, Rules: []Rule{{CleanupPolicy, "delete", false}}}
	for _, r := range rules {
		if r.Setting != "" {
			s.Rules = append(s.Rules, r)
		}
	}
	s.Rules = append(s.Rules, Rule{RetentionBytes, "-1", false})
	return s
}

// atLeast is a size rule within the 32 bits that Kafka has for it; none while main's limit is not known.
func atLeast(main, size int64) Rule {
	if main == 0 {
		return Rule{}
	}
	return Rule{MaxMessageBytes, strconv.FormatInt(min(size, math.MaxInt32), 10), true}
}
