package dedup_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"recon/internal/testkit"
	"recon/pkg/dedup"
	"recon/pkg/envelope"
)

// The keys and values that other programs may read.
func TestRealRedisHoldsTheKeysOfTheContract(t *testing.T) {
	u := testkit.Redis(t)
	raw, prefix, ctx := rawClient(t, u), testkit.Prefix(t), t.Context()
	s := openRedis(t, u, prefix)
	if err := s.Open(ctx, false, false); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rawClient(t, u).Del(context.Background(), prefix+":dedup:generation") })
	holds := func(key string) string {
		t.Helper()
		v, err := raw.Get(ctx, prefix+key).Result()
		if err != nil {
			t.Fatalf("key %s: %v", prefix+key, err)
		}
		return v
	}
	if got := strings.Fields(holds(":dedup:generation")); len(got) != 3 || got[2] != "uncommitted" {
		t.Errorf("generation %q", got)
	}
	if err := s.MarkCommitted(ctx); err != nil {
		t.Fatal(err)
	}
	if got := strings.Fields(holds(":dedup:generation")); len(got) != 3 || got[2] != "committed" {
		t.Errorf("generation after the first commit %q", got)
	}
	if ttl := raw.TTL(ctx, prefix+":dedup:generation").Val(); ttl != -1 {
		t.Errorf("the generation ends in %s", ttl)
	}
	env := envelope.EnvelopeID(rootA, 0)
	reserve(t, s, "contract-hash", rootA, 0)
	if got := holds(":replay:{contract-hash}:" + env); got != envelope.ReplayID(env) {
		t.Errorf("replay key holds %q", got)
	}
	wantVerdict(t, s, first("contract-hash", rootA), dedup.Fresh)
	if got, want := holds(":dedup:{contract-hash}"), "claimed recon.main/0@10 0 1 "+digest+" recon.main/0@10 2"; !strings.HasPrefix(got, want) {
		t.Errorf("dedup key holds %q, want it to begin with %q", got, want)
	}
	l := acquire(t, s, "alice on host 1")
	if got := holds(":replay:lease"); !strings.HasSuffix(got, " alice on host 1") {
		t.Errorf("the lease holds %q", got)
	}
	release(t, l)
	if n := raw.Exists(ctx, prefix+":replay:lease").Val(); n != 0 {
		t.Error("the released lease is still there")
	}
}

// Pitfall R30: two environments in one server know nothing of each other.
func TestRealRedisKeepsPrefixesApart(t *testing.T) {
	u := testkit.Redis(t)
	one, other := redisRig(t, u, rawClient(t, u)).open(t), redisRig(t, u, rawClient(t, u)).open(t)
	settle(t, one, dedup.Settlement{Claim: first("same-hash", rootA), State: dedup.Posted})
	reserve(t, one, "another-hash", rootA, 0)
	wantVerdict(t, other, first("same-hash", rootB), dedup.Fresh)
	if a := reserve(t, other, "another-hash", rootA, 0); !a.Reserved {
		t.Errorf("reserve in the other environment: got %+v", a)
	}
	release(t, acquire(t, one, "alice"))
	mine, theirs := acquire(t, one, "alice"), acquire(t, other, "bob")
	release(t, mine)
	release(t, theirs)
}

// What is there and cannot be read stops the batch, named by its key; it is never taken for nothing.
func TestRealRedisUnreadableValueIsAnErrorThatNamesItsKey(t *testing.T) {
	u := testkit.Redis(t)
	raw, prefix := rawClient(t, u), testkit.Prefix(t)
	s := openRedis(t, u, prefix)
	if err := s.Open(t.Context(), false, false); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rawClient(t, u).Del(context.Background(), prefix+":dedup:generation") })
	for name, spoil := range map[string]func(key string) error{
		"another text":   func(key string) error { return raw.Set(t.Context(), key, "posted by someone", time.Hour).Err() },
		"a blank":        func(key string) error { return raw.Set(t.Context(), key, " ", time.Hour).Err() },
		"nothing at all": func(key string) error { return raw.Set(t.Context(), key, "", time.Hour).Err() },
		"a list":         func(key string) error { return raw.RPush(t.Context(), key, "posted").Err() },
	} {
		hash := newHash("unreadable")
		key := prefix + ":dedup:{" + hash + "}"
		if err := spoil(key); err != nil {
			t.Fatal(err)
		}
		c, m := first(hash, rootA), dedup.Mark{Hash: hash, Root: rootA}
		errs := map[string]error{"settle": s.Settle(t.Context(), []dedup.Settlement{{Claim: c, State: dedup.Dead}})}
		_, errs["claim"] = s.Claim(t.Context(), time.Minute, []dedup.Claim{first(newHash("fine"), rootA), c})
		_, errs["replay"] = s.Claim(t.Context(), time.Minute, []dedup.Claim{replayOf(hash, rootA, 0, onMain)})
		_, _, errs["get"] = s.Get(t.Context(), hash)
		_, errs["reserve"] = s.Reserve(t.Context(), dedup.Reservation{Hash: hash, EnvelopeID: "e", ReplayID: "r", Root: rootA})
		_, errs["mark"] = s.MarkSettled(t.Context(), m)
		for call, err := range errs {
			if err == nil || !strings.Contains(err.Error(), key) || errors.Is(err, dedup.ErrUnavailable) {
				t.Errorf("%s over %s: got %v, want an error that names %s", call, name, err, key)
			}
		}
		raw.Del(t.Context(), key)
	}
	raw.Set(t.Context(), prefix+":dedup:generation", "not a generation", 0)
	err := openRedis(t, u, prefix).Open(t.Context(), false, false)
	if err == nil || !strings.Contains(err.Error(), prefix+":dedup:generation") {
		t.Errorf("an unreadable generation: got %v, want an error that names its key", err)
	}
}

// A server forgets scripts at a restart or failover; nothing is lost by it.
func TestRealRedisWithoutTheScriptGetsItAgain(t *testing.T) {
	server := testkit.StartRedis(t)
	s := openReal(t, server.Redis())
	c := first("no-script", rootA)
	settle(t, s, dedup.Settlement{Claim: c, State: dedup.Waiting, Due: time.Now()})
	c.Attempt, c.At = 2, hereA
	s.ForgetScript(t)
	wantVerdict(t, s, c, dedup.Fresh)
	s.ForgetScript(t)
	settle(t, s, dedup.Settlement{Claim: c, State: dedup.Dead}, dedup.Settlement{Claim: first("other", rootA), State: dedup.Dead})
	if got := stored(t, s, c.Hash); got.State != dedup.Dead || got.Attempt != 2 {
		t.Errorf("settled as dead, stored %q", got)
	}
	s.ForgetScript(t)
	if a := reserve(t, s, c.Hash, rootA, 0); !a.Reserved {
		t.Errorf("reserve: got %+v", a)
	}
	s.ForgetScript(t)
	if a, err := s.MarkSettled(t.Context(), dedup.Mark{Hash: c.Hash, Root: rootA}); err != nil || a.Refused {
		t.Errorf("mark: got %+v, %v", a, err)
	}
}

// No I/O, no secret in the text, and the kinds of servers told apart.
func TestRedisURL(t *testing.T) {
	for _, good := range []string{
		"redis://127.0.0.1:6379", "redis://user:pw@127.0.0.1:6379/3?read_timeout=2s", "rediss://redis.example:6380/0",
		"redis://one:6379?addr=two:6379&addr=three:6379", "rediss://:pw@one:6379?cluster=true",
		"redis://sentinel:26379?master_name=main&addr=other:26379",
	} {
		s, err := dedup.Open(good, dedup.Options{})
		if err != nil {
			t.Errorf("%s: %v", good, err)
			continue
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: close: %v", good, err)
		}
		if err := s.Open(t.Context(), false, false); err == nil || errors.Is(err, dedup.ErrUnavailable) {
			t.Errorf("%s: closed, then opened: got %v, want an error that is no outage", good, err)
		}
	}
	for _, bad := range []string{
		"", "127.0.0.1:6379", "http://127.0.0.1", "redis://", "redis://user:s3cret@host:port", "redis://user:12/s3cret@host",
		"redis://:s3cret@host:6379/0?no_such_option=1", "redis://:s3cret@host:6379/zero", "redis://:s3cret@host/0?read_timeout=soon",
		"redis://:s3cret@one:6379?addr=two", "redis://:s3cret@one:6379?cluster=true&read_only=true", "redis://:%zzs3cret@host",
		"redis://:s3cret@s:26379?master_name=m&replica_only=true", "redis://:s3cret@s:26379?master_name=m&x=1",
	} {
		_, err := dedup.Open(bad, dedup.Options{})
		if err == nil {
			t.Errorf("%s: no error", bad)
			continue
		}
		if strings.Contains(err.Error(), "s3cret") || !strings.HasPrefix(err.Error(), "redis URL: ") {
			t.Errorf("%s: told as %q", bad, err)
		}
	}
}

func TestServerMustBeNewEnoughAndKeepWhatItHolds(t *testing.T) {
	const ok = "# Server\r\nredis_version:7.0.15\r\nos:Linux\r\n# Memory\r\nmaxmemory_policy:noeviction\r\n"
	if err := dedup.CheckInfo("here", ok); err != nil {
		t.Errorf("a good server: %v", err)
	}
	for name, info := range map[string]string{
		"version 6":         strings.Replace(ok, "7.0.15", "6.2.20", 1),
		"no version":        strings.Replace(ok, "redis_version", "x", 1),
		"volatile-ttl":      strings.Replace(ok, "noeviction", "volatile-ttl", 1),
		"no policy is told": strings.Replace(ok, "maxmemory_policy", "x", 1),
	} {
		if err := dedup.CheckInfo("here", info); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
