package dedup

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// What a store answers when its memory cannot be relied on. None of them passes by waiting.
var (
	// ErrMemoryLost: the store is empty, or another one, though records have been settled in it.
	ErrMemoryLost = errors.New("the dedup store has lost its memory")
	// ErrGroupReset: the store remembers a group that had committed, and the group has no offsets.
	ErrGroupReset = errors.New("the consumer group has lost its committed offsets")
	// ErrEvicting: the store may drop values when memory is short.
	ErrEvicting = errors.New("the dedup store may evict what it must remember")
	// ErrNotOpen: the store is used before Open.
	ErrNotOpen = errors.New("the dedup store is not open yet")
)

// generation is the store's own name: a store that comes back without it, or with another one, has forgotten.
type generation struct {
	id        string
	born      time.Time
	committed bool // the group has committed an offset at some time
}

const (
	hasCommitted = "committed"
	hasNot       = "uncommitted"
)

func newGeneration(committed bool) generation {
	return generation{id: uuid.NewString(), born: time.Now(), committed: committed}
}

// String gives the stored form: `<id> <birth time> <committed|uncommitted>`.
func (g generation) String() string {
	word := hasNot
	if g.committed {
		word = hasCommitted
	}
	return g.id + " " + g.born.UTC().Format(stamp) + " " + word
}

func parseGeneration(s string) (generation, error) {
	f := strings.Split(s, " ")
	if len(f) != 3 || f[0] == "" || f[2] != hasCommitted && f[2] != hasNot {
		return generation{}, fmt.Errorf("generation of the dedup store %.200q: want `<id> <time> committed|uncommitted`", s)
	}
	born, err := time.Parse(stamp, f[1])
	if err != nil {
		return generation{}, fmt.Errorf("generation of the dedup store %.200q: %w", s, err)
	}
	return generation{id: f[0], born: born, committed: f[2] == hasCommitted}, nil
}

// sameID tells whether the stored form s is of the generation with this id; the other fields may change.
func sameID(s, id string) bool {
	return id != "" && len(s) > len(id) && s[:len(id)] == id && s[len(id)] == ' '
}

// admit judges a store found at Open. known is the id of an earlier Open of the same handle, found what is stored
// now (its id is empty where nothing is); begins tells whether a missing one may be made.
func admit(known string, found generation, groupHasCommitted, fromStart, begins bool) error {
	switch {
	case known != "" && known != found.id:
		return lost(known, found.id)
	case found.id == "" && groupHasCommitted:
		return fmt.Errorf("%w: its generation key is missing though the consumer group has committed offsets; "+
			"run `replayer dedup rebuild`", ErrMemoryLost)
	case found.id == "" && !begins:
		return fmt.Errorf("%w: its generation key is missing: no consumer has begun with this store and prefix yet, or it was emptied; "+
			"look at RECON_REDIS_URL and RECON_TOPICS_PREFIX", ErrMemoryLost)
	case found.committed && !groupHasCommitted && !fromStart:
		return fmt.Errorf("%w: the dedup store, born %s, knows that it once had some; restore the offsets, "+
			"or accept reading everything again with --from-start", ErrGroupReset, found.born.UTC().Format(stamp))
	}
	return nil
}

// lost says how the generation differs from the one that was opened.
func lost(want, found string) error {
	if found == "" {
		return fmt.Errorf("%w: its generation key is missing, opened was %s; run `replayer dedup rebuild`", ErrMemoryLost, want)
	}
	return fmt.Errorf("%w: its generation is %.80s, opened was %s; run `replayer dedup rebuild`", ErrMemoryLost, found, want)
}
