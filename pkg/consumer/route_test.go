package consumer

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"pgregory.net/rapid"

	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/topics"
)

func newRouter() *router {
	p := fault.Defaults()
	ladder := topics.DefaultLadder()
	if _, err := p.Fit(ladder.Largest(), nil); err != nil {
		panic(err)
	}
	return &router{names: topics.Names{Prefix: "recon"}, ladder: ladder, policies: p, producer: envelope.Producer{Service: "recon-consumer", Instance: "one"}}
}

func someDelivery(now time.Time) *delivery {
	at := envelope.Coordinates{Topic: "recon.main", Partition: 2, Offset: 41}
	d := &delivery{
		at: at, key: []byte("k"), own: []kgo.RecordHeader{{Key: "a", Value: []byte("1")}}, retry: firstSeen(at, envelope.Recorded{}, now), began: now,
		value: []byte(`{"source_hash":"hash-0001","ledger_entity":"ACME","currency":"EUR","amount":"1.50","match_decision":"MATCHED"}`),
	}
	d.decode()
	return d
}

// Pitfalls A1, A4, A5, H1, H3, T5: whatever fails in which order, a record is tried at most as often as its codes allow,
// never beyond the ceiling, and its headers do not grow without bound.
func TestAnyRowOfFailuresEndsWithinItsBudgets(t *testing.T) {
	codes := []fault.Code{
		fault.CarrierUnreachable, fault.LockContention, fault.RateNotPublished, fault.CounterpartNotArrived, fault.RateLimited, fault.DuplicateInFlight,
	}
	rapid.Check(t, func(t *rapid.T) {
		r, now := newRouter(), time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
		d := someDelivery(now)
		failures := map[fault.Code]int{}
		made := 0
		for hop := range 400 {
			code := rapid.SampledFrom(codes).Draw(t, "code")
			rt := r.route(d, fault.New(code, "no %d", hop), now, rapid.Float64Range(0, 0.999).Draw(t, "u"))
			failures[code]++
			if code != fault.DuplicateInFlight {
				made++
			}
			if rt.retry.Attempt != made {
				t.Fatalf("hop %d: attempt %d, want %d", hop, rt.retry.Attempt, made)
			}
			if rt.ending == endDead {
				if limit := r.policies[code].MaxAttempts; failures[code] < limit && made < fault.Ceiling {
					t.Fatalf("dead after %d failures of %s, its limit is %d", failures[code], code, limit)
				}
				if rt.letter.AttemptCount != made {
					t.Fatalf("letter says %d attempts, want %d", rt.letter.AttemptCount, made)
				}
				return
			}
			if rt.retry.Due.Before(now) || rt.retry.Due.Sub(now) > r.ladder.Largest()+time.Millisecond {
				t.Fatalf("due in %s", rt.retry.Due.Sub(now))
			}
			rec, err := rt.record(d)
			if err != nil {
				t.Fatal(err)
			}
			own, ours := envelope.SplitHeaders(rec.Headers)
			size := 0
			for _, h := range ours {
				size += len(h.Key) + len(h.Value)
			}
			if len(own) != 1 || size > 24<<10 {
				t.Fatalf("hop %d: %d headers of its own, %d bytes of ours", hop, len(own), size)
			}
			back, errs := envelope.ParseRetry(ours)
			if len(errs) > 0 {
				t.Fatalf("hop %d: our own headers do not read back: %v", hop, errs)
			}
			now = back.Due
			d = &delivery{at: envelope.Coordinates{Topic: rec.Topic, Partition: 2, Offset: int64(hop)}, key: rec.Key, value: rec.Value, own: own, retry: back, began: now, stamp: now}
			d.decode()
		}
		if made >= fault.Ceiling {
			t.Fatalf("%d attempts and still alive", made)
		}
	})
}

// A write that an outage delayed goes to the tier that fits what is left of its wait, never a longer one, never early.
func TestLateWriteChoosesItsTierAnew(t *testing.T) {
	r, now := newRouter(), time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		wait, gone time.Duration
		want       string
	}{
		{4 * time.Hour, 0, "recon.retry.6h"},
		{4 * time.Hour, 3*time.Hour + 58*time.Minute, "recon.retry.5m"},
		{4 * time.Hour, 5 * time.Hour, "recon.retry.2s"},
		{30 * time.Second, 0, "recon.retry.30s"},
		{30*time.Second + time.Millisecond, 0, "recon.retry.5m"},
	} {
		rt := &route{retry: envelope.Retry{Due: now.Add(c.wait)}}
		r.later(rt, now.Add(c.gone))
		if rt.topic != c.want || !rt.retry.Due.Equal(now.Add(c.wait)) {
			t.Errorf("%s of a wait of %s gone: %s due %s, want %s and the same due time", c.gone, c.wait, rt.topic, rt.retry.Due, c.want)
		}
	}
}

// Pitfalls H12, R54, M5: what no tier takes becomes a letter, what the DLQ does not take the compact one.
func TestRecordTooLargeForItsTopicTakesTheNextSmallerForm(t *testing.T) {
	e := &Engine{limits: map[string]int{"recon.retry.2s": 1000, "recon.dlq": 100_000}, observe: func(Event) {}}
	e.router = *newRouter()
	l := &loop{e: e, now: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)}
	for _, c := range []struct {
		size    int
		topic   string
		code    fault.Code
		compact bool
	}{
		{100, "recon.retry.2s", fault.LockContention, false},
		{5000, "recon.dlq", fault.CopyTooLarge, false},
		{200_000, "recon.dlq", fault.CopyTooLarge, true},
	} {
		d := someDelivery(l.now)
		d.value = make([]byte, c.size)
		d.route = e.router.route(d, fault.New(fault.LockContention, "busy"), l.now, 0)
		rec, err := l.fit(d)
		if err != nil {
			t.Fatalf("%d bytes: %v", c.size, err)
		}
		if rec.Topic != c.topic || d.route.verdict.Code != c.code {
			t.Errorf("%d bytes: to %s as %s, want %s as %s", c.size, rec.Topic, d.route.verdict.Code, c.topic, c.code)
		}
		if c.topic == "recon.dlq" {
			back, err := envelope.DecodeLetter(rec.Value)
			if err != nil || back.Original.Omitted != c.compact || back.FailureCode != fault.FailedPoison {
				t.Errorf("%d bytes: letter omitted %v code %s (%v), want omitted %v", c.size, back.Original.Omitted, back.FailureCode, err, c.compact)
			}
			if size := sizeOf(rec); size > e.limits[c.topic] {
				t.Errorf("%d bytes: letter of %d bytes, limit %d", c.size, size, e.limits[c.topic])
			}
		}
	}
}

// Attempts are counted from the record alone: two deliveries of one copy say the same.
func TestRouteIsAFunctionOfTheRecord(t *testing.T) {
	now := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	one := newRouter().route(someDelivery(now), fault.New(fault.LockContention, "busy"), now, 0.5)
	two := newRouter().route(someDelivery(now), fault.New(fault.LockContention, "busy"), now, 0.5)
	a, errA := one.record(someDelivery(now))
	b, errB := two.record(someDelivery(now))
	if errA != nil || errB != nil || fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("two routes of one record differ:\n%v %v\n%v %v", a, errA, b, errB)
	}
	if one.retry.Due != now.Add(100*time.Millisecond) {
		t.Errorf("due %s, want half of 200 ms", one.retry.Due)
	}
}

// Pitfall S3: headers keep milliseconds; the fraction must not make a record due before its wait is over.
func TestDueTimeIsNeverRoundedBelowTheWait(t *testing.T) {
	for _, ns := range []int{0, 1, 499_999, 500_001, 999_999} {
		now := time.Date(2026, 11, 30, 0, 0, 0, ns, time.UTC)
		rt := newRouter().route(someDelivery(now), fault.New(fault.LockContention, "busy"), now, 0.5)
		if least := now.Add(100 * time.Millisecond); rt.retry.Due.Before(least) || rt.retry.Due.Sub(least) >= time.Millisecond || rt.retry.Due.Nanosecond()%1e6 != 0 {
			t.Errorf("%d ns past: due %s, want %s rounded up to a millisecond", ns, rt.retry.Due, least)
		}
	}
}

// Pitfall R86: one cause is one group, whichever entity, hash or message it happened to.
func TestLettersOfOneCauseHaveOneFingerprintWhateverTheEntity(t *testing.T) {
	now := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	prints := map[string]string{}
	for _, entity := range []string{"ACME-DE", "ACME-US", "Globex"} {
		d := someDelivery(now)
		d.value = []byte(strings.Replace(string(d.value), "ACME", entity, 1))
		d.decode()
		rt := newRouter().route(d, fault.New(fault.PeriodNotOpen, "no period of entity %s holds the day", entity), now, 0)
		rec, err := rt.record(d)
		if err != nil {
			t.Fatal(err)
		}
		l, err := envelope.DecodeLetter(rec.Value)
		if err != nil {
			t.Fatal(err)
		}
		prints[l.Fingerprint.Hash] = entity
	}
	if len(prints) != 1 {
		t.Errorf("fingerprints %v, want one", prints)
	}
}
