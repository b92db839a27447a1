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
	"github.com/twmb/franz-go/pkg/kmsg"

	"recon/pkg/broker"
)

// The requests in which a broker may say that it has no coordinator for a group.
const (
	offsetFetch     = int16(kmsg.OffsetFetch)
	findCoordinator = int16(kmsg.FindCoordinator)
)

const always = 1 << 30

// refuse makes the broker answer requests of a kind with an error for the group, n times.
func (s *shelf) refuse(key int16, with *kerr.Error, n int) {
	s.Cluster.ControlKey(key, func(req kmsg.Request) (kmsg.Response, error, bool) {
		s.Cluster.KeepControl()
		if n--; n < 0 {
			s.Cluster.DropControl()
			return nil, nil, false
		}
		resp := req.ResponseKind()
		switch resp := resp.(type) {
		case *kmsg.OffsetFetchResponse:
			group := kmsg.NewOffsetFetchResponseGroup()
			group.Group, group.ErrorCode = req.(*kmsg.OffsetFetchRequest).Groups[0].Group, with.Code
			resp.Groups = append(resp.Groups, group)
		case *kmsg.FindCoordinatorResponse:
			one := kmsg.NewFindCoordinatorResponseCoordinator()
			one.Key, one.ErrorCode = req.(*kmsg.FindCoordinatorRequest).CoordinatorKeys[0], with.Code
			resp.Coordinators = append(resp.Coordinators, one)
		}
		return resp, nil, true
	})
}

func (s *shelf) commit(group string, partition int32, offset int64) {
	s.t.Helper()
	var at kadm.Offsets
	at.AddOffset("a", partition, offset, -1)
	if err := s.adm.CommitAllOffsets(s.t.Context(), group, at); err != nil {
		s.t.Fatal(err)
	}
}

func TestCommittedGivesAGroupsOffsetsAndNoneOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t, "a")
		s.commit("mine", 1, 5)
		for _, c := range []struct{ group, want string }{{"mine", "1 partitions, a/1@5 true"}, {"nobody", "0 partitions, a/1@0 false"}} {
			got, err := broker.Committed(t.Context(), time.Second, s.adm, c.group)
			if err != nil {
				t.Fatal(err)
			}
			at, any := got.Lookup("a", 1)
			if said := fmt.Sprintf("%d partitions, a/1@%d %v", len(got["a"]), at.At, any); said != c.want || (len(got) > 0) != any {
				t.Errorf("%s: got %s (%d topics), want %s", c.group, said, len(got), c.want)
			}
		}
	})
}

// A broker may name a partition of which nothing is committed, with offset -1.
func TestAnOffsetBelowZeroIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t, "a")
		s.Cluster.ControlKey(offsetFetch, func(req kmsg.Request) (kmsg.Response, error, bool) {
			s.Cluster.KeepControl()
			resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
			group, topic, p := kmsg.NewOffsetFetchResponseGroup(), kmsg.NewOffsetFetchResponseGroupTopic(), kmsg.NewOffsetFetchResponseGroupTopicPartition()
			p.Offset, topic.Topic, group.Group = -1, "a", "mine"
			topic.Partitions = append(topic.Partitions, p)
			group.Topics = append(group.Topics, topic)
			resp.Groups = append(resp.Groups, group)
			return resp, nil, true
		})
		if got, err := broker.Committed(t.Context(), time.Second, s.adm, "mine"); err != nil || len(got) != 0 {
			t.Errorf("got %v and %v, want none", got, err)
		}
	})
}

func TestCommittedWaitsForTheCoordinatorOfABrokerThatHasJustStarted(t *testing.T) {
	for _, c := range []struct {
		name string
		key  int16
		with *kerr.Error
	}{
		{"none found", findCoordinator, kerr.CoordinatorNotAvailable},
		{"none yet", offsetFetch, kerr.CoordinatorNotAvailable},
		{"loading", offsetFetch, kerr.CoordinatorLoadInProgress},
		{"moved", offsetFetch, kerr.NotCoordinator},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShelf(t, "a")
				s.commit("mine", 0, 5)
				s.refuse(c.key, c.with, 40) // the client alone gives up after 20
				got, err := broker.Committed(t.Context(), 5*time.Minute, kadm.NewClient(s.client()), "mine")
				if at, any := got.Lookup("a", 0); err != nil || !any || at.At != 5 {
					t.Errorf("got %v and %v, want offset 5", got, err)
				}
			})
		})
	}
}

func TestCommittedEndsWithOneSentenceThatNamesTheGroup(t *testing.T) {
	for _, c := range []struct {
		name      string
		key       int16
		with      *kerr.Error
		patience  time.Duration
		want      error
		took      time.Duration
		beginning string
	}{
		{"never a coordinator", findCoordinator, kerr.CoordinatorNotAvailable, time.Minute, kerr.CoordinatorNotAvailable, time.Minute, "waited 1m0s for Kafka: committed offsets of group mine: "},
		{"never loaded", offsetFetch, kerr.CoordinatorLoadInProgress, 2 * time.Second, kerr.CoordinatorLoadInProgress, 2 * time.Second, "waited 2s for Kafka: committed offsets of group mine: "},
		{"refused", offsetFetch, kerr.GroupAuthorizationFailed, time.Minute, kerr.GroupAuthorizationFailed, 0, "committed offsets of group mine: "},
		{"refused to find", findCoordinator, kerr.GroupAuthorizationFailed, time.Minute, kerr.GroupAuthorizationFailed, 0, "committed offsets of group mine: "},
		{"unknown", offsetFetch, kerr.GroupIDNotFound, time.Minute, nil, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShelf(t, "a")
				if err := broker.Ping(t.Context(), s.cl); err != nil {
					t.Fatal(err)
				}
				s.refuse(c.key, c.with, always)
				start := time.Now()
				got, err := broker.Committed(t.Context(), c.patience, s.adm, "mine")
				switch {
				case c.beginning == "":
					if err != nil || len(got) != 0 {
						t.Errorf("got %v and %v, want none", got, err)
					}
				case err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.HasPrefix(err.Error(), c.beginning):
					t.Errorf("got %v, want %v", err, c.want)
				}
				if took := time.Since(start); took != c.took {
					t.Errorf("took %s, want %s", took, c.took)
				}
			})
		})
	}
}

func TestCommittedStopsWhenItIsToldTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t, "a")
		s.refuse(findCoordinator, kerr.CoordinatorNotAvailable, always)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, cancel)
		start := time.Now()
		if _, err := broker.Committed(ctx, time.Hour, s.adm, "mine"); err != context.Canceled {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("took %s, want 3s", took)
		}
	})
}
