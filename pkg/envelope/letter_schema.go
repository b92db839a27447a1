package envelope

import (
	"encoding/base64"
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/fault"
)

// maxLabel is the limit of names of services, groups, tickets, in characters.
const maxLabel = 200

// maxDetail is the limit of error_detail and of the texts that people write, in characters.
const maxDetail = 2000

var (
	ruleDetail = characters(0, maxDetail)
	ruleLabel  = characters(1, maxLabel) // names of services, groups, tickets
	ruleLong   = characters(1, maxDetail)
	rulePart   = characters(0, fingerprintKeeps)
	ruleShort1 = characters(1, 64)
)

var letterProperties = []property[Letter]{
	version[Letter]("envelope_version", LetterVersion),
	text("envelope_id", ruleUUID, func(l *Letter) *string { return &l.EnvelopeID }),
	text("failure_code", ruleCode, func(l *Letter) *fault.Failure { return &l.FailureCode }),
	text("failure_class", ruleClass, func(l *Letter) *fault.Class { return &l.FailureClass }),
	text("error_code", ruleCode, func(l *Letter) *fault.Code { return &l.ErrorCode }),
	text("error_detail", ruleDetail, func(l *Letter) *string { return &l.ErrorDetail }),
	text("source_stage", ruleName, func(l *Letter) *fault.Stage { return &l.SourceStage }),
	object("fingerprint", fingerprintProperties, func(l *Letter) *Fingerprint { return &l.Fingerprint }),
	count("attempt_count", func(l *Letter) *int { return &l.AttemptCount }),
	list("history", attemptProperties, func(l *Letter) *[]Attempt { return &l.History }),
	count("history_omitted", func(l *Letter) *int { return &l.HistoryOmitted }),
	object("message", factsProperties, func(l *Letter) *Facts { return &l.Message }),
	object("lineage", lineageProperties, func(l *Letter) *Lineage { return &l.Lineage }),
	object("origin", originProperties, func(l *Letter) *Origin { return &l.Origin }),
	object("original", originalProperties, func(l *Letter) *Original { return &l.Original }),
	moment("first_seen_at", func(l *Letter) *time.Time { return &l.FirstSeenAt }),
	moment("dead_lettered_at", func(l *Letter) *time.Time { return &l.DeadLetteredAt }),
	object("producer", producerProperties, func(l *Letter) *Producer { return &l.Producer }),
}

var fingerprintProperties = []property[Fingerprint]{
	number("version", 1, math.MaxInt32, func(f *Fingerprint) *int { return &f.Version }),
	text("hash", ruleHash16, func(f *Fingerprint) *string { return &f.Hash }),
	texts("parts", rulePart, func(f *Fingerprint) *[]string { return &f.Parts }),
}

var factsProperties = []property[Facts]{
	textOrNull("message_id", ruleUUID, func(f *Facts) *string { return &f.MessageID }),
	textOrNull("source_hash", ruleHash, func(f *Facts) *string { return &f.SourceHash }),
	textOrNull("ledger_entity", ruleShort1, func(f *Facts) *string { return &f.LedgerEntity }),
	textOrNull("currency", ruleCurrency, func(f *Facts) *string { return &f.Currency }),
	textOrNull("amount", ruleAmount, func(f *Facts) *string { return &f.Amount }),
	textOrNull("match_decision", ruleDecision, func(f *Facts) *string { return &f.MatchDecision }),
	textOrNull("trace_id", ruleShort1, func(f *Facts) *string { return &f.TraceID }),
	textOrNull("booking_date", ruleDate, func(f *Facts) *string { return &f.BookingDate }),
	textOrNull("value_date", ruleDate, func(f *Facts) *string { return &f.ValueDate }),
}

var lineageProperties = []property[Lineage]{
	coordinates("root", func(l *Lineage) *Coordinates { return &l.Root }),
	count("generation", func(l *Lineage) *int { return &l.Generation }),
	textOrNull("parent", ruleUUID, func(l *Lineage) *string { return &l.Parent }),
	textOrNull("replay_id", ruleUUID, func(l *Lineage) *string { return &l.ReplayID }),
}

var originProperties = []property[Origin]{
	text("topic", rule{"a topic name", isTopic}, func(o *Origin) *string { return &o.Topic }),
	number("partition", 0, math.MaxInt32, func(o *Origin) *int32 { return &o.Partition }),
	number("offset", 0, math.MaxInt64, func(o *Origin) *int64 { return &o.Offset }),
	number("leader_epoch", -1, math.MaxInt32, func(o *Origin) *int32 { return &o.LeaderEpoch }),
	number("timestamp_ms", math.MinInt64, math.MaxInt64, func(o *Origin) *int64 { return &o.TimestampMS }),
	textOrNull("timestamp_type", oneOf("CreateTime or LogAppendTime", CreateTime, LogAppendTime),
		func(o *Origin) *string { return &o.TimestampType }),
}

var originalProperties = []property[Original]{
	bytesOrNull("key", func(o *Original) *[]byte { return &o.Key }),
	bytesOrNull("value", func(o *Original) *[]byte { return &o.Value }),
	headersOrNull,
	text("value_sha256", ruleSHA256, func(o *Original) *string { return &o.ValueSHA256 }),
	objectOrNull("encryption", encryptionProperties, func(o *Original) **Encryption { return &o.Encryption }),
	{name: "omitted", write: writeOmitted, read: readOmitted, omit: hasBytes},
	{name: "value_size", write: writeSize, read: readSize, omit: hasBytes},
}

// headersOrNull is null in a compact letter alone; Kafka itself knows no null there, so nil and empty are both [].
var headersOrNull = property[Original]{
	name: "headers",
	write: func(b []byte, o *Original) ([]byte, error) {
		if o.Omitted {
			return append(b, null...), nil
		}
		return headersProperty.write(b, o)
	},
	read: func(dec *jsontext.Decoder, o *Original) (err error) {
		if o.noHeaders, err = readNull(dec); o.noHeaders || err != nil {
			return err
		}
		return headersProperty.read(dec, o)
	},
}

var headersProperty = list("headers", headerProperties, func(o *Original) *[]kgo.RecordHeader { return &o.Headers })

var headerProperties = []property[kgo.RecordHeader]{
	{
		name: "key", // any bytes may stand in a header's name, so it is base64 too
		write: func(b []byte, h *kgo.RecordHeader) ([]byte, error) {
			b = base64.StdEncoding.AppendEncode(append(b, '"'), []byte(h.Key))
			return append(b, '"'), nil
		},
		read: func(dec *jsontext.Decoder, h *kgo.RecordHeader) error {
			key, err := readBytes(dec)
			h.Key = string(key)
			return err
		},
	},
	bytesOrNull("value", func(h *kgo.RecordHeader) *[]byte { return &h.Value }),
}

var encryptionProperties = []property[Encryption]{
	text("scheme", oneOf("age", "age"), func(e *Encryption) *string { return &e.Scheme }),
	texts("recipients", ruleLabel, func(e *Encryption) *[]string { return &e.Recipients }),
}

var producerProperties = []property[Producer]{
	text("service", ruleLabel, func(p *Producer) *string { return &p.Service }),
	textOrNull("version", ruleLabel, func(p *Producer) *string { return &p.Version }),
	textOrNull("instance", ruleLabel, func(p *Producer) *string { return &p.Instance }),
	textOrNull("group", ruleLabel, func(p *Producer) *string { return &p.Group }),
	textOrNull("config_digest", ruleLabel, func(p *Producer) *string { return &p.ConfigDigest }),
}

func hasBytes(o *Original) bool { return !o.Omitted }

func writeOmitted(b []byte, _ *Original) ([]byte, error) { return append(b, "true"...), nil }

// readOmitted takes true alone: a letter that has its bytes does not carry the member.
func readOmitted(dec *jsontext.Decoder, o *Original) error {
	token, err := dec.ReadToken()
	if err != nil {
		return damaged(err)
	}
	if token.Kind() != 't' {
		return errors.New("want true, or no such member")
	}
	o.Omitted = true
	return nil
}

func writeSize(b []byte, o *Original) ([]byte, error) {
	if o.ValueSize < 0 {
		return append(b, null...), nil
	}
	return strconv.AppendInt(b, o.ValueSize, 10), nil
}

func readSize(dec *jsontext.Decoder, o *Original) (err error) {
	o.ValueSize = -1
	if isNull, err := readNull(dec); isNull || err != nil {
		return err
	}
	o.ValueSize, err = readInteger(dec, 0, math.MaxInt64)
	return err
}
