package testkit_test

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"recon/internal/testkit"
)

func TestHoursOfGroupLifePassAtOnceInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := testkit.NewVirtual(t, kfake.SeedTopics(3, "main", "tier"))
		client := virtualClient(t, v.Options(), kgo.ConsumerGroup("g"), kgo.ConsumeTopics("main", "tier"), kgo.AutoCommitMarks())
		const want = 1000
		for i := range want {
			client.Produce(t.Context(), &kgo.Record{Topic: "main", Key: []byte(strconv.Itoa(i))}, nil)
		}
		for got := 0; got < want; {
			client.PollFetches(t.Context()).EachRecord(func(r *kgo.Record) {
				if r.Topic == "tier" {
					got++
				} else {
					client.Produce(t.Context(), &kgo.Record{Topic: "tier", Key: r.Key}, nil)
				}
				client.MarkCommitRecords(r)
			})
		}
		began := time.Now()
		time.Sleep(6 * time.Hour)
		if err := client.CommitMarkedOffsets(t.Context()); err != nil {
			t.Errorf("commit after %s: %v", time.Since(began), err)
		}
	})
}

func TestCutMemberLosesItsPartitionsToTheOtherAndItsRecordsComeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := testkit.NewVirtual(t, kfake.SeedTopics(1, "main"))
		lost := make(chan struct{}, 1)
		member := []kgo.Opt{kgo.ConsumerGroup("g"), kgo.ConsumeTopics("main"), kgo.AutoCommitMarks(), kgo.SessionTimeout(10 * time.Second)}
		link := v.NewLink()
		first := virtualClient(t, link.Options(), append(member, kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, m map[string][]int32) {
			if len(m) > 0 {
				lost <- struct{}{}
			}
		}))...)
		produce(t, first, "main")
		if got := pollOne(t, first); got.Offset != 0 {
			t.Fatalf("offset: got %d, want 0", got.Offset)
		}
		link.Cut()
		second := virtualClient(t, v.Options(), member...)
		if got := pollOne(t, second); got.Offset != 0 {
			t.Fatalf("the other member's first offset: got %d, want the unmarked 0 again", got.Offset)
		}
		link.Mend()
		polling, stop := context.WithCancel(t.Context())
		defer stop()
		go func() {
			for polling.Err() == nil {
				first.PollFetches(polling)
			}
		}()
		<-lost
	})
}

func TestFrozenLinkAnswersNothingUntilItThaws(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := testkit.NewVirtual(t, kfake.SeedTopics(1, "main"))
		link := v.NewLink()
		client := virtualClient(t, link.Options())
		produce(t, client, "main")
		link.Freeze()
		began := time.Now()
		time.AfterFunc(5*time.Second, link.Thaw)
		produce(t, client, "main")
		if got := time.Since(began); got != 5*time.Second {
			t.Errorf("acknowledged after %s of virtual time, want 5s", got)
		}
	})
}

func TestDialWhereNobodyListensIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if conn, err := testkit.NewVirtual(t).NewLink().Dial(t.Context(), "tcp", "127.0.0.1:1"); err == nil {
			conn.Close()
			t.Error("got a connection, want an error")
		}
	})
}

func TestCutLinkRefusesToDialUntilItIsMended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := testkit.NewVirtual(t)
		link := v.NewLink()
		link.Cut()
		if conn, err := link.Dial(t.Context(), "tcp", v.Seeds()[0]); err == nil {
			conn.Close()
			t.Fatal("a cut link dials")
		}
		link.Mend()
		conn, err := link.Dial(t.Context(), "tcp", v.Seeds()[0])
		if err != nil {
			t.Fatalf("a mended link: %v", err)
		}
		link.Cut()
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Error("a connection of a cut link still reads")
		}
	})
}

func TestVirtualKafkasOfOneBubbleKnowNothingOfEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, other := testkit.NewVirtual(t, kfake.SeedTopics(1, "main")), testkit.NewVirtual(t, kfake.SeedTopics(1, "main"))
		produce(t, virtualClient(t, one.Options()), "main")
		for _, row := range []struct {
			v    *testkit.Virtual
			want int64
		}{{one, 1}, {other, 0}} {
			offsets, err := kadm.NewClient(virtualClient(t, row.v.Options())).ListEndOffsets(t.Context(), "main")
			if err != nil {
				t.Fatal(err)
			}
			if end, _ := offsets.Lookup("main", 0); end.Offset != row.want {
				t.Errorf("end offset: got %d, want %d", end.Offset, row.want)
			}
		}
	})
}

// virtualClient makes a client that is closed before the virtual Kafka is.
func virtualClient(t *testing.T, link []kgo.Opt, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	return newClient(t, append(append(link, kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())), opts...)...)
}

func produce(t *testing.T, client *kgo.Client, topic string) {
	t.Helper()
	if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: []byte("v")}).FirstErr(); err != nil {
		t.Fatalf("produce to %s: %v", topic, err)
	}
}

// pollOne polls until a record comes.
func pollOne(t *testing.T, client *kgo.Client) *kgo.Record {
	t.Helper()
	for t.Context().Err() == nil {
		if records := client.PollFetches(t.Context()).Records(); len(records) > 0 {
			return records[0]
		}
	}
	t.Fatal("no record came")
	return nil
}
