package envelope

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/fault"
)

// Limits of texts in headers and history (CONTRACT 4), in bytes.
const (
	maxErrorHeader   = 1024
	maxHistoryHeader = 16 << 10
	maxHistoryText   = 200
)

// Append gives own followed by the headers of r, one value each: recon-* headers in own are left out, so whatever a
// record has been through, it carries one set. Empty texts and zero times are not written. own is not changed; in r the
// history becomes what was written, with the entries that found no place counted in Omitted.
func (r *Retry) Append(own []kgo.RecordHeader) []kgo.RecordHeader {
	w := writer{headers: make([]kgo.RecordHeader, 0, len(own)+18), arena: make([]byte, 0, 1024)}
	for _, h := range own {
		if !isOurs(h.Key) {
			w.headers = append(w.headers, h)
		}
	}
	w.coordinates(HeaderRoot, r.Root)
	w.coordinates(HeaderOrigin, r.Origin)
	if r.OriginRecord.TimestampType != "" {
		w.bytes(HeaderOriginRecord, r.OriginRecord.append)
	}
	w.number(HeaderGeneration, r.Generation)
	w.text(HeaderMessageID, r.MessageID)
	w.number(HeaderAttempt, r.Attempt)
	if len(r.Budget) > 0 {
		w.bytes(HeaderBudget, func(b []byte) []byte { return appendBudget(b, r.Budget) })
	}
	if r.MaxAttempts > 0 {
		w.number(HeaderMaxAttempts, r.MaxAttempts)
	}
	w.moment(HeaderFirstSeenAt, r.FirstSeen)
	w.moment(HeaderNextRetryAt, r.Due)
	w.moment(HeaderMatchDeadline, r.MatchDeadline)
	w.text(HeaderStage, string(r.Stage))
	w.text(HeaderFailureClass, string(r.Class))
	w.text(HeaderErrorCode, string(r.Code))
	w.text(HeaderError, fault.Truncate(r.Error, maxErrorHeader))
	r.History, r.Omitted = fitHistory(r.History, r.Omitted, maxHistoryHeader)
	if len(r.History) > 0 || r.Omitted > 0 {
		w.bytes(HeaderHistory, func(b []byte) []byte { return appendHistory(b, r.History, r.Omitted) })
	}
	w.text(HeaderReplay, r.Replay)
	w.text(HeaderEnvelope, r.Envelope)
	return w.headers
}

// append writes `<leader epoch> <milliseconds> <timestamp type>`.
func (r Recorded) append(b []byte) []byte {
	b = strconv.AppendInt(b, int64(r.LeaderEpoch), 10)
	b = strconv.AppendInt(append(b, ' '), r.TimestampMS, 10)
	return append(append(b, ' '), r.TimestampType...)
}

func (w *writer) coordinates(name string, c Coordinates) {
	if !c.IsZero() {
		w.bytes(name, c.AppendText)
	}
}

func (w *writer) number(name string, n int) {
	w.bytes(name, func(b []byte) []byte { return strconv.AppendInt(b, int64(n), 10) })
}

func (w *writer) moment(name string, t time.Time) {
	if !t.IsZero() {
		w.bytes(name, func(b []byte) []byte { return appendTime(b, t) })
	}
}

// appendBudget writes `CODE=count,…`, sorted by code.
func appendBudget(b []byte, budget map[fault.Code]int) []byte {
	codes := make([]fault.Code, 0, len(budget))
	for code := range budget {
		codes = append(codes, code)
	}
	slices.SortFunc(codes, func(x, y fault.Code) int { return strings.Compare(string(x), string(y)) })
	for i, code := range codes {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, code...), '=')
		b = strconv.AppendInt(b, int64(budget[code]), 10)
	}
	return b
}
