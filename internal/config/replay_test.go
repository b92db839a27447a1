package config_test

import (
	"slices"
	"testing"
	"time"

	"recon/internal/config"
)

// What a way back must bring along is said by file and environment, like every other setting.
func TestSettingsOfTheWayBack(t *testing.T) {
	e, err := config.Load(config.Source{
		YAML: []byte("replay:\n  root_causes: [bank_holiday, typo]\n  ticket_required: true\n"),
		Env:  env(map[string]string{"RECON_DEDUP_RUN_LEASE": "3s"}),
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(e.Replay.RootCauses, []string{"bank_holiday", "typo"}) || !e.Replay.TicketRequired || e.Dedup.RunLease != 3*time.Second {
		t.Errorf("got %+v and a lease of %s", e.Replay, e.Dedup.RunLease)
	}
	for path, want := range map[string]string{
		"replay.root_causes": "file", "replay.ticket_required": "file", "dedup.run_lease": "environment", "dedup.ttl": "default",
	} {
		if got := e.From(path); got != want {
			t.Errorf("%s comes from %q, want %q", path, got, want)
		}
	}
	if d := config.Defaults(); d.Dedup.RunLease != 30*time.Second || d.Replay.TicketRequired {
		t.Errorf("defaults are %+v and a lease of %s", d.Replay, d.Dedup.RunLease)
	}
}
