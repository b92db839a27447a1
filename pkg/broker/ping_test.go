package broker_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"recon/pkg/broker"
)

// Pitfall M10: what the poll keeps silent about, Ping says, with the setting to look at.
func TestPingNamesTheFaultTheBrokerAndTheSetting(t *testing.T) {
	own, ca := certificate(t)
	plain := cluster(t)
	refusing, plainOnly := refusing(t), plainOnly(t)
	mutual := cluster(t, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{own}, ClientAuth: tls.RequireAnyClientCert}))
	login := cluster(t, kfake.EnableSASL(), kfake.Superuser("PLAIN", "recon", "right"), kfake.Superuser("SCRAM-SHA-512", "recon", "right"))
	secure := cluster(t, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{own}}))
	other := stranger(t)

	as := func(mechanism, password string) broker.SASL {
		return broker.SASL{Mechanism: mechanism, User: "recon", Password: password}
	}
	tests := []struct {
		name string
		at   string
		tls  broker.TLS
		sasl broker.SASL
		want error
		says []string
	}{
		{"plain", plain, broker.TLS{}, broker.SASL{}, nil, nil},
		{"right password", login, broker.TLS{}, as(broker.Plain, "right"), nil, nil},
		{"right password, SCRAM", login, broker.TLS{}, as(broker.ScramSHA512, "right"), nil, nil},
		{"TLS", secure, broker.TLS{Enabled: true, CAFile: ca}, broker.SASL{}, nil, nil},
		{"wrong password", refusing, broker.TLS{}, as(broker.Plain, "wrong"), broker.ErrAuth, []string{refusing, "with PLAIN", "RECON_KAFKA_SASL_PASSWORD"}},
		{"wrong password, SCRAM", refusing, broker.TLS{}, as(broker.ScramSHA512, "wrong"), broker.ErrAuth, []string{"with SCRAM-SHA-512", "RECON_KAFKA_SASL_PASSWORD"}},
		{"wrong password, broker hangs up", login, broker.TLS{}, as(broker.ScramSHA512, "wrong"), broker.ErrProtocol, []string{"RECON_KAFKA_SASL_PASSWORD"}},
		{"mechanism not offered", plainOnly, broker.TLS{}, as(broker.ScramSHA256, "right"), broker.ErrAuth, []string{"SCRAM-SHA-256", "RECON_KAFKA_SASL_MECHANISM"}},
		{"no login where one is needed", login, broker.TLS{}, broker.SASL{}, broker.ErrProtocol, []string{login, "RECON_KAFKA_SASL_MECHANISM"}},
		{"nobody there", "127.0.0.1:1", broker.TLS{}, broker.SASL{}, broker.ErrUnreachable, []string{"127.0.0.1:1", "refused", "RECON_KAFKA_BROKERS"}},
		{"unknown signer", secure, broker.TLS{Enabled: true, CAFile: other}, broker.SASL{}, broker.ErrTLS, []string{"over TLS", "RECON_KAFKA_TLS_CA_FILE"}},
		{"another name", secure, broker.TLS{Enabled: true, CAFile: ca, ServerName: "kafka.example.org"}, broker.SASL{}, broker.ErrTLS, []string{"RECON_KAFKA_TLS_SERVER_NAME"}},
		{"TLS to what speaks none", web(t), broker.TLS{Enabled: true, CAFile: ca}, broker.SASL{}, broker.ErrTLS, []string{"RECON_KAFKA_TLS_ENABLED"}},
		{"no TLS where it is needed", secure, broker.TLS{}, broker.SASL{}, broker.ErrProtocol, []string{secure, "tls", "RECON_KAFKA_TLS_ENABLED"}},
		{"no Kafka at all", web(t), broker.TLS{}, broker.SASL{}, broker.ErrProtocol, []string{"HTTP", "the port in kafka.brokers"}},
		{"our own certificate", mutual, keyPair(t, broker.TLS{Enabled: true, CAFile: ca}, own), broker.SASL{}, nil, nil},
		{"no certificate of our own", mutual, broker.TLS{Enabled: true, CAFile: ca}, broker.SASL{}, broker.ErrTLS, []string{"RECON_KAFKA_TLS_CERT_FILE"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cl := client(t, broker.Config{Seeds: []string{tt.at}, TLS: tt.tls, SASL: tt.sasl})
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			err := broker.Ping(ctx, cl)
			if !errors.Is(err, tt.want) {
				t.Fatalf("got %v, want %v", err, tt.want)
			}
			for _, part := range tt.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in: %v", part, err)
				}
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("not one sentence: %v", err)
			}
		})
	}
}

func TestAPasswordFileIsReadAnewForEachLogin(t *testing.T) {
	login := cluster(t, kfake.EnableSASL(), kfake.Superuser("PLAIN", "recon", "new"), kfake.Superuser("SCRAM-SHA-256", "recon", "new"))
	for _, mechanism := range []string{broker.Plain, broker.ScramSHA256} {
		file := filepath.Join(t.TempDir(), "password")
		write(t, file, "old\n")
		cl := client(t, broker.Config{Seeds: []string{login}, SASL: broker.SASL{Mechanism: mechanism, User: "recon", PasswordFile: file}})
		if err := broker.Ping(t.Context(), cl); !errors.Is(err, broker.ErrProtocol) {
			t.Errorf("%s, old password: got %v, want %v", mechanism, err, broker.ErrProtocol)
		}
		write(t, file, "")
		if err := broker.Ping(t.Context(), cl); !errors.Is(err, broker.ErrAuth) || !strings.Contains(err.Error(), "RECON_KAFKA_SASL_PASSWORD_FILE") {
			t.Errorf("%s, no password: got %v, want the file named", mechanism, err)
		}
		write(t, file, "new\r\n")
		if err := broker.Ping(t.Context(), cl); err != nil {
			t.Errorf("%s, new password: %v", mechanism, err)
		}
	}
}

func TestTLSRunsOverADialerOfOnesOwn(t *testing.T) {
	own, ca := certificate(t)
	secure := cluster(t, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{own}}))
	var dialled int
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		dialled++
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	cl := client(t, broker.Config{Seeds: []string{secure}, TLS: broker.TLS{Enabled: true, CAFile: ca}, Dialer: dial})
	if err := broker.Ping(t.Context(), cl); err != nil || dialled == 0 {
		t.Errorf("got %v after %d dials, want an answer through the dialler", err, dialled)
	}
}

// Pitfall M11: a client that complains hundreds of times a second does not flood the log.
func TestTheClientsLogIsBoundedAndQuietAboutItsSteps(t *testing.T) {
	for _, tt := range []struct {
		level    zapcore.Level
		at, want int
		log      kgo.LogLevel
	}{
		{zap.InfoLevel, 1000, 5, kgo.LogLevelWarn},
		{zap.InfoLevel, 10, 0, kgo.LogLevelInfo},
		{zap.DebugLevel, 1, 1, kgo.LogLevelInfo},
	} {
		core, logs := observer.New(tt.level)
		cl := client(t, broker.Config{Seeds: ok, Logger: zap.New(core)})
		logger := cl.OptValue(kgo.WithLogger).(kgo.Logger)
		before := logs.FilterMessage("the same").Len()
		for range tt.at {
			if logger.Level() >= tt.log {
				logger.Log(tt.log, "the same", "topic", "recon.main")
			}
		}
		if got := logs.FilterMessage("the same").Len() - before; got != tt.want {
			t.Errorf("%d lines of %s to a logger at %s: got %d, want %d", tt.at, tt.log, tt.level, got, tt.want)
		}
	}
}
