package envelope_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// seed adds every example of a document.
func seed(f *testing.F, document string) {
	f.Helper()
	files, err := filepath.Glob("../../schemas/testdata/*/" + document + "/*.json")
	if err != nil || len(files) == 0 {
		f.Fatalf("no examples of %s: %v", document, err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
}

// isStrictObject asks the strict JSON library: one object, no name twice at any depth, valid UTF-8, nothing after it.
func isStrictObject(b []byte) bool {
	dec := jsontext.NewDecoder(bytes.NewBuffer(b))
	if dec.PeekKind() != '{' || dec.SkipValue() != nil {
		return false
	}
	_, err := dec.ReadToken()
	return err == io.EOF
}

// FuzzMessage holds the hand-written reader against the library, and what it accepts against the rules once more.
func FuzzMessage(f *testing.F) {
	seed(f, "recon-message.v1")
	f.Add(typical)
	for _, s := range []string{
		`{"a":"\u0000\ud834\udd1e\/\b\f\n\r\t\"\\"}`, `{"a":"\ud834"}`, `{"a":"\ud834\u0041"}`, `{"a":"\u00e`, `{"a":-}`, `{"a":-0.0e-0}`, `{"a":1.}`,
		`{"a":1e}`, `{"a":tru}`, `{"a":truex}`, `{"a":nul`, `{"a"}`, `{"a":}`, `{,}`, `{"a":1,}`, "{\"a\":\"\x1f\"}", "{\"a\":\"\x7f\xc2\x80\"}", "{\"a\":\"\xed\xa0\x80\"}",
		`{"a":{"b":[{},[],{"c":1,"c":2}]}}`, `{"a":[1,2}`, "{ }\t\r\n ", "{}\x00", `{"":1,"":2}`, `{"amount":"1","amount":"1"}`, `{"Amount":1}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := envelope.Decode(b, nil)
		if got, want := code(err) != fault.Undecodable, isStrictObject(b); got != want {
			t.Fatalf("%q: read %v (%v), the library %v", b, got, err, want)
		}
		facts := m.Facts()
		if facts.Amount != "" && !amountIsValid(facts.Amount) || (err == nil) != (m.Digest != "") {
			t.Fatalf("%q: facts %+v, digest %q, %v", b, facts, m.Digest, err)
		}
		if err == nil && (facts.SourceHash == "" || facts.LedgerEntity == "" || facts.Currency == "" || facts.Amount == "" || facts.MatchDecision == "") {
			t.Fatalf("%q: accepted with %+v", b, facts)
		}
		// Whatever was read can stand in a letter.
		m.Identify(root)
		l := smallLetter()
		l.Message, l.Original.Value = m.Facts(), b
		encoded, err := l.Encode()
		if err != nil {
			t.Fatalf("%q: its letter: %v", b, err)
		}
		if got, err := envelope.DecodeLetter(encoded); err != nil || !bytes.Equal(got.Original.Value, b) || got.Message != l.Message {
			t.Fatalf("%q: its letter is read as %+v, %v", b, got, err)
		}
	})
}

// FuzzHeaders: no header stops a partition (Pitfall S10), and what is read can be written and read again.
func FuzzHeaders(f *testing.F) {
	r := fullRetry()
	for _, h := range r.Append(header("own", "x", "recon-unheard-of", "x")) {
		f.Add(h.Key, h.Value, h.Key, []byte(nil))
		for _, junk := range []string{"", "abc", "\x00\x00\x00", "-1", "18446744073709551616", "\xff", "A=1,A=2", `{"omitted":-1,"attempts":[]}`} {
			f.Add(h.Key, []byte(junk), "recon-attempt", []byte("300"))
		}
	}
	f.Fuzz(func(t *testing.T, name1 string, value1 []byte, name2 string, value2 []byte) {
		hs := []kgo.RecordHeader{{Key: name1, Value: value1}, {Key: name2, Value: value2}}
		own, recon := envelope.SplitHeaders(hs)
		if len(own)+len(recon) != len(hs) {
			t.Fatalf("%v split into %v and %v", hs, own, recon)
		}
		got, errs := envelope.ParseRetry(recon)
		if len(errs) > len(recon) || got.Attempt < 0 || got.Generation < 0 || got.MaxAttempts < 0 || got.Omitted < 0 || len(got.Error) > 1024 {
			t.Fatalf("%v: got %+v, %v", hs, got, errs)
		}
		want := got
		written := got.Append(own)
		again, errs := envelope.ParseRetry(ours(written))
		if len(errs) > 0 || !reflect.DeepEqual(again, want) {
			t.Fatalf("%v: got %+v, then %+v, %v", hs, want, again, errs)
		}
		if mine, _ := envelope.SplitHeaders(written); len(mine) != len(own) || len(own) > 0 && !reflect.DeepEqual(mine, own) {
			t.Fatalf("own headers %v came back as %v", own, mine)
		}
	})
}

// FuzzLetter: what is read is written to the same bytes again and again.
func FuzzLetter(f *testing.F) {
	seed(f, "dead-letter.v1")
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := envelope.DecodeLetter(b)
		if err != nil {
			return
		}
		_ = l.Intact()
		once, err := l.Encode()
		if err != nil {
			t.Fatalf("%s: read, but not written: %v", b, err)
		}
		again, err := envelope.DecodeLetter(once)
		if err != nil {
			t.Fatalf("%s: written, but not read: %v", once, err)
		}
		if twice, err := again.Encode(); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%v:\n%s\n%s", err, once, twice)
		}
		if !bytes.Equal(l.Original.Value, again.Original.Value) || (l.Original.Value == nil) != (again.Original.Value == nil) {
			t.Fatal("the value changed")
		}
		if small, err := l.Compact().Encode(); err != nil || len(small) > 48<<10 {
			t.Fatalf("compact: %d bytes, %v", len(small), err)
		}
	})
}

// FuzzDisposition: as FuzzLetter.
func FuzzDisposition(f *testing.F) {
	seed(f, "disposition.v1")
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := envelope.DecodeDisposition(b)
		if err != nil {
			return
		}
		once, err := d.Encode()
		if err != nil {
			t.Fatalf("%s: read, but not written: %v", b, err)
		}
		again, err := envelope.DecodeDisposition(once)
		if err != nil || !reflect.DeepEqual(again, d) {
			t.Fatalf("%s: got %+v, %v", once, again, err)
		}
	})
}
