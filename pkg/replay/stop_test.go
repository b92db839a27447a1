package replay_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/dedup"
	"recon/pkg/replay"
)

// A record that main does not take is that letter's own matter: the others come back.
func TestRecordThatMainRefusesFailsAlone(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.deadOf(5, 1)
		p := w.plan()
		report := w.run(p, replay.ExitIncomplete, func(c *replay.Config) {
			c.Producer = producer(func(ctx context.Context, r *kgo.Record, done func(*kgo.Record, error)) {
				if r.Topic == w.names.Main() && string(r.Key) == "key-2" {
					done(r, fmt.Errorf("%w: limit 10", kerr.MessageTooLarge))
					return
				}
				w.out.Produce(ctx, r, done)
			})
		})
		if report.Count(replay.EndFailed) != 1 || report.Count(replay.EndReinjected) != 4 {
			t.Errorf("%s, want one failed and four back", report.Line())
		}
		if got := w.statuses(); got[replay.Open] != 1 || got[replay.InFlight] != 4 {
			t.Errorf("letters stand at %v, want the failed one open", got)
		}
		var page strings.Builder
		replay.PrintReport(&page, report)
		if !strings.Contains(page.String(), "limit 10") {
			t.Errorf("the page does not say why:\n%s", &page)
		}
		w.run(p, replay.ExitDone)
		checkComplete(t, w, 5)
	})
}

type producer func(context.Context, *kgo.Record, func(*kgo.Record, error))

func (p producer) Produce(ctx context.Context, r *kgo.Record, done func(*kgo.Record, error)) {
	p(ctx, r, done)
}

// A store that does not answer at the reservation stops the run; nothing is written without one.
func TestNothingComesBackWithoutItsReservation(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.deadOf(12, 4)
		p := w.plan()
		report := w.run(p, replay.ExitStopped, func(c *replay.Config) { c.Store = mute{w.store} })
		if report.Count(replay.EndReinjected) != 0 || report.Count(replay.EndUntouched) == 0 || len(w.all(w.names.Main())) != 0 {
			t.Errorf("%s, want nothing back and the rest untouched", report.Line())
		}
		w.run(p, replay.ExitDone)
		checkComplete(t, w, 12)
	})
}

// mute is a store that takes no reservation.
type mute struct{ dedup.Store }

func (mute) Reserve(context.Context, dedup.Reservation) (dedup.ReserveAnswer, error) {
	return dedup.ReserveAnswer{}, dedup.ErrUnavailable
}

// Work in hand that does not end is cut off by the grace, and what it left is completed by the same plan.
func TestGraceEndsWorkThatDoesNotEnd(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.deadOf(6, 2)
		p := w.plan()
		ctx, interrupt := context.WithCancel(t.Context())
		time.AfterFunc(2*time.Second, interrupt)
		began := time.Now()
		report, err := w.runner(func(c *replay.Config) {
			c.Grace, c.ProduceTimeout = 10*time.Second, time.Hour
			c.Producer = producer(func(ctx context.Context, r *kgo.Record, done func(*kgo.Record, error)) {
				if r.Topic == w.names.Main() {
					return // no answer ever
				}
				w.out.Produce(ctx, r, done)
			})
		}).Run(ctx, nil, p)
		if replay.ExitOf(err) != replay.ExitInterrupted || report.Count(replay.EndFailed) != 2 || report.Count(replay.EndUntouched) != 4 {
			t.Errorf("%s and %v, want the two in hand failed, exit 6", report.Line(), err)
		}
		if took := time.Since(began); took < 12*time.Second || took > 14*time.Second {
			t.Errorf("it ended after %s, want the two seconds and the grace", took)
		}
		w.run(p, replay.ExitDone)
		checkComplete(t, w, 6)
	})
}
