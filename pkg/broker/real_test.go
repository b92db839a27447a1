package broker_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"recon/internal/testkit"
	"recon/pkg/broker"
)

func TestRealBrokerAcceptsEachMechanismAndRefusesEachWrongPassword(t *testing.T) {
	secured := testkit.KafkaSASL(t)
	for _, mechanism := range []string{broker.Plain, broker.ScramSHA256, broker.ScramSHA512} {
		t.Run(mechanism, func(t *testing.T) {
			c := broker.Config{Seeds: []string{secured.Address}, SASL: broker.SASL{Mechanism: mechanism, User: secured.User, Password: secured.Password}}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := broker.Await(ctx, 30*time.Second, client(t, c)); err != nil {
				t.Errorf("right password: %v", err)
			}
			c.SASL.Password = "wrong"
			err := broker.Ping(ctx, client(t, c))
			if !errors.Is(err, broker.ErrAuth) || !strings.Contains(err.Error(), secured.Address) {
				t.Errorf("wrong password: got %v, want %v at %s", err, broker.ErrAuth, secured.Address)
			}
		})
	}
}

func TestRealSecuredListenerWithoutLoginIsTold(t *testing.T) {
	secured := testkit.KafkaSASL(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := broker.Ping(ctx, client(t, broker.Config{Seeds: []string{secured.Address}}))
	if !errors.Is(err, broker.ErrProtocol) || !strings.Contains(err.Error(), "kafka.sasl.mechanism") {
		t.Errorf("got %v, want %v and the setting", err, broker.ErrProtocol)
	}
}

func TestRealPlainListenerAnswers(t *testing.T) {
	cl := client(t, broker.Config{Seeds: []string{testkit.Kafka(t)}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := broker.Ping(ctx, cl); err != nil {
		t.Error(err)
	}
}

func TestRealPlainListenerAskedForTLSIsTold(t *testing.T) {
	cl := client(t, broker.Config{Seeds: []string{testkit.Kafka(t)}, TLS: broker.TLS{Enabled: true}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := broker.Ping(ctx, cl); !errors.Is(err, broker.ErrTLS) || !strings.Contains(err.Error(), "RECON_KAFKA_TLS_ENABLED") {
		t.Errorf("got %v, want %v and the setting", err, broker.ErrTLS)
	}
}

// Pitfall M10: a wrong password is waited for until the start limit and then told in one sentence.
func TestRealWrongPasswordEndsTheStartWithOneSentence(t *testing.T) {
	secured := testkit.KafkaSASL(t)
	cl := client(t, broker.Config{Seeds: []string{secured.Address}, SASL: broker.SASL{Mechanism: broker.ScramSHA512, User: secured.User, Password: "wrong"}})
	err := broker.Await(t.Context(), 2*time.Second, cl)
	if !errors.Is(err, broker.ErrAuth) || !strings.HasPrefix(err.Error(), "waited 2s for Kafka") {
		t.Errorf("got %v, want %v after 2s", err, broker.ErrAuth)
	}
}
