package statement

import (
	"fmt"
	"strconv"
)

// civil writes YYMMDD or YYYYMMDD as YYYY-MM-DD, whether or not there is such a day; anything else stays as it is,
// for the message's own check to refuse. Two-digit years from 80 are of the last century (SWIFT's rule).
func civil(s string) string {
	if !digits(s) {
		return s
	}
	switch len(s) {
	case 6:
		if s >= "80" {
			return "19" + s[:2] + "-" + s[2:4] + "-" + s[4:]
		}
		return "20" + s[:2] + "-" + s[2:4] + "-" + s[4:]
	case 8:
		return s[:4] + "-" + s[4:6] + "-" + s[6:]
	}
	return s
}

// day is the date in an ISO 8601 date or date-time, as written: the bank's day, turned into no other zone.
func day(s string) string {
	if len(s) < 10 || s[4] != '-' || s[7] != '-' || !digits(s[:4]+s[5:7]+s[8:10]) {
		return s
	}
	if len(s) == 10 {
		return s
	}
	switch s[10] {
	case 'T', 'Z', '+', '-', ' ':
		return s[:10]
	}
	return s
}

// near puts the year to a month and day: the one that brings it closest to a value date of the form YYYY-MM-DD.
func near(value, mmdd string) string {
	year, err := strconv.Atoi(value[:4])
	if err != nil { // civil has checked the digits
		panic("statement: year of " + value)
	}
	distance := 10*int(mmdd[0]-'0') + int(mmdd[1]-'0') - 10*int(value[5]-'0') - int(value[6]-'0') // in months
	switch {
	case distance > 6:
		year--
	case distance < -6:
		year++
	}
	return fmt.Sprintf("%04d-%s-%s", year, mmdd[:2], mmdd[2:])
}
