package dedup

import (
	"context"
	"testing"
	"time"
)

// What the tests see of the inside: the stored forms, and a Memory's content beside its rules.

var (
	ParseGeneration = func(s string) (string, error) {
		g, err := parseGeneration(s)
		return g.String(), err
	}
	CheckInfo = checkInfo
	Explain   = explain
)

// Put stores a value beside all rules.
func (m *Memory) Put(hash string, v Value, life time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	slot, _ := m.hashes.find(hash, time.Now())
	m.put(hash, slot, v, time.Now(), life)
}

// PutReplay stores a replay key beside all rules.
func (m *Memory) PutReplay(hash, envelopeID, replayID string, life time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.replays[letterKey{hash, envelopeID}] = reserved{replayID, time.Now().Add(life).UnixMilli()}
}

// Life tells how long a hash is still kept; 0 where it is not.
func (m *Memory) Life(hash string) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if slot, ok := m.hashes.index[hash]; ok {
		return max(time.Until(time.UnixMilli(m.hashes.slots[slot].expires)), 0)
	}
	return 0
}

// ReplayLife is Life of a replay key.
func (m *Memory) ReplayLife(hash, envelopeID string) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, ok := m.replays[letterKey{hash, envelopeID}]; ok {
		return max(time.Until(time.UnixMilli(r.expires)), 0)
	}
	return 0
}

// Forget empties the store, as a server that restarts without its data.
func (m *Memory) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gen, m.lease = generation{}, ""
	m.hashes = newShelf()
	clear(m.replays)
}

// BecomeAnother gives the store another generation.
func (m *Memory) BecomeAnother() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gen = newGeneration(false)
}

// Size counts what the maps hold, run out or not.
func (m *Memory) Size() (hashes, replays int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.hashes.index), len(m.replays)
}

// SetLease puts another run's lease in the place of whatever is there.
func (m *Memory) SetLease(value string, life time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lease, m.leaseAt = value, time.Now().Add(life)
}

// ForgetScript makes this package's script unknown to the server, as a failover may.
func (s *Redis) ForgetScript(t testing.TB) {
	t.Helper()
	if err := s.client.ScriptFlush(context.Background()).Err(); err != nil {
		t.Fatalf("flush the scripts: %v", err)
	}
}
