package envelope

import (
	"time"

	"github.com/shopspring/decimal"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Message is a reconciliation record as handlers see it. Texts are valid or empty: a field that is absent, or that
// breaks its rule, is empty, so on a decoding error whatever could be read is still here.
type Message struct {
	MessageID     string // UUID, lower-case; by Identify where the body has none
	SourceHash    string
	LedgerEntity  string
	Currency      string          // ISO 4217; on CURRENCY_UNMAPPED the code that is not mapped
	Amount        decimal.Decimal // signed: credit to the account holder positive
	HasAmount     bool            // false: Amount is unreadable and means nothing
	MatchDecision string
	BookingDate   string // YYYY-MM-DD
	ValueDate     string // YYYY-MM-DD
	Reversal      bool
	TraceID       string // body, else traceparent, else by Identify
	CounterpartRef,
	SourceSystem string
	MatchDeadline time.Time // UTC; zero: none in the body
	Digest        string    // 16 hex digits, CONTRACT 2; empty when decoding failed

	Root       Coordinates // where the record first lay
	Generation int
	Attempt    int    // attempts made before this one
	Replay     string // replay id, empty when the record is no replay
	FirstSeen  time.Time

	Key, Value []byte
	Headers    []kgo.RecordHeader // the record's own, without recon-*

	amount string // CanonicalAmount of Amount as it was read
}

// Match decisions. They are stored and totalled, never judged: all three post.
const (
	Matched   = "MATCHED"
	Partial   = "PARTIAL"
	Unmatched = "UNMATCHED"
)

// Identify fills what only the root can give: message_id where the body has none, and a trace_id where neither body
// nor traceparent brought one. Both are functions of the root, so every redelivery gives the same.
func (m *Message) Identify(root Coordinates) {
	m.Root = root
	if m.MessageID == "" {
		m.MessageID = MessageID(root)
	}
	if m.TraceID == "" {
		m.TraceID = traceOf(m.MessageID)
	}
}

// Facts are the fields of m for evidence, each empty where it could not be read.
func (m *Message) Facts() Facts {
	f := Facts{
		MessageID: m.MessageID, SourceHash: m.SourceHash, LedgerEntity: m.LedgerEntity, Currency: m.Currency,
		MatchDecision: m.MatchDecision, TraceID: m.TraceID, BookingDate: m.BookingDate, ValueDate: m.ValueDate,
	}
	if f.Amount = m.amount; f.Amount == "" && m.HasAmount {
		f.Amount = CanonicalAmount(m.Amount)
	}
	return f
}
