package ledger

import (
	"strings"
	"testing"
)

func TestPendingStepsAreThoseAboveTheAppliedOnesAndNothingElse(t *testing.T) {
	known := []migration{{version: 1, name: "0001_a.sql", digest: "a"}, {version: 2, name: "0002_b.sql", digest: "b"}, {version: 3, name: "0003_c.sql", digest: "c"}}
	for _, row := range []struct {
		name    string
		applied map[int]string
		want    int    // steps
		refused string // text
	}{
		{"a new database", map[int]string{}, 3, ""},
		{"one step behind", map[int]string{1: "a", 2: "b"}, 1, ""},
		{"up to date", map[int]string{1: "a", 2: "b", 3: "c"}, 0, ""},
		{"a gap", map[int]string{1: "a", 3: "c"}, 0, "migration 3 is applied, 2 before it is not"},
		{"other contents", map[int]string{1: "x"}, 0, "migration 1 was applied with other contents than this program's 0001_a.sql"},
		{"a newer program's", map[int]string{1: "a", 2: "b", 3: "c", 4: "d"}, 0, "the tables are at version 4, this program knows 3"},
	} {
		steps, err := pending(known, row.applied)
		if len(steps) != row.want || (err == nil) != (row.refused == "") {
			t.Errorf("%s: got %d steps, %v", row.name, len(steps), err)
			continue
		}
		if err != nil && !strings.Contains(err.Error(), row.refused) {
			t.Errorf("%s: got %v, want %q", row.name, err, row.refused)
		}
		if row.want > 0 && steps[0].version != 4-row.want {
			t.Errorf("%s: begins with %d", row.name, steps[0].version)
		}
	}
}

func TestBothDatabasesHaveTheSameSteps(t *testing.T) {
	pg, err := migrations("postgres")
	if err != nil {
		t.Fatal(err)
	}
	lite, err := migrations("sqlite")
	if err != nil {
		t.Fatal(err)
	}
	if len(pg) == 0 || len(pg) != len(lite) {
		t.Fatalf("got %d and %d", len(pg), len(lite))
	}
	for i := range pg {
		if pg[i].name != lite[i].name || pg[i].digest == lite[i].digest {
			t.Errorf("step %d: %s and %s", i+1, pg[i].name, lite[i].name)
		}
	}
}
