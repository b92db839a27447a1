package envelope_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/envelope"
)

var update = flag.Bool("update", false, "write the golden files anew: only for a version that nobody has seen yet")

// golden compares got with the file of version 1, whose bytes lie in topics that are never deleted.
func golden(t *testing.T, name string, got []byte) []byte {
	t.Helper()
	path := filepath.Join("testdata", "golden", "v1", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: version 1 is written otherwise:\ngot  %s\nwant %s", name, got, want)
	}
	return want
}

func TestLettersOfVersionOneAreWrittenAndReadAsEver(t *testing.T) {
	sealed := fullLetter()
	sealed.Original.Encryption = &envelope.Encryption{Scheme: "age", Recipients: []string{"key-1", "key-2"}}
	for name, l := range map[string]*envelope.Letter{
		"letter-full.json": fullLetter(), "letter-small.json": smallLetter(), "letter-compact.json": fullLetter().Compact(), "letter-sealed.json": sealed,
	} {
		old := golden(t, name, encode(t, l))
		if got := decode(t, old); !reflect.DeepEqual(got, l) {
			t.Errorf("%s: old bytes are read as %+v, want %+v", name, got, l)
		}
	}
}

func TestDispositionsOfVersionOneAreWrittenAndReadAsEver(t *testing.T) {
	for _, state := range envelope.States() {
		d := disposition(state)
		if state == envelope.Confirmed {
			d = &envelope.Disposition{EnvelopeID: envelope.EnvelopeID(root, 3), Root: root, Generation: 3, State: state, At: noon}
		}
		b, err := d.Encode()
		if err != nil {
			t.Fatal(err)
		}
		old := golden(t, "disposition-"+string(state)+".json", b)
		if got, err := envelope.DecodeDisposition(old); err != nil || !reflect.DeepEqual(got, d) {
			t.Errorf("%s: old bytes are read as %+v, %v, want %+v", state, got, err, d)
		}
	}
}

func TestHeadersOfVersionOneAreWrittenAndReadAsEver(t *testing.T) {
	r := fullRetry()
	old := golden(t, "headers.json", headersAsJSON(t, r.Append(header("feed", "camt"))))
	var pairs [][2]string
	if err := json.Unmarshal(old, &pairs); err != nil {
		t.Fatal(err)
	}
	var hs []kgo.RecordHeader
	for _, p := range pairs {
		hs = append(hs, header(p[0], p[1])...)
	}
	own, recon := envelope.SplitHeaders(hs)
	got, errs := envelope.ParseRetry(recon)
	if len(errs) > 0 || len(own) != 1 || !reflect.DeepEqual(got, fullRetry()) {
		t.Errorf("old headers are read as %+v, %v", got, errs)
	}
	golden(t, "letter-headers.json", headersAsJSON(t, fullLetter().Headers()))
}

func headersAsJSON(t *testing.T, hs []kgo.RecordHeader) []byte {
	t.Helper()
	var pairs [][2]string
	for _, h := range hs {
		pairs = append(pairs, [2]string{h.Key, string(h.Value)})
	}
	b, err := json.MarshalIndent(pairs, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return append(b, '\n')
}
