package envelope

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/fault"
)

// Encode gives the letter as CONTRACT 5 has it. It fills what follows from the rest (EnvelopeID, ValueSHA256,
// Fingerprint), cuts error_detail, history and labels to their limits, and changes l in nothing else. Without `original` the result is at
// most 48 KiB. An error means that the letter could not be read back: a field that no message and no fault can give.
func (l *Letter) Encode() ([]byte, error) {
	c := *l
	if c.EnvelopeID == "" {
		c.EnvelopeID = EnvelopeID(c.Lineage.Root, c.Lineage.Generation)
	}
	if c.Original.ValueSHA256 == "" {
		c.Original.ValueSHA256 = valueHash(c.Original.Value)
	}
	if c.Fingerprint.Version == 0 {
		m := &c.Message
		c.Fingerprint = NewFingerprint(c.ErrorCode, c.SourceStage, c.ErrorDetail, m.LedgerEntity, m.SourceHash, m.TraceID, m.MessageID)
	}
	c.ErrorDetail = cutCharacters(c.ErrorDetail, maxDetail)
	c.History, c.HistoryOmitted = fitHistory(c.History, c.HistoryOmitted, maxHistoryHeader)
	p := &c.Producer
	for _, label := range []*string{&p.Service, &p.Version, &p.Instance, &p.Group, &p.ConfigDigest} {
		*label = fault.Truncate(*label, maxLabel)
	}
	b, err := writeObject(make([]byte, 0, 4096+c.Original.size()), &c, letterProperties)
	if err == nil {
		err = c.consistent()
	}
	if err != nil {
		return nil, fmt.Errorf("dead letter of %s generation %d: %w", c.Lineage.Root, c.Lineage.Generation, err)
	}
	l.EnvelopeID, l.Original.ValueSHA256, l.Fingerprint = c.EnvelopeID, c.Original.ValueSHA256, c.Fingerprint
	return b, nil
}

// DecodeLetter reads a letter strictly: every member there and none twice, no other members, every value by its rule,
// the envelope id that root and generation give. ErrVersion says that a newer program wrote it. Whether the original's
// bytes still have their hash is Intact's to say.
func DecodeLetter(b []byte) (*Letter, error) {
	l := &Letter{Original: Original{ValueSize: sizeUnread}}
	err := readDocument(b, l, letterProperties)
	if err == nil {
		err = l.read()
	}
	if err = versioned(b, "envelope_version", LetterVersion, err); err != nil {
		return nil, fmt.Errorf("dead letter: %w", err)
	}
	return l, nil
}

// sizeUnread stands in ValueSize until the member was read.
const sizeUnread = -2

// read checks what no single member can say, and takes the marks of reading out.
func (l *Letter) read() error {
	o := &l.Original
	switch unread := o.ValueSize == sizeUnread; {
	case o.Omitted && unread:
		return errors.New("original: value_size is missing")
	case o.Omitted && !o.noHeaders:
		return errors.New("original: headers are there although it is omitted")
	case !o.Omitted && !unread:
		return errors.New("original: value_size is there although nothing is omitted")
	case !o.Omitted && o.noHeaders:
		return errors.New("original: headers are null although nothing is omitted")
	case unread:
		o.ValueSize = 0
	}
	o.noHeaders = false
	return l.consistent()
}

// consistent checks the rules between members.
func (l *Letter) consistent() error {
	if l.EnvelopeID != EnvelopeID(l.Lineage.Root, l.Lineage.Generation) {
		return errors.New("envelope_id is not the one of root and generation")
	}
	o := &l.Original
	if o.Omitted && (o.Key != nil || o.Value != nil || o.Headers != nil || o.Encryption != nil) {
		return errors.New("original: bytes are there although it is omitted")
	}
	return nil
}

// Compact is the letter without the original's bytes, for a record whose letter would be over the topic's limit:
// size and hash of the value stay, and the record itself stays on main where Origin says.
func (l *Letter) Compact() *Letter {
	c := *l
	o := &l.Original
	if o.Omitted {
		return &c
	}
	c.Original = Original{Omitted: true, ValueSHA256: o.ValueSHA256, ValueSize: int64(len(o.Value))}
	if o.Value == nil {
		c.Original.ValueSize = -1
	}
	if c.Original.ValueSHA256 == "" {
		c.Original.ValueSHA256 = valueHash(o.Value)
	}
	return &c
}

// Headers are those of the record on the DLQ, so that generic tools can filter without reading the letter.
func (l *Letter) Headers() []kgo.RecordHeader {
	w := writer{headers: make([]kgo.RecordHeader, 0, 8), arena: make([]byte, 0, 384)}
	id := l.EnvelopeID
	if id == "" {
		id = EnvelopeID(l.Lineage.Root, l.Lineage.Generation)
	}
	w.text(HeaderEnvelope, id)
	w.text(HeaderFailureCode, string(l.FailureCode))
	w.text(HeaderFailureClass, string(l.FailureClass))
	w.text(HeaderErrorCode, string(l.ErrorCode))
	w.text(HeaderStage, string(l.SourceStage))
	w.text(HeaderLetterHash, l.Message.SourceHash)
	w.coordinates(HeaderRoot, l.Lineage.Root)
	w.number(HeaderGeneration, l.Lineage.Generation)
	return w.headers
}

// Intact checks that the original's value is the one that was dead-lettered. Sealed and omitted originals answer nil:
// their bytes are not here to be checked.
func (l *Letter) Intact() error {
	o := &l.Original
	if o.Omitted || o.Encryption != nil {
		return nil
	}
	if got := valueHash(o.Value); got != o.ValueSHA256 {
		return fmt.Errorf("dead letter %s: the original's value has SHA-256 %s, the letter says %s",
			l.EnvelopeID, got, o.ValueSHA256)
	}
	return nil
}

// OriginOf says where r lies.
func OriginOf(r *kgo.Record) Origin {
	o := Origin{
		Coordinates: CoordinatesOf(r),
		LeaderEpoch: max(-1, r.LeaderEpoch), TimestampMS: r.Timestamp.UnixMilli(),
	}
	switch r.Attrs.TimestampType() {
	case 0:
		o.TimestampType = CreateTime
	case 1:
		o.TimestampType = LogAppendTime
	}
	return o
}

// The values of Origin.TimestampType.
const (
	CreateTime    = "CreateTime"
	LogAppendTime = "LogAppendTime"
)

// valueHash is SHA-256 in hex; null and empty share it, the value itself keeps them apart.
func valueHash(v []byte) string {
	sum := sha256.Sum256(v)
	return hex.EncodeToString(sum[:])
}

// size estimates the encoded length, so that a large letter is written into memory of the right size at once.
func (o *Original) size() int {
	n := len(o.Key) + len(o.Value)
	for _, h := range o.Headers {
		n += len(h.Key) + len(h.Value) + 24
	}
	return n*4/3 + 16
}
