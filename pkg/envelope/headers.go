package envelope

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// The headers that the service sets (CONTRACT 4, and on letters CONTRACT 5).
const (
	HeaderPrefix        = "recon-"
	HeaderRoot          = "recon-root"
	HeaderOrigin        = "recon-origin"
	HeaderOriginRecord  = "recon-origin-record" // what the broker kept of the record there: leader epoch, milliseconds, timestamp type
	HeaderGeneration    = "recon-generation"
	HeaderMessageID     = "recon-message-id"
	HeaderAttempt       = "recon-attempt"
	HeaderBudget        = "recon-budget"
	HeaderMaxAttempts   = "recon-max-attempts"
	HeaderFirstSeenAt   = "recon-first-seen-at"
	HeaderNextRetryAt   = "recon-next-retry-at"
	HeaderMatchDeadline = "recon-match-deadline"
	HeaderStage         = "recon-stage"
	HeaderFailureClass  = "recon-failure-class"
	HeaderErrorCode     = "recon-error-code"
	HeaderError         = "recon-error"
	HeaderHistory       = "recon-history"
	HeaderReplay        = "recon-replay"
	HeaderEnvelope      = "recon-envelope"
	HeaderFailureCode   = "recon-failure-code" // letters only
	HeaderLetterHash    = "recon-source-hash"  // letters only
)

// SplitHeaders parts a record's own headers from the service's, which are those whose name begins with `recon-`.
// Both keep their order, repeats and nulls, and alias hs: bytes are not copied, and hs is not changed. Where ours stand
// behind all others, as Append writes them, or are none, nothing is allocated.
func SplitHeaders(hs []kgo.RecordHeader) (own, recon []kgo.RecordHeader) {
	i := 0
	for i < len(hs) && !isOurs(hs[i].Key) {
		i++
	}
	j := i
	for j < len(hs) && isOurs(hs[j].Key) {
		j++
	}
	own, recon = hs[:i:i], hs[i:j:j]
	if j == len(hs) {
		return own, recon
	}
	for _, h := range hs[j:] { // the capacity limits make both grow in memory of their own
		if isOurs(h.Key) {
			recon = append(recon, h)
		} else {
			own = append(own, h)
		}
	}
	return own, recon
}

func isOurs(name string) bool { return strings.HasPrefix(name, HeaderPrefix) }

// writer appends headers whose values lie in one piece of memory.
type writer struct {
	headers []kgo.RecordHeader
	arena   []byte
}

// text adds a header unless its value is empty.
func (w *writer) text(name, value string) {
	if value != "" {
		w.bytes(name, func(b []byte) []byte { return append(b, value...) })
	}
}

// bytes adds a header with what fill appends. A grown arena leaves earlier values where they are.
func (w *writer) bytes(name string, fill func([]byte) []byte) {
	from := len(w.arena)
	w.arena = fill(w.arena)
	w.headers = append(w.headers, kgo.RecordHeader{Key: name, Value: w.arena[from:len(w.arena):len(w.arena)]})
}
