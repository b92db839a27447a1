package broker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"recon/internal/testkit"
	"recon/pkg/broker"
)

// shelf is a virtual Kafka with topics of two partitions, a client that writes to them and one that asks.
type shelf struct {
	t *testing.T
	*testkit.Virtual
	cl  *kgo.Client
	adm *kadm.Client
}

func newShelf(t *testing.T, topics ...string) *shelf {
	t.Helper()
	s := &shelf{t: t, Virtual: testkit.NewVirtual(t, kfake.SeedTopics(2, topics...))}
	s.cl = s.client()
	s.adm = kadm.NewClient(s.cl)
	return s
}

func (s *shelf) client(more ...kgo.Opt) *kgo.Client {
	s.t.Helper()
	cl, err := kgo.NewClient(append(append(s.Options(), kgo.RecordPartitioner(kgo.ManualPartitioner())), more...)...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(cl.Close)
	return cl
}

// put writes values to a partition, each in a batch of its own, with their first letter as key.
func (s *shelf) put(cl *kgo.Client, topic string, partition int32, values ...string) {
	s.t.Helper()
	for _, v := range values {
		r := &kgo.Record{Topic: topic, Partition: partition, Key: []byte(v[:1]), Value: []byte(v)}
		if err := cl.ProduceSync(s.t.Context(), r).FirstErr(); err != nil {
			s.t.Fatal(err)
		}
	}
}

// transact writes values in a transaction and ends it.
func (s *shelf) transact(end kgo.TransactionEndTry, topic string, partition int32, values ...string) {
	s.t.Helper()
	cl := s.client(kgo.TransactionalID("feed"))
	defer cl.Close()
	if err := cl.BeginTransaction(); err != nil {
		s.t.Fatal(err)
	}
	s.put(cl, topic, partition, values...)
	if err := cl.EndTransaction(s.t.Context(), end); err != nil {
		s.t.Fatal(err)
	}
}

// truncate takes away what lies below offset.
func (s *shelf) truncate(topic string, partition int32, offset int64) {
	s.t.Helper()
	var to kadm.Offsets
	to.AddOffset(topic, partition, offset, -1)
	if _, err := s.adm.DeleteRecords(s.t.Context(), to); err != nil {
		s.t.Fatal(err)
	}
}

// read returns what lies in spans, by partition, and how many offsets were gone by.
func (s *shelf) read(spans ...broker.Span) (found map[string]string, passed int64) {
	s.t.Helper()
	found = make(map[string]string)
	r := broker.Reader{Options: s.Options(), Passed: func(n int64) { passed += n }}
	err := r.Read(s.t.Context(), spans, func(r *kgo.Record) error {
		at := fmt.Sprintf("%s/%d", r.Topic, r.Partition)
		found[at] = strings.TrimSpace(fmt.Sprintf("%s %d:%s", found[at], r.Offset, r.Value))
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return found, passed
}

func TestReadGivesWhatLiesInTheSpansInOrderAndNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t, "a", "b")
		s.put(s.cl, "a", 0, "p", "q", "r", "s")
		s.put(s.cl, "a", 1, "t", "u")
		s.put(s.cl, "b", 0, "v", "w")
		found, passed := s.read(
			broker.Span{Topic: "a", Partition: 0, From: 1, To: 3}, broker.Span{Topic: "a", Partition: 1, From: 0, To: 2},
			broker.Span{Topic: "b", Partition: 0, From: 2, To: 2}, broker.Span{Topic: "b", Partition: 1, From: 7, To: 3},
		)
		if got, want := fmt.Sprint(found), "map[a/0:1:q 2:r a/1:0:t 1:u]"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if passed != 4 {
			t.Errorf("%d offsets were gone by, want 4", passed)
		}
		if found, passed := s.read(); len(found) != 0 || passed != 0 {
			t.Errorf("no spans: got %v, %d offsets", found, passed)
		}
	})
}

// Offsets without a record to give are gone by like others, and a span that ends with one has an end.
func TestReadGoesByTransactionsMarkersAndCompactionsHoles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t, "a")
		s.put(s.cl, "a", 0, "p")
		s.transact(kgo.TryCommit, "a", 0, "q")      // 1, its marker 2
		s.transact(kgo.TryAbort, "a", 0, "x", "x")  // 3 and 4, its marker 5
		s.transact(kgo.TryCommit, "a", 0, "r", "s") // 6 and 7, its marker 8
		if err := s.Cluster.CreateTopic("c", 1, map[string]string{"cleanup.policy": "compact"}); err != nil {
			t.Fatal(err)
		}
		s.put(s.cl, "c", 0, "j0", "k1", "l2", "k3", "m4", "l5", "z6") // 1 and 2 go
		s.Cluster.Compact()
		for _, c := range []struct {
			name string
			span broker.Span
			want string
		}{
			{"all", broker.Span{Topic: "a", From: 0, To: 9}, "0:p 1:q 6:r 7:s"},
			{"ends before a marker", broker.Span{Topic: "a", From: 0, To: 2}, "0:p 1:q"},
			{"ends with a marker", broker.Span{Topic: "a", From: 1, To: 3}, "1:q"},
			{"only a marker", broker.Span{Topic: "a", From: 2, To: 3}, ""},
			{"ends within what was aborted", broker.Span{Topic: "a", From: 1, To: 4}, "1:q"},
			{"only what was aborted", broker.Span{Topic: "a", From: 3, To: 6}, ""},
			{"begins within what was aborted", broker.Span{Topic: "a", From: 4, To: 8}, "6:r 7:s"},
			{"begins in a hole", broker.Span{Topic: "c", From: 2, To: 5}, "3:k3 4:m4"},
			{"ends in a hole", broker.Span{Topic: "c", From: 0, To: 2}, "0:j0"},
			{"only a hole", broker.Span{Topic: "c", From: 1, To: 3}, ""},
		} {
			found, passed := s.read(c.span)
			if got := found[c.span.Topic+"/0"]; got != c.want {
				t.Errorf("%s: got %q, want %q", c.name, got, c.want)
			}
			if passed != c.span.Len() {
				t.Errorf("%s: %d offsets were gone by, want %d", c.name, passed, c.span.Len())
			}
		}
	})
}

func TestReadSaysWhatCouldNotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t, "a")
		s.put(s.cl, "a", 0, "p", "q", "r", "s")
		s.put(s.cl, "a", 1, "t")
		s.truncate("a", 0, 2)
		own := errors.New("enough")
		given := 0
		none := func(*kgo.Record) error { given++; return nil }
		for _, c := range []struct {
			name  string
			spans []broker.Span
			fn    func(*kgo.Record) error
			want  error
			says  string
			given int
		}{
			{"a beginning that is gone", []broker.Span{{"a", 0, 1, 4}}, none, kerr.OffsetOutOfRange, "reading a/0: ", 0},
			{"a topic that is not there", []broker.Span{{"x", 0, 0, 4}}, none, nil, "reading x/0 from 0 to 4: nothing came for 30s", 0},
			{"beyond the end", []broker.Span{{"a", 0, 2, 5}, {"a", 1, 0, 1}}, none, nil, "reading a/0 from 4 to 5: nothing came for 30s", 3},
			{"fn's own", []broker.Span{{"a", 0, 2, 4}}, func(*kgo.Record) error { given++; return own }, own, "enough", 1},
			{"one partition twice", []broker.Span{{"a", 0, 2, 3}, {"a", 0, 3, 4}}, none, nil, "a/0 from 3 to 4: a/0 from 2 to 3 is to be read as well", 0},
		} {
			given = 0
			err := broker.Reader{Options: s.Options()}.Read(t.Context(), c.spans, c.fn)
			if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: got %v, want %v that says %q", c.name, err, c.want, c.says)
			}
			if given != c.given {
				t.Errorf("%s: %d records were given, want %d", c.name, given, c.given)
			}
		}
	})
}

func TestReadGivesASilentBrokerUpAfterIdleAndStopsWhenItIsToldTo(t *testing.T) {
	stopped := errors.New("told to stop")
	for _, c := range []struct {
		name       string
		idle, stop time.Duration
		took       time.Duration
		says       string
	}{
		{"the usual", 0, time.Hour, 30 * time.Second, "reading a/0 from 0 to 1, a/1 from 0 to 1: nothing came for 30s; is a broker away?"},
		{"as told", 7 * time.Second, time.Hour, 7 * time.Second, "nothing came for 7s"},
		{"stopped", 0, 3 * time.Second, 3 * time.Second, "reading a/0 from 0 to 1, a/1 from 0 to 1: told to stop"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShelf(t, "a")
				s.put(s.cl, "a", 0, "p")
				s.put(s.cl, "a", 1, "q")
				link := s.NewLink()
				link.Freeze()
				defer link.Thaw()
				ctx, stop := context.WithCancelCause(t.Context())
				defer time.AfterFunc(c.stop, func() { stop(stopped) }).Stop()
				start := time.Now()
				err := broker.Reader{Options: link.Options(), Idle: c.idle}.Read(ctx, []broker.Span{{"a", 1, 0, 1}, {"a", 0, 0, 1}}, func(*kgo.Record) error {
					t.Error("a record came")
					return nil
				})
				if err == nil || !strings.Contains(err.Error(), c.says) || c.name == "stopped" != errors.Is(err, stopped) {
					t.Errorf("got %v, want %q", err, c.says)
				}
				if took := time.Since(start); took != c.took {
					t.Errorf("took %s, want %s", took, c.took)
				}
			})
		})
	}
}

// Each record starts the wait anew: reading may take longer than Idle.
func TestIdleIsBetweenRecordsNotOverAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t, "a")
		go func() {
			for range 5 {
				time.Sleep(4 * time.Second)
				s.put(s.cl, "a", 0, "p")
			}
		}()
		n := 0
		err := broker.Reader{Options: s.Options(), Idle: 5 * time.Second}.Read(t.Context(), []broker.Span{{"a", 0, 0, 5}}, func(*kgo.Record) error {
			n++
			return nil
		})
		if err != nil || n != 5 {
			t.Errorf("got %d records and %v, want 5 and no error", n, err)
		}
	})
}
