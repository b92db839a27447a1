package topics_test

import (
	"testing"

	"recon/pkg/topics"
)

func TestTheWantedSettingsAreTheContracts(t *testing.T) {
	specs := topics.Wanted(topics.Names{}, topics.Ladder{2 * s, 60 * 24 * h}, topics.Facts{Partitions: 12, MaxBytes: 1_048_588})
	type rules = map[string]string
	want := []struct {
		topic            string
		upstream, asMain bool
		rules            rules
	}{
		{"recon.main", true, false, rules{"cleanup.policy": "delete"}},
		{"recon.retry.2s", false, true, rules{"cleanup.policy": "delete", "retention.ms": "≥ 2592000000", "max.message.bytes": "≥ 1114124", "retention.bytes": "-1"}},
		{"recon.retry.1440h", false, true, rules{"cleanup.policy": "delete", "retention.ms": "≥ 10368000000", "max.message.bytes": "≥ 1114124", "retention.bytes": "-1"}},
		{"recon.dlq", false, true, rules{"cleanup.policy": "delete", "retention.ms": "-1", "max.message.bytes": "≥ 1463654", "retention.bytes": "-1"}},
		{"recon.dispositions", false, false, rules{"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}},
		{"recon.quarantine", false, true, rules{"cleanup.policy": "delete", "retention.ms": "-1", "max.message.bytes": "≥ 1463654", "retention.bytes": "-1"}},
		{"recon.audit", false, false, rules{"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}},
	}
	if len(specs) != len(want) {
		t.Fatalf("got %d topics, want %d", len(specs), len(want))
	}
	for i, w := range want {
		got := specs[i]
		if got.Topic != w.topic || got.Upstream != w.upstream || got.AsMain != w.asMain || got.Partitions != 12 {
			t.Errorf("topic %d: got %+v, want %+v", i, got, w)
		}
		if len(got.Rules) != len(w.rules) {
			t.Errorf("%s: got %d rules, want %d", w.topic, len(got.Rules), len(w.rules))
		}
		for _, r := range got.Rules {
			if r.Want() != w.rules[r.Setting] {
				t.Errorf("%s: %s: got %s, want %s", w.topic, r.Setting, r.Want(), w.rules[r.Setting])
			}
		}
	}
}

func TestSizesAreRoundedUpAndStayWithinKafkasNumbers(t *testing.T) {
	for _, tt := range []struct {
		main         int64
		tier, letter string
	}{
		{0, "", ""}, {1, "65537", "65538"}, {3, "65539", "65540"}, {4, "65540", "65542"}, {2_147_483_647, "2147483647", "2147483647"},
	} {
		got := map[string]string{}
		for _, spec := range topics.Wanted(topics.Names{}, topics.Ladder{s}, topics.Facts{MaxBytes: tt.main}) {
			for _, r := range spec.Rules {
				if r.Setting == topics.MaxMessageBytes {
					got[spec.Topic] = r.Value
				}
			}
		}
		if got["recon.retry.1s"] != tt.tier || got["recon.dlq"] != tt.letter || got["recon.quarantine"] != tt.letter {
			t.Errorf("main %d: got %v, want %s and %s", tt.main, got, tt.tier, tt.letter)
		}
	}
}

func TestARuleComparesExactlyOrTakesMore(t *testing.T) {
	exact, least, size := topics.Rule{topics.CleanupPolicy, "delete", false}, topics.Rule{topics.RetentionMs, "100", true}, topics.Rule{topics.MaxMessageBytes, "100", true}
	for _, tt := range []struct {
		rule topics.Rule
		have string
		want bool
	}{
		{exact, "delete", true},
		{exact, "", false},
		{exact, "compact", false},
		{exact, "compact,delete", false},
		{exact, "delete,compact", false},
		{exact, "Delete", false},
		{exact, " delete", false},
		{least, "100", true},
		{least, "101", true},
		{least, "99", false},
		{least, "-1", true},
		{least, "-2", false},
		{least, "", false},
		{least, "x", false},
		{size, "100", true},
		{size, "1000", true},
		{size, "99", false},
		{size, "-1", false},
		{size, "", false},
	} {
		if got := tt.rule.Met(tt.have); got != tt.want {
			t.Errorf("%s %s with %q: got %t", tt.rule.Setting, tt.rule.Want(), tt.have, got)
		}
	}
}
