package audit_test

import (
	"testing"

	"recon/pkg/audit"
	"recon/pkg/envelope"
)

// Anyone may write recon-* headers to main. A record leaves the count only where the service's own evidence shows that
// it is a replay's copy.
func TestOnlyATrueCopyIsNotIngestedAnew(t *testing.T) {
	root, copyAt := at(0, 1), at(0, 2)
	for _, row := range []struct {
		name   string
		say    func(w *world, r *audit.Replay)
		copies int
	}{
		{"reinjected, and resolved by a person: closed in silence", func(w *world, _ *audit.Replay) {
			w.dispose(root, 0, envelope.Reinjected, nil)
			w.dispose(root, 0, envelope.Resolved, nil)
		}, 1},
		{"confirmed", func(w *world, _ *audit.Replay) { w.dispose(root, 0, envelope.Confirmed, nil) }, 1},
		{"dead again", func(w *world, _ *audit.Replay) { w.die(root, 1, hashOf(root)) }, 1},
		{"waiting again", func(w *world, _ *audit.Replay) { w.wait(root, 1, hashOf(root)) }, 1},
		{"suppressed, by its disposition", func(w *world, _ *audit.Replay) {
			w.dispose(root, 0, envelope.Suppressed, func(d *envelope.Disposition) { d.ReplayID = envelope.ReplayID(d.EnvelopeID) })
		}, 1},
		{"suppressed", func(w *world, _ *audit.Replay) { w.event(audit.EventSuppressed, root, 1, hashOf(root)) }, 1},
		{"a late copy, its root a generation further", func(w *world, _ *audit.Replay) { w.die(root, 2, hashOf(root)) }, 1},

		{"nothing shows that it was replayed", func(*world, *audit.Replay) {}, 0},
		{"reinjected, and no word of the consumer", func(w *world, _ *audit.Replay) { w.dispose(root, 0, envelope.Reinjected, nil) }, 0},
		{"resolved by a person, never reinjected", func(w *world, _ *audit.Replay) { w.dispose(root, 0, envelope.Resolved, nil) }, 0},
		{"suppressed by the replayer's gate", func(w *world, _ *audit.Replay) { w.dispose(root, 0, envelope.Suppressed, nil) }, 0},
		{"refused is no replay", func(w *world, _ *audit.Replay) { w.dispose(root, 0, envelope.Refused, nil) }, 0},
		{"other bytes", func(w *world, r *audit.Replay) {
			w.wait(root, 9, hashOf(root))
			r.ValueSHA256 = shaOf("forged")
		}, 0},
		{"other replay id", func(w *world, r *audit.Replay) {
			w.wait(root, 9, hashOf(root))
			r.ReplayID = envelope.ReplayID("x")
		}, 0},
		{"envelope of another letter", func(w *world, r *audit.Replay) {
			w.wait(root, 9, hashOf(root))
			r.EnvelopeID = envelope.EnvelopeID(at(0, 9), 0)
			r.ReplayID = envelope.ReplayID(r.EnvelopeID)
		}, 0},
		{"another letter's envelope and bytes", func(w *world, r *audit.Replay) {
			w.wait(root, 9, hashOf(root))
			w.die(at(0, 9), 0, hashOf(root))
			*r = replayOf(at(0, 9), 1)
			r.Root = root
		}, 0},
		{"a generation that has no letter", func(w *world, r *audit.Replay) {
			w.wait(root, 9, hashOf(root))
			*r = replayOf(root, 2)
		}, 0},
		{"generation 0", func(w *world, r *audit.Replay) {
			w.wait(root, 9, hashOf(root))
			r.Generation = 0
		}, 0},
		{"a root that has no letter", func(w *world, r *audit.Replay) {
			w.wait(root, 9, hashOf(root))
			*r = replayOf(at(0, 9), 1)
		}, 0},
		{"handled as a record of its own", func(w *world, _ *audit.Replay) {
			w.wait(root, 1, hashOf(root))
			w.event(audit.EventRetry, copyAt, 0, hashOf(root))
		}, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld()
			w.amount = "5"
			w.arrive(root, hashOf(root), "d")
			w.die(root, 0, hashOf(root))
			r := replayOf(root, 1)
			row.say(w, &r)
			a := audit.Arrival{At: copyAt, SourceHash: hashOf(root), Digest: "d", Money: audit.MoneyOf("EUR", "5"), Replay: &r}
			w.arrivals = append(w.arrivals, func(b *audit.Books) { b.Ingested(a) })

			got := books(true, w.facts()).Result()
			if got.Copies != row.copies || got.Ingested.All().Records != 2-row.copies {
				t.Errorf("%d copies, %d ingested; want %d and %d\n%s", got.Copies, got.Ingested.All().Records, row.copies, 2-row.copies, text(got))
			}
			if row.copies == 0 && (len(got.Missing) != 1 || got.Missing[0] != copyAt) {
				t.Errorf("missing %v, want %s: doubt takes nothing out of the count", got.Missing, copyAt)
			}
		})
	}
}

func TestAmountCountsOncePerSourceHash(t *testing.T) {
	w := newWorld()
	w.amount = "10.00"
	for _, offset := range []int64{3, 1, 2} { // the twin that posted bears the amount, whoever came first
		w.arrive(at(0, offset), "h", "d")
	}
	w.post(at(0, 2), 0, "h", "d")
	w.event(audit.EventSuppressed, at(0, 1), 0, "h")
	w.die(at(0, 3), 0, "h")
	r := books(true, w.facts()).Result()
	eur := r.Ingested["EUR"]
	if eur.Records != 3 || eur.Count != 1 || !eur.Credit.Equal(dec("10")) || !r.By[audit.AsPosted]["EUR"].Credit.Equal(dec("10")) {
		t.Errorf("got %+v, want three records and one amount, under posted\n%s", eur, text(r))
	}
	if n := r.By[audit.AsSuppressed]["EUR"]; n.Records != 1 || n.Count != 0 || !n.Credit.IsZero() {
		t.Errorf("suppressed %+v, want one record and no amount", n)
	}
}

// Two transactions under one hash are two amounts: none vanishes behind the other.
func TestBothAmountsOfAConflictCount(t *testing.T) {
	w := newWorld()
	w.amount = "10.00"
	w.arrive(at(0, 1), "h", "d")
	w.post(at(0, 1), 0, "h", "d")
	w.amount = "10.01"
	w.arrive(at(0, 2), "h", "e")
	w.die(at(0, 2), 0, "h")
	r := books(true, w.facts()).Result()
	if eur := r.Ingested["EUR"]; !r.Closes() || eur.Count != 2 || !eur.Credit.Equal(dec("20.01")) {
		t.Errorf("got %+v, want both amounts\n%s", eur, text(r))
	}
}
