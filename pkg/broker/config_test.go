package broker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/broker"
)

func TestEveryMistakeIsReportedTogetherWithItsSetting(t *testing.T) {
	tests := []struct {
		name string
		c    broker.Config
		want []string
	}{
		{"nothing given", broker.Config{}, []string{"kafka.brokers (RECON_KAFKA_BROKERS) is empty"}},
		{"seeds", broker.Config{Seeds: []string{"", "a:1,b:2", "kafka://a:1", "a:0", "a:65536", "a:x", ":9092", "::1"}}, []string{
			`kafka.brokers: "" is empty`, `"a:1,b:2" holds more than one`, `"kafka://a:1" is a URL`, `"a:0" has no port between`,
			`"a:65536" has no port between`, `"a:x" has no port between`, `":9092" has no host`, `"::1" has no port that`,
		}},
		{"TLS without the switch", broker.Config{Seeds: ok, TLS: broker.TLS{CAFile: "ca.pem"}}, []string{"kafka.tls.enabled is false"}},
		{"half a certificate", broker.Config{Seeds: ok, TLS: broker.TLS{Enabled: true, CertFile: "c.pem"}}, []string{"kafka.tls.cert_file and kafka.tls.key_file"}},
		{"password without mechanism", broker.Config{Seeds: ok, SASL: broker.SASL{Password: "x"}}, []string{"kafka.sasl.mechanism is empty"}},
		{"unknown mechanism", broker.Config{Seeds: ok, SASL: broker.SASL{Mechanism: "SCRAM"}}, []string{`kafka.sasl.mechanism "SCRAM": give plain, scram-sha-256 or scram-sha-512`}},
		{"no user, no password", broker.Config{Seeds: ok, SASL: broker.SASL{Mechanism: broker.Plain}}, []string{"kafka.sasl.user (RECON_KAFKA_SASL_USER) is empty", "kafka.sasl.password (RECON_KAFKA_SASL_PASSWORD"}},
		{"two passwords", broker.Config{Seeds: ok, SASL: broker.SASL{Mechanism: broker.Plain, User: "u", Password: "p", PasswordFile: "f"}}, []string{"kafka.sasl.password and kafka.sasl.password_file are both"}},
		{"several at once", broker.Config{TLS: broker.TLS{Enabled: true, KeyFile: "k"}, SASL: broker.SASL{Mechanism: "x"}}, []string{"kafka.brokers", "kafka.tls.cert_file", "kafka.sasl.mechanism"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.c.Validate()
			if err == nil {
				t.Fatal("got no error")
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != len(tt.want) {
				t.Errorf("got %d mistakes, want %d:\n%v", len(lines), len(tt.want), err)
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("missing %q in:\n%v", part, err)
				}
			}
			if _, optErr := tt.c.Options(); optErr == nil || optErr.Error() != err.Error() {
				t.Errorf("Options: got %v, want what Validate says", optErr)
			}
		})
	}
}

var ok = []string{"localhost:9092"}

// Who writes a URL where an address belongs does not find the password in the log.
func TestPasswordInAnAddressIsNotRepeated(t *testing.T) {
	err := broker.Config{Seeds: []string{"kafka://user:s3cr@et@host:9092"}}.Validate()
	if err == nil || strings.Contains(err.Error(), "s3cr") || strings.Contains(err.Error(), "et@") || !strings.Contains(err.Error(), "host:9092") {
		t.Errorf("got %v, want the host without the password", err)
	}
}

func TestUsualConfigurationsAreValid(t *testing.T) {
	for _, c := range []broker.Config{
		{Seeds: []string{"a:9092", "b", "[::1]:9092", "10.0.0.1:1"}},
		{Seeds: ok, TLS: broker.TLS{Enabled: true}},
		{Seeds: ok, SASL: broker.SASL{Mechanism: broker.ScramSHA256, User: "u", PasswordFile: "f"}},
		{Seeds: ok, SASL: broker.SASL{Mechanism: broker.ScramSHA512, User: "u", Password: "p"}},
	} {
		if err := c.Validate(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestAPrintedConfigurationDoesNotTellThePassword(t *testing.T) {
	c := broker.Config{Seeds: ok, SASL: broker.SASL{Mechanism: broker.Plain, User: "recon", Password: "hunter2"}}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := fmt.Sprintf(format, c); strings.Contains(got, "hunter2") || !strings.Contains(got, "plain as recon") {
			t.Errorf("%s: got %s", format, got)
		}
	}
	if got := (broker.SASL{}).String(); got != "off" {
		t.Errorf("no SASL: got %q, want off", got)
	}
}

func TestFilesThatCannotBeUsedAreAllNamedAtStart(t *testing.T) {
	dir := t.TempDir()
	empty, text := filepath.Join(dir, "empty"), filepath.Join(dir, "text")
	write(t, empty, "\n")
	write(t, text, "no certificate\n")
	missing := filepath.Join(dir, "missing")
	tests := []struct {
		name string
		tls  broker.TLS
		file string
		want []string
	}{
		{"missing", broker.TLS{Enabled: true, CAFile: missing}, missing, []string{"kafka.tls.ca_file: open " + missing, "kafka.sasl.password_file: open " + missing}},
		{"without content", broker.TLS{Enabled: true, CAFile: text}, empty, []string{"kafka.tls.ca_file: " + text + " holds no certificate", "kafka.sasl.password_file: " + empty + " is empty"}},
		{"no key pair", broker.TLS{Enabled: true, CertFile: text, KeyFile: text}, text, []string{"kafka.tls.cert_file " + text + " with kafka.tls.key_file"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := broker.Config{Seeds: ok, TLS: tt.tls, SASL: broker.SASL{Mechanism: broker.Plain, User: "u", PasswordFile: tt.file}}
			_, err := c.Options()
			for _, part := range tt.want {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("missing %q in: %v", part, err)
				}
			}
		})
	}
}

func TestTheClientIDIsTheConfiguredOneOrRecon(t *testing.T) {
	for given, want := range map[string]string{"": "recon", "mine": "mine"} {
		opts, err := broker.Config{Seeds: ok, ClientID: given}.Options()
		if err != nil {
			t.Fatal(err)
		}
		cl, err := kgo.NewClient(opts...)
		if err != nil {
			t.Fatal(err)
		}
		if got := cl.OptValue(kgo.ClientID).(string); got != want {
			t.Errorf("given %q: got %q, want %q", given, got, want)
		}
		cl.Close()
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
