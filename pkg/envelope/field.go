package envelope

// field is a member of the message that CONTRACT 2 names.
type field uint8

const (
	fieldMessageID field = iota
	fieldSourceHash
	fieldLedgerEntity
	fieldCurrency
	fieldAmount
	fieldMatchDecision
	fieldBookingDate
	fieldValueDate
	fieldReversal
	fieldTraceID
	fieldCounterpartRef
	fieldMatchDeadline
	fieldSourceSystem
	fieldCount
	fieldUnknown = fieldCount
)

var fieldNames = [fieldCount]string{
	fieldMessageID:      "message_id",
	fieldSourceHash:     "source_hash",
	fieldLedgerEntity:   "ledger_entity",
	fieldCurrency:       "currency",
	fieldAmount:         "amount",
	fieldMatchDecision:  "match_decision",
	fieldBookingDate:    "booking_date",
	fieldValueDate:      "value_date",
	fieldReversal:       "reversal",
	fieldTraceID:        "trace_id",
	fieldCounterpartRef: "counterpart_ref",
	fieldMatchDeadline:  "match_deadline",
	fieldSourceSystem:   "source_system",
}

// fieldNamed finds a field by its exact name.
func fieldNamed(name []byte) field {
	switch string(name) {
	case "message_id":
		return fieldMessageID
	case "source_hash":
		return fieldSourceHash
	case "ledger_entity":
		return fieldLedgerEntity
	case "currency":
		return fieldCurrency
	case "amount":
		return fieldAmount
	case "match_decision":
		return fieldMatchDecision
	case "booking_date":
		return fieldBookingDate
	case "value_date":
		return fieldValueDate
	case "reversal":
		return fieldReversal
	case "trace_id":
		return fieldTraceID
	case "counterpart_ref":
		return fieldCounterpartRef
	case "match_deadline":
		return fieldMatchDeadline
	case "source_system":
		return fieldSourceSystem
	}
	return fieldUnknown
}

// fieldFolded finds a field whose name differs from the given one in the case of ASCII letters alone.
func fieldFolded(name []byte) field {
	var space [len("counterpart_ref")]byte // the longest name
	if len(name) > len(space) {
		return fieldUnknown
	}
	for i, c := range name {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		space[i] = c
	}
	return fieldNamed(space[:len(name)])
}
