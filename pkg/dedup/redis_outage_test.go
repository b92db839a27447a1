package dedup_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"recon/internal/testkit"
	"recon/pkg/dedup"
)

// soon bounds a call to a server that may hang.
func soon(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

func openReal(t testing.TB, url string) *dedup.Redis {
	t.Helper()
	s := openRedis(t, url, testkit.Prefix(t))
	if err := s.Open(t.Context(), false, false); err != nil {
		t.Fatal(err)
	}
	return s
}

// wantOutage makes every call and expects that none says anything about records.
func wantOutage(t *testing.T, s dedup.Store) {
	t.Helper()
	for call, err := range everyCall(soon(t), s) {
		if !errors.Is(err, dedup.ErrUnavailable) || errors.Is(err, dedup.ErrMemoryLost) {
			t.Errorf("%s: got %v, want ErrUnavailable alone", call, err)
		}
	}
}

// A server that comes back with its memory goes on where it was; one that was killed and hung in between is an outage.
func TestRealRedisAwayIsAnOutageAndPasses(t *testing.T) {
	server := testkit.StartRedis(t, "appendonly", "yes", "appendfsync", "always")
	s := openReal(t, server.Redis())
	c := first("survivor", rootA)
	wantVerdict(t, s, c, dedup.Fresh)

	server.Pause()
	wantOutage(t, s)
	server.Resume()
	eventually(t, "the hung server to answer", func() bool { return s.Ping(t.Context()) == nil })
	wantVerdict(t, s, c, dedup.Resumed)

	server.Kill()
	wantOutage(t, s)
	fresh := openRedis(t, server.Redis(), "never-opened")
	if err := fresh.Open(soon(t), false, false); !errors.Is(err, dedup.ErrUnavailable) {
		t.Errorf("open while it is away: got %v, want ErrUnavailable", err)
	}
	server.Start()
	eventually(t, "the killed server to answer", func() bool { return s.Ping(t.Context()) == nil })
	wantVerdict(t, s, first(c.Hash, rootB), dedup.Busy)
	wantVerdict(t, s, c, dedup.Resumed)
}

// Pitfall R7: a server that restarts without its data is not a server where everything is new.
func TestRealRedisThatRestartsEmptyIsRefused(t *testing.T) {
	server := testkit.StartRedis(t)
	s := openReal(t, server.Redis())
	c := first("forgotten", rootA)
	settle(t, s, dedup.Settlement{Claim: c, State: dedup.Posted})
	server.Kill()
	server.Start()
	eventually(t, "the restarted server to answer", func() bool {
		_, err := s.Claim(t.Context(), time.Minute, []dedup.Claim{c})
		if err == nil {
			t.Fatal("a claim was granted by a server that had lost its memory")
		}
		return errors.Is(err, dedup.ErrMemoryLost)
	})
	again := openRedis(t, server.Redis(), "t-other")
	if err := again.Open(t.Context(), true, false); !errors.Is(err, dedup.ErrMemoryLost) {
		t.Errorf("open for a group with offsets: got %v, want ErrMemoryLost", err)
	}
}

// FLUSHALL while claims run: no claim is granted by the emptied store, not even one under way at that moment.
func TestRealRedisFlushedWhileRunningGrantsNothing(t *testing.T) {
	server := testkit.StartRedis(t)
	s, raw := openReal(t, server.Redis()), rawClient(t, server.Redis())
	flush := make(chan struct{})
	go func() {
		defer close(flush)
		raw.FlushAll(context.Background())
	}()
	for i := 0; ; i++ {
		var batch []dedup.Claim
		for j := range 50 {
			batch = append(batch, first(fmt.Sprintf("flushed-%d-%d", i, j), rootA))
		}
		_, err := s.Claim(t.Context(), time.Minute, batch)
		if errors.Is(err, dedup.ErrMemoryLost) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	<-flush
	if err := s.Ping(t.Context()); !errors.Is(err, dedup.ErrMemoryLost) {
		t.Errorf("afterwards: got %v, want ErrMemoryLost", err)
	}
}

// Pitfall R8: a store that may drop what it must remember is refused at start, by the setting's name.
func TestRealRedisThatEvictsIsRefused(t *testing.T) {
	server := testkit.StartRedis(t, "maxmemory-policy", "allkeys-lru")
	s := openRedis(t, server.Redis(), "recon")
	err := s.Open(t.Context(), false, false)
	if !errors.Is(err, dedup.ErrEvicting) || errors.Is(err, dedup.ErrUnavailable) {
		t.Fatalf("got %v, want ErrEvicting", err)
	}
	for _, word := range []string{"maxmemory-policy", "allkeys-lru", "noeviction"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not name %s", err, word)
		}
	}
	if keys := rawClient(t, server.Redis()).DBSize(t.Context()).Val(); keys != 0 {
		t.Errorf("a refused store holds %d keys", keys)
	}
}

// Out of memory is an outage: reads go on, writes wait, nothing is guessed.
func TestRealRedisOutOfMemoryIsAnOutage(t *testing.T) {
	server := testkit.StartRedis(t)
	s, raw := openReal(t, server.Redis()), rawClient(t, server.Redis())
	ctx := t.Context()
	held := first("held-before", rootA)
	settle(t, s, dedup.Settlement{Claim: held, State: dedup.Waiting, Due: time.Now()})
	if err := raw.ConfigSet(ctx, "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	next := held
	next.Attempt, next.At = 2, hereA
	calls := map[string]error{
		"settle posted": s.Settle(ctx, []dedup.Settlement{{Claim: held, State: dedup.Posted}}),
		"settle dead":   s.Settle(ctx, []dedup.Settlement{{Claim: held, State: dedup.Dead}}),
	}
	_, calls["claim"] = s.Claim(ctx, time.Minute, []dedup.Claim{first("new-one", rootA)})
	_, calls["take over"] = s.Claim(ctx, time.Minute, []dedup.Claim{next})
	_, calls["lease"] = s.AcquireLease(ctx, "someone")
	for call, err := range calls {
		if !errors.Is(err, dedup.ErrUnavailable) {
			t.Errorf("%s: got %v, want ErrUnavailable", call, err)
		}
	}
	if got := stored(t, s, held.Hash); got.State != dedup.Waiting {
		t.Errorf("a refused settlement left %q", got)
	}
	if err := raw.ConfigSet(ctx, "maxmemory", "0").Err(); err != nil {
		t.Fatal(err)
	}
	wantVerdict(t, s, next, dedup.Fresh)
}

// A wrong password is named as one, never shown, and the running process waits for it as for an outage.
func TestRealRedisWithAWrongPasswordSaysSo(t *testing.T) {
	u, err := url.Parse(testkit.Redis(t))
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(u.User.Username(), "s3cret-and-wrong")
	err = openRedis(t, u.String(), "recon").Open(t.Context(), false, false)
	if !errors.Is(err, dedup.ErrDenied) || !errors.Is(err, dedup.ErrUnavailable) {
		t.Fatalf("got %v, want ErrDenied", err)
	}
	if strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), u.Host) {
		t.Errorf("%q shows the password or does not name the server", err)
	}
}

// The permissions that the store needs, each of them and no more.
func TestRealRedisNeedsExactlyTheseCommands(t *testing.T) {
	server := testkit.StartRedis(t)
	raw := rawClient(t, server.Redis())
	u, err := url.Parse(server.Redis())
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("limited", "pw")
	commands := []string{"get", "set", "del", "mget", "strlen", "evalsha", "script|load", "info"}
	allow := func(but string) {
		t.Helper()
		rules := []any{"ACL", "SETUSER", "limited", "reset", "on", ">pw", "~mine:*", "+hello"}
		for _, c := range commands {
			if c != but {
				rules = append(rules, "+"+c)
			}
		}
		if err := raw.Do(t.Context(), rules...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, but := range append([]string{""}, commands...) {
		allow(but)
		raw.FlushAll(t.Context())
		s := openRedis(t, u.String(), "mine")
		err := s.Open(t.Context(), false, false)
		for _, called := range everyCall(t.Context(), s) {
			if err == nil {
				err = called
			}
		}
		if but == "" && err != nil {
			t.Errorf("with all of them: %v", err)
		}
		if but != "" && !errors.Is(err, dedup.ErrDenied) {
			t.Errorf("without %s: got %v, want ErrDenied", but, err)
		}
	}
	allow("info")
	err = openRedis(t, u.String(), "mine").Open(t.Context(), false, false)
	if err == nil || !strings.Contains(err.Error(), "INFO") {
		t.Errorf("without INFO: %v does not say what for", err)
	}
	allow("")
	if err := openRedis(t, u.String(), "theirs").Open(t.Context(), false, false); !errors.Is(err, dedup.ErrDenied) {
		t.Errorf("keys of another prefix: got %v, want ErrDenied", err)
	}
}

// The codes by which a server says "not now" or "not you" are outages; everything else is a plain error.
func TestAnswersOfTheServerAreTold(t *testing.T) {
	live := t.Context()
	gone, cancel := context.WithCancel(live)
	cancel()
	rows := []struct {
		err                 error
		unavailable, denied bool
	}{
		{errors.New("read tcp: connection reset by peer"), true, false},
		{context.DeadlineExceeded, true, false},
		{answer("OOM command not allowed when used memory > 'maxmemory'."), true, false},
		{answer("LOADING Redis is loading the dataset in memory"), true, false},
		{answer("READONLY You can't write against a read only replica."), true, false},
		{answer("CLUSTERDOWN The cluster is down"), true, false},
		{answer("MISCONF Redis is configured to save RDB snapshots"), true, false},
		{answer("ERR max number of clients reached"), true, false},
		{answer("WRONGPASS invalid username-password pair or user is disabled."), true, true},
		{answer("NOAUTH Authentication required."), true, true},
		{answer("NOPERM this user has no permissions to run the 'get' command"), true, true},
		{answer("WRONGTYPE Operation against a key holding the wrong kind of value"), false, false},
		{answer("ERR unknown command"), false, false},
		{redis.ErrClosed, false, false},
	}
	for _, row := range rows {
		got := dedup.Explain(live, "claim x", "Redis at here", row.err)
		if errors.Is(got, dedup.ErrUnavailable) != row.unavailable || errors.Is(got, dedup.ErrDenied) != row.denied {
			t.Errorf("%v: told as %v", row.err, got)
		}
		if !errors.Is(got, row.err) || !strings.HasPrefix(got.Error(), "claim x in Redis at here: ") {
			t.Errorf("%v: told as %v, without what was tried or the cause", row.err, got)
		}
		if got := dedup.Explain(gone, "claim x", "Redis at here", row.err); errors.Is(got, dedup.ErrUnavailable) {
			t.Errorf("%v after our own stop: told as %v", row.err, got)
		}
	}
}

// answer is an error that a server gave.
type answer string

func (a answer) Error() string { return string(a) }
func (answer) RedisError()     {}
