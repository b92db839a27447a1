package envelope

import "time"

// TimeFormat is the form of every time in headers and documents: RFC 3339, UTC, milliseconds.
const TimeFormat = "2006-01-02T15:04:05.000Z"

// FormatTime gives t in TimeFormat. Years outside 0 to 9999, which the form cannot hold, are moved to its ends.
func FormatTime(t time.Time) string { return string(appendTime(nil, t)) }

// appendTime appends FormatTime of t.
func appendTime(b []byte, t time.Time) []byte {
	t = t.UTC()
	switch y := t.Year(); {
	case y < 0:
		t = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	case y > 9999:
		t = time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC)
	}
	return t.AppendFormat(b, TimeFormat)
}

// ParseTime reads TimeFormat and nothing else: one moment has one spelling.
func ParseTime(s string) (time.Time, bool) {
	if len(s) != len(TimeFormat) {
		return time.Time{}, false
	}
	t, err := time.Parse(TimeFormat, s)
	if err != nil || s[19] != '.' {
		return time.Time{}, false
	}
	return t, true
}

// parseDeadline reads RFC 3339 with a zone and at most nine decimals, by hand: the standard library takes a comma for
// the point, and zones beyond the day. Moments whose year in UTC has no four digits are refused, since no header could
// carry them on.
func parseDeadline(b []byte) (time.Time, bool) {
	if len(b) < len("2006-01-02T15:04:05Z") || !isDate(b[:10]) || b[10] != 'T' || b[13] != ':' || b[16] != ':' {
		return time.Time{}, false
	}
	hour, minute, second := twoDigits(b[11:], 23), twoDigits(b[14:], 59), twoDigits(b[17:], 59)
	nanos, rest, ok := fraction(b[19:])
	offset, zoned := zone(rest)
	if hour < 0 || minute < 0 || second < 0 || !ok || !zoned {
		return time.Time{}, false
	}
	year, month, day := number4(b), twoDigits(b[5:], 12), twoDigits(b[8:], 31)
	t := time.Date(year, time.Month(month), day, hour, minute-offset, second, nanos, time.UTC)
	if y := t.Year(); y < 1 || y > 9999 {
		return time.Time{}, false
	}
	return t, true
}

// twoDigits reads a number of two digits up to most; below 0 when b does not begin with one.
func twoDigits(b []byte, most int) int {
	if len(b) < 2 || !isDigit(b[0]) || !isDigit(b[1]) {
		return -1
	}
	n := int(b[0]-'0')*10 + int(b[1]-'0')
	if n > most {
		return -1
	}
	return n
}

func number4[T string | []byte](s T) int {
	return int(s[0]-'0')*1000 + int(s[1]-'0')*100 + int(s[2]-'0')*10 + int(s[3]-'0')
}

// fraction reads a point and 1 to 9 digits if they come next.
func fraction(b []byte) (nanos int, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '.' {
		return 0, b, true
	}
	i, unit := 1, 1_000_000_000
	for ; i < len(b) && isDigit(b[i]); i++ {
		unit /= 10
		nanos += int(b[i]-'0') * unit
	}
	return nanos, b[i:], 2 <= i && i <= 10
}

// zone reads `Z` or an offset such as +02:00, in minutes east of UTC, and nothing after it.
func zone(b []byte) (minutes int, ok bool) {
	if len(b) == 1 {
		return 0, b[0] == 'Z'
	}
	if len(b) != len("+02:00") || b[0] != '+' && b[0] != '-' || b[3] != ':' {
		return 0, false
	}
	h, m := twoDigits(b[1:], 23), twoDigits(b[4:], 59)
	if h < 0 || m < 0 {
		return 0, false
	}
	if b[0] == '-' {
		return -(h*60 + m), true
	}
	return h*60 + m, true
}

// isDate checks `YYYY-MM-DD` for a day that exists in the Gregorian calendar, years 0001 to 9999.
func isDate[T string | []byte](s T) bool {
	if len(s) != len("2006-01-02") || s[4] != '-' || s[7] != '-' {
		return false
	}
	for _, i := range [...]int{0, 1, 2, 3, 5, 6, 8, 9} {
		if !isDigit(s[i]) {
			return false
		}
	}
	year := number4(s)
	month := int(s[5]-'0')*10 + int(s[6]-'0')
	day := int(s[8]-'0')*10 + int(s[9]-'0')
	return year >= 1 && 1 <= month && month <= 12 && 1 <= day && day <= daysIn(year, month)
}

func daysIn(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	default:
		return 31
	}
}
