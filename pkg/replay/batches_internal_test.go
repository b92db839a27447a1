package replay

import (
	"fmt"
	"testing"

	"recon/pkg/envelope"
)

// Pitfall R75: what is loaded at once is bounded in letters and in bytes; every letter is loaded once, in order.
func TestBatchesAreBoundedInLettersAndBytes(t *testing.T) {
	same := func(n, size int) []int {
		sizes := make([]int, n)
		for i := range sizes {
			sizes[i] = size
		}
		return sizes
	}
	for _, row := range []struct {
		name  string
		sizes []int
		want  string // letters of each batch
	}{
		{"none", nil, "[]"},
		{"one", same(1, 500), "[1]"},
		{"small ones by number", same(2*loadBatch+1, 500), fmt.Sprint([]int{loadBatch, loadBatch, 1})},
		{"exactly full", same(loadBatch, loadBytes/loadBatch), fmt.Sprint([]int{loadBatch})},
		{"large ones by bytes", same(40, 1_000_000), "[16 16 8]"},
		{"one beyond the limit goes alone", []int{1, loadBytes + 1, 1}, "[1 1 1]"},
	} {
		var got []int
		next := 0
		for batch := range batches(row.sizes, func(n int) int { return n }) {
			for i := range batch {
				if &batch[i] != &row.sizes[next] {
					t.Fatalf("%s: letter %d is not the next one", row.name, next)
				}
				next++
			}
			got = append(got, len(batch))
		}
		if next != len(row.sizes) || fmt.Sprint(got) != row.want {
			t.Errorf("%s: batches of %v, want %s; %d letters of %d", row.name, got, row.want, next, len(row.sizes))
		}
	}
}

// The bytes that bound a batch are those of the originals, also where main alone has them.
func TestCaseKnowsTheSizeOfItsOriginal(t *testing.T) {
	for _, row := range []struct{ size int64 }{{-1}, {0}, {900_000}} {
		f := NewFold()
		l := letterOfSize(row.size)
		f.Letter(l.Origin.Coordinates, l)
		for c := range f.All() {
			if want := int(max(0, row.size)); c.size != want {
				t.Errorf("got %d, want %d", c.size, want)
			}
		}
	}
}

// letterOfSize is a compact letter whose value has that size, -1 for null.
func letterOfSize(size int64) *envelope.Letter {
	root := envelope.Coordinates{Topic: "recon.main"}
	return &envelope.Letter{
		Lineage: envelope.Lineage{Root: root}, Origin: envelope.Origin{Coordinates: root},
		Original: envelope.Original{Omitted: true, ValueSize: size},
	}
}
