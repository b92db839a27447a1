package envelope_test

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/twmb/franz-go/pkg/kgo"
	"pgregory.net/rapid"

	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// Generators of everything that the types allow and the contract does.
var (
	anyTime = rapid.Custom(func(t *rapid.T) time.Time {
		return time.UnixMilli(rapid.Int64Range(-62135596800000, 253402300799999).Draw(t, "ms")).UTC()
	})
	anyCoordinates = rapid.Custom(func(t *rapid.T) envelope.Coordinates {
		return envelope.Coordinates{
			Topic:     rapid.StringMatching(`[a-zA-Z0-9._-]{1,249}`).Draw(t, "topic"),
			Partition: rapid.Int32Min(0).Draw(t, "partition"), Offset: rapid.Int64Min(0).Draw(t, "offset"),
		}
	})
	anyUUID = rapid.Custom(func(t *rapid.T) string { return envelope.MessageID(anyCoordinates.Draw(t, "root")) })
	anyCode = rapid.SampledFrom([]fault.Code{fault.RateLimited, fault.CarrierUnreachable, fault.Unclassified, "X_9"})
	anyText = func(most int) *rapid.Generator[string] { return rapid.StringN(0, most, most) }
	anyByte = rapid.Custom(func(t *rapid.T) []byte {
		if rapid.Bool().Draw(t, "null") {
			return nil
		}
		return rapid.SliceOfN(rapid.Byte(), 0, 80).Draw(t, "bytes")
	})
	anyAttempt = rapid.Custom(func(t *rapid.T) envelope.Attempt {
		return envelope.Attempt{
			Attempt: rapid.IntRange(0, 1<<31-1).Draw(t, "attempt"), At: anyTime.Draw(t, "at"), Stage: fault.StagePost,
			FailureClass: rapid.SampledFrom([]fault.Class{fault.Transient, fault.Poison, ""}).Draw(t, "class"),
			ErrorCode:    anyCode.Draw(t, "code"), ErrorDetail: anyText(200).Draw(t, "detail"), Instance: anyText(200).Draw(t, "instance"),
			Waited: time.Duration(rapid.Int64Range(0, 1<<40).Draw(t, "waited")) * time.Millisecond, Took: time.Duration(rapid.IntRange(0, 9).Draw(t, "took")) * time.Millisecond,
		}
	})
	anyHeader = rapid.Custom(func(t *rapid.T) kgo.RecordHeader {
		return kgo.RecordHeader{Key: string(anyByte.Draw(t, "key")), Value: anyByte.Draw(t, "value")}
	})
	anyFacts = rapid.Custom(func(t *rapid.T) envelope.Facts {
		return envelope.Facts{
			MessageID: rapid.OneOf(rapid.Just(""), anyUUID).Draw(t, "message_id"), SourceHash: rapid.StringMatching(`|[!-z|~]{8,128}`).Draw(t, "hash"),
			LedgerEntity: anyText(64).Draw(t, "entity"), Currency: rapid.StringMatching(`|[A-Z]{3}`).Draw(t, "currency"),
			Amount:        rapid.StringMatching(`|-?[1-9][0-9]{0,17}(\.[0-9]{1,9})?`).Draw(t, "amount"),
			MatchDecision: rapid.SampledFrom([]string{"", "MATCHED", "PARTIAL", "UNMATCHED"}).Draw(t, "decision"),
			TraceID:       anyText(64).Draw(t, "trace"), BookingDate: rapid.StringMatching(`|20[0-9][0-9]-0[1-9]-[0-2][1-8]`).Draw(t, "date"),
		}
	})
	anyLetter = rapid.Custom(func(t *rapid.T) *envelope.Letter {
		return &envelope.Letter{
			FailureCode: fault.FailedExhausted, FailureClass: fault.Transient, ErrorCode: anyCode.Draw(t, "code"), ErrorDetail: anyText(2000).Draw(t, "detail"),
			SourceStage: fault.StageFX, AttemptCount: rapid.IntRange(0, 1<<31-1).Draw(t, "attempts"), History: rapid.SliceOfN(anyAttempt, 0, 12).Draw(t, "history"),
			HistoryOmitted: rapid.IntRange(0, 500).Draw(t, "omitted"), Message: anyFacts.Draw(t, "message"),
			Lineage: envelope.Lineage{Root: anyCoordinates.Draw(t, "root"), Generation: rapid.IntRange(0, 9).Draw(t, "generation"), Parent: anyUUID.Draw(t, "parent")},
			Origin: envelope.Origin{
				Coordinates: anyCoordinates.Draw(t, "origin"), LeaderEpoch: rapid.Int32Min(-1).Draw(t, "epoch"), TimestampMS: rapid.Int64().Draw(t, "timestamp"),
				TimestampType: rapid.SampledFrom([]string{"", envelope.CreateTime, envelope.LogAppendTime}).Draw(t, "type"),
			},
			Original:    envelope.Original{Key: anyByte.Draw(t, "key"), Value: anyByte.Draw(t, "value"), Headers: rapid.SliceOfN(anyHeader, 0, 6).Draw(t, "headers")},
			FirstSeenAt: anyTime.Draw(t, "first"), DeadLetteredAt: anyTime.Draw(t, "dead"),
			Producer: envelope.Producer{Service: "consumer", Instance: anyText(200).Draw(t, "producer")},
		}
	})
)

func TestAnyLetterComesBackAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := anyLetter.Draw(t, "letter")
		b, err := l.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := envelope.DecodeLetter(b)
		if err != nil {
			t.Fatalf("%v\n%s", err, b)
		}
		again, err := got.Encode()
		if err != nil || !bytes.Equal(again, b) || got.Intact() != nil {
			t.Fatalf("%v, %v\n%s\n%s", err, got.Intact(), b, again)
		}
		o, g := l.Original, got.Original
		same := reflect.DeepEqual(o.Key, g.Key) && reflect.DeepEqual(o.Value, g.Value) && len(o.Headers) == len(g.Headers)
		for i := range o.Headers {
			same = same && reflect.DeepEqual(o.Headers[i], g.Headers[i])
		}
		if !same || got.Message != l.Message || got.Lineage != l.Lineage || got.Origin != l.Origin || len(got.History)+got.HistoryOmitted != len(l.History)+l.HistoryOmitted {
			t.Fatalf("got %+v\nwant %+v", got, l)
		}
	})
}

func TestAnyRetryComesBackAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := envelope.Retry{
			Root: anyCoordinates.Draw(t, "root"), Origin: anyCoordinates.Draw(t, "origin"),
			OriginRecord: envelope.Recorded{
				LeaderEpoch: rapid.Int32Min(-1).Draw(t, "epoch"), TimestampMS: rapid.Int64().Draw(t, "ms"),
				TimestampType: rapid.SampledFrom([]string{envelope.CreateTime, envelope.LogAppendTime}).Draw(t, "type"),
			},
			Generation: rapid.IntRange(0, 1<<31-1).Draw(t, "generation"),
			MessageID:  anyUUID.Draw(t, "id"), Attempt: rapid.IntRange(0, 1<<31-1).Draw(t, "attempt"), MaxAttempts: rapid.IntRange(0, 100).Draw(t, "max"),
			Budget:    rapid.MapOfN(anyCode, rapid.IntRange(0, 100), 1, 4).Draw(t, "budget"),
			FirstSeen: anyTime.Draw(t, "first"), Due: anyTime.Draw(t, "due"), MatchDeadline: anyTime.Draw(t, "deadline"),
			Stage: fault.StagePost, Class: fault.Transient, Code: anyCode.Draw(t, "code"), Error: anyText(1024).Draw(t, "error"),
			History: rapid.SliceOfN(anyAttempt, 1, 5).Draw(t, "history"), Replay: anyUUID.Draw(t, "replay"), Envelope: anyUUID.Draw(t, "envelope"),
		}
		budget := maps.Clone(want.Budget)
		own := rapid.SliceOfN(anyHeader, 0, 5).Draw(t, "own")
		mine, recon := envelope.SplitHeaders(want.Append(own))
		got, errs := envelope.ParseRetry(recon)
		if len(errs) > 0 || !reflect.DeepEqual(got, want) || !maps.Equal(budget, got.Budget) {
			t.Fatalf("got %+v, %v\nwant %+v", got, errs, want)
		}
		if !slices.EqualFunc(mine, own, func(a, b kgo.RecordHeader) bool { return reflect.DeepEqual(a, b) }) {
			t.Fatalf("own headers %v came back as %v", own, mine)
		}
	})
}

func TestAnyDispositionComesBackAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, at := anyFacts.Draw(t, "facts"), anyCoordinates.Draw(t, "root")
		want := disposition(rapid.SampledFrom(envelope.States()).Draw(t, "state"))
		want.Root, want.Generation = at, rapid.IntRange(0, 9).Draw(t, "generation")
		want.EnvelopeID = envelope.EnvelopeID(at, want.Generation)
		want.SourceHash, want.TraceID, want.Entity, want.Currency, want.MatchDecision = f.SourceHash, f.TraceID, f.LedgerEntity, f.Currency, f.MatchDecision
		want.Reason, want.Note, want.At = anyText(2000).Draw(t, "reason"), anyText(2000).Draw(t, "note"), anyTime.Draw(t, "at")
		if rapid.Bool().Draw(t, "without evidence") {
			want.Evidence = nil
		}
		b, err := want.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := envelope.DecodeDisposition(b); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, %v\nwant %+v", got, err, want)
		}
	})
}

// One value has one canonical text and one digest, however it was written.
func TestEqualAmountsHaveOneDigest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cents := rapid.Int64Range(-999_999_999_999, 999_999_999_999).Draw(t, "cents")
		d := decimal.New(cents, -2)
		text := envelope.CanonicalAmount(d)
		padded := d.StringFixed(int32(rapid.IntRange(2, 9).Draw(t, "decimals")))
		if p, ok := envelope.ParseAmount(text); !ok || !p.Equal(d) || envelope.CanonicalAmount(p) != text {
			t.Fatalf("%d: canonical %s is read as %s, %v", cents, text, p, ok)
		}
		a, errA := envelope.Decode(message("amount", `"`+text+`"`), nil)
		b, errB := envelope.Decode(message("amount", `"`+padded+`"`), nil)
		if errA != nil || errB != nil || a.Digest != b.Digest || a.Facts().Amount != text || b.Facts().Amount != text {
			t.Fatalf("%s and %s: %s %s, %v %v", text, padded, a.Digest, b.Digest, errA, errB)
		}
		made := &envelope.Message{LedgerEntity: a.LedgerEntity, Currency: a.Currency, Amount: d, HasAmount: true}
		if envelope.DigestOf(made) != a.Digest || made.Facts().Amount != text {
			t.Fatalf("a message made by hand: %s, %s", envelope.DigestOf(made), made.Facts().Amount)
		}
	})
}
