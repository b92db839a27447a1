package envelope

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/fault"
)

// LetterVersion is the envelope_version that Encode writes and DecodeLetter reads.
const LetterVersion = 1

// Letter is a dead letter: why a record could not be posted, everything that was tried, and the record itself
// byte for byte. Empty texts are null on the wire where CONTRACT 5 allows null.
type Letter struct {
	EnvelopeID     string // EnvelopeID(Lineage.Root, Lineage.Generation) where empty
	FailureCode    fault.Failure
	FailureClass   fault.Class
	ErrorCode      fault.Code
	ErrorDetail    string // cut to 2000 characters when written, beginning and root cause kept
	SourceStage    fault.Stage
	Fingerprint    Fingerprint // of the fields around it where its version is 0
	AttemptCount   int         // attempts made in this generation
	History        []Attempt   // the first and the latest ones
	HistoryOmitted int
	Message        Facts
	Lineage        Lineage
	Origin         Origin
	Original       Original
	FirstSeenAt    time.Time
	DeadLetteredAt time.Time
	Producer       Producer
}

// Facts are the fields of a message that evidence shows. Empty is unreadable: no valid value of any of them is empty.
type Facts struct {
	MessageID, SourceHash, LedgerEntity, Currency string
	Amount                                        string // as CanonicalAmount gives it
	MatchDecision, TraceID                        string
	BookingDate, ValueDate                        string
}

// Lineage says of which root and generation a letter is, and which letter and replay came before it.
type Lineage struct {
	Root       Coordinates
	Generation int
	Parent     string // envelope id of the letter that was replayed; empty in generation 0
	ReplayID   string
}

// Origin says where on main the record lies in this generation, and under which time the broker keeps it.
type Origin struct {
	Coordinates
	LeaderEpoch   int32  // -1: unknown
	TimestampMS   int64  // milliseconds since 1970, may be negative
	TimestampType string // CreateTime, LogAppendTime, or empty for records without
}

// Producer says who wrote the letter.
type Producer struct {
	Service, Version, Instance, Group, ConfigDigest string
}

// Original is the record as it lay on main: nil is null, empty is empty, headers in order with their repeats.
type Original struct {
	Key, Value []byte
	Headers    []kgo.RecordHeader

	ValueSHA256 string      // of Value before sealing, 64 hex digits; filled by Encode where empty
	Encryption  *Encryption // nil: the bytes are plain

	Omitted   bool  // compact letter: the bytes are not here, the record stays where Origin says
	ValueSize int64 // with Omitted: length of the value; -1 when the value is null

	noHeaders bool // while it is read: headers were null
}

// Encryption says how Key, Value and Headers are sealed.
type Encryption struct {
	Scheme     string // age
	Recipients []string
}
