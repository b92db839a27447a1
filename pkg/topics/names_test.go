package topics_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"recon/pkg/topics"
)

func TestNamesAreTheContracts(t *testing.T) {
	for _, tt := range []struct {
		prefix, want string
	}{{"", "recon"}, {"recon", "recon"}, {"acme.recon", "acme.recon"}} {
		n := topics.Names{Prefix: tt.prefix}
		got := append(n.Written(topics.Ladder{2 * time.Second, 90 * time.Second}), n.Quarantine(), n.TierPrefix())
		var want []string
		for _, suffix := range []string{"main", "dlq", "dispositions", "audit", "retry.2s", "retry.1m30s", "quarantine", "retry."} {
			want = append(want, tt.want+"."+suffix)
		}
		if !slices.Equal(got, want) {
			t.Errorf("prefix %q: got %v, want %v", tt.prefix, got, want)
		}
	}
}

func TestPrefixesThatKafkaRefusesAreRefusedAtStart(t *testing.T) {
	for prefix, ok := range map[string]bool{
		"": true, "recon": true, "Acme_Recon-2.eu": true, strings.Repeat("a", 200): true,
		strings.Repeat("a", 201): false, "a b": false, "a/b": false, "ä": false, "..": false, "a,b": false,
	} {
		err := topics.Names{Prefix: prefix}.Validate()
		if (err == nil) != ok {
			t.Errorf("prefix %q: got %v, want valid=%t", prefix, err, ok)
		}
		if err != nil && !strings.Contains(err.Error(), "topics.prefix") {
			t.Errorf("prefix %q: %v does not name its setting", prefix, err)
		}
	}
}

// Pitfall A13, G6: names that would be taken for one another are refused.
func TestAGroupIsNeverCalledLikeATopic(t *testing.T) {
	n := topics.Names{Prefix: "acme"}
	for group, ok := range map[string]bool{
		"recon-consumer": true, "acme": true, "acme.consumer": true, "recon.main": true,
		"": false, "acme.main": false, "acme.dlq": false, "acme.quarantine": false, "acme.audit": false, "acme.dispositions": false, "acme.retry.5m": false,
	} {
		if err := n.ValidateGroup(group); (err == nil) != ok {
			t.Errorf("group %q: got %v, want valid=%t", group, err, ok)
		}
	}
}

func TestATierIsKnownByItsNameAlone(t *testing.T) {
	n := topics.Names{}
	for topic, want := range map[string]time.Duration{
		"recon.retry.2s": 2 * time.Second, "recon.retry.1m30s": 90 * time.Second, "recon.retry.24h": 24 * time.Hour,
		"recon.retry.60s": 0, "recon.retry.": 0, "recon.retry.2s.main": 0, "recon.retry.main": 0, "recon.main": 0, "other.retry.2s": 0,
	} {
		if got, ok := n.DelayOf(topic); ok != (want > 0) || (ok && got != want) {
			t.Errorf("%s: got %s %t, want %s", topic, got, ok, want)
		}
	}
}
