package envelope_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/envelope"
	"recon/pkg/fault"
)

var noon = time.Date(2026, 3, 31, 12, 0, 0, 123e6, time.UTC)

// fullRetry has every header of CONTRACT 4.
func fullRetry() envelope.Retry {
	return envelope.Retry{
		Root: root, Origin: envelope.Coordinates{Topic: "recon.main", Partition: 4, Offset: 99}, Generation: 1,
		OriginRecord: envelope.Recorded{LeaderEpoch: 3, TimestampMS: -5, TimestampType: envelope.LogAppendTime},
		MessageID:    "0b0f6c1e-8e0c-4a53-9a3f-0d8a7c1f2e11", Attempt: 3,
		Budget:      map[fault.Code]int{fault.LockContention: 1, fault.CarrierUnreachable: 2},
		MaxAttempts: 6, FirstSeen: noon, Due: noon.Add(time.Minute), MatchDeadline: noon.Add(time.Hour),
		Stage: fault.StageFX, Class: fault.Transient, Code: fault.CarrierUnreachable, Error: "dialling the carrier: refused",
		History: []envelope.Attempt{
			{Attempt: 1, At: noon, Stage: fault.StageFX, FailureClass: fault.Transient, ErrorCode: fault.LockContention, ErrorDetail: "locked", Took: 5 * time.Millisecond, Instance: "a"},
			{Attempt: 3, At: noon.Add(time.Second), Stage: fault.StageFX, FailureClass: fault.Transient, ErrorCode: fault.CarrierUnreachable, ErrorDetail: "refused", Waited: time.Second, Took: 7 * time.Millisecond},
		},
		Omitted: 1,
		Replay:  "cc71c373-eb77-550b-a934-42e69a310cac", Envelope: "a1519c11-a7f5-57f8-8073-f5bc23132d50",
	}
}

func ours(hs []kgo.RecordHeader) []kgo.RecordHeader {
	_, recon := envelope.SplitHeaders(hs)
	return recon
}

func TestRetryHeadersComeBackAsTheyWere(t *testing.T) {
	for name, want := range map[string]envelope.Retry{"full": fullRetry(), "empty": {}} {
		r := want
		got, errs := envelope.ParseRetry(ours(r.Append(nil)))
		if len(errs) > 0 || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, errs, want)
		}
	}
}

// Pitfall A5: attempts come from the record alone; Pitfall A1: no width below what a count can be.
func TestAttemptsAreCountedBeyondEveryByte(t *testing.T) {
	for _, n := range []int{0, 1, 126, 127, 128, 129, 255, 256, 300, math.MaxInt32} {
		r := envelope.Retry{Attempt: n, Budget: map[fault.Code]int{fault.RateLimited: n}}
		got, errs := envelope.ParseRetry(ours(r.Append(nil)))
		if len(errs) > 0 || got.Attempt != n || got.Budget[fault.RateLimited] != n {
			t.Errorf("%d: got %d, %v, %v", n, got.Attempt, got.Budget, errs)
		}
	}
}

// Pitfall A4: the first failure is attempt 1; the header says so in plain digits.
func TestFirstFailureIsAttemptOne(t *testing.T) {
	r := envelope.Retry{Attempt: 1}
	if got := value(r.Append(nil), envelope.HeaderAttempt); got != "1" {
		t.Errorf("got %q, want 1", got)
	}
	if got, _ := envelope.ParseRetry(nil); got.Attempt != 0 {
		t.Errorf("a record that was never tried: got %d, want 0", got.Attempt)
	}
}

func value(hs []kgo.RecordHeader, name string) string {
	for _, h := range hs {
		if h.Key == name {
			return string(h.Value)
		}
	}
	return ""
}

// Pitfalls H1, R42: 50 hops leave as many headers and bytes as one. Pitfall H3: one value each. Pitfall R45: what was
// first stays first.
func TestHeadersDoNotGrowFromHopToHop(t *testing.T) {
	own := []kgo.RecordHeader{{Key: "a", Value: []byte("1")}, {Key: "recon-error", Value: []byte("forged")}}
	hs := own
	for hop := 1; hop <= 200; hop++ {
		mine, recon := envelope.SplitHeaders(hs)
		r, errs := envelope.ParseRetry(recon)
		if hop > 1 && len(errs) > 0 {
			t.Fatalf("hop %d: %v", hop, errs)
		}
		full := fullRetry()
		full.Attempt, full.Omitted, full.FirstSeen = hop, r.Omitted, r.FirstSeen
		if hop == 1 {
			full.FirstSeen = noon
		}
		full.History = append(r.History, envelope.Attempt{Attempt: hop, At: noon, Stage: fault.StagePost, FailureClass: fault.Transient, ErrorCode: fault.RateLimited, ErrorDetail: strings.Repeat("é", 300), Instance: "i"})
		hs = full.Append(mine)
		seen := map[string]int{}
		total := 0
		for _, h := range hs {
			seen[h.Key]++
			total += len(h.Key) + len(h.Value)
		}
		for name, n := range seen {
			if n > 1 {
				t.Fatalf("hop %d: %s stands %d times", hop, name, n)
			}
		}
		if len(hs) != 19 || total > 16<<10+1<<10 {
			t.Fatalf("hop %d: %d headers, %d bytes", hop, len(hs), total)
		}
	}
	got, _ := envelope.ParseRetry(ours(hs))
	h := got.History
	if h[0].Attempt != 1 || h[len(h)-1].Attempt != 200 || h[1].Attempt != 200-len(h)+2 || len(h)+got.Omitted != 200 || !got.FirstSeen.Equal(noon) {
		t.Errorf("kept %d to %d, second %d, %d left out", h[0].Attempt, h[len(h)-1].Attempt, h[1].Attempt, got.Omitted)
	}
	if n := len(value(hs, envelope.HeaderHistory)); n > 16<<10 || n < 15<<10 {
		t.Errorf("history of %d bytes, want it filled up to 16 KiB", n)
	}
}

// Pitfalls H5, H7: a record's own headers keep order, repeats, nulls, empty values and names that are no text.
func TestOwnHeadersTravelUntouched(t *testing.T) {
	own := []kgo.RecordHeader{
		{Key: "b", Value: []byte("1")},
		{Key: "a", Value: nil},
		{Key: "b", Value: []byte{}},
		{Key: "", Value: []byte{0xff}},
		{Key: "\xff\xfe", Value: []byte("2")},
		{Key: "Recon-root", Value: []byte("mine: ours are lower-case")},
		{Key: "recon", Value: []byte("mine")},
	}
	want := slices.Clone(own)
	r := fullRetry()
	hs := r.Append(own)
	for hop := range 3 {
		mine, recon := envelope.SplitHeaders(hs)
		if !reflect.DeepEqual(mine, want) || len(recon) != 18 {
			t.Fatalf("hop %d: got %v and %d of ours, want %v", hop, mine, len(recon), want)
		}
		hs = r.Append(mine)
	}
	if !reflect.DeepEqual(own, want) {
		t.Errorf("the given headers were changed: %v", own)
	}
}

// Pitfall H3: headers of ours that come in as a record's own, forged or forgotten, are not written beside the new ones.
func TestAppendReplacesWhatStoodThere(t *testing.T) {
	r := envelope.Retry{Attempt: 2}
	hs := r.Append(header("recon-attempt", "99", "a", "1", "recon-unheard-of", "x", "recon-replay", "forged"))
	if got := len(ours(hs)); value(hs, "recon-attempt") != "2" || got != 2 || len(hs) != 3 {
		t.Errorf("got %v", hs)
	}
}

func TestSplitKeepsOrderWhereverOursStand(t *testing.T) {
	for pattern := range 1 << 6 { // bit set: ours
		var hs, own, recon []kgo.RecordHeader
		for i := range 6 {
			h := kgo.RecordHeader{Key: "x", Value: []byte{byte(i)}}
			if pattern&(1<<i) != 0 {
				h.Key = "recon-anything"
				recon = append(recon, h)
			} else {
				own = append(own, h)
			}
			hs = append(hs, h)
		}
		before := slices.Clone(hs)
		gotOwn, gotRecon := envelope.SplitHeaders(hs)
		_ = append(gotOwn, kgo.RecordHeader{Key: "grown"})
		_ = append(gotRecon, kgo.RecordHeader{Key: "grown"})
		if !slices.EqualFunc(gotOwn, own, sameHeader) || !slices.EqualFunc(gotRecon, recon, sameHeader) || !slices.EqualFunc(hs, before, sameHeader) {
			t.Fatalf("%06b: got %v and %v", pattern, gotOwn, gotRecon)
		}
	}
}

func sameHeader(a, b kgo.RecordHeader) bool {
	return a.Key == b.Key && string(a.Value) == string(b.Value)
}

func TestUntriedRecordCostsNoAllocation(t *testing.T) {
	hs := header("a", "1", "b", "2")
	got := testing.AllocsPerRun(100, func() {
		_, recon := envelope.SplitHeaders(hs)
		_, _ = envelope.ParseRetry(recon)
	})
	if got != 0 {
		t.Errorf("got %v allocations, want none", got)
	}
}

// Pitfall S10: whatever stands in a header, it costs one error and leaves a safe default; the others are still read.
func TestMalformedHeaderIsOneErrorAndADefault(t *testing.T) {
	r := fullRetry()
	good := ours(r.Append(nil))
	junk := []string{"", "abc", "\x00\x01\x02", "-1", "99999999999999999999", "9223372036854775808", "\xff\xff", "0x10", "1e3", " 1", "01", "null", "{}", "[]", "٣", strings.Repeat("9", 1<<20)}
	for i := range good {
		name := good[i].Key
		if name == envelope.HeaderError {
			continue // any text is an error text
		}
		for _, bad := range append(junk, good[i].Key) {
			hs := slices.Clone(good)
			hs[i].Value = []byte(bad)
			got, errs := envelope.ParseRetry(hs)
			if isNumber(name) && bad == "99999999999999999999" && (field(got, name) != math.MaxInt32 || len(errs) != 1) {
				t.Errorf("%s: a huge count: got %d, %v", name, field(got, name), errs)
			}
			if bad == "abc" || bad == "null" { // a stage may be called so
				bad += "!"
				hs[i].Value = []byte(bad)
				got, errs = envelope.ParseRetry(hs)
			}
			if len(errs) != 1 || !strings.Contains(errs[0].Error(), name) {
				t.Errorf("%s=%.40q: got %v, want one error that names it", name, bad, errs)
			}
			if len(errs) > 0 && len(errs[0].Error()) > 500 {
				t.Errorf("%s: the error has %d bytes", name, len(errs[0].Error()))
			}
			if n := field(got, name); n < 0 || n > math.MaxInt32 {
				t.Errorf("%s=%.40q: got %d", name, bad, n)
			}
			again, errs := envelope.ParseRetry(ours(got.Append(nil)))
			if len(errs) > 0 || !reflect.DeepEqual(got, again) {
				t.Errorf("%s=%.40q: what was read cannot be written again: %v", name, bad, errs)
			}
		}
		hs := slices.Clone(good)
		hs[i].Value = nil
		if _, errs := envelope.ParseRetry(hs); len(errs) != 1 {
			t.Errorf("%s null: got %v, want one error", name, errs)
		}
	}
}

func isNumber(name string) bool {
	return name == envelope.HeaderAttempt || name == envelope.HeaderGeneration || name == envelope.HeaderMaxAttempts
}

func field(r envelope.Retry, name string) int {
	return map[string]int{
		envelope.HeaderAttempt: r.Attempt, envelope.HeaderGeneration: r.Generation, envelope.HeaderMaxAttempts: r.MaxAttempts,
	}[name]
}

// Pitfall H3: of two headers under one name the first counts, and it is told.
func TestHeaderThatStandsTwiceIsTold(t *testing.T) {
	got, errs := envelope.ParseRetry(header("recon-attempt", "3", "recon-attempt", "4", "recon-unheard-of", "x"))
	if got.Attempt != 3 || len(errs) != 2 {
		t.Errorf("got %d, %v", got.Attempt, errs)
	}
}

// Anyone may write to main. What nobody knows costs its own length: a record full of foreign headers does not hold up the
// partitions that are polled with it. The deadline only ends a test that would take minutes.
func TestARecordFullOfForeignHeadersIsReadOnce(t *testing.T) {
	hs := header("recon-attempt", "3")
	for i := range 100_000 {
		hs = append(hs, kgo.RecordHeader{Key: fmt.Sprintf("recon-%06d", i)})
	}
	read := make(chan int, 1)
	go func() {
		got, errs := envelope.ParseRetry(append(hs, header("recon-attempt", "4")...))
		read <- got.Attempt + len(errs)
	}()
	select {
	case got := <-read:
		if want := 3 + 100_001; got != want {
			t.Errorf("got attempt and errors %d, want %d", got, want)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("still reading after 30 s: the cost grows with the square of the headers")
	}
}

func TestBudgetKeepsWhatIsWellFormed(t *testing.T) {
	rows := []struct {
		in   string
		want map[fault.Code]int
		errs int
	}{
		{"RATE_LIMITED=2", map[fault.Code]int{"RATE_LIMITED": 2}, 0},
		{"A=1,B=2", map[fault.Code]int{"A": 1, "B": 2}, 0},
		{"A=1,,B=2", map[fault.Code]int{"A": 1, "B": 2}, 1},
		{"A=1,b=2", map[fault.Code]int{"A": 1}, 1},
		{"A=1,A=7,A=3", map[fault.Code]int{"A": 7}, 1},
		{"A=-1,B=1", map[fault.Code]int{"A": 0, "B": 1}, 1},
		{"A=99999999999", map[fault.Code]int{"A": math.MaxInt32}, 1},
		{"A", map[fault.Code]int{"A": 0}, 1},
	}
	for _, r := range rows {
		got, errs := envelope.ParseRetry(header(envelope.HeaderBudget, r.in))
		if !reflect.DeepEqual(got.Budget, r.want) || len(errs) != r.errs {
			t.Errorf("%s: got %v, %v, want %v", r.in, got.Budget, errs, r.want)
		}
	}
}

// Pitfalls H10, R43, R44: texts end at their limit on a rune, the cut is seen, and the root cause is still there.
func TestErrorTextIsCutOnARuneWithItsRootCause(t *testing.T) {
	for pad := range 4 {
		long := "posting: " + strings.Repeat("x", pad) + strings.Repeat("é😀", 200_000) + ": disk full"
		r := envelope.Retry{Error: long, History: []envelope.Attempt{{ErrorDetail: long, Instance: long}}}
		hs := r.Append(nil)
		got, errs := envelope.ParseRetry(ours(hs))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		for _, c := range []struct {
			text string
			most int
		}{{value(hs, envelope.HeaderError), 1024}, {got.History[0].ErrorDetail, 200}, {got.History[0].Instance, 200}} {
			if len(c.text) > c.most || len(c.text) < c.most-8 || !utf8.ValidString(c.text) ||
				!strings.HasPrefix(c.text, "posting: ") || !strings.HasSuffix(c.text, ": disk full") || !strings.Contains(c.text, "…") {
				t.Errorf("pad %d: got %d bytes: %q", pad, len(c.text), c.text)
			}
		}
	}
}

// A history is evidence, not a place where a record gets stuck: what cannot be written as it is, is written without.
func TestHistoryIsWrittenWhateverStandsInIt(t *testing.T) {
	odd := envelope.Attempt{
		Attempt: -1, Stage: "No Stage", FailureClass: "?", ErrorCode: "no code", ErrorDetail: "\xff\x00\n" + strings.Repeat("\x01", 500),
		Waited: -time.Second, Took: -1, At: time.Unix(1<<50, 0), Instance: "\u2028\"<>&",
	}
	r := envelope.Retry{History: slices.Repeat([]envelope.Attempt{odd}, 300)}
	hs := r.Append(nil)
	if n := len(value(hs, envelope.HeaderHistory)); n > 16<<10 {
		t.Errorf("history of %d bytes", n)
	}
	got, errs := envelope.ParseRetry(ours(hs))
	if len(errs) > 0 || len(got.History)+got.Omitted != 300 {
		t.Errorf("got %d entries, %d omitted, %v", len(got.History), got.Omitted, errs)
	}
}

// Pitfall S10: a count that a header claims is carried on, and never grows into one that cannot be written: neither the
// next copy nor the letter may fail for it.
func TestCountsOfAHistoryStayWhatCanBeWritten(t *testing.T) {
	one := `{"attempt":2147483647,"at":"2026-03-31T12:00:00.123Z","stage":null,"failure_class":null,"error_code":null,` +
		`"error_detail":null,"waited_ms":0,"took_ms":0,"instance":null}`
	r, errs := envelope.ParseRetry(header("recon-history", `{"omitted":2147483647,"attempts":[`+one+`]}`))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for range 200 {
		r.History = append(r.History, envelope.Attempt{Attempt: math.MaxInt32 + 1, At: noon, ErrorDetail: strings.Repeat("x", 200)})
	}
	l := fullLetter()
	l.History, l.HistoryOmitted = r.History, r.Omitted
	if _, err := l.Encode(); err != nil {
		t.Errorf("the letter: %v", err)
	}
	got, errs := envelope.ParseRetry(ours(r.Append(nil)))
	if len(errs) > 0 || got.Omitted != math.MaxInt32 || got.History[len(got.History)-1].Attempt != math.MaxInt32 {
		t.Errorf("got %d omitted, %v", got.Omitted, errs)
	}
}

func BenchmarkRetryHop(b *testing.B) {
	r := fullRetry()
	hs := r.Append(header("a", "1"))
	b.ReportAllocs()
	for b.Loop() {
		own, recon := envelope.SplitHeaders(hs)
		r, errs := envelope.ParseRetry(recon)
		if len(errs) > 0 {
			b.Fatal(errs)
		}
		hs = r.Append(own)
	}
}

func ExampleRetry_Append() {
	r := envelope.Retry{Root: root, Attempt: 1, Code: fault.RateLimited, Due: noon}
	for _, h := range r.Append([]kgo.RecordHeader{{Key: "feed", Value: []byte("camt")}}) {
		fmt.Printf("%s: %s\n", h.Key, h.Value)
	}
	// Output:
	// feed: camt
	// recon-root: recon.main/3@1234
	// recon-generation: 0
	// recon-attempt: 1
	// recon-next-retry-at: 2026-03-31T12:00:00.123Z
	// recon-error-code: RATE_LIMITED
}
