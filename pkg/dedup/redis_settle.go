package dedup

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// Settle is Claims.Settle. It is one round trip where the store still holds the claims that are settled, or where the
// ledger inserted.
func (s *Redis) Settle(ctx context.Context, batch []Settlement) error {
	if err := checkSettlements(batch); err != nil || len(batch) == 0 {
		return err
	}
	r := settling{store: s, batch: batch, what: describe("settle", len(batch), batch[0].Claim.Hash)}
	for _, turn := range inTurns(len(batch), func(i int) string { return batch[i].Claim.Hash }) {
		open := make([]expected, len(turn))
		for n, i := range turn {
			c := &batch[i].Claim
			open[n] = expected{i, string(c.value(time.Time{}).appendBeforeTime(nil))} // our own claim, whenever renewed
		}
		for tries := 0; len(open) > 0; tries++ {
			if tries == attempts {
				return s.contended(r.what)
			}
			var err error
			if open, err = r.round(ctx, open); err != nil {
				return err
			}
		}
	}
	return nil
}

// settling is one call of Settle under way.
type settling struct {
	store *Redis
	batch []Settlement
	what  string
}

// expected is an item that is still open, and what its key is believed to hold.
type expected struct {
	i    int
	want string
}

// round writes the open items, all of different hashes, and answers those whose keys held something else that the
// settlement may be written over.
func (r *settling) round(ctx context.Context, open []expected) ([]expected, error) {
	now := time.Now()
	cmds := make([]*redis.Cmd, len(open))
	err := r.store.exchange(ctx, r.what, func(p redis.Pipeliner) {
		for n, e := range open {
			t := &r.batch[e.i]
			key, value, life := r.store.hashKey(t.Claim.Hash), t.value(now).String(), t.life(now, r.store.opt.TTL)
			if t.blind() {
				p.Set(ctx, key, value, life)
				continue
			}
			cmds[n] = swap{keys: []string{key}, want: []string{e.want}, value: value, life: life}.queue(ctx, p)
		}
	})
	if err != nil {
		return nil, err
	}
	var again []expected
	load := false
	for n, e := range open {
		if cmds[n] == nil {
			continue
		}
		done, unknown, holds, err := swapped(cmds[n])
		switch {
		case err != nil:
			return nil, explain(ctx, r.what, r.store.where, err)
		case unknown:
			load = true
			again = append(again, e)
		case !done:
			t := &r.batch[e.i]
			stored, err := r.store.parse(t.Claim.Hash, holds[0])
			if err != nil {
				return nil, err
			}
			if !t.keeps(stored) {
				again = append(again, expected{e.i, holds[0]})
			}
		}
	}
	if load {
		return again, r.store.loadScript(ctx)
	}
	return again, nil
}
