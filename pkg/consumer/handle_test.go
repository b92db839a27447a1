package consumer

import (
	"context"
	"testing"
	"time"
)

// Between the end of work and the end of the assignments an attempt comes back cut off: it has no route and goes nowhere.
func TestCutOffAttemptOfALivingAssignmentIsDropped(t *testing.T) {
	var told []Event
	e := &Engine{cfg: Config{Order: OrderKey}.withDefaults(), observe: func(ev Event) { told = append(told, ev) }}
	l := newLoop(t.Context(), e)
	l.now = time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	d := someDelivery(l.now)
	d.part = &partition{source: source{"recon.main", 2}, window: newWindow(1, 10, 10)}
	d.part.ctx, d.part.cancel = context.WithCancel(t.Context())
	d.slot, _ = d.part.window.admit(d.at.Offset, 0)
	d.step = stepHandle
	l.hold(d)
	l.running = 1
	d.part.cancel()
	d.err = context.Canceled
	l.handled(d)
	if d.step != stepDone || l.running != 0 || l.unsettled != 0 || d.part.inHand != 0 {
		t.Errorf("step %d, running %d, unsettled %d, in hand %d, want it dropped and everything given back", d.step, l.running, l.unsettled, d.part.inHand)
	}
	if d.part.window.ready() {
		t.Error("an attempt that was cut off counts as an outcome")
	}
	if len(told) != 1 || told[0].Kind != Abandoned {
		t.Errorf("told %v, want abandoned once", told)
	}
}
