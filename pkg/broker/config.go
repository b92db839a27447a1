// Package broker is how anyone here dials Kafka: addresses, TLS, SASL, client id and logger in one Config, and one
// question, Ping, whose error names what was tried and which setting to look at.
//
// It also reads what everyone asks of a topic or a group: where a topic begins and ends, a span of it, and what a group
// has committed.
//
// Promise: a wrong address, password or certificate is said in one sentence. The Kafka client alone keeps silent: a
// poll returns nothing at all when the password is wrong or no broker answers.
package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"go.uber.org/zap"
)

// The SASL mechanisms.
const (
	Plain       = "plain"
	ScramSHA256 = "scram-sha-256"
	ScramSHA512 = "scram-sha-512"
)

// Config says how to reach Kafka. Only Seeds are required.
type Config struct {
	Seeds    []string // host:port of some brokers; the client learns the others
	ClientID string   // how the broker's logs and quotas call this client; default recon
	TLS      TLS
	SASL     SASL

	// Dialer replaces net.Dialer, for tests over a network in memory. TLS, where enabled, runs over it.
	Dialer func(ctx context.Context, network, address string) (net.Conn, error)
	// Logger receives the client's warnings and errors, everything when it logs at debug. nil: silent.
	Logger *zap.Logger
}

// TLS says how the connection is encrypted. Files are PEM.
type TLS struct {
	Enabled           bool
	CAFile            string // who signs the brokers' certificates; default: the system's authorities
	CertFile, KeyFile string // the client's own certificate, read anew for each connection
	ServerName        string // the name in the brokers' certificate, where it is not the host dialled
}

// SASL says who we are to the brokers.
type SASL struct {
	Mechanism    string // Plain, ScramSHA256 or ScramSHA512; empty: no SASL
	User         string
	Password     string
	PasswordFile string // in place of Password: read anew for each login, so that it may be rotated
}

// String hides the password, so that a printed Config does not tell it.
func (s SASL) String() string {
	if s.Mechanism == "" {
		return "off"
	}
	return s.Mechanism + " as " + s.User
}

// GoString hides the password from %#v too.
func (s SASL) GoString() string { return s.String() }

// Validate reports every mistake at once, each with the full name of its setting. It does no I/O.
func (c Config) Validate() error {
	var errs []error
	wrong := func(is bool, format string, args ...any) {
		if is {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	wrong(len(c.Seeds) == 0, "kafka.brokers (RECON_KAFKA_BROKERS) is empty: give host:port of at least one broker")
	for _, seed := range c.Seeds {
		if flaw := flawed(seed); flaw != "" {
			shown := seed[strings.LastIndexByte(seed, '@')+1:] // what stands before it may be a password
			wrong(true, "kafka.brokers: %q %s: give host:port, user and password under kafka.sasl", shown, flaw)
		}
	}
	t, s := c.TLS, c.SASL
	wrong(!t.Enabled && t != (TLS{}), "kafka.tls.enabled is false, but other settings of kafka.tls are given: set it to true or leave them out")
	wrong((t.CertFile == "") != (t.KeyFile == ""), "kafka.tls.cert_file and kafka.tls.key_file belong together: give both or none")
	switch s.Mechanism {
	case "":
		wrong(s != (SASL{}), "kafka.sasl.mechanism is empty, but other settings of kafka.sasl are given: give %s, %s or %s", Plain, ScramSHA256, ScramSHA512)
	case Plain, ScramSHA256, ScramSHA512:
		wrong(s.User == "", "kafka.sasl.user (RECON_KAFKA_SASL_USER) is empty")
		wrong(s.Password == "" && s.PasswordFile == "", "kafka.sasl.password (RECON_KAFKA_SASL_PASSWORD, or the file RECON_KAFKA_SASL_PASSWORD_FILE) is empty")
		wrong(s.Password != "" && s.PasswordFile != "", "kafka.sasl.password and kafka.sasl.password_file are both given: give one")
	default:
		wrong(true, "kafka.sasl.mechanism %q: give %s, %s or %s", s.Mechanism, Plain, ScramSHA256, ScramSHA512)
	}
	return errors.Join(errs...)
}

// flawed says what is wrong with an address, empty when nothing is. The port may be left out: Kafka's is 9092.
func flawed(seed string) string {
	switch {
	case seed == "":
		return "is empty"
	case strings.ContainsAny(seed, " \t,;"):
		return "holds more than one address or a blank"
	case strings.Contains(seed, "/"):
		return "is a URL or a path"
	}
	host, port, err := net.SplitHostPort(seed)
	if err != nil {
		if strings.Count(seed, ":") == 0 {
			return ""
		}
		return "has no port that can be told from the host"
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "has no port between 1 and 65535"
	}
	if host == "" {
		return "has no host"
	}
	return ""
}
