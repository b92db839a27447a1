package envelope

import (
	"fmt"
	"strings"
)

// plainFields reads the fields whose only judgement is the schema.
func (d *decoder) plainFields() {
	d.keep(fieldLedgerEntity, "1 to 64 characters", func(b []byte) bool { return hasLength(b, 1, 64) })
	d.keep(fieldMatchDecision, "MATCHED, PARTIAL or UNMATCHED", func(b []byte) bool {
		d.message.MatchDecision = matchDecision(b)
		return d.message.MatchDecision != ""
	})
	d.keep(fieldMessageID, "a UUID", isUUID[[]byte])
	d.keep(fieldBookingDate, "a day that exists, YYYY-MM-DD", isDate[[]byte])
	d.keep(fieldValueDate, "a day that exists, YYYY-MM-DD", isDate[[]byte])
	d.keep(fieldTraceID, "1 to 64 characters", func(b []byte) bool { return hasLength(b, 1, 64) })
	d.keep(fieldCounterpartRef, "at least one character", func(b []byte) bool { return len(b) > 0 })
	d.keep(fieldSourceSystem, "1 to 64 characters", func(b []byte) bool { return hasLength(b, 1, 64) })
	d.keep(fieldMatchDeadline, "RFC 3339 with a zone", func(b []byte) (ok bool) {
		d.message.MatchDeadline, ok = parseDeadline(b)
		return ok
	})
	switch d.scan.members[fieldReversal].kind {
	case 0, 'f':
	case 't':
		d.message.Reversal = true
	default:
		d.require(fieldReversal, "true or false")
	}
	if d.scan.cased != "" {
		d.violations = append(d.violations, "member "+d.scan.cased+" is a known name in wrong letter case")
	}
}

// keep accepts the text of f if it is there and keeps its rule.
func (d *decoder) keep(f field, want string, rule func([]byte) bool) {
	v := d.scan.members[f]
	if v.kind == 0 && f != fieldLedgerEntity && f != fieldMatchDecision {
		return
	}
	text := v.text()
	if v.kind != '"' || !rule(text) {
		d.require(f, want)
		return
	}
	d.texts[f] = text
}

// require notes that f is missing or not what the schema wants.
func (d *decoder) require(f field, want string) {
	v, name := d.scan.members[f], fieldNames[f]
	switch v.kind {
	case 0:
		d.violations = append(d.violations, name+" is missing")
	case '"':
		d.violations = append(d.violations, name+" "+shown(v.text())+" is not "+want)
	default:
		d.violations = append(d.violations, name+" is "+kindName(v.kind)+", want "+want)
	}
}

// shown repeats a refused text in an error where it is short and made of digits and signs: it may be anything.
func shown(b []byte) string {
	if len(b) == 0 {
		return "(empty)"
	}
	if len(b) > 40 {
		return fmt.Sprintf("(%d bytes)", len(b))
	}
	for _, c := range b {
		if !isDigit(c) && !strings.ContainsRune("+-.,:TZ eE", rune(c)) {
			return "(text)"
		}
	}
	return string(b)
}

func kindName(kind byte) string {
	switch kind {
	case '0':
		return "a number"
	case 'n':
		return "null"
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	default:
		return "a boolean"
	}
}
