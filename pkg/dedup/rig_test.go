package dedup_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"recon/internal/testkit"
	"recon/pkg/dedup"
)

const (
	ttl      = 100 * time.Hour
	runLease = 2 * time.Second // long enough for a machine that stands still for a while
)

// rig is one kind of store on a memory of its own, with the ways round its rules that a test needs.
type rig struct{ backing }

// backing is the part of a rig that differs between the stores.
type backing interface {
	// handle gives a handle that is not open yet; several may work at once.
	handle(t testing.TB) dedup.Store
	put(t testing.TB, values ...kept)
	load(t testing.TB, hashes ...string) []kept
	putReplay(t testing.TB, keys ...replayKey)
	replayLife(t testing.TB, hash, envelopeID string) time.Duration
	forget(t testing.TB)
	another(t testing.TB) // the store becomes one with another generation
	setLease(t testing.TB, value string)
}

// kept is what a store holds for a hash, and for how long yet; its value's State is empty where it holds nothing.
type kept struct {
	hash  string
	value dedup.Value
	life  time.Duration
}

// replayKey is a letter's replay key and what it names.
type replayKey struct{ hash, envelopeID, replayID string }

// open gives an open handle for a group that has never committed.
func (r rig) open(t testing.TB) dedup.Store {
	t.Helper()
	s := r.handle(t)
	if err := s.Open(t.Context(), false, false); err != nil {
		t.Fatalf("open: %v", err)
	}
	return s
}

// life tells how long a hash is kept yet.
func (r rig) life(t testing.TB, hash string) time.Duration {
	t.Helper()
	return r.load(t, hash)[0].life
}

// inMemory is the backing of the in-process store; all handles are the one store.
type inMemory struct{ m *dedup.Memory }

func memoryRig(t testing.TB) rig {
	t.Helper()
	return rig{inMemory{newMemory(t)}}
}

func newMemory(t testing.TB) *dedup.Memory {
	t.Helper()
	m, err := dedup.NewMemory(dedup.Options{TTL: ttl, RunLease: runLease})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (b inMemory) handle(testing.TB) dedup.Store { return b.m }

func (b inMemory) put(_ testing.TB, values ...kept) {
	for _, k := range values {
		b.m.Put(k.hash, k.value, k.life)
	}
}

func (b inMemory) load(t testing.TB, hashes ...string) []kept {
	t.Helper()
	out := make([]kept, len(hashes))
	for i, hash := range hashes {
		v, _, err := b.m.Get(context.Background(), hash)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = kept{hash, v, b.m.Life(hash)}
	}
	return out
}

func (b inMemory) putReplay(_ testing.TB, keys ...replayKey) {
	for _, k := range keys {
		b.m.PutReplay(k.hash, k.envelopeID, k.replayID, ttl)
	}
}

func (b inMemory) replayLife(_ testing.TB, hash, env string) time.Duration {
	return b.m.ReplayLife(hash, env)
}
func (b inMemory) forget(testing.TB)                   { b.m.Forget() }
func (b inMemory) another(testing.TB)                  { b.m.BecomeAnother() }
func (b inMemory) setLease(_ testing.TB, value string) { b.m.SetLease(value, ttl) }

// inRedis is the backing of the Redis store: keys of its own in a server or cluster that others may use.
type inRedis struct {
	url, prefix string
	raw         redis.UniversalClient
}

func redisRig(t testing.TB, url string, raw redis.UniversalClient) rig {
	t.Helper()
	b := inRedis{url, testkit.Prefix(t), raw}
	t.Cleanup(func() {
		raw.Del(context.Background(), b.generation())
		raw.Del(context.Background(), b.lease())
	})
	return rig{b}
}

func (b inRedis) key(hash string) string         { return b.prefix + ":dedup:{" + hash + "}" }
func (b inRedis) replay(hash, env string) string { return b.prefix + ":replay:{" + hash + "}:" + env }
func (b inRedis) generation() string             { return b.prefix + ":dedup:generation" }
func (b inRedis) lease() string                  { return b.prefix + ":replay:lease" }

func (b inRedis) handle(t testing.TB) dedup.Store {
	t.Helper()
	return openRedis(t, b.url, b.prefix)
}

func (b inRedis) put(t testing.TB, values ...kept) {
	t.Helper()
	b.pipe(t, func(p redis.Pipeliner) {
		for _, k := range values {
			p.Set(context.Background(), b.key(k.hash), k.value.String(), k.life)
		}
	})
}

func (b inRedis) load(t testing.TB, hashes ...string) []kept {
	t.Helper()
	cmds := b.pipe(t, func(p redis.Pipeliner) {
		for _, hash := range hashes {
			p.Get(context.Background(), b.key(hash))
			p.PTTL(context.Background(), b.key(hash))
		}
	})
	out := make([]kept, len(hashes))
	for i, hash := range hashes {
		out[i] = kept{hash: hash, life: lifeOf(t, b.key(hash), cmds[2*i+1].(*redis.DurationCmd).Val())}
		if text := cmds[2*i].(*redis.StringCmd).Val(); text != "" {
			var err error
			if out[i].value, err = dedup.ParseValue(text); err != nil {
				t.Fatal(err)
			}
		}
	}
	return out
}

func (b inRedis) putReplay(t testing.TB, keys ...replayKey) {
	t.Helper()
	b.pipe(t, func(p redis.Pipeliner) {
		for _, k := range keys {
			p.Set(context.Background(), b.replay(k.hash, k.envelopeID), k.replayID, ttl)
		}
	})
}

func (b inRedis) replayLife(t testing.TB, hash, env string) time.Duration {
	t.Helper()
	cmds := b.pipe(t, func(p redis.Pipeliner) { p.PTTL(context.Background(), b.replay(hash, env)) })
	return lifeOf(t, b.replay(hash, env), cmds[0].(*redis.DurationCmd).Val())
}

func (b inRedis) forget(t testing.TB) {
	t.Helper()
	b.pipe(t, func(p redis.Pipeliner) { p.Del(context.Background(), b.generation()) })
}

func (b inRedis) another(t testing.TB) {
	t.Helper()
	value := testkit.Prefix(t) + " 2026-01-01T00:00:00.000Z uncommitted"
	b.pipe(t, func(p redis.Pipeliner) { p.Set(context.Background(), b.generation(), value, 0) })
}

func (b inRedis) setLease(t testing.TB, value string) {
	t.Helper()
	b.pipe(t, func(p redis.Pipeliner) { p.Set(context.Background(), b.lease(), value, ttl) })
}

func (b inRedis) pipe(t testing.TB, fill func(p redis.Pipeliner)) []redis.Cmder {
	t.Helper()
	cmds, err := b.raw.Pipelined(context.Background(), func(p redis.Pipeliner) error { fill(p); return nil })
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	return cmds
}

// lifeOf reads an answer of PTTL; a key without a life is a fault in itself.
func lifeOf(t testing.TB, key string, answer time.Duration) time.Duration {
	t.Helper()
	if answer == -1 {
		t.Fatalf("key %s has no life: it stays for ever", key)
	}
	return max(answer, 0)
}

func openRedis(t testing.TB, url, prefix string) *dedup.Redis {
	t.Helper()
	s, err := dedup.Open(url, dedup.Options{Prefix: prefix, TTL: ttl, RunLease: runLease})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// rawClient is a client beside the store, for one server.
func rawClient(t testing.TB, url string) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}
