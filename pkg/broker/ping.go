package broker

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
)

// What Ping and Await find, for errors.Is. The text of the error says which brokers were tried, what came, and which
// setting to look at.
var (
	ErrUnreachable = errors.New("no broker answers")
	ErrAuth        = errors.New("no login with this user and password")
	ErrTLS         = errors.New("broker and client do not agree on TLS")
	ErrProtocol    = errors.New("something answers, but the conversation fails")
)

// Patience is how long a broker is waited for where nobody says how long.
const Patience = 30 * time.Second

// The pause between two attempts grows. An attempt has no limit of its own: the client gives a connection that hangs up
// after 10 s and goes on to the next broker, which a shorter limit would never reach.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = time.Second
)

// Ping asks one broker for a sign of life. Nil means that one answers and accepts us. Otherwise the error is one of
// ErrUnreachable, ErrAuth, ErrTLS and ErrProtocol in one sentence, or ctx's when the caller cancelled.
func Ping(ctx context.Context, cl *kgo.Client) error {
	err := cl.Ping(ctx)
	if err == nil {
		return nil
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return explained(cl, err)
}

// Await waits until a broker answers and accepts us, for at most timeout; a wrong password is waited for as well,
// because at start it may be on its way to the broker. Its error is the last one of Ping with the time waited, or
// ctx's when the caller cancelled.
func Await(ctx context.Context, timeout time.Duration, cl *kgo.Client) error {
	return patiently(ctx, timeout, func(ctx context.Context) (bool, error) { return true, Ping(ctx, cl) })
}

// patiently asks until the answer is good or not worth asking again, or timeout is over, or the caller cancels. Its
// error is the answer, with the time waited where that ended it, or ctx's when the caller cancelled.
func patiently(ctx context.Context, timeout time.Duration, ask func(context.Context) (again bool, err error)) error {
	waiting, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	start, last := time.Now(), error(nil)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		again, err := ask(waiting)
		cut := waiting.Err() != nil
		if err == nil || !again && !cut {
			return err
		}
		// An answer cut off by the end of the wait says less than the one before it.
		if last == nil || !cut {
			last = err
		}
		select {
		case <-waiting.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return ctx.Err()
			}
			return fmt.Errorf("waited %s for Kafka: %w", time.Since(start).Round(100*time.Millisecond), last)
		case <-time.After(pause):
		}
	}
}

// explained puts a client's error into a sentence for the person who configures.
func explained(cl *kgo.Client, err error) error {
	hint, kind := diagnosis(err, encrypts(cl), authenticates(cl))
	return fmt.Errorf("%s: %w (%w): %s", tried(cl), kind, err, hint)
}

func diagnosis(err error, encrypts, authenticates bool) (hint string, kind error) {
	var (
		closed *kgo.ErrFirstReadEOF
		record tls.RecordHeaderError
		broken *net.OpError
		cert   *tls.CertificateVerificationError
		signer x509.UnknownAuthorityError
	)
	switch {
	case errors.Is(err, kerr.SaslAuthenticationFailed), errors.Is(err, kerr.IllegalSaslState):
		return "look at kafka.sasl.user and kafka.sasl.password (RECON_KAFKA_SASL_USER, RECON_KAFKA_SASL_PASSWORD)", ErrAuth
	case errors.Is(err, errPassword):
		return "look at kafka.sasl.password_file (RECON_KAFKA_SASL_PASSWORD_FILE)", ErrAuth
	case errors.Is(err, kerr.UnsupportedSaslMechanism):
		return "the broker does not offer kafka.sasl.mechanism (RECON_KAFKA_SASL_MECHANISM)", ErrAuth
	case errors.As(err, &cert), errors.As(err, &signer):
		return "look at kafka.tls.ca_file and kafka.tls.server_name (RECON_KAFKA_TLS_CA_FILE, RECON_KAFKA_TLS_SERVER_NAME)", ErrTLS
	case errors.As(err, &record):
		return "this listener does not speak TLS: look at kafka.tls.enabled (RECON_KAFKA_TLS_ENABLED) and the port in kafka.brokers", ErrTLS
	case errors.As(err, &broken) && broken.Op == "remote error": // a TLS alert, by the documentation of crypto/tls
		return "the broker wants another certificate: look at kafka.tls.cert_file (RECON_KAFKA_TLS_CERT_FILE)", ErrTLS
	case errors.As(err, &closed) && encrypts:
		return "look at kafka.tls.enabled (RECON_KAFKA_TLS_ENABLED) and the port in kafka.brokers", ErrTLS
	case errors.Is(err, io.EOF) && authenticates:
		return "look at kafka.sasl.password and kafka.tls.enabled (RECON_KAFKA_SASL_PASSWORD, RECON_KAFKA_TLS_ENABLED) and the port in kafka.brokers", ErrProtocol
	case errors.As(err, &closed):
		return "it expects TLS or a login: look at kafka.tls.enabled and kafka.sasl.mechanism (RECON_KAFKA_TLS_ENABLED, RECON_KAFKA_SASL_MECHANISM)", ErrProtocol
	}
	var network net.Error
	switch {
	case !errors.As(err, &network) && !errors.Is(err, io.EOF):
		return "look at the port in kafka.brokers (RECON_KAFKA_BROKERS) and at kafka.tls.enabled (RECON_KAFKA_TLS_ENABLED)", ErrProtocol
	case encrypts:
		return "look at kafka.brokers (RECON_KAFKA_BROKERS) and whether Kafka runs there and speaks TLS", ErrUnreachable
	}
	return "look at kafka.brokers (RECON_KAFKA_BROKERS) and whether Kafka runs there", ErrUnreachable
}

// tried names the brokers and how we spoke to them.
func tried(cl *kgo.Client) string {
	seeds, _ := cl.OptValue(kgo.SeedBrokers).([]string)
	said := "Kafka at " + strings.Join(seeds, ", ")
	if mechanisms, _ := cl.OptValue(kgo.SASL).([]sasl.Mechanism); len(mechanisms) > 0 {
		said += " with " + mechanisms[0].Name()
	}
	if encrypts(cl) {
		said += " over TLS"
	}
	return said
}

func encrypts(cl *kgo.Client) bool {
	config, _ := cl.OptValue(kgo.DialTLSConfig).(*tls.Config)
	return config != nil
}

func authenticates(cl *kgo.Client) bool {
	mechanisms, _ := cl.OptValue(kgo.SASL).([]sasl.Mechanism)
	return len(mechanisms) > 0
}
