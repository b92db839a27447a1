package period_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"recon/pkg/period"
)

// load reads the sample file with lines replaced: old, new, old, new, …
func load(t *testing.T, replace ...string) *period.Calendar {
	t.Helper()
	c, err := period.Load("calendar.yaml", []byte(edited(t, replace...)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func edited(t *testing.T, replace ...string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/calendar.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(text, replace[i]) {
			t.Fatalf("the sample has no %q", replace[i])
		}
		text = strings.Replace(text, replace[i], replace[i+1], 1)
	}
	return text
}

// refusal is the text with which Load refuses a file.
func refusal(t *testing.T, text string) string {
	t.Helper()
	c, err := period.Load("calendar.yaml", []byte(text))
	if err == nil || c != nil {
		t.Fatalf("got %v, %v; want a refusal", c, err)
	}
	return err.Error()
}

func at(t *testing.T, moment string) time.Time {
	t.Helper()
	m, err := time.Parse(time.RFC3339, moment)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestEveryMistakeIsNamedAtOnceWithItsLineAndPath(t *testing.T) {
	got := refusal(t, edited(t,
		"version: 1", "version: 2",
		"state: future", "state: frozen",
		"to: 2026-10-31", "to: 2026-10-32",
		"calendar: gregorian-monthly,", "calendar: gregorian, late: hold,",
		"timezone: America/Sao_Paulo", "timezone: Local",
		"T+0 business days", "T+0",
		"[2026-12-25,", "[2026-02-29,",
	))
	want := strings.TrimSpace(`
calendar calendar.yaml: 9 mistakes:
  line 1: version: this program reads version 1, the file says 2
  line 6: calendars[0].holidays[0]: 2026-02-29 is no date that exists; write YYYY-MM-DD
  line 9: calendars[0].periods[1].to: 2026-10-32 is no date that exists; write YYYY-MM-DD
  line 13: calendars[0].periods[4].state: frozen is no state; there are: future, open, closing, closed, sealed
  line 16: calendars[1].timezone: Local is no zone of the IANA database, such as Europe/Berlin
  line 6: calendars[1].holidays[0]: 2026-02-29 is no date that exists; write YYYY-MM-DD
  line 21: entities.ACME-DE.late: no such setting; there are: calendar, matching_window
  line 21: entities.ACME-DE.calendar: no calendar is called gregorian
  line 22: entities.ACME-BR.matching_window: T+0 is no window; write T+n business days`)
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAFileWithAMistakeIsRefused(t *testing.T) {
	for _, row := range []struct {
		name    string
		replace []string
		want    string
	}{
		{"unknown key at the top", []string{"revision:", "holidays: []\nrevision:"}, "holidays: no such setting"},
		{"unknown key in a calendar", []string{"timezone: Europe", "time_zone: x\n    timezone: Europe"}, "calendars[0].time_zone: no such setting"},
		{"unknown key in a period", []string{"state: sealed", "state: sealed, close_at: x"}, "calendars[0].periods[3].close_at: no such setting"},
		{"a key twice", []string{"revision: 2026-11-30.1", "revision: a\nrevision: b"}, "revision: stands here twice"},
		{"two calendars of one id", []string{"id: sao-paulo", "id: gregorian-monthly"}, "calendars[1].id: two calendars are called gregorian-monthly"},
		{"two periods of one id", []string{"id: 2026-13", "id: 2026-12"}, "calendars[0].periods[5].id: two periods of this calendar are called 2026-12"},
		{"no revision", []string{"revision: 2026-11-30.1\n", ""}, "revision: is missing"},
		{"null revision", []string{"revision: 2026-11-30.1", "revision: ~"}, "revision: is missing"},
		{"no time zone", []string{"    timezone: Europe/Berlin\n", ""}, "calendars[0].timezone: is missing"},
		{"no such time zone", []string{"Europe/Berlin", "Europe/Bärlin"}, "calendars[0].timezone: Europe/Bärlin is no zone"},
		{"no state", []string{", state: sealed", ""}, "calendars[0].periods[3].state: is missing"},
		{"a list where a text belongs", []string{"Europe/Berlin", "[Europe/Berlin]"}, "calendars[0].timezone: want a text, got sequence"},
		{"a text where an object belongs", []string{"{calendar: sao-paulo, matching_window: T+0 business days}", "sao-paulo"}, "entities.ACME-BR: want an object, got string"},
		{"a name where a list of days belongs", []string{"&target [2026-12-25, 2027-01-01]", "TARGET", "*target", "[]"}, "calendars[0].holidays: want a list, got string"},
		{"adjustment is no boolean", []string{"adjustment: true", "adjustment: 1"}, "calendars[0].periods[5].adjustment: want true or false, got integer"},
		{"from after to", []string{"from: 2026-09-01", "from: 2026-10-30"}, "periods[3]: ends on 2026-09-30, before it begins on 2026-10-30"},
		{"gap", []string{"to: 2026-10-31", "to: 2026-10-29"}, "calendars[0].periods: between 2026-10 and 2026-11 the days 2026-10-30 to 2026-10-31 are in no period"},
		{"overlap", []string{"from: 2026-11-01", "from: 2026-10-31"}, "calendars[0].periods: 2026-10 and 2026-11 overlap from 2026-10-31 on"},
		{"closing without its end", []string{"soft_close_at: 2026-12-03T18:00, hard_close_at: 2026-12-07T18:00", "soft_close_at: 2026-12-03T18:00"}, "periods[2].hard_close_at: a closing period needs the moment"},
		{"hard before soft", []string{"hard_close_at: 2026-12-07T18:00", "hard_close_at: 2026-12-02T18:00"}, "periods[2].hard_close_at: lies before soft_close_at"},
		{"a closing time with a zone", []string{"2026-12-07T18:00", "2026-12-07T18:00Z"}, "2026-12-07T18:00Z is no local time"},
		{"an alias without anchor", []string{"*target", "*fed"}, "calendars[1].holidays: there is no anchor &fed"},
		{"a list that holds itself", []string{"*target", "&ring [*ring]"}, "calendars[1].holidays[0]: want a text, got sequence"},
		{"default names no calendar", []string{"entities:", "default: {calendar: us-445}\nentities:"}, "default.calendar: no calendar is called us-445"},
		{"a second document", []string{"entities:", "---\nentities:"}, "a second document begins here"},
		{"broken YAML", []string{"[2026-12-25, 2027-01-01]", "[2026-12-25"}, "neither YAML nor JSON"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := refusal(t, edited(t, row.replace...)); !strings.Contains(got, row.want) {
				t.Errorf("got %s\nwant it to say %q", got, row.want)
			}
		})
	}
}

func TestAFileThatNamesNothingIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":               "the file is empty",
		"# a comment\n":  "the file is empty",
		"[]":             "want an object, got sequence",
		"{\"version\":1": "neither YAML nor JSON",
		"version: 1\nrevision: a\ncalendars: []\nentities: {}\n":                                           "calendars: at least one calendar is needed",
		"version: 1\nrevision: a\ncalendars: [{id: a, timezone: UTC, periods: []}]\nentities: {}\n":        "calendars[0].periods: at least one period is needed",
		"version: 1\nrevision: a\ncalendars: [{id: a, timezone: UTC, periods: []}]\nentities:\ndefault:\n": "no entity and no default is named",
	} {
		if got := refusal(t, text); !strings.Contains(got, want) {
			t.Errorf("%q: got %s\nwant it to say %q", text, got, want)
		}
	}
}

func TestDigestNameAndRevisionSayWhichFileWasLoaded(t *testing.T) {
	text := edited(t)
	sum := sha256.Sum256([]byte(text))
	c := load(t)
	if got, want := c.Digest(), hex.EncodeToString(sum[:]); got != want {
		t.Errorf("digest: got %s, want %s", got, want)
	}
	if c.Name() != "calendar.yaml" || c.Revision() != "2026-11-30.1" {
		t.Errorf("got name %s revision %s", c.Name(), c.Revision())
	}
	if other := load(t, "2026-11-30.1", "2026-11-30.2"); other.Digest() == c.Digest() {
		t.Error("another revision has the same digest")
	}
	var none *period.Calendar
	if none.Digest()+none.Name()+none.Revision() != "" {
		t.Error("no calendar has a digest, a name or a revision")
	}
}

func TestJSONIsReadAsWell(t *testing.T) {
	b, err := yaml.YAMLToJSON([]byte(strings.ReplaceAll(strings.Replace(edited(t), "&target ", "", 1), "*target", "[]")))
	if err != nil {
		t.Fatal(err)
	}
	c, err := period.Load("calendar.json", b)
	if err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	if got := c.Standing("ACME-DE", "2026-10-31", at(t, "2026-12-01T00:00:00Z")); got.State != period.Closed || got.Period != "2026-10" {
		t.Errorf("got %+v", got)
	}
}

// FuzzLoad: whatever the bytes, Load answers with a calendar or with mistakes, and a calendar answers about any date.
func FuzzLoad(f *testing.F) {
	b, err := os.ReadFile("testdata/calendar.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte("a: &x [*x]"))
	f.Add([]byte("calendars: &ring *ring"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := period.Load("fuzz", b)
		if (c == nil) == (err == nil) {
			t.Fatalf("got %v, %v", c, err)
		}
		if err == nil {
			c.Standing("ACME-DE", "2026-11-15", time.Unix(0, 0))
			c.MatchDeadline("ACME-DE", time.Unix(0, 0))
		}
	})
}
