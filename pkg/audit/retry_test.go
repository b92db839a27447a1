package audit_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"recon/pkg/audit"
)

// A write that failed is unknown: it may be in the topic or not. Either way the retry writes the same bytes.
func TestFailedAppendTriedAgainDoublesNothing(t *testing.T) {
	for _, row := range []struct {
		name   string
		answer func(n int, value []byte) (bool, error)
	}{
		{"failed and not stored", failing(false)},
		{"failed but stored", failing(true)},
		{"first stored, second not", func(_ int, v []byte) (bool, error) {
			if bytes.Contains(v, []byte(`"seq":2,`)) {
				return false, errAway
			}
			return true, nil
		}},
		{"first not stored, second acknowledged", func(_ int, v []byte) (bool, error) {
			if bytes.Contains(v, []byte(`"seq":1,`)) {
				return false, errAway
			}
			return true, nil
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var p topic
			c := open(t, &p)
			p.answer = row.answer
			es := []audit.Entry{entry(1), entry(2)}
			for range 3 {
				if err := c.Append(t.Context(), es...); !errors.Is(err, errAway) {
					t.Fatalf("got %v, want %v", err, errAway)
				}
			}
			p.heal()
			if err := c.Append(t.Context(), es...); err != nil {
				t.Fatal(err)
			}
			if err := c.Append(t.Context(), entry(3)); err != nil {
				t.Fatal(err)
			}
			got := trail(p.stored...)
			if !got.Intact() || got.Chains[0].Records != 4 {
				t.Errorf("got %+v, want 4 records and nothing wrong", got)
			}
			want := []string{es[0].Events[0].EventID, es[1].Events[0].EventID}
			if ids := told(t, p.stored); len(ids) != 3 || !slices.Equal(ids[:2], want) {
				t.Errorf("told %v, want %v and one more", ids, want)
			}
		})
	}
}

// The records keep their places whoever calls next, and the caller whose append failed is not written twice then.
func TestAnotherCallerWritesThePendingRecordsFirst(t *testing.T) {
	var p topic
	c := open(t, &p)
	p.answer = failing(false)
	if err := c.Append(t.Context(), entry(1)); err == nil {
		t.Fatal("no error, want one")
	}
	if err := c.Append(t.Context(), entry(2)); err == nil {
		t.Fatal("no error, want one")
	}
	p.heal()
	if err := c.Append(t.Context(), entry(3)); err != nil {
		t.Fatal(err)
	}
	for _, offset := range []int64{1, 2} {
		if err := c.Append(t.Context(), entry(offset)); err != nil {
			t.Fatal(err)
		}
	}
	a, b, d := entry(1), entry(3), entry(2) // the second call never had a place
	want := []string{a.Events[0].EventID, b.Events[0].EventID, d.Events[0].EventID}
	if ids := told(t, p.stored); !slices.Equal(ids, want) {
		t.Errorf("told %v, want %v", ids, want)
	}
	if got := trail(p.stored...); !got.Intact() {
		t.Error(got.Findings)
	}
}

func TestRetryWithMoreEntriesWritesOnlyTheNewOnes(t *testing.T) {
	var p topic
	c := open(t, &p)
	p.answer = failing(true)
	if err := c.Append(t.Context(), entry(1)); err == nil {
		t.Fatal("no error, want one")
	}
	p.answer = func(_ int, v []byte) (bool, error) { // the repeat passes, the new record does not
		if bytes.Contains(v, []byte(`"seq":2,`)) {
			return false, errAway
		}
		return true, nil
	}
	if err := c.Append(t.Context(), entry(1), entry(2)); err == nil {
		t.Fatal("no error, want one")
	}
	p.heal()
	if err := c.Append(t.Context(), entry(1), entry(2)); err != nil {
		t.Fatal(err)
	}
	if ids := told(t, p.stored); len(ids) != 2 {
		t.Errorf("told %v, want two events", ids)
	}
}

func TestAppendWithoutAnswerEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p topic
		c := open(t, &p)
		p.answer = func(int, []byte) (bool, error) { return true, errHang }
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		if err := c.Append(ctx, entry(1)); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v, want the deadline", err)
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("took %s, want a minute", took)
		}
		p.heal()
		if err := c.Append(t.Context(), entry(1)); err != nil {
			t.Fatal(err)
		}
		for _, answer := range p.held { // answers that come late change nothing
			answer()
		}
		if err := c.Append(t.Context(), entry(2)); err != nil {
			t.Fatal(err)
		}
		if got := trail(p.stored...); !got.Intact() || got.Chains[0].Records != 3 {
			t.Errorf("got %+v, want 3 records and nothing wrong", got)
		}
	})
}

func TestWaitingForTheTurnEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p topic
		c := open(t, &p)
		p.answer = func(int, []byte) (bool, error) { return true, errHang }
		slow, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _ = c.Append(slow, entry(1)) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.Append(ctx, entry(2)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the deadline", err)
		}
		stop()
		wg.Wait()
	})
}

// Whoever comes second builds on the first's record: it writes nothing before the first is answered or given up.
func TestSecondAppendWritesNothingBeforeTheFirstIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p topic
		c := open(t, &p)
		p.answer = func(n int, _ []byte) (bool, error) {
			if n == 1 {
				return true, errHang
			}
			return true, nil
		}
		var wg sync.WaitGroup
		for offset := range int64(2) {
			wg.Go(func() {
				if err := c.Append(t.Context(), entry(offset)); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		if p.writes != 2 {
			t.Errorf("%d writes while the first append is open, want genesis and one", p.writes)
		}
		p.held[0]()
		wg.Wait()
		if got := trail(p.stored...); !got.Intact() || got.Chains[0].Records != 3 {
			t.Errorf("got %+v, want 3 records and nothing wrong", got)
		}
	})
}

// Only a repeat of a failed append is one and the same. The same entry told after it was acknowledged is a new record:
// the range was handled again, and the trail says so.
func TestEntryToldAgainAfterItsAcknowledgementIsANewRecord(t *testing.T) {
	var p topic
	c := open(t, &p)
	p.answer = failing(true)
	if err := c.Append(t.Context(), entry(1)); err == nil {
		t.Fatal("no error, want one")
	}
	p.heal()
	for range 2 {
		if err := c.Append(t.Context(), entry(1)); err != nil {
			t.Fatal(err)
		}
	}
	if got := trail(p.stored...); !got.Intact() || got.Chains[0].Records != 3 {
		t.Errorf("got %+v, want genesis and two entries", got)
	}
}

// What is remembered of callers that never come back is bounded; the newest failures are still known.
func TestForgottenFailuresAreBounded(t *testing.T) {
	var p topic
	c := open(t, &p)
	const failures = 1500
	for i := range int64(failures) {
		p.answer = failing(true)
		if err := c.Append(t.Context(), entry(i)); err == nil {
			t.Fatal("no error, want one")
		}
		p.heal()
		if err := c.Append(t.Context()); err != nil { // somebody else writes what is pending
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		offset int64
		want   int // records after it is handed in again
	}{
		{failures - 1, failures + 1}, // known: not written twice
		{0, failures + 2},            // forgotten: written again, its event folds by id
	} {
		if err := c.Append(t.Context(), entry(row.offset)); err != nil {
			t.Fatal(err)
		}
		if got := trail(p.stored...).Chains[0].Records; got != row.want {
			t.Errorf("offset %d: %d records, want %d", row.offset, got, row.want)
		}
	}
}
