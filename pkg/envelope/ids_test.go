package envelope_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"

	"recon/pkg/envelope"
)

var root = envelope.Coordinates{Topic: "recon.main", Partition: 3, Offset: 1234}

// The ids are public: readers of older evidence recompute them. These values never change.
func TestIdsOfVersionOneNeverChange(t *testing.T) {
	letter := envelope.EnvelopeID(root, 0)
	rows := []struct{ name, got, want string }{
		{"namespace", envelope.Namespace.String(), "f077cdff-e39c-5a39-b8f6-47e9bcafce98"},
		{"message", envelope.MessageID(root), "7c8f9734-8d68-5a35-9c21-461788843ffd"},
		{"envelope", letter, "a1519c11-a7f5-57f8-8073-f5bc23132d50"},
		{"envelope of the next generation", envelope.EnvelopeID(root, 1), "ebb43e93-cb76-518f-b5b1-e72a34e0ea2f"},
		{"replay", envelope.ReplayID(letter), "cc71c373-eb77-550b-a934-42e69a310cac"},
		{"event", envelope.EventID(root, 0, "dead_lettered", -1), "ec3a6394-4d8f-5086-83b7-0c01b129b883"},
		{"event of an attempt", envelope.EventID(root, 0, "retry_scheduled", 2), "66d53fc3-58b8-5ba9-8366-a03b4f31bc39"},
		{"disposition", envelope.DispositionID(letter, envelope.Refused, "run-7"), "3032d9b0-6992-517a-b4f9-724c56ec3f4e"},
	}
	for _, r := range rows {
		if r.got != r.want {
			t.Errorf("%s: got %s, want %s", r.name, r.got, r.want)
		}
	}
}

// The library's own UUIDv5 over the names of DESIGN 2 is the oracle of ours.
func TestIdsAreUUIDv5OfKindAndParts(t *testing.T) {
	long := envelope.Coordinates{Topic: "a-topic-with-a-name-that-is-as-long-as-the-names-of-some-organisations-are-" +
		"which-add-team-and-stage-and-region-and-purpose-until-the-limit-of-two-hundred-and-forty-nine-characters-is-" +
		"nearly-reached-which-no-buffer-of-ours-may-cut", Partition: 2147483647, Offset: 9223372036854775807}
	for _, at := range []envelope.Coordinates{root, long, {Topic: "t"}} {
		for name, got := range map[string]string{
			"message\n" + at.String():                           envelope.MessageID(at),
			fmt.Sprintf("envelope\n%s\n12", at):                 envelope.EnvelopeID(at, 12),
			"replay\n" + envelope.MessageID(at):                 envelope.ReplayID(envelope.MessageID(at)),
			fmt.Sprintf("event\n%s\n0\nposted", at):             envelope.EventID(at, 0, "posted", -1),
			fmt.Sprintf("event\n%s\n1\nretry_scheduled\n0", at): envelope.EventID(at, 1, "retry_scheduled", 0),
			"disposition\nx\nresolved\nrun":                     envelope.DispositionID("x", envelope.Resolved, "run"),
		} {
			if want := uuid.NewSHA1(envelope.Namespace, []byte(name)).String(); got != want {
				t.Errorf("%q: got %s, want %s", name, got, want)
			}
		}
	}
}

func TestIdsCostOneAllocation(t *testing.T) {
	got := testing.AllocsPerRun(100, func() { _ = envelope.EventID(root, 1, "retry_scheduled", 7) })
	if got > 2 {
		t.Errorf("got %v allocations, want at most 2", got)
	}
}

func TestCoordinatesHaveOneSpelling(t *testing.T) {
	for _, s := range []string{"recon.main/0@0", "recon.main/3@1234", "A_b-c.9/2147483647@9223372036854775807"} {
		c, err := envelope.ParseCoordinates(s)
		if err != nil || c.String() != s {
			t.Errorf("%q: got %v, %v", s, c, err)
		}
	}
	for _, s := range []string{
		"", "recon.main", "recon.main/3", "recon.main@3", "/3@4", "recon.main/@", "recon.main/3@", "recon.main/@4",
		"recon.main/03@4", "recon.main/3@04", "recon.main/-1@4", "recon.main/3@-4", "recon.main/+3@4", "recon.main/3@4 ",
		"recon.main/2147483648@0", "recon.main/0@9223372036854775808", "re con/3@4", "re\ncon/3@4", "réçon/3@4", "a/b/3@4",
		"a@1/3@4", "recon.main/3@4@5", string(make([]byte, 1<<16)),
	} {
		if c, err := envelope.ParseCoordinates(s); err == nil || !c.IsZero() {
			t.Errorf("%.60q: got %v, %v, want an error and nothing read", s, c, err)
		} else if len(err.Error()) > 400 {
			t.Errorf("%.60q: the error repeats %d bytes", s, len(err.Error()))
		}
	}
}
