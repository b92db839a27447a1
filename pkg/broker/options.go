package broker

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
	"github.com/twmb/franz-go/plugin/kzap"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// DefaultClientID is the client id where none is configured.
const DefaultClientID = "recon"

// sameLines is how many equal lines of the client pass in a second. A topic that may not be read yields 450 errors a
// second and partition (Apache Kafka 4.3.1).
const sameLines = 5

// Options returns what kgo.NewClient needs to connect; what the client is for, the caller adds. It reads the files
// that the configuration names. Its errors are those of Validate, and one for each file that cannot be used, all
// together.
func (c Config) Options() ([]kgo.Opt, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	id := c.ClientID
	if id == "" {
		id = DefaultClientID
	}
	opts := []kgo.Opt{kgo.SeedBrokers(c.Seeds...), kgo.ClientID(id)}
	if c.Logger != nil {
		opts = append(opts, kgo.WithLogger(logger(c.Logger)))
	}
	config, tlsErr := c.TLS.config()
	mechanism, saslErr := c.SASL.mechanism()
	if err := errors.Join(tlsErr, saslErr); err != nil {
		return nil, err
	}
	if mechanism != nil {
		opts = append(opts, kgo.SASL(mechanism))
	}
	switch {
	case c.Dialer != nil && config != nil:
		opts = append(opts, kgo.Dialer(encrypted(c.Dialer, config)))
	case c.Dialer != nil:
		opts = append(opts, kgo.Dialer(c.Dialer))
	case config != nil:
		opts = append(opts, kgo.DialTLSConfig(config))
	}
	return opts, nil
}

// logger passes warnings and errors on, or everything where debug is wanted: at info the client tells its every step.
func logger(l *zap.Logger) kgo.Logger {
	level := kgo.LogLevelWarn
	if l.Core().Enabled(zap.DebugLevel) {
		level = kgo.LogLevelDebug
	}
	sampled := l.Named("kafka").WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		return zapcore.NewSamplerWithOptions(core, time.Second, sameLines, 0)
	}))
	return kzap.New(sampled, kzap.Level(level))
}

// config is nil where TLS is off.
func (t TLS) config() (*tls.Config, error) {
	if !t.Enabled {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("kafka.tls.ca_file: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("kafka.tls.ca_file: %s holds no certificate in PEM form", t.CAFile)
		}
	}
	if t.CertFile != "" {
		own := func() (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
			if err != nil {
				return nil, fmt.Errorf("kafka.tls.cert_file %s with kafka.tls.key_file %s: %w", t.CertFile, t.KeyFile, err)
			}
			return &pair, nil
		}
		if _, err := own(); err != nil {
			return nil, err
		}
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return own() }
	}
	return config, nil
}

// mechanism is nil where SASL is off.
func (s SASL) mechanism() (sasl.Mechanism, error) {
	if s.Mechanism == "" {
		return nil, nil
	}
	if _, err := s.password(); err != nil {
		return nil, err
	}
	asScram := func(context.Context) (scram.Auth, error) {
		password, err := s.password()
		return scram.Auth{User: s.User, Pass: password}, err
	}
	switch s.Mechanism {
	case ScramSHA256:
		return scram.Sha256(asScram), nil
	case ScramSHA512:
		return scram.Sha512(asScram), nil
	}
	return plain.Plain(func(context.Context) (plain.Auth, error) {
		password, err := s.password()
		return plain.Auth{User: s.User, Pass: password}, err
	}), nil
}

// errPassword marks a secret that cannot be read, at start or later at a login.
var errPassword = errors.New("kafka.sasl.password_file")

// password reads the secret; a file may end in line breaks that do not belong to it.
func (s SASL) password() (string, error) {
	if s.PasswordFile == "" {
		return s.Password, nil
	}
	content, err := os.ReadFile(s.PasswordFile)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errPassword, err)
	}
	content = bytes.TrimRight(content, "\r\n")
	if len(content) == 0 {
		return "", fmt.Errorf("%w: %s is empty", errPassword, s.PasswordFile)
	}
	return string(content), nil
}

type dialer = func(ctx context.Context, network, address string) (net.Conn, error)

// encrypted puts TLS over a dialler; kgo does it only for its own.
func encrypted(dial dialer, config *tls.Config) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		config := config.Clone()
		if config.ServerName == "" {
			config.ServerName, _, _ = net.SplitHostPort(address)
		}
		secured := tls.Client(conn, config)
		if err := secured.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
			return nil, err
		}
		return secured, nil
	}
}
