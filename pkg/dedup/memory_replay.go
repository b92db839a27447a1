package dedup

import (
	"context"
	"strings"
	"time"
)

// Get is Replays.Get.
func (m *Memory) Get(ctx context.Context, hash string) (v Value, ok bool, err error) {
	if err := checkHash(hash); err != nil {
		return Value{}, false, err
	}
	err = m.do(ctx, "look up "+hash, func(now time.Time) error {
		v = m.get(hash, now)
		return nil
	})
	return v, v.State != "", err
}

// Reserved is Replays.Reserved.
func (m *Memory) Reserved(ctx context.Context, hash, envelopeID string) (replayID string, ok bool, err error) {
	if err := checkHash(hash); err != nil {
		return "", false, err
	}
	err = m.do(ctx, "look up the replay of letter "+envelopeID, func(now time.Time) error {
		replayID = m.replayID(hash, envelopeID, now)
		return nil
	})
	return replayID, replayID != "", err
}

// Reserve is Replays.Reserve.
func (m *Memory) Reserve(ctx context.Context, r Reservation) (a ReserveAnswer, err error) {
	if err := r.check(); err != nil {
		return ReserveAnswer{}, err
	}
	err = m.do(ctx, "reserve letter "+r.EnvelopeID, func(now time.Time) error {
		var err error
		a, err = r.judge(m.get(r.Hash, now), m.replayID(r.Hash, r.EnvelopeID, now))
		if a.Reserved {
			key := letterKey{strings.Clone(r.Hash), strings.Clone(r.EnvelopeID)}
			m.replays[key] = reserved{strings.Clone(r.ReplayID), now.Add(m.opt.TTL).UnixMilli()}
			m.written(now)
		}
		return err
	})
	return a, err
}

// MarkSettled is Replays.MarkSettled.
func (m *Memory) MarkSettled(ctx context.Context, k Mark) (MarkAnswer, error) {
	return m.mark(ctx, actSettle, k)
}

// MarkDead is Replays.MarkDead.
func (m *Memory) MarkDead(ctx context.Context, k Mark) (MarkAnswer, error) {
	return m.mark(ctx, actBury, k)
}

// Release is Replays.Release.
func (m *Memory) Release(ctx context.Context, k Mark) (MarkAnswer, error) {
	return m.mark(ctx, actRelease, k)
}

func (m *Memory) mark(ctx context.Context, what act, k Mark) (a MarkAnswer, err error) {
	if err := k.check(what); err != nil {
		return MarkAnswer{}, err
	}
	err = m.do(ctx, what.String()+" "+k.Hash, func(now time.Time) error {
		var write bool
		if a, write = k.judge(what, m.get(k.Hash, now)); write {
			slot, _ := m.hashes.find(k.Hash, now)
			m.put(k.Hash, slot, k.value(what, now), now, m.opt.TTL)
		}
		return nil
	})
	return a, err
}

// AcquireLease is Replays.AcquireLease.
func (m *Memory) AcquireLease(ctx context.Context, owner string) (*Lease, error) {
	taken := time.Now()
	value, err := newLeaseValue(owner, taken)
	if err != nil {
		return nil, err
	}
	err = m.do(ctx, "acquire the lease of a replay run", func(now time.Time) error {
		if m.lease != "" && now.Before(m.leaseAt) {
			return held(m.lease)
		}
		m.lease, m.leaseAt = value, now.Add(m.opt.RunLease)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return holdLease(ctx, m, value, m.opt.RunLease, taken), nil
}

func (m *Memory) renewLease(ctx context.Context, value string, life time.Duration) error {
	return m.do(ctx, "renew the lease of a replay run", func(now time.Time) error {
		if m.lease != value || !now.Before(m.leaseAt) {
			return ErrLeaseLost
		}
		m.leaseAt = now.Add(life)
		return nil
	})
}

func (m *Memory) dropLease(ctx context.Context, value string) error {
	return m.do(ctx, "release the lease of a replay run", func(time.Time) error {
		if m.lease != value {
			return ErrLeaseLost
		}
		m.lease = ""
		return nil
	})
}
