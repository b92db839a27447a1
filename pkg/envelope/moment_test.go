package envelope_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// message is a valid one with some members replaced: name, JSON value. An empty value leaves the member out.
func message(replace ...string) []byte {
	members := []string{
		"source_hash", `"hash-0001"`, "ledger_entity", `"DE01"`, "currency", `"EUR"`, "amount", `"10.50"`,
		"match_decision", `"MATCHED"`,
	}
	for i := 0; i < len(replace); i += 2 {
		at := -1
		for j := 0; j < len(members); j += 2 {
			if members[j] == replace[i] {
				at = j
			}
		}
		if at < 0 {
			members = append(members, replace[i], replace[i+1])
			continue
		}
		members[at+1] = replace[i+1]
	}
	var parts []string
	for i := 0; i < len(members); i += 2 {
		if members[i+1] != "" {
			parts = append(parts, fmt.Sprintf("%q:%s", members[i], members[i+1]))
		}
	}
	return []byte("{" + strings.Join(parts, ",") + "}")
}

func code(err error) fault.Code {
	if err == nil {
		return ""
	}
	return fault.Of(err).Code
}

// Every day from 0001 to 9999 that the calendar of the standard library has, and no other.
func TestDatesAreThoseThatExist(t *testing.T) {
	for _, year := range []int{0, 1, 1600, 1900, 2000, 2015, 2016, 2100, 9999} {
		for month := range 14 {
			for day := range 34 {
				s := fmt.Sprintf("%04d-%02d-%02d", year, month, day)
				_, err := time.Parse(time.DateOnly, s)
				want := err == nil && year > 0
				m, err := envelope.Decode(message("booking_date", `"`+s+`"`), nil)
				if got := err == nil; got != want || (m.BookingDate == s) != want {
					t.Fatalf("%s: got %v (%v), want %v", s, got, err, want)
				}
			}
		}
	}
	for _, s := range []string{"", "2016-2-3", "2016/02/03", "20160203", "2016-02-03T00:00:00Z", "2016-02-0३", "02016-2-03", "2016-02-3 "} {
		if _, err := envelope.Decode(message("value_date", `"`+s+`"`), nil); code(err) != fault.SchemaInvalid {
			t.Errorf("%q: got %v, want %s", s, err, fault.SchemaInvalid)
		}
	}
}

func TestMatchDeadlineNeedsAZoneAndAMomentThatExists(t *testing.T) {
	rows := []struct{ in, want string }{ // want empty: refused
		{"2026-04-15T18:00:00+02:00", "2026-04-15T16:00:00.000Z"},
		{"2026-04-15T18:00:00Z", "2026-04-15T18:00:00.000Z"},
		{"2026-04-15T18:00:00.123456789Z", "2026-04-15T18:00:00.123Z"},
		{"2026-04-15T18:00:00-23:59", "2026-04-16T17:59:00.000Z"},
		{"2024-02-29T23:59:59.1+00:30", "2024-02-29T23:29:59.100Z"},
		{"0001-01-01T00:00:00-00:00", "0001-01-01T00:00:00.000Z"},
		{"2026-04-15T18:00:00", ""},
		{"2026-04-15", ""},
		{"2026-04-15 18:00:00Z", ""},
		{"2026-04-15t18:00:00z", ""},
		{"2026-04-15T18:00:60Z", ""},
		{"2026-04-15T24:00:00Z", ""},
		{"2026-04-15T8:00:00Z", ""},
		{"2026-04-15T18:00:00,5Z", ""},
		{"2026-04-15T18:00:00.Z", ""},
		{"2026-04-15T18:00:00.1234567890Z", ""},
		{"2026-04-15T18:00:00+24:00", ""},
		{"2026-04-15T18:00:00+02:60", ""},
		{"2026-04-15T18:00:00+0200", ""},
		{"2026-02-30T18:00:00Z", ""},
		{"0000-01-01T00:00:00Z", ""},
		{"0001-01-01T00:00:00+01:00", ""},
		{"9999-12-31T23:59:59-01:00", ""},
		{"", ""},
	}
	for _, r := range rows {
		m, err := envelope.Decode(message("match_deadline", `"`+r.in+`"`), nil)
		if r.want == "" {
			if code(err) != fault.SchemaInvalid || !m.MatchDeadline.IsZero() {
				t.Errorf("%q: got %v, %v, want %s", r.in, m.MatchDeadline, err, fault.SchemaInvalid)
			}
		} else if err != nil || envelope.FormatTime(m.MatchDeadline) != r.want {
			t.Errorf("%q: got %v, %v, want %s", r.in, m.MatchDeadline, err, r.want)
		}
	}
}

func TestTimesHaveOneSpelling(t *testing.T) {
	for _, s := range []string{"2026-01-31T09:00:00.000Z", "0001-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z"} {
		got, ok := envelope.ParseTime(s)
		if !ok || envelope.FormatTime(got) != s {
			t.Errorf("%s: got %v, %v", s, got, ok)
		}
	}
	for _, s := range []string{
		"", "2026-01-31T09:00:00Z", "2026-01-31T09:00:00.000+00:00", "2026-01-31T09:00:00,000Z", "2026-02-30T09:00:00.000Z",
		"2026-01-31T09:00:00.0000Z", "2026-01-31t09:00:00.000z", "-026-01-31T09:00:00.000Z", "2026-01-31T09:00:00.00aZ",
	} {
		if got, ok := envelope.ParseTime(s); ok || !got.IsZero() {
			t.Errorf("%q: got %v, want a refusal", s, got)
		}
	}
	for _, beyond := range []time.Time{time.Unix(1<<40, 0), time.Unix(-1<<40, 0)} {
		if _, ok := envelope.ParseTime(envelope.FormatTime(beyond)); !ok {
			t.Errorf("%v: its form %s cannot be read", beyond, envelope.FormatTime(beyond))
		}
	}
}
