package envelope

// traceOf makes a W3C trace id (32 hex digits) of a UUID.
func traceOf(id string) string {
	b := make([]byte, 0, 32)
	for i := range len(id) {
		if id[i] != '-' {
			b = append(b, id[i])
		}
	}
	return string(b)
}

// traceID takes the trace id out of a traceparent of version 00 or later (W3C Trace Context, section 3.2), nil if none.
func traceID(b []byte) []byte {
	if len(b) < 55 || b[2] != '-' || b[35] != '-' || b[52] != '-' || len(b) > 55 && (b[55] != '-' || string(b[:2]) == "00") {
		return nil
	}
	for i, c := range b[:55] {
		if i == 2 || i == 35 || i == 52 {
			continue
		}
		if !isDigit(c) && (c < 'a' || c > 'f') {
			return nil
		}
	}
	const none = "00000000000000000000000000000000"
	if id := b[3:35]; string(id) != none && string(b[:2]) != "ff" && string(b[36:52]) != none[:16] {
		return id
	}
	return nil
}
