package envelope

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"recon/pkg/fault"
)

// ruleShort is a text of evidence that is written in at most maxHistoryText bytes.
var ruleShort = characters(1, maxHistoryText)

// attemptProperties are an entry of a history, in headers and in letters.
var attemptProperties = []property[Attempt]{
	count("attempt", func(a *Attempt) *int { return &a.Attempt }),
	moment("at", func(a *Attempt) *time.Time { return &a.At }),
	textOrNull("stage", ruleName, func(a *Attempt) *fault.Stage { return &a.Stage }),
	textOrNull("failure_class", ruleClass, func(a *Attempt) *fault.Class { return &a.FailureClass }),
	textOrNull("error_code", ruleCode, func(a *Attempt) *fault.Code { return &a.ErrorCode }),
	textOrNull("error_detail", ruleShort, func(a *Attempt) *string { return &a.ErrorDetail }),
	millis("waited_ms", func(a *Attempt) *time.Duration { return &a.Waited }),
	millis("took_ms", func(a *Attempt) *time.Duration { return &a.Took }),
	textOrNull("instance", ruleShort, func(a *Attempt) *string { return &a.Instance }),
}

// history is the value of recon-history.
type history struct {
	omitted  int
	attempts []Attempt
}

var historyProperties = []property[history]{
	count("omitted", func(h *history) *int { return &h.omitted }),
	list("attempts", attemptProperties, func(h *history) *[]Attempt { return &h.attempts }),
}

// fit is a as it can be written: texts cut, and what is no code, class or stage left out.
func (a Attempt) fit() Attempt {
	a.Attempt = counted(a.Attempt)
	a.ErrorDetail = fault.Truncate(a.ErrorDetail, maxHistoryText)
	a.Instance = fault.Truncate(a.Instance, maxHistoryText)
	if !isName(string(a.Stage)) {
		a.Stage = ""
	}
	if !isClass(string(a.FailureClass)) {
		a.FailureClass = ""
	}
	if !isCode(string(a.ErrorCode)) {
		a.ErrorCode = ""
	}
	return a
}

// fitHistory keeps of h the first entry and as many of the latest as the JSON of limit bytes can hold, each as it can
// be written, and adds the others to omitted. h is not changed.
func fitHistory(h []Attempt, omitted, limit int) ([]Attempt, int) {
	if len(h) == 0 {
		return nil, counted(omitted)
	}
	first := h[0].fit()
	room := limit - len(`{"omitted":2147483647,"attempts":[]}`) - first.size()
	kept := []Attempt{first}
	for i := len(h) - 1; i > 0; i-- {
		a := h[i].fit()
		if room -= a.size(); room < 0 {
			break
		}
		kept = append(kept, a)
	}
	slices.Reverse(kept[1:])
	return kept, counted(omitted + len(h) - len(kept))
}

// counted is n as a document can hold it: what headers claim is carried on, and must not grow into what nobody can write.
func counted(n int) int { return min(max(0, n), math.MaxInt32) }

// size is the length of a in JSON with a comma.
func (a Attempt) size() int {
	var space [512]byte
	b, err := writeObject(space[:0], &a, attemptProperties)
	if err != nil { // fit has made it writable
		panic("envelope: attempt: " + err.Error())
	}
	return len(b) + 1
}

// appendHistory appends the JSON of a history that fits.
func appendHistory(b []byte, h []Attempt, omitted int) []byte {
	b, err := writeObject(b, &history{omitted, h}, historyProperties)
	if err != nil {
		panic("envelope: history: " + err.Error())
	}
	return b
}

// parseHistory reads the value of recon-history.
func parseHistory(b []byte) (h []Attempt, omitted int, err error) {
	if len(b) > maxHistoryHeader {
		return nil, 0, fmt.Errorf("%d bytes, at most %d are read", len(b), maxHistoryHeader)
	}
	var doc history
	if err := readDocument(b, &doc, historyProperties); err != nil {
		return nil, 0, err
	}
	return doc.attempts, doc.omitted, nil
}

// cutCharacters shortens s to most characters of valid UTF-8. As fault.Truncate does for bytes it cuts in the middle:
// the beginning says what was attempted, the end is the root cause.
func cutCharacters(s string, most int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= most {
		return s
	}
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	head := (most - 1) / 3
	return string(runes[:head]) + "…" + string(runes[len(runes)-(most-1-head):])
}
