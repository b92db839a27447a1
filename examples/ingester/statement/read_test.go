package statement_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"recon/examples/ingester/statement"
	"recon/pkg/envelope"
)

// mustRead reads text and fails the test where it is refused.
func mustRead(t *testing.T, text string, opts statement.Options) *statement.File {
	t.Helper()
	f, err := statement.Read("file", strings.NewReader(text), opts)
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	return f
}

// refused reads text and fails the test where it is taken.
func refused(t *testing.T, text string, opts statement.Options) error {
	t.Helper()
	f, err := statement.Read("file", strings.NewReader(text), opts)
	if err == nil {
		t.Fatalf("Read took %d records, want an error", len(f.Records))
	}
	return err
}

// wantText fails the test unless err's one sentence holds all parts.
func wantText(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("error %q is more than one sentence", err)
	}
}

// wantUnbalanced fails the test unless err says that the file does not foot, with all parts.
func wantUnbalanced(t *testing.T, err error, parts ...string) {
	t.Helper()
	if _, ok := errors.AsType[*statement.UnbalancedError](err); !ok {
		t.Fatalf("got %T (%v), want *UnbalancedError", err, err)
	}
	wantText(t, err, parts...)
}

// embedded is a file of Testdata.
func embedded(t testing.TB, name string) string {
	t.Helper()
	b, err := statement.Testdata.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// sample is a real bank file from the folder shared/samples that may lie beside the project; it is never part of it.
func sample(t testing.TB, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		b, err := os.ReadFile(filepath.Join(dir, "shared", "samples", name))
		if err == nil {
			return string(b)
		}
		if filepath.Dir(dir) == dir {
			t.Skipf("no folder shared/samples with %s in or beside the project", name)
		}
		dir = filepath.Dir(dir)
	}
}

// field is one member of a record's message, as text; absent members are "-".
func field(t *testing.T, r statement.Record, name string) string {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(r.Value, &m); err != nil {
		t.Fatalf("record %s: %v", r.Value, err)
	}
	v, ok := m[name]
	if !ok {
		return "-"
	}
	return fmt.Sprint(v)
}

// column is one member of all records.
func column(t *testing.T, f *statement.File, name string) string {
	t.Helper()
	var out []string
	for _, r := range f.Records {
		if r.Raw {
			out = append(out, "raw")
			continue
		}
		out = append(out, field(t, r, name))
	}
	return strings.Join(out, " ")
}

func wantColumn(t *testing.T, f *statement.File, name, want string) {
	t.Helper()
	if got := column(t, f, name); got != want {
		t.Errorf("%s: got %s, want %s", name, got, want)
	}
}

// hashes are the records' source hashes, and fails the test when two are equal.
func hashes(t *testing.T, f *statement.File) []string {
	t.Helper()
	seen := make(map[string]bool)
	var out []string
	for i, r := range f.Records {
		if r.Raw {
			continue
		}
		if seen[r.SourceHash] {
			t.Errorf("record %d: its hash stands in the file before", i+1)
		}
		seen[r.SourceHash] = true
		out = append(out, r.SourceHash)
	}
	return out
}

// verdict is what the consumer's decoder will say of a record: ok, or its error code.
func verdict(r statement.Record) string {
	m, err := envelope.Decode(r.Value, nil)
	if err == nil {
		return "ok"
	}
	return codeOf(m, err)
}
