package envelope_test

import (
	"bytes"
	"errors"
	"fmt"
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

// fullLetter has every field, as a replayed record that failed again has them.
func fullLetter() *envelope.Letter {
	r := fullRetry()
	return &envelope.Letter{
		EnvelopeID: envelope.EnvelopeID(root, 1), FailureCode: fault.FailedExhausted, FailureClass: fault.Transient,
		ErrorCode: fault.CarrierUnreachable, ErrorDetail: "asking the carrier: dial tcp 10.0.0.7:443: refused", SourceStage: "carrier_status",
		Fingerprint:  envelope.NewFingerprint(fault.CarrierUnreachable, "carrier_status", "asking the carrier: dial tcp 10.0.0.7:443: refused"),
		AttemptCount: 6, History: r.History, HistoryOmitted: 4,
		Message: envelope.Facts{
			MessageID: r.MessageID, SourceHash: "v1:sha256:4f0a6b1e", LedgerEntity: "DE-4711", Currency: "EUR", Amount: "-12345.67",
			MatchDecision: "UNMATCHED", TraceID: "4bf92f3577b34da6a3ce929d0e0e4736", BookingDate: "2026-03-31", ValueDate: "2026-04-01",
		},
		Lineage: envelope.Lineage{Root: root, Generation: 1, Parent: envelope.EnvelopeID(root, 0), ReplayID: envelope.ReplayID(envelope.EnvelopeID(root, 0))},
		Origin: envelope.Origin{
			Coordinates: envelope.Coordinates{Topic: "recon.main", Partition: 3, Offset: 5678},
			LeaderEpoch: 7, TimestampMS: noon.UnixMilli(), TimestampType: envelope.LogAppendTime,
		},
		Original: envelope.Original{
			Key: []byte("DE-4711"), Value: []byte(`{"amount":"-12345.67"}`),
			Headers:     []kgo.RecordHeader{{Key: "traceparent", Value: []byte("00-x")}, {Key: "b", Value: nil}, {Key: "b", Value: []byte{}}},
			ValueSHA256: "51abf804049b24d525ddc8ba551bfde3ca789742c3b41cadac64162c107c343d",
		},
		FirstSeenAt: noon, DeadLetteredAt: noon.Add(time.Hour),
		Producer: envelope.Producer{Service: "consumer", Version: "1.0.0", Instance: "pod-1", Group: "recon-consumer", ConfigDigest: "sha256:00"},
	}
}

// smallLetter has nothing that may be missing.
func smallLetter() *envelope.Letter {
	return &envelope.Letter{
		FailureCode: fault.FailedUnrecoverable, FailureClass: fault.Poison, ErrorCode: fault.Undecodable, SourceStage: fault.StageDecode,
		Fingerprint: envelope.NewFingerprint(fault.Undecodable, fault.StageDecode, ""), AttemptCount: 1,
		Lineage: envelope.Lineage{Root: root}, Origin: envelope.Origin{Coordinates: root, LeaderEpoch: -1, TimestampMS: -1},
		FirstSeenAt: noon, DeadLetteredAt: noon, Producer: envelope.Producer{Service: "consumer"},
	}
}

func encode(t *testing.T, l *envelope.Letter) []byte {
	t.Helper()
	b, err := l.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func decode(t *testing.T, b []byte) *envelope.Letter {
	t.Helper()
	l, err := envelope.DecodeLetter(b)
	if err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	return l
}

func TestLetterComesBackAsItWas(t *testing.T) {
	for name, l := range map[string]*envelope.Letter{
		"full": fullLetter(), "small": smallLetter(), "compact": fullLetter().Compact(), "compact of null": smallLetter().Compact(),
	} {
		got := decode(t, encode(t, l))
		if l.Original.Headers == nil && got.Original.Headers != nil {
			t.Errorf("%s: headers %v came out of none", name, got.Original.Headers)
		}
		if !reflect.DeepEqual(got, l) {
			t.Errorf("%s: got\n%+v, want\n%+v", name, got, l)
		}
		if again := encode(t, got); !bytes.Equal(again, encode(t, l)) {
			t.Errorf("%s: written again it differs:\n%s\n%s", name, again, encode(t, l))
		}
	}
}

// Pitfall L24: bytes in are bytes out. Pitfall S9: null is not empty. Pitfalls H5, H7: repeats, nulls, order, and
// bytes that are no text in key, value, header name. Pitfall H2: the same over a hundred rounds.
func TestOriginalIsKeptByteForByte(t *testing.T) {
	everyByte := make([]byte, 256)
	for i := range everyByte {
		everyByte[i] = byte(i)
	}
	parts := [][]byte{nil, {}, {0}, []byte("\xff\xfe"), []byte("plain"), everyByte, []byte("{\"a\": 1 }\r\n<&>\u2028")}
	var headers []kgo.RecordHeader
	for _, p := range parts {
		headers = append(headers, kgo.RecordHeader{Key: string(p), Value: p}, kgo.RecordHeader{Key: "same", Value: p})
	}
	for _, key := range parts {
		for _, value := range parts {
			for _, hs := range [][]kgo.RecordHeader{nil, headers[:1], headers} {
				l := smallLetter()
				l.Original = envelope.Original{Key: key, Value: value, Headers: hs}
				got := l
				for range 3 {
					got = decode(t, encode(t, got))
				}
				if !reflect.DeepEqual(got.Original.Key, key) || !reflect.DeepEqual(got.Original.Value, value) || !reflect.DeepEqual(got.Original.Headers, hs) {
					t.Fatalf("key %q, value %q, headers %q: got %q, %q, %q", key, value, hs, got.Original.Key, got.Original.Value, got.Original.Headers)
				}
				if err := got.Intact(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// Pitfall R46: a record that is itself a letter is dead-lettered like any other, and nothing of it is unwrapped.
func TestLetterInsideALetterIsJustBytes(t *testing.T) {
	inner := encode(t, fullLetter())
	outer := smallLetter()
	outer.Original.Value = inner
	outer.Original.Headers = fullLetter().Headers()
	got := decode(t, encode(t, outer))
	if !bytes.Equal(got.Original.Value, inner) || !reflect.DeepEqual(got.Original.Headers, outer.Original.Headers) {
		t.Error("the inner letter was changed")
	}
	if reflect.DeepEqual(decode(t, got.Original.Value).Lineage, got.Lineage) {
		t.Error("the outer letter took over the inner one's lineage")
	}
}

// Pitfall R53: amounts are text from end to end.
func TestAmountsSurviveTheLetter(t *testing.T) {
	for _, amount := range []string{"9007199254740993", "0.1", "-999999999999999999.99"} {
		m, err := envelope.Decode(message("amount", `"`+amount+`"`), nil)
		if err != nil {
			t.Fatal(err)
		}
		l := smallLetter()
		l.Message = m.Facts()
		b := encode(t, l)
		if got := decode(t, b).Message.Amount; got != amount || !bytes.Contains(b, []byte(`"amount":"`+amount+`"`)) {
			t.Errorf("got %s, want %s", got, amount)
		}
	}
}

// Pitfalls R42, R43, H1: whatever was tried and however long the errors were, a letter without its original fits 48 KiB.
func TestLetterWithoutItsOriginalIsBounded(t *testing.T) {
	for name, junk := range map[string]string{"control": "\x01", "emoji": "😀", "quote": `"`, "broken": "\xff"} {
		long := strings.Repeat(junk, 1<<16)
		l := fullLetter()
		l.ErrorDetail = long
		l.History = slices.Repeat([]envelope.Attempt{{Attempt: 99, At: noon, Stage: fault.Stage(strings.Repeat("s", 64)), FailureClass: fault.Transient, ErrorCode: fault.Code(strings.Repeat("C", 64)), ErrorDetail: long, Instance: long}}, 300)
		l.Fingerprint = envelope.NewFingerprint(l.ErrorCode, l.SourceStage, long)
		l.Message.LedgerEntity, l.Message.TraceID, l.Message.SourceHash = strings.Repeat("\x01", 64), strings.Repeat("\x01", 64), strings.Repeat(`"`, 128)
		l.Producer = envelope.Producer{Service: long, Version: long, Instance: long, Group: long, ConfigDigest: long}
		l.Lineage.Root.Topic = strings.Repeat("t", 249)
		l.EnvelopeID = ""
		l.Origin.Topic = l.Lineage.Root.Topic
		b := encode(t, l.Compact())
		if len(b) > 48<<10 {
			t.Errorf("%s: got %d bytes, want at most %d", name, len(b), 48<<10)
		}
		got := decode(t, b)
		if n := utf8.RuneCountInString(got.ErrorDetail); n > 2000 || n < 2000 && name != "broken" || len(got.History)+got.HistoryOmitted != 304 || len(got.History) < 5 {
			t.Errorf("%s: detail of %d characters, %d + %d attempts", name, n, len(got.History), got.HistoryOmitted)
		}
	}
}

// Pitfalls H10, R44: the detail is cut on a rune, the cut is seen, beginning and root cause are kept.
func TestDetailKeepsItsRootCause(t *testing.T) {
	for _, n := range []int{1999, 2000, 2001, 5000} {
		l := smallLetter()
		l.ErrorDetail = "posting: " + strings.Repeat("é", n-9-11) + ": disk full"
		given := l.ErrorDetail
		got := decode(t, encode(t, l)).ErrorDetail
		if l.ErrorDetail != given {
			t.Errorf("%d: the letter given was changed", n)
		}
		if n <= 2000 && got != given {
			t.Errorf("%d: cut although it fits", n)
		}
		if n > 2000 && (utf8.RuneCountInString(got) != 2000 || !strings.HasPrefix(got, "posting: ") || !strings.HasSuffix(got, ": disk full") || !strings.Contains(got, "…")) {
			t.Errorf("%d: got %q", n, got)
		}
	}
}

// Pitfalls H12, R54: records at the very limit of main reach the DLQ in some form: whole under a limit of ⌈4/3 × main⌉ +
// 64 KiB, compact under main's own.
func TestLargeRecordsFitInSomeForm(t *testing.T) {
	for _, n := range []int{700_000, 749_442, 750_000, 999_939, 1_000_000} {
		l := fullLetter()
		l.Original.Value = bytes.Repeat([]byte{0xff}, n)
		l.Original.ValueSHA256 = ""
		l.History = slices.Repeat(l.History, 100)
		whole := encode(t, l)
		if limit := (4*1_000_012+2)/3 + 64<<10; len(whole) > limit {
			t.Errorf("%d bytes: the letter has %d, over %d", n, len(whole), limit)
		}
		c := l.Compact()
		small := encode(t, c)
		if len(small) > 48<<10 {
			t.Errorf("%d bytes: the compact letter has %d", n, len(small))
		}
		got := decode(t, small)
		if !got.Original.Omitted || got.Original.ValueSize != int64(n) || got.Original.ValueSHA256 != decode(t, whole).Original.ValueSHA256 ||
			got.Original.Key != nil || got.Original.Value != nil || got.Original.Headers != nil || got.Origin != l.Origin || got.EnvelopeID != l.EnvelopeID {
			t.Errorf("%d bytes: got %+v", n, got.Original)
		}
		if l.Original.Omitted || len(l.Original.Value) != n {
			t.Error("Compact changed the letter")
		}
	}
	if got := decode(t, encode(t, smallLetter().Compact())).Original.ValueSize; got != -1 {
		t.Errorf("a null value: got size %d, want -1", got)
	}
	empty := smallLetter()
	empty.Original.Value = []byte{}
	if got := decode(t, encode(t, empty.Compact())).Original.ValueSize; got != 0 {
		t.Errorf("an empty value: got size %d, want 0", got)
	}
}

// Pitfall R43: a text of a megabyte is written the first time it is tried.
func TestLetterHeadersSayWhatToolsFilterBy(t *testing.T) {
	l := fullLetter()
	l.EnvelopeID = ""
	var got []string
	for _, h := range l.Headers() {
		got = append(got, h.Key+"="+string(h.Value))
	}
	want := []string{
		"recon-envelope=" + envelope.EnvelopeID(root, 1), "recon-failure-code=ATTEMPTS_EXHAUSTED", "recon-failure-class=transient",
		"recon-error-code=CARRIER_UNREACHABLE", "recon-stage=carrier_status", "recon-source-hash=v1:sha256:4f0a6b1e",
		"recon-root=recon.main/3@1234", "recon-generation=1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestIntactSeesAChangedByte(t *testing.T) {
	l := decode(t, encode(t, smallLetter()))
	if err := l.Intact(); err != nil {
		t.Error(err)
	}
	l.Original.Value = []byte("x")
	if err := l.Intact(); err == nil || !strings.Contains(err.Error(), l.EnvelopeID) {
		t.Errorf("got %v, want an error that names the letter", err)
	}
	sealed := fullLetter()
	sealed.Original.Encryption = &envelope.Encryption{Scheme: "age", Recipients: []string{"key-1"}}
	if got := decode(t, encode(t, sealed)); got.Intact() != nil || !reflect.DeepEqual(got, sealed) {
		t.Errorf("sealed: got %+v, %v", got.Original, got.Intact())
	}
}

func TestLetterThatCouldNotBeReadBackIsNotWritten(t *testing.T) {
	rows := map[string]func(l *envelope.Letter){
		"no root":          func(l *envelope.Letter) { l.Lineage.Root = envelope.Coordinates{} },
		"other id":         func(l *envelope.Letter) { l.EnvelopeID = envelope.EnvelopeID(root, 9) },
		"no code":          func(l *envelope.Letter) { l.FailureCode = "" },
		"no class":         func(l *envelope.Letter) { l.FailureClass = "" },
		"no stage":         func(l *envelope.Letter) { l.SourceStage = "" },
		"no service":       func(l *envelope.Letter) { l.Producer.Service = "" },
		"amount":           func(l *envelope.Letter) { l.Message.Amount = "1e3" },
		"negative count":   func(l *envelope.Letter) { l.AttemptCount = -1 },
		"other scheme":     func(l *envelope.Letter) { l.Original.Encryption = &envelope.Encryption{Scheme: "rot13"} },
		"omitted and kept": func(l *envelope.Letter) { l.Original.Omitted = true },
		"fingerprint":      func(l *envelope.Letter) { l.Fingerprint.Hash = "x" },
	}
	for name, breakIt := range rows {
		l := fullLetter()
		breakIt(l)
		if b, err := l.Encode(); err == nil || b != nil {
			t.Errorf("%s: written", name)
		}
	}
}

// A letter must not wait for what follows from its other fields.
func TestLetterFillsWhatFollowsFromTheRest(t *testing.T) {
	want := fullLetter()
	bare := fullLetter()
	bare.EnvelopeID, bare.Original.ValueSHA256, bare.Fingerprint = "", "", envelope.Fingerprint{}
	if got := decode(t, encode(t, bare)); !reflect.DeepEqual(got, want) || !reflect.DeepEqual(bare, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	bare = smallLetter()
	bare.Message, bare.ErrorDetail, bare.Fingerprint = want.Message, "no account for DE-4711", envelope.Fingerprint{}
	if got, want := decode(t, encode(t, bare)).Fingerprint.Parts[2], "no account for <id>"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLetterIsReadStrictly(t *testing.T) {
	good := string(encode(t, fullLetter()))
	rows := []struct{ name, old, new string }{
		{"member twice", `"error_code":`, `"error_code":"X","error_code":`},
		{"unknown member", `"error_code":`, `"colour":"red","error_code":`},
		{"unknown member within", `"lineage":{`, `"lineage":{"x":1,`},
		{"missing member", `"history_omitted":4,`, ``},
		{"missing member within", `"group":"recon-consumer",`, ``},
		{"wrong case", `"error_code":`, `"Error_Code":`},
		{"null where none may be", `"error_detail":"`, `"error_detail":null,"x":"`},
		{"number for text", `"amount":"-12345.67"`, `"amount":-12345.67`},
		{"text for number", `"attempt_count":6`, `"attempt_count":"6"`},
		{"fraction", `"attempt_count":6`, `"attempt_count":6.0`},
		{"negative", `"attempt_count":6`, `"attempt_count":-6`},
		{"too large", `"attempt_count":6`, `"attempt_count":2147483648`},
		{"time without milliseconds", `"first_seen_at":"2026-03-31T12:00:00.123Z"`, `"first_seen_at":"2026-03-31T12:00:00Z"`},
		{"other id", `"generation":1`, `"generation":2`},
		{"upper-case id", `"envelope_id":"e`, `"envelope_id":"E`},
		{"base64 without padding", `"key":"REUtNDcxMQ=="`, `"key":"REUtNDcxMQ"`},
		{"base64 with a line break", `"key":"REUtNDcxMQ=="`, `"key":"REUt\nNDcxMQ=="`},
		{"base64 with loose bits", `"key":"REUtNDcxMQ=="`, `"key":"REUtNDcxMR=="`},
		{"omitted false", `"encryption":null`, `"encryption":null,"omitted":false`},
		{"omitted, bytes there", `"encryption":null`, `"encryption":null,"omitted":true,"value_size":1`},
		{"size alone", `"encryption":null`, `"encryption":null,"value_size":1`},
		{"headers null", `"headers":[`, `"headers":null,"x":[`},
		{"trailing", `}}`, `}}x`},
	}
	for _, r := range rows {
		if !strings.Contains(good, r.old) {
			t.Fatalf("%s: %s is not in %s", r.name, r.old, good)
		}
		bad := strings.Replace(good, r.old, r.new, 1)
		if r.name == "trailing" {
			bad = good + "x"
		}
		l, err := envelope.DecodeLetter([]byte(bad))
		if err == nil || l != nil || errors.Is(err, envelope.ErrVersion) {
			t.Errorf("%s: got %v, %v", r.name, l, err)
		}
	}
	for _, b := range []string{"", "null", "[]", "{}", good[:len(good)-1], "\xff"} {
		if _, err := envelope.DecodeLetter([]byte(b)); err == nil {
			t.Errorf("%.20q: read", b)
		}
	}
}

func TestLetterOfAnotherVersionIsToldAsSuch(t *testing.T) {
	v2 := strings.Replace(string(encode(t, fullLetter())), `"envelope_version":1`, `"news":[],"envelope_version":2`, 1)
	_, err := envelope.DecodeLetter([]byte(v2))
	if !errors.Is(err, envelope.ErrVersion) || !strings.Contains(err.Error(), "envelope_version 2") {
		t.Errorf("got %v, want %v", err, envelope.ErrVersion)
	}
}

func TestMembersMayComeInAnyOrderAndLayout(t *testing.T) {
	b := string(encode(t, smallLetter()))
	moved := "{\n" + strings.TrimPrefix(strings.Replace(b, `"envelope_version":1,`, "", 1), "{")
	moved = strings.TrimSuffix(moved, "}") + ", \"envelope_version\" : 1 }\n"
	if got := decode(t, []byte(moved)); !reflect.DeepEqual(got, decode(t, []byte(b))) {
		t.Errorf("got %+v", got)
	}
}

func TestOriginSaysWhichClockTheTimestampIs(t *testing.T) {
	for kind, want := range map[int8]string{-1: "", 0: envelope.CreateTime, 1: envelope.LogAppendTime} {
		r := &kgo.Record{
			Topic: "recon.main", Partition: 3, Offset: 1234, LeaderEpoch: -5, Timestamp: time.UnixMilli(-1),
			Attrs: kgo.NewRecordAttrs(kgo.RecordAttrsOpts{TimestampType: kind}),
		}
		want := envelope.Origin{Coordinates: root, LeaderEpoch: -1, TimestampMS: -1, TimestampType: want}
		if got := envelope.OriginOf(r); got != want {
			t.Errorf("%d: got %+v, want %+v", kind, got, want)
		}
	}
}

func BenchmarkLetter(b *testing.B) {
	l := fullLetter()
	l.Original.Value = typical
	l.Original.ValueSHA256 = ""
	encoded, err := l.Encode()
	if err != nil {
		b.Fatal(err)
	}
	b.Run(fmt.Sprintf("encode-%d", len(encoded)), func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = l.Encode()
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = envelope.DecodeLetter(encoded)
		}
	})
}
