package consumer_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/consumer"
	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// The first and the last entry of a chain are written like all others: again, until they are acknowledged.
func TestChainBeginsAndEndsThoughItsWritesAreRefusedAtFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		left := new(atomic.Int64)
		left.Store(3)
		m := w.start(nil, consumer.WithProducer(func(p consumer.Producer) consumer.Producer { return refusing{p, w.names.Audit(), left, false} }))
		w.send(messages(0, 3)...)
		w.until(time.Minute, "the postings", func() bool { return w.ledger.posted() == 3 && w.lag() == 0 })
		if n := left.Load(); n >= 0 {
			t.Fatalf("%d refusals left: the genesis was not among them", n)
		}
		left.Store(3)
		m.end(t)
		if n := left.Load(); n >= 0 {
			t.Errorf("%d refusals left: the closing entry was not among them", n)
		}
	})
}

// A member that cannot begin its trail holds no partition, and a stop waits for nothing then.
func TestNobodyJoinsBeforeTheTrailHasBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		left := new(atomic.Int64)
		left.Store(1 << 40)
		m := w.start(nil, consumer.WithProducer(func(p consumer.Producer) consumer.Producer { return refusing{p, w.names.Audit(), left, false} }))
		w.until(time.Minute, "a refusal", func() bool { return w.count(consumer.WriteRefused) > 2 })
		groups, err := kadm.NewClient(w.out).DescribeGroups(t.Context(), w.group)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(groups[w.group].Members); n != 0 {
			t.Errorf("%d members in the group, want none", n)
		}
		began := time.Now()
		m.end(t)
		if took := time.Since(began); took > time.Second { // of the bubble's time
			t.Errorf("the stop took %s", took)
		}
	})
}

// Pitfall H6: whatever a handler writes into its message, the letter and the next attempt have what came.
func TestHandlerThatWritesIntoItsMessageChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		rec := message(1)
		rec.Key = []byte("key")
		rec.Headers = append(rec.Headers, kgo.RecordHeader{Key: "own", Value: []byte("header")})
		value := string(rec.Value)
		var seen []string
		w.ledger.script = func(_ context.Context, m *envelope.Message) error {
			seen = append(seen, string(m.Key)+string(m.Value)+string(m.Headers[len(m.Headers)-1].Value)+m.SourceHash)
			for _, b := range [][]byte{m.Key, m.Value, m.Headers[len(m.Headers)-1].Value} {
				for i := range b {
					b[i] = 'x'
				}
			}
			m.SourceHash, m.Digest, m.LedgerEntity, m.Root.Offset = "another", "another", "another", 99
			if m.Attempt == 0 {
				return fault.New(fault.LockContention, "lock is held")
			}
			return fault.New(fault.CurrencyUnmapped, "no mapping")
		}
		m := w.start(nil)
		w.send(rec)
		w.until(time.Minute, "the letter", func() bool { return w.count(consumer.DeadLettered) == 1 })
		m.end(t)
		l := w.letters()[0]
		key, original, headers := l.Original.Key, l.Original.Value, l.Original.Headers
		if string(key) != "key" || string(original) != value || string(headers[len(headers)-1].Value) != "header" {
			t.Errorf("letter has %q %q %q, want what came", key, original, headers)
		}
		if l.Message.SourceHash != "hash-000001" {
			t.Errorf("letter names %v", l.Message.SourceHash)
		}
		if len(seen) != 2 || seen[0] != seen[1] {
			t.Errorf("attempts saw %q, want the same twice", seen)
		}
	})
}

// A letter that no topic takes could end nowhere: that is told before the first record, not found out by one.
func TestTopicThatTakesNoWholeLetterIsRefusedAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		for _, topic := range []string{w.names.DLQ(), w.names.Audit()} {
			limit := func(n int) {
				set := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "max.message.bytes", Value: kadm.StringPtr(strconv.Itoa(n))}}
				if _, err := kadm.NewClient(w.out).AlterTopicConfigs(t.Context(), set, topic); err != nil {
					t.Fatal(err)
				}
			}
			limit(64<<10 - 1)
			m := w.start(nil)
			<-m.done
			if !errors.Is(m.err, consumer.ErrTopicTooSmall) {
				t.Errorf("%s: Run returned %v, want ErrTopicTooSmall", topic, m.err)
			}
			limit(64 << 10)
		}
		m := w.start(nil)
		w.assigned()
		m.end(t)
	})
}

// Compaction keeps one record of a key, and a key is an entity's: all but the latest letter would be gone.
func TestCompactedTopicIsRefusedAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, short)
		for _, topic := range []string{w.names.Main(), w.names.Tier(short[0]), w.names.DLQ()} {
			policy := func(s string) {
				set := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "cleanup.policy", Value: &s}}
				if _, err := kadm.NewClient(w.out).AlterTopicConfigs(t.Context(), set, topic); err != nil {
					t.Fatal(err)
				}
			}
			policy("compact")
			m := w.start(nil)
			<-m.done
			if !errors.Is(m.err, consumer.ErrTopicCompacted) || !strings.Contains(m.err.Error(), topic) {
				t.Errorf("%s: Run returned %v, want ErrTopicCompacted that names it", topic, m.err)
			}
			policy("delete")
		}
		m := w.start(nil)
		w.assigned()
		m.end(t)
	})
}

// Pitfall M3, S1 on the real broker: see TestMemberThrownOutAndToldByACommitJoinsAnewAndLosesNothing.
func TestRealMemberThrownOutJoinsAnewAndLosesNothing(t *testing.T) {
	for _, protocol := range []consumer.Protocol{consumer.ProtocolClassic, consumer.ProtocolConsumer} {
		t.Run(string(protocol), func(t *testing.T) {
			w := newRealWorld(t, short)
			m := w.start([]func(*consumer.Config){func(c *consumer.Config) { c.Protocol, c.CommitInterval = protocol, 100*time.Millisecond }})
			w.until(time.Minute, "assignment", func() bool { return m.gone() || w.count(consumer.Assigned) > 0 })
			if m.gone() {
				t.Fatal(m.err)
			}
			sent := 0
			for range 3 {
				for range 10 {
					w.send(messages(sent, sent+60)...)
					sent += 60
				}
				if protocol == consumer.ProtocolClassic { // nobody throws a member out of the other kind of group
					w.kick()
				}
				w.until(time.Minute, "all", func() bool { return w.ledger.posted() == sent && w.lag() == 0 })
			}
			m.end(t)
			for hash, n := range w.ledger.inserts {
				if n != 1 {
					t.Errorf("%s inserted %d times", hash, n)
				}
			}
			if n := w.count(consumer.Expelled); protocol == consumer.ProtocolClassic && n == 0 {
				t.Error("never thrown out: the test shows nothing")
			}
		})
	}
}
