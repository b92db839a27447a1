package dedup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

func (s *Redis) hashKey(hash string) string { return s.opt.Prefix + ":dedup:{" + hash + "}" }

func (s *Redis) replayKey(hash, envelopeID string) string {
	return s.opt.Prefix + ":replay:{" + hash + "}:" + envelopeID
}

// Claim is Claims.Claim. A batch of new hashes is one round trip; what was there costs a second one.
func (s *Redis) Claim(ctx context.Context, lease time.Duration, batch []Claim) ([]Answer, error) {
	if err := checkClaims(lease, batch); err != nil || len(batch) == 0 {
		return nil, err
	}
	r := claiming{
		store: s, lease: lease, batch: batch, answers: make([]Answer, len(batch)),
		what: describe("claim", len(batch), batch[0].Hash),
	}
	turns := inTurns(len(batch), func(i int) string { return batch[i].Hash })
	for _, open := range turns {
		for tries := 0; len(open) > 0; tries++ {
			if tries == attempts {
				return nil, s.contended(r.what)
			}
			var err error
			if open, err = r.round(ctx, open); err != nil {
				return nil, err
			}
		}
	}
	return r.answers, nil
}

// claiming is one call of Claim under way.
type claiming struct {
	store   *Redis
	lease   time.Duration
	batch   []Claim
	answers []Answer
	what    string
}

// taking is a claim that takes over what was there, if it is still there.
type taking struct {
	i      int
	swap   swap
	answer Answer
}

// round asks for the open items, all of different hashes, and answers those that are still open: their keys changed
// between the look and the swap.
func (r *claiming) round(ctx context.Context, open []int) ([]int, error) {
	takings, err := r.look(ctx, open)
	if err != nil || len(takings) == 0 {
		return nil, err
	}
	cmds := make([]*redis.Cmd, len(takings))
	err = r.store.exchange(ctx, r.what, func(p redis.Pipeliner) {
		for n, t := range takings {
			cmds[n] = t.swap.queue(ctx, p)
		}
	})
	if err != nil {
		return nil, err
	}
	var again []int
	load := false
	for n, t := range takings {
		done, unknown, _, err := swapped(cmds[n])
		switch {
		case err != nil:
			return nil, explain(ctx, r.what, r.store.where, err)
		case done:
			r.answers[t.i] = t.answer
		default:
			again = append(again, t.i)
			load = load || unknown
		}
	}
	if load {
		return again, r.store.loadScript(ctx)
	}
	return again, nil
}

// look takes what is new, answers what is decided by what is there, and leaves what is to be taken over.
func (r *claiming) look(ctx context.Context, open []int) ([]taking, error) {
	now := time.Now()
	sets := make([]*redis.StatusCmd, len(open))
	gets := make([]*redis.SliceCmd, len(open))
	err := r.store.exchange(ctx, r.what, func(p redis.Pipeliner) {
		for n, i := range open {
			if c := &r.batch[i]; c.Replay == "" {
				sets[n] = p.SetArgs(ctx, r.store.hashKey(c.Hash), c.value(now).String(),
					redis.SetArgs{Mode: "NX", Get: true, TTL: r.lease})
			} else {
				gets[n] = queueRead(ctx, p, r.store.keysOf(c))
			}
		}
	})
	if err != nil {
		return nil, err
	}
	var takings []taking
	for n, i := range open {
		c := r.batch[i]
		holds := []string{""}
		switch {
		case gets[n] != nil:
			holds = texts(gets[n].Val())
		case errors.Is(sets[n].Err(), redis.Nil):
			r.answers[i] = Answer{Verdict: Fresh}
			continue
		default:
			holds[0] = present(sets[n].Val())
		}
		stored, err := r.store.parse(c.Hash, holds[0])
		if err != nil {
			return nil, err
		}
		answer, believed := judge(stored, second(holds), c)
		if !answer.Verdict.Taken() {
			r.answers[i] = answer
			continue
		}
		takings = append(takings, taking{i, swap{
			keys: r.store.keysOf(&c), want: holds, value: believed.value(now).String(), life: r.lease,
		}, answer})
	}
	return takings, nil
}

// keysOf are the keys that decide a claim: its hash, and for a replay that names its own letter the letter's.
func (s *Redis) keysOf(c *Claim) []string {
	if c.Replay != "" && c.namesItsLetter() {
		return []string{s.hashKey(c.Hash), s.replayKey(c.Hash, c.Envelope)}
	}
	return []string{s.hashKey(c.Hash)}
}

func second(holds []string) string {
	if len(holds) < 2 {
		return ""
	}
	return holds[1]
}

// parse reads a stored value; "" is nothing, everything else is a value or an error that names the key.
func (s *Redis) parse(hash, text string) (Value, error) {
	if text == "" {
		return Value{}, nil
	}
	v, err := ParseValue(text)
	if err != nil {
		return Value{}, fmt.Errorf("key %s in %s: %w", s.hashKey(hash), s.where, err)
	}
	return v, nil
}

// inTurns parts n items so that no hash stands twice in one turn and each hash keeps its order.
func inTurns(n int, hash func(i int) string) [][]int {
	turns := make([][]int, 1)
	turns[0] = make([]int, 0, n)
	seen := make(map[string]int, n)
	for i := range n {
		turn := seen[hash(i)]
		seen[hash(i)] = turn + 1
		if turn == len(turns) {
			turns = append(turns, nil)
		}
		turns[turn] = append(turns[turn], i)
	}
	return turns
}

// describe says what was tried on what, for errors of a batch.
func describe(verb string, n int, first string) string {
	if n == 1 {
		return verb + " " + first
	}
	return fmt.Sprintf("%s %d hashes (%s first)", verb, n, first)
}
