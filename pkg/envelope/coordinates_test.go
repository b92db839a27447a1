package envelope_test

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/envelope"
)

func TestCoordinatesAreOrderedByTopicPartitionAndOffset(t *testing.T) {
	want := []envelope.Coordinates{{"a", 1, 9}, {"a", 2, 8}, {"a", 2, 10}, {"b", 0, 0}, {"b", 0, 1}}
	got := []envelope.Coordinates{want[4], want[2], want[0], want[3], want[1]}
	if slices.SortFunc(got, envelope.Coordinates.Compare); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if want[0].Compare(want[0]) != 0 {
		t.Error("the same coordinates differ")
	}
}

func TestARecordsCoordinatesAreWhereItLies(t *testing.T) {
	if got, want := envelope.CoordinatesOf(&kgo.Record{Topic: "a", Partition: 2, Offset: 7}).String(), "a/2@7"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
