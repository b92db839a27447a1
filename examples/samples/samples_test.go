package main

import (
	"os"
	"path/filepath"
	"testing"
)

// The table says of each file what it really holds; the whole way of the files is `make samples`.
func TestRealSampleFilesAreWhatTheTableSays(t *testing.T) {
	t.Parallel()
	folder := filepath.Join("..", "..", "..", "shared", "samples")
	if _, err := os.Stat(folder); err != nil {
		t.Skip("there is no folder ../shared/samples beside the project")
	}
	p := &play{site: &site{options: options{samples: folder}}}
	if err := complete(folder); err != nil {
		t.Fatal(err)
	}
	for i := range samples {
		s := &samples[i]
		r, err := p.read(s)
		if err != nil {
			t.Errorf("%s: %v", s.path, err)
			continue
		}
		if len(r.file.Records) != s.records || s.checks > 0 && (len(r.file.Checks) != s.checks || len(r.file.Failed()) > 0) {
			t.Errorf("%s: got %d records and %s, want %d and %d", s.path, len(r.file.Records), checksText(r.file), s.records, s.checks)
		}
		if _, err := controls(r.file); err != nil {
			t.Errorf("%s: %v", s.path, err)
		}
		for _, f := range s.refused {
			if f.spoil == nil {
				continue
			}
			if spoiled, ok := f.spoil(r.content); !ok || string(spoiled) == string(r.content) {
				t.Errorf("%s cannot be spoiled %s", s.path, f.what)
			}
		}
	}
}
