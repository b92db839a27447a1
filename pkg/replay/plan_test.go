package replay_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"recon/pkg/dedup"
	"recon/pkg/envelope"
	"recon/pkg/replay"
)

func encode(t *testing.T, p *replay.Plan) []byte {
	t.Helper()
	b, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestPlanFileReadsBackAndAnyChangeIsSeen(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.dead(w.letter(0, "ACME"), w.letter(1, "BETA"), w.letter(2, "ACME", invalid))
		p := w.plan()
		file := encode(t, p)
		back, err := replay.DecodePlan(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(encode(t, back), file) {
			t.Error("the plan does not read back as it was written")
		}
		w.run(back, replay.ExitIncomplete)
		lines := bytes.Split(file, []byte("\n"))
		for i, line := range lines {
			changed := change(line)
			if changed == nil {
				continue
			}
			lines[i] = changed
			if _, err := replay.DecodePlan(bytes.Join(lines, []byte("\n"))); replay.ExitOf(err) != replay.ExitPlan && replay.ExitOf(err) != replay.ExitUsage {
				t.Errorf("%s for %s: got %v, want a refusal", changed, line, err)
			}
			lines[i] = line
		}
	})
}

// change alters the last digit or letter of a line's value; nil where it has none.
func change(line []byte) []byte {
	i := bytes.LastIndexAny(line, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	if i < 0 || bytes.HasSuffix(bytes.TrimSpace(line), []byte("[")) || bytes.HasSuffix(bytes.TrimSpace(line), []byte("{")) {
		return nil
	}
	changed := bytes.Clone(line)
	if changed[i]++; line[i] == '9' || line[i] == 'z' || line[i] == 'Z' {
		changed[i] -= 2
	}
	return changed
}

// Pitfall R53: figures beyond what a float holds survive list, plan, file and report.
func TestLargeAmountsSurviveToTheCent(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		amount := func(s string) func(*envelope.Letter) {
			return func(l *envelope.Letter) {
				l.Original.Value = bytes.Replace(l.Original.Value, []byte(`"amount":"1`), []byte(`"amount":"`+s+`","was":"1`), 1)
			}
		}
		w.dead(w.letter(0, "ACME", amount("9007199254740993.01")), w.letter(1, "ACME", amount("-900719925474099301.99")), w.letter(2, "ACME", amount("0.1")))
		back, err := replay.DecodePlan(encode(t, w.plan()))
		if err != nil {
			t.Fatal(err)
		}
		report := w.run(back, replay.ExitDone)
		for name, totals := range map[string]replay.Totals{"plan": back.Totals, "report": report.Totals(), "fold": replay.TotalsOf(w.fold().All())} {
			eur := totals.Currencies["EUR"]
			if got, want := envelope.Figure(eur.Credit, "EUR"), "9007199254740993.11"; got != want {
				t.Errorf("%s: credit %s, want %s", name, got, want)
			}
			if got, want := envelope.Figure(eur.Debit, "EUR"), "900719925474099301.99"; got != want {
				t.Errorf("%s: debit %s, want %s", name, got, want)
			}
		}
	})
}

func TestWhatIsNoPlanIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.deadOf(1, 1)
		file := string(encode(t, w.plan()))
		for name, text := range map[string]string{
			"empty":           "",
			"no JSON":         "plan",
			"unknown member":  strings.Replace(file, `"action"`, `"force": true, "action"`, 1),
			"a member twice":  strings.Replace(file, `"action"`, `"reason": "", "action"`, 1),
			"another version": strings.Replace(file, `"plan_version": 1`, `"plan_version": 2`, 1),
			"data behind it":  file + "{}",
			"no time":         strings.Replace(file, `"created_at": "2000`, `"created_at": "200`, 1),
		} {
			if _, err := replay.DecodePlan([]byte(text)); replay.ExitOf(err) != replay.ExitUsage {
				t.Errorf("%s: got %v, want exit 2", name, err)
			}
		}
	})
}

func TestExpiredPlanIsNotBegun(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.deadOf(1, 1)
		p, err := w.runner(func(c *replay.Config) { c.PlanLife = time.Minute }).Plan(t.Context(), w.fold(), replay.Selection{All: true})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute + time.Second)
		w.run(p, replay.ExitPlan)
		if got := len(w.all(w.names.Main())); got != 0 {
			t.Errorf("%d records on main, want none", got)
		}
	})
}

// Pitfalls R69, R78: a plan of which one letter was changed by something else does not begin, and says by what.
func TestPlanChangedBySomethingElseIsNotBegun(t *testing.T) {
	for name, row := range map[string]struct {
		happen func(w *world, p *replay.Plan, l *envelope.Letter)
		want   string
	}{
		"another plan brought it back": {func(w *world, _ *replay.Plan, l *envelope.Letter) {
			sel := replay.Selection{IDs: []string{l.EnvelopeID}}
			p, err := w.runner().Plan(w.t.Context(), w.fold(), sel)
			if err != nil {
				w.t.Fatal(err)
			}
			w.run(p, replay.ExitDone)
		}, "in_flight"},
		"another plan brought it back, and it is confirmed": {func(w *world, _ *replay.Plan, l *envelope.Letter) {
			d := stateOf(l, envelope.Reinjected, "run-9")
			d.PlanID, d.Actor, d.ReplayID = "plan-9", "lee", envelope.ReplayID(l.EnvelopeID)
			w.dispose(d)
			w.dispose(stateOf(l, envelope.Confirmed, ""))
		}, "run-9 of lee"},
		"a person settled it": {func(w *world, _ *replay.Plan, l *envelope.Letter) {
			d := stateOf(l, envelope.Resolved, "run-8")
			d.Actor, d.Outcome = "lee", envelope.OutcomeDuplicate
			w.dispose(d)
		}, "resolved"},
		"it is not in this DLQ": {func(w *world, p *replay.Plan, l *envelope.Letter) {
			w.names.Prefix = "elsewhere"
			for _, topic := range w.names.Written(short) {
				if err := w.create(topic); err != nil {
					w.t.Fatal(err)
				}
			}
		}, "is not in the DLQ"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.deadOf(3, 3)
				p := w.plan()
				row.happen(w, p, w.letterAt(1))
				before := len(w.all(w.names.Main()))
				_, err := w.runner().Run(t.Context(), nil, p)
				if replay.ExitOf(err) != replay.ExitPlan || !strings.Contains(err.Error(), row.want) {
					t.Errorf("got %v, want exit 7 and %q", err, row.want)
				}
				if got := len(w.all(w.names.Main())); got != before {
					t.Errorf("%d records on main, want %d as before", got, before)
				}
			})
		})
	}
}

// A file that was made by hand names a letter twice: nothing is begun.
func TestPlanThatNamesALetterTwiceIsNotBegun(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.deadOf(1, 1)
		p := w.plan()
		p.Entries = append(p.Entries, p.Entries[0])
		p = resealed(t, p)
		w.run(p, replay.ExitPlan)
		if got := len(w.all(w.names.Main())); got != 0 {
			t.Errorf("%d records on main, want none", got)
		}
	})
}

// resealed is the plan that its content makes, as somebody with the tool could write it.
func resealed(t *testing.T, p *replay.Plan) *replay.Plan {
	t.Helper()
	var says string
	if err := p.Verify(); err == nil {
		t.Fatal("the changed plan still has its id")
	} else if _, says, _ = strings.Cut(err.Error(), "has the id "); len(says) < 64 {
		t.Fatalf("the error does not name the id: %v", err)
	}
	p.ID = says[:64]
	if err := p.Verify(); err != nil {
		t.Fatal(err)
	}
	return p
}

// What a plan says of a letter must be what the DLQ says: a plan made by hand with other figures is not begun.
func TestPlanWithOtherFiguresIsNotBegun(t *testing.T) {
	for name, change := range map[string]func(*replay.Entry){
		"amount":   func(e *replay.Entry) { e.Amount = "1" },
		"currency": func(e *replay.Entry) { e.Currency = "USD" },
		"entity":   func(e *replay.Entry) { e.Entity = "BETA" },
		"hash":     func(e *replay.Entry) { e.SourceHash = "hash-of-another" },
		"root":     func(e *replay.Entry) { e.Root.Offset++ },
	} {
		bubble(t, func(t *testing.T, w *world) {
			w.deadOf(1, 1)
			p := w.plan()
			change(&p.Entries[0])
			p = resealed(t, p)
			if _, err := w.runner().Run(t.Context(), nil, p); replay.ExitOf(err) != replay.ExitPlan {
				t.Errorf("another %s: %v, want exit 7", name, err)
			}
		})
	}
}

// A refusal or an acknowledgement since then changes no letter's state: the plan still holds.
func TestRefusalsSinceThenDoNotChangeAPlan(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.deadOf(2, 2)
		p := w.plan()
		refused := stateOf(w.letterAt(0), envelope.Refused, "run-9")
		refused.Code, refused.PlanID = "CAUSE_NOT_FIXED", "plan-9"
		owned := stateOf(w.letterAt(1), envelope.Acknowledged, "run-9")
		owned.Actor = "lee"
		w.dispose(refused)
		w.dispose(owned)
		w.run(p, replay.ExitDone)
		checkComplete(t, w, 2, envelope.Refused, envelope.Acknowledged)
	})
}

// Between the gates and the reservation another record of the hash may win: the reservation sees it.
func TestReservationThatIsRefusedAsksTheGatesAgain(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		l := w.letter(1, "ACME")
		w.dead(l)
		report := w.run(w.plan(), replay.ExitDone, func(c *replay.Config) {
			c.Store = &late{Store: w.store, before: func() { posted(other, true)(w, l) }}
		})
		if r := report.Results[0]; r.Ending != replay.EndSuppressed || len(w.all(w.names.Main())) != 0 {
			t.Errorf("%s, want the letter suppressed and nothing on main", report.Line())
		}
	})
}

// Two letters of one hash come back both; the consumer is the one that posts the first and suppresses the second.
func TestTwinsOfOneHashCountOnce(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		twin := w.letter(4, "ACME", func(l *envelope.Letter) { l.Original.Value = value(1, "ACME") })
		w.dead(w.letter(1, "ACME"))
		w.dead(twin)
		p := w.plan()
		if got := p.Totals.Currencies["EUR"]; got.Count != 1 || len(p.Entries) != 2 {
			t.Errorf("totals %+v over %d letters, want one amount over two", got, len(p.Entries))
		}
		w.run(p, replay.ExitDone)
	})
}

// late lets something happen just before a reservation.
type late struct {
	dedup.Store
	before func()
}

func (s *late) Reserve(ctx context.Context, r dedup.Reservation) (dedup.ReserveAnswer, error) {
	s.before()
	return s.Store.Reserve(ctx, r)
}
