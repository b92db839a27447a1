package consumer

import (
	"testing"
	"time"

	"recon/pkg/audit"
	"recon/pkg/dedup"
)

// Promise 4: a record that comes again after a kill tells what became of it, under the id of the first telling.
func TestRecordThatComesAgainTellsItsOwnOutcome(t *testing.T) {
	now := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		name                   string
		made                   int // attempts of the arriving record
		state                  dedup.State
		generation, attempt    int // of the stored value
		want                   string
		wantAttempt, wantOfGen int
	}{
		{"posted by this attempt", 0, dedup.Posted, 0, 1, audit.EventPosted, 1, 0},
		{"waits after this attempt", 0, dedup.Waiting, 0, 1, audit.EventRetry, 1, 0},
		{"dead by this attempt", 1, dedup.Dead, 0, 2, audit.EventDead, 2, 0},
		{"posted by a later attempt", 0, dedup.Posted, 0, 3, audit.EventRetry, 1, 0},
		{"waits after a later attempt", 1, dedup.Waiting, 0, 3, audit.EventRetry, 2, 0},
		{"dead by a later attempt", 0, dedup.Dead, 0, 2, audit.EventRetry, 1, 0},
		{"a later attempt is at work", 0, dedup.Claimed, 0, 2, audit.EventRetry, 1, 0},
		{"posted in a later generation", 0, dedup.Posted, 1, 4, audit.EventPosted, 4, 1},
	} {
		d := someDelivery(now)
		d.retry.Attempt, d.ended = row.made, now
		d.stored = dedup.Value{State: row.state, Root: d.retry.Root, Generation: row.generation, Attempt: row.attempt}
		ev := outcome{endRepeated, d}.event()
		if ev.Type != row.want || ev.Attempt != row.wantAttempt || ev.Generation != row.wantOfGen {
			t.Errorf("%s: told %s, attempt %d of generation %d, want %s, %d of %d", row.name, ev.Type, ev.Attempt, ev.Generation, row.want, row.wantAttempt, row.wantOfGen)
		}
	}
}
