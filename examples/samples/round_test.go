package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"recon/examples/ingester/statement"
)

func TestARefusalIsExitTwoWithOneSentenceThatHasBothFigures(t *testing.T) {
	t.Parallel()
	const sentence = "ingester: x does not foot: stated as 27.05 EUR, the records give 27.00 EUR\n"
	says := []string{"27.05 EUR", "27.00 EUR"}
	for _, row := range []struct {
		name   string
		a      answer
		wrongs []string
	}{
		{"as it must be", answer{2, "", sentence}, nil},
		{"taken", answer{0, "records 1 = sent 1 + sent-raw 0\n", ""}, []string{"exit 0, want 2", "one sentence", "27.05 EUR", "27.00 EUR"}},
		{"the broker's fault", answer{1, "", sentence}, []string{"exit 1, want 2"}},
		{"one figure", answer{2, "", "ingester: stated as 27.05 EUR\n"}, []string{`did not say "27.00 EUR"`}},
		{"a trace", answer{2, "", sentence + "goroutine 1\n"}, []string{"one sentence"}},
		{"said to the wrong side", answer{2, "some of it", sentence}, []string{"one sentence"}},
	} {
		got := refused(row.a, says)
		if len(got) != len(row.wrongs) {
			t.Errorf("%s: got %q, want %d findings", row.name, got, len(row.wrongs))
			continue
		}
		for i, words := range row.wrongs {
			if !strings.Contains(got[i], words) {
				t.Errorf("%s: got %q, want it to say %q", row.name, got[i], words)
			}
		}
	}
}

// refuser plays on an embedded broker, with a program in place of the ingester.
func refuser(t *testing.T, script string) (*play, *bytes.Buffer) {
	t.Helper()
	s, _ := siteOn(t)
	s.samples, s.folder, s.env = t.TempDir(), t.TempDir(), os.Environ()
	s.bin = programsIn(t, map[string]string{"ingester": script})
	if err := os.WriteFile(filepath.Join(s.samples, "x.txt"), []byte(content(t, "bai2.txt")), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	return &play{site: s, view: &view{out: &out}}, &out
}

func TestARefusedFileIsShownWithTheIngestersSentence(t *testing.T) {
	t.Parallel()
	p, out := refuser(t, "echo 'ingester: no, not this' >&2; exit 2")
	if err := p.refuse(t.Context(), &sample{path: "x.txt"}, refusal{says: []string{"not this"}}); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "x.txt: refused, as it must be\n    no, not this\n"; got != want || p.view.held != 1 {
		t.Errorf("got %q and %d that hold, want %q and 1", got, p.view.held, want)
	}
	p, out = refuser(t, "exit 0")
	if err := p.refuse(t.Context(), &sample{path: "x.txt"}, refusal{}); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.HasPrefix(got, "NOT AS EXPECTED: x.txt: ") || p.view.wrong == 0 {
		t.Errorf("taken: got %q", got)
	}
}

// The ingester is given the spoiled copy under the file's own name, and the file itself stays as it is.
func TestASpoiledCopyIsWhatTheIngesterIsGiven(t *testing.T) {
	t.Parallel()
	p, out := refuser(t, `for last; do :; done; grep -q '^49,1487501,' "$last" && echo "ingester: $last" >&2; exit 2`)
	f := refusal{spoil: raise("49"), what: "with a total one higher", says: []string{filepath.Join(p.folder, "x.txt")}}
	if err := p.refuse(t.Context(), &sample{path: "x.txt"}, f); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.HasPrefix(got, "x.txt with a total one higher: refused, as it must be\n") || p.view.wrong != 0 {
		t.Errorf("got %q", got)
	}
	if b, err := os.ReadFile(filepath.Join(p.samples, "x.txt")); err != nil || string(b) != content(t, "bai2.txt") {
		t.Errorf("the file was changed: %v", err)
	}
	f.spoil = func([]byte) ([]byte, bool) { return nil, false }
	if err := p.refuse(t.Context(), &sample{path: "x.txt"}, f); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "NOT AS EXPECTED: x.txt cannot be spoiled with a total one higher") {
		t.Errorf("got %q", out.String())
	}
}

func TestTheIngesterGetsTheFlagsUnderWhichTheFileWasRead(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		opts statement.Options
		want string
	}{
		{statement.Options{}, ""},
		{csv("BANK-A"), "--entity=BANK-A --currency=USD"},
		{statement.Options{Intraday: true, AcceptUnbalanced: true}, "--intraday --accept-unbalanced"},
	} {
		if got := strings.Join(flagsOf(row.opts), " "); got != row.want {
			t.Errorf("%+v: got %q, want %q", row.opts, got, row.want)
		}
	}
}

// Every field of Options that a sample sets has its flag: one that is set here and not there would read another file.
func TestNoSampleIsReadInAWayThatNoFlagSays(t *testing.T) {
	t.Parallel()
	for i := range samples {
		o := samples[i].opts
		if o.Level != "" || o.MatchDecision != "" {
			t.Errorf("%s: level or match decision is set, but flagsOf does not pass it on", samples[i].path)
		}
	}
}
