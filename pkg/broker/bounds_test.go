package broker_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"recon/pkg/broker"
)

// An open transaction hides what lies behind its beginning, for it is not decided yet.
func TestBoundsAreWhereAReadCommittedReaderBeginsAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t, "b", "a", "other")
		s.put(s.cl, "a", 0, "p", "q", "r")
		s.put(s.cl, "a", 1, "t")
		s.put(s.cl, "b", 1, "v", "w")
		s.truncate("a", 0, 2)
		s.truncate("a", 1, 1)
		feed := s.client(kgo.TransactionalID("feed"))
		if err := feed.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		s.put(feed, "b", 1, "x")
		got, err := broker.Bounds(t.Context(), s.adm, "b", "a")
		if err != nil {
			t.Fatal(err)
		}
		if want := []broker.Span{{"a", 0, 2, 3}, {"a", 1, 1, 1}, {"b", 0, 0, 0}, {"b", 1, 0, 2}}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		if got, err := broker.Bounds(t.Context(), s.adm); len(got) > 0 || err != nil {
			t.Errorf("of no topics: got %v and %v, want nothing", got, err)
		}
		if err := feed.EndTransaction(t.Context(), kgo.TryAbort); err != nil {
			t.Fatal(err)
		}
	})
}

// list makes the broker answer where the partitions of a topic begin (timestamp -2) and end (-1).
func (s *shelf) list(topic string, answer func(timestamp int64) (int64, *kerr.Error)) {
	s.Cluster.ControlKey(int16(kmsg.ListOffsets), func(req kmsg.Request) (kmsg.Response, error, bool) {
		s.Cluster.KeepControl()
		resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
		for _, asked := range req.(*kmsg.ListOffsetsRequest).Topics {
			if asked.Topic != topic {
				return nil, nil, false
			}
			found := kmsg.NewListOffsetsResponseTopic()
			found.Topic = topic
			for _, p := range asked.Partitions {
				partition := kmsg.NewListOffsetsResponseTopicPartition()
				partition.Partition = p.Partition
				offset, err := answer(p.Timestamp)
				if partition.Offset = offset; err != nil {
					partition.ErrorCode = err.Code
				}
				found.Partitions = append(found.Partitions, partition)
			}
			resp.Topics = append(resp.Topics, found)
		}
		return resp, nil, true
	})
}

func TestBoundsNamesTheTopicThatIsMissingAndWhatItMayNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t, "a")
		for _, topics := range [][]string{{"gone"}, {"a", "gone"}} {
			if _, err := broker.Bounds(t.Context(), s.adm, topics...); !errors.Is(err, broker.ErrNoTopic) || !strings.Contains(err.Error(), "the topic does not exist: gone") {
				t.Errorf("%v: got %v, want %v that names the topic", topics, err, broker.ErrNoTopic)
			}
		}
		failing := kerr.UnknownServerError
		s.list("a", func(int64) (int64, *kerr.Error) { return -1, failing })
		if _, err := broker.Bounds(t.Context(), s.adm, "a"); !errors.Is(err, failing) || !strings.Contains(err.Error(), "a/0") && !strings.Contains(err.Error(), "a/1") {
			t.Errorf("got %v, want %v that names the partition", err, failing)
		}
		for range 20 { // the answers come in any order
			if _, err := broker.Bounds(t.Context(), s.adm, "a", "gone"); !errors.Is(err, broker.ErrNoTopic) {
				t.Fatalf("got %v, want %v: it says more", err, broker.ErrNoTopic)
			}
		}
		failing = kerr.TopicAuthorizationFailed
		var denied *kadm.AuthError
		if _, err := broker.Bounds(t.Context(), s.adm, "a"); !errors.As(err, &denied) || !strings.Contains(err.Error(), "where a end") {
			t.Errorf("got %v, want a refusal that names the topic", err)
		}
	})
}

// Between the two questions retention may take what the first one saw.
func TestBoundsOfALogThatIsTruncatedMeanwhileAreEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t, "a")
		s.list("a", func(timestamp int64) (int64, *kerr.Error) {
			if timestamp == -2 {
				return 9, nil
			}
			return 5, nil
		})
		got, err := broker.Bounds(t.Context(), s.adm, "a")
		if want := []broker.Span{{"a", 0, 9, 9}, {"a", 1, 9, 9}}; err != nil || !slices.Equal(got, want) {
			t.Errorf("got %v and %v, want %v", got, err, want)
		}
	})
}
