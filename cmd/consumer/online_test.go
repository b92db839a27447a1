package main_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"

	"recon/internal/testkit"
	"recon/pkg/ledger"
)

// with is the environment of the plant with some of it changed.
func (p *plant) with(env ...string) []string { return append(p.env[:len(p.env):len(p.env)], env...) }

// spoken wants an exit code and what was said on both outputs together.
func spoken(t *testing.T, env []string, args []string, want int, words ...string) {
	t.Helper()
	code, out, errs := command(t, env, args...)
	if code != want {
		t.Errorf("%v: exit %d, want %d\n%s%s", args, code, want, out, errs)
	}
	for _, w := range words {
		if !strings.Contains(out+errs, w) {
			t.Errorf("%v does not say %q:\n%s%s", args, w, out, errs)
		}
	}
}

func TestRealTopicsShowsAndOnlyApplyChanges(t *testing.T) {
	p := newPlant(t, "1s,3s")
	env := p.with("RECON_RETRY_TIERS=1s,3s,7s")
	tier := p.names.Tier(7 * time.Second)
	for range 2 {
		spoken(t, env, []string{"topics"}, 0, tier, "nothing was changed; `consumer topics --apply` does it")
	}
	spoken(t, env, []string{"check", "--online"}, 9, "kafka: a precondition does not hold", tier, "ledger: ok")
	code, out, errs := command(t, env, "topics", "--apply")
	if code != 0 || !strings.Contains(out, tier) || strings.Contains(out, "nothing was changed") {
		t.Errorf("--apply: exit %d\n%s%s", code, out, errs)
	}
	spoken(t, env, []string{"check", "--online"}, 0, "kafka: ok")
}

func TestRealTopicsWithoutMainIsExit9(t *testing.T) {
	p := newPlant(t, "1s,3s")
	for _, args := range [][]string{{"topics"}, {"topics", "--apply"}} {
		spoken(t, p.with("RECON_TOPICS_PREFIX="+p.prefix+"x"), args, 9, p.prefix+"x.main", "upstream")
		if _, out, _ := command(t, p.with("RECON_TOPICS_PREFIX="+p.prefix+"x"), args...); strings.Contains(out, "nothing to do") {
			t.Errorf("%v without main says that nothing is to do: %s", args, out)
		}
	}
	spoken(t, p.with("RECON_TOPICS_PREFIX="+p.prefix+"x"), []string{"check", "--online"}, 9, p.prefix+"x.main")
}

func TestRealTopicsWithTiersThatAreNoneIsExit2(t *testing.T) {
	p := newPlant(t, "1s,3s")
	for _, args := range [][]string{{"topics"}, {"check", "--online"}} {
		spoken(t, p.with("RECON_RETRY_TIERS=1s,3x"), args, 2, "retry.tiers", `"3x"`)
	}
}

// Kafka's own word on a change that it does not take, and not only that the topic is still missing. No name may be
// longer than 249 characters.
func TestRealTopicThatKafkaDoesNotTakeIsToldWithItsReason(t *testing.T) {
	p := newPlant(t, "1s,3s")
	prefix := p.prefix + strings.Repeat("x", 240-len(p.prefix))
	testkit.CreateTopics(t, p.kafka, 1, nil, prefix+".main")
	spoken(t, p.with("RECON_TOPICS_PREFIX="+prefix), []string{"topics", "--apply"}, 1, prefix+".dispositions: create", "INVALID_TOPIC_EXCEPTION")
}

// Main belongs to upstream: what is wrong with it nobody here mends, so it ends even --apply with 9.
func TestRealMainThatIsCompactedEndsEveryCommandWith9(t *testing.T) {
	p := newPlant(t, "1s,3s")
	compact := "compact"
	results, err := kadm.NewClient(p.client).AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Name: "cleanup.policy", Value: &compact}}, p.names.Main())
	if err == nil {
		_, err = results.On(p.names.Main(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the broker shows it", func() bool {
		code, _, _ := command(t, p.env, "check", "--online")
		return code == 9
	})
	for _, args := range [][]string{{"check", "--online"}, {"topics"}, {"topics", "--apply"}} {
		spoken(t, p.env, args, 9, "cleanup.policy", p.names.Main())
	}
	env := p.with("RECON_RETRY_TIERS=1s,3s,7s") // there is something to do, it is done, and main stays as it is
	spoken(t, env, []string{"topics", "--apply"}, 9, p.names.Tier(7*time.Second), "cleanup.policy")
	spoken(t, env, []string{"topics"}, 9, "nothing to do", "cleanup.policy")
}

func TestRealCheckOnlineAsksEverythingBeforeItFails(t *testing.T) {
	p := newPlant(t, "1s,3s")
	code, out, _ := command(t, p.with("RECON_LEDGER_URL=postgres://u:geheim@"+closedPort(t)+"/db", "RECON_REDIS_URL=redis://"+closedPort(t)+"/0"), "check", "--online")
	if code != 9 || !hasLine(out, []string{"kafka: ok"}) || !hasLine(out, []string{"dedup store: ", "refused"}) || !hasLine(out, []string{"ledger: ", "refused"}) {
		t.Errorf("store and ledger away: exit %d\n%s", code, out)
	}
	// What the store must know depends on what the group has committed, which nobody can say now.
	code, out, _ = command(t, p.with("RECON_KAFKA_BROKERS="+closedPort(t), "RECON_TIMEOUT_STARTUP=1s"), "check", "--online")
	if code != 9 || !hasLine(out, []string{"kafka: waited 1s"}) || strings.Contains(out, "dedup store") || !hasLine(out, []string{"ledger: ok"}) {
		t.Errorf("broker away: exit %d\n%s", code, out)
	}
}

// worked is a plant whose group has committed.
func worked(t *testing.T) *plant {
	t.Helper()
	p := newPlant(t, "1s,3s")
	offsets := kadm.Offsets{}
	offsets.AddOffset(p.names.Main(), 0, 0, -1)
	if err := kadm.NewClient(p.client).CommitAllOffsets(t.Context(), p.prefix, offsets); err != nil {
		t.Fatal(err)
	}
	return p
}

// remember gives the store the generation that a group leaves there which has committed.
func (p *plant) remember() (forget func()) {
	p.t.Helper()
	opts, err := redis.ParseURL(testkit.Redis(p.t))
	if err != nil {
		p.t.Fatal(err)
	}
	cl := redis.NewClient(opts)
	p.t.Cleanup(func() { _ = cl.Close() })
	key := p.prefix + ":dedup:generation"
	if err := cl.Set(p.t.Context(), key, "an-id 2026-11-27T09:00:00.000Z committed", 0).Err(); err != nil {
		p.t.Fatal(err)
	}
	return func() {
		if err := cl.Del(context.Background(), key).Err(); err != nil {
			p.t.Fatal(err)
		}
	}
}

// Pitfall of a store that comes back empty: a group that has worked must find it as it left it.
func TestRealStoreWithoutItsMemoryIsExit9(t *testing.T) {
	p := worked(t)
	for _, args := range [][]string{{"check", "--online"}, {"run"}} {
		spoken(t, p.env, args, 9, "dedup store has lost its memory", "replayer dedup rebuild")
	}
	forget := p.remember()
	spoken(t, p.env, []string{"check", "--online"}, 0, "dedup store: ok")
	forget()
	spoken(t, p.env, []string{"check", "--online"}, 9, "dedup store has lost its memory")
}

func TestRealGroupWithoutItsOffsetsIsExit9UnlessAccepted(t *testing.T) {
	p := newPlant(t, "1s,3s")
	forget := p.remember()
	t.Cleanup(forget)
	spoken(t, p.env, []string{"run"}, 9, "lost its committed offsets", "--from-start")
	health := closedPort(t)
	testkit.Settings(t, p.with("RECON_LISTEN="+health)...)
	child := testkit.Child(t, "from-start")
	until(t, "ready", func() bool { return readyz(health) == 200 })
	if code := child.Stop(); code != 0 {
		t.Errorf("exit %d after a clean stop", code)
	}
}

// Who has no right to make tables is told which are missing by the first record; who has it need not be asked.
func TestRealTablesAreMadeAtStartOnlyWhereWanted(t *testing.T) {
	p := newPlant(t, "1s,3s")
	for _, c := range []struct {
		migrate string
		want    bool
	}{{"false", false}, {"true", true}} {
		url := testkit.Schema(t, testkit.Postgres(t))
		health := closedPort(t)
		testkit.Settings(t, p.with("RECON_LEDGER_URL="+url, "RECON_LEDGER_MIGRATE="+c.migrate, "RECON_LISTEN="+health)...)
		child := testkit.Child(t, "run")
		until(t, "ready", func() bool { return readyz(health) == 200 })
		if code := child.Stop(); code != 0 {
			t.Errorf("exit %d after a clean stop", code)
		}
		l, err := ledger.Open(url, ledger.Config{})
		if err != nil {
			t.Fatal(err)
		}
		err = l.Each(t.Context(), func(ledger.Posting) error { return nil })
		if l.Close(); (err == nil) != c.want {
			t.Errorf("migrate %s: tables %v", c.migrate, err)
		}
	}
}

// Told to stop while it still waits for the ledger, it stops: that is no error.
func TestRealStopWhileWaitingForTheLedgerIsExit0(t *testing.T) {
	p := newPlant(t, "1s,3s")
	health := closedPort(t)
	testkit.Settings(t, p.with("RECON_LEDGER_URL=postgres://u:p@"+closedPort(t)+"/db", "RECON_LISTEN="+health)...)
	child := testkit.Child(t, "run")
	until(t, "alive", func() bool { return readyz(health) != 0 })
	if code := child.Stop(); code != 0 {
		t.Errorf("exit %d: %s", code, child.Output())
	}
}

func TestRealAddressOfHealthThatIsTakenIsExit1(t *testing.T) {
	p := newPlant(t, "1s,3s")
	spoken(t, p.with("RECON_LISTEN="+strings.Split(p.kafka, ",")[0]), []string{"run"}, 1, "RECON_LISTEN")
}
