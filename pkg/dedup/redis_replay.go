package dedup

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// Get is Replays.Get.
func (s *Redis) Get(ctx context.Context, hash string) (Value, bool, error) {
	if err := checkHash(hash); err != nil {
		return Value{}, false, err
	}
	holds, err := s.read(ctx, "look up "+hash, s.hashKey(hash))
	if err != nil {
		return Value{}, false, err
	}
	v, err := s.parse(hash, holds[0])
	return v, v.State != "", err
}

// Reserved is Replays.Reserved.
func (s *Redis) Reserved(ctx context.Context, hash, envelopeID string) (replayID string, ok bool, err error) {
	if err := checkHash(hash); err != nil {
		return "", false, err
	}
	holds, err := s.read(ctx, "look up the replay of letter "+envelopeID, s.replayKey(hash, envelopeID))
	if err != nil {
		return "", false, err
	}
	return holds[0], holds[0] != "", nil
}

// Reserve is Replays.Reserve.
func (s *Redis) Reserve(ctx context.Context, r Reservation) (a ReserveAnswer, err error) {
	if err := r.check(); err != nil {
		return ReserveAnswer{}, err
	}
	keys := []string{s.replayKey(r.Hash, r.EnvelopeID), s.hashKey(r.Hash)}
	err = s.change(ctx, "reserve letter "+r.EnvelopeID, keys, func(holds []string) (swap, bool, error) {
		stored, err := s.parse(r.Hash, holds[1])
		if err != nil {
			return swap{}, false, err
		}
		a, err = r.judge(stored, holds[0])
		return swap{value: r.ReplayID, life: s.opt.TTL}, a.Reserved, err
	})
	if err != nil {
		return ReserveAnswer{}, err
	}
	return a, nil
}

// MarkSettled is Replays.MarkSettled.
func (s *Redis) MarkSettled(ctx context.Context, k Mark) (MarkAnswer, error) {
	return s.mark(ctx, actSettle, k)
}

// MarkDead is Replays.MarkDead.
func (s *Redis) MarkDead(ctx context.Context, k Mark) (MarkAnswer, error) {
	return s.mark(ctx, actBury, k)
}

// Release is Replays.Release.
func (s *Redis) Release(ctx context.Context, k Mark) (MarkAnswer, error) {
	return s.mark(ctx, actRelease, k)
}

func (s *Redis) mark(ctx context.Context, what act, k Mark) (a MarkAnswer, err error) {
	if err := k.check(what); err != nil {
		return MarkAnswer{}, err
	}
	err = s.change(ctx, what.String()+" "+k.Hash, []string{s.hashKey(k.Hash)}, func(holds []string) (swap, bool, error) {
		stored, err := s.parse(k.Hash, holds[0])
		if err != nil {
			return swap{}, false, err
		}
		var write bool
		a, write = k.judge(what, stored)
		return swap{value: k.value(what, time.Now()).String(), life: s.opt.TTL}, write, nil
	})
	if err != nil {
		return MarkAnswer{}, err
	}
	return a, nil
}

func (s *Redis) leaseKey() string { return s.opt.Prefix + ":replay:lease" }

// AcquireLease is Replays.AcquireLease.
func (s *Redis) AcquireLease(ctx context.Context, owner string) (*Lease, error) {
	taken := time.Now()
	value, err := newLeaseValue(owner, taken)
	if err != nil {
		return nil, err
	}
	var cmd *redis.StatusCmd
	err = s.exchange(ctx, "acquire the lease of a replay run", func(p redis.Pipeliner) {
		cmd = p.SetArgs(ctx, s.leaseKey(), value, redis.SetArgs{Mode: "NX", Get: true, TTL: s.opt.RunLease})
	})
	if err != nil {
		return nil, err
	}
	if !errors.Is(cmd.Err(), redis.Nil) {
		return nil, held(cmd.Val())
	}
	return holdLease(ctx, s, value, s.opt.RunLease, taken), nil
}

func (s *Redis) renewLease(ctx context.Context, value string, life time.Duration) error {
	return s.changeLease(ctx, "renew", value, swap{value: value, life: life})
}

func (s *Redis) dropLease(ctx context.Context, value string) error {
	return s.changeLease(ctx, "release", value, swap{})
}

// changeLease does to what only while the lease is value's.
func (s *Redis) changeLease(ctx context.Context, verb, value string, to swap) error {
	return s.change(ctx, verb+" the lease of a replay run", []string{s.leaseKey()}, func(holds []string) (swap, bool, error) {
		if holds[0] != value {
			return swap{}, false, ErrLeaseLost
		}
		return to, true, nil
	})
}
