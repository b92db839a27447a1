package observe_test

import (
	"errors"
	"testing"

	"recon/internal/observe"
)

var errFull = errors.New("no space left")

// full takes so many writes.
type full struct{ left int }

func (f *full) Write(b []byte) (int, error) {
	if f.left--; f.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestPageRemembersItsFirstErrorAndWritesNothingBehindIt(t *testing.T) {
	to, cuts := &full{left: 2}, 0
	p := observe.NewPage(to, func() { cuts++ })
	for i := range 5 {
		n, err := p.Write([]byte("line"))
		if lost := i >= 2; lost != errors.Is(err, errFull) || lost != (n == 0) || lost != errors.Is(p.Err(), errFull) {
			t.Errorf("write %d: %d, %v, and Err %v", i, n, err, p.Err())
		}
	}
	if cuts != 1 || to.left != -1 {
		t.Errorf("cut %d times, %d writes tried, want once and 3", cuts, 2-to.left)
	}
}
