package observe_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"recon/internal/observe"
	"recon/pkg/consumer"
	"recon/pkg/envelope"
)

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestReadyFollowsTheEngineAndLiveDoesNot(t *testing.T) {
	var why atomic.Pointer[[]string]
	why.Store(&[]string{"dedup store: connection refused"})
	h, err := observe.Serve("127.0.0.1:0", func() []string { return *why.Load() })
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	base := "http://" + h.Address()
	if code, _ := get(t, base+"/livez"); code != 200 {
		t.Errorf("livez %d, want 200: the process is alive", code)
	}
	if code, body := get(t, base+"/readyz?verbose"); code != 503 || !strings.Contains(body, "connection refused") {
		t.Errorf("readyz %d %q, want 503 and the reason", code, body)
	}
	if _, body := get(t, base+"/readyz"); strings.Contains(body, "connection refused") {
		t.Errorf("readyz tells %q without being asked for it", body)
	}
	why.Store(&[]string{})
	if code, _ := get(t, base+"/readyz"); code != 200 {
		t.Errorf("readyz %d, want 200", code)
	}
}

func TestAddressThatIsTakenIsNamedWithItsSetting(t *testing.T) {
	h, err := observe.Serve("127.0.0.1:0", func() []string { return nil })
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if _, err := observe.Serve(h.Address(), func() []string { return nil }); err == nil || !strings.Contains(err.Error(), "RECON_LISTEN") {
		t.Errorf("Serve returned %v, want the setting named", err)
	}
}

// Pitfall T8: a wait that goes as planned is no warning; payloads never reach the log.
func TestLogLevelsFollowTheKindAndPayloadsStayOut(t *testing.T) {
	core, logs := observer.New(zapcore.DebugLevel)
	tell := observe.Log(zap.New(core))
	m := &envelope.Message{SourceHash: "hash-000001", Value: []byte("payload"), Key: []byte("key")}
	for _, kind := range []consumer.Kind{consumer.Posted, consumer.RetryScheduled, consumer.DeadLettered, consumer.WriteRefused, consumer.Unclassified} {
		tell(consumer.Event{Kind: kind, Message: m, Err: errors.New("why")})
	}
	want := []zapcore.Level{zap.DebugLevel, zap.InfoLevel, zap.WarnLevel, zap.ErrorLevel, zap.WarnLevel}
	for i, entry := range logs.All() {
		if entry.Level != want[i] {
			t.Errorf("%s at %s, want %s", entry.Message, entry.Level, want[i])
		}
		if fields := entry.ContextMap(); fields["source_hash"] != "hash-000001" {
			t.Errorf("%s: fields %v, want the source_hash", entry.Message, fields)
		}
		for _, f := range entry.Context {
			if strings.Contains(f.String, "payload") {
				t.Errorf("%s tells the payload in %s", entry.Message, f.Key)
			}
		}
	}
}
