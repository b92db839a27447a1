package broker_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"recon/internal/testkit"
	"recon/pkg/broker"
)

func TestAwaitGoesOnUntilTheBrokerIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := testkit.NewVirtual(t)
		link := v.NewLink()
		cl := client(t, broker.Config{Seeds: v.Seeds(), Dialer: link.Dial})
		defer cl.Close()
		link.Cut()
		time.AfterFunc(12*time.Second, link.Mend)
		start := time.Now()
		if err := broker.Await(t.Context(), 30*time.Second, cl); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took < 12*time.Second || took > 14*time.Second {
			t.Errorf("took %s, want to notice within 2s of the broker's return after 12s", took)
		}
	})
}

func TestAwaitReachesTheBrokerBehindOneThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := testkit.NewVirtual(t)
		link := v.NewLink()
		here, there := net.Pipe()
		defer here.Close()
		const hung = "127.0.0.1:9"
		cl := client(t, broker.Config{Seeds: append([]string{hung}, v.Seeds()...), Dialer: func(ctx context.Context, network, address string) (net.Conn, error) {
			if address == hung {
				return there, nil
			}
			return link.Dial(ctx, network, address)
		}})
		defer cl.Close()
		if err := broker.Await(t.Context(), 15*time.Second, cl); err != nil {
			t.Error(err)
		}
	})
}

// A deadline of the caller's own is told like the timeout.
func TestAwaitExplainsTheCallersDeadlineToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := testkit.NewVirtual(t)
		link := v.NewLink()
		cl := client(t, broker.Config{Seeds: v.Seeds(), Dialer: link.Dial})
		defer cl.Close()
		link.Cut()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		err := broker.Await(ctx, 30*time.Second, cl)
		if !errors.Is(err, broker.ErrUnreachable) || !strings.HasPrefix(err.Error(), "waited 3s for Kafka") {
			t.Errorf("got %v, want a sentence about 3s", err)
		}
	})
}

// A wrong password, a silent broker and nobody there are waited for alike, to the end of the timeout, and then told.
func TestAwaitEndsWithOneSentence(t *testing.T) {
	tests := []struct {
		name    string
		opts    []kfake.Opt
		prepare func(*testkit.Link)
		sasl    broker.SASL
		want    error
	}{
		{"nobody", nil, (*testkit.Link).Cut, broker.SASL{}, broker.ErrUnreachable},
		{"silent", nil, (*testkit.Link).Freeze, broker.SASL{}, broker.ErrUnreachable},
		{"wrong password", []kfake.Opt{kfake.EnableSASL(), kfake.Superuser("PLAIN", "recon", "right")}, (*testkit.Link).Mend, broker.SASL{Mechanism: broker.Plain, User: "recon", Password: "wrong"}, broker.ErrProtocol},
		{"wrong password, silent at the end", []kfake.Opt{kfake.EnableSASL(), kfake.Superuser("PLAIN", "recon", "right")}, silentLater, broker.SASL{Mechanism: broker.Plain, User: "recon", Password: "wrong"}, broker.ErrProtocol},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := testkit.NewVirtual(t, tt.opts...)
				link := v.NewLink()
				cl := client(t, broker.Config{Seeds: v.Seeds(), Dialer: link.Dial, SASL: tt.sasl})
				defer cl.Close()
				defer link.Thaw()
				tt.prepare(link)
				start := time.Now()
				err := broker.Await(t.Context(), 30*time.Second, cl)
				if took := time.Since(start); took != 30*time.Second {
					t.Errorf("took %s, want exactly 30s", took)
				}
				if !errors.Is(err, tt.want) || !strings.HasPrefix(err.Error(), "waited 30s for Kafka: Kafka at ") || strings.Contains(err.Error(), "\n") {
					t.Errorf("got %v, want one sentence about %v", err, tt.want)
				}
			})
		})
	}
}

// silentLater lets a link freeze just before the wait of these tests ends.
func silentLater(link *testkit.Link) { time.AfterFunc(29*time.Second, link.Freeze) }

func TestAwaitStopsWhenItIsToldTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := testkit.NewVirtual(t)
		link := v.NewLink()
		cl := client(t, broker.Config{Seeds: v.Seeds(), Dialer: link.Dial})
		defer cl.Close()
		link.Cut()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, cancel)
		start := time.Now()
		if err := broker.Await(ctx, 30*time.Second, cl); err != context.Canceled {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("took %s, want 3s", took)
		}
	})
}
