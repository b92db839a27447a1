package sandbox_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"recon/internal/sandbox"
)

// These open sockets of loopback, so they belong to the real suite; they need no service.
func real(t *testing.T) (folder string) {
	t.Helper()
	if testing.Short() {
		t.Skip("part of the real suite: it opens sockets")
	}
	folder = t.TempDir()
	t.Setenv("TMPDIR", folder)
	return folder
}

func entries(t *testing.T, folder string) int {
	t.Helper()
	found, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

func TestRealSandboxIsWholeAndGoneWhenClosed(t *testing.T) {
	folder := real(t)
	s, err := sandbox.Open("recon.main", 3)
	if err != nil {
		t.Fatal(err)
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.Brokers()...))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	topics, err := kadm.NewClient(cl).ListTopics(t.Context(), "recon.main")
	if err != nil || len(topics["recon.main"].Partitions) != 3 {
		t.Errorf("main has %d partitions, %v, want 3", len(topics["recon.main"].Partitions), err)
	}
	if err := s.Store.Open(t.Context(), false, false); err != nil {
		t.Errorf("store: %v", err)
	}
	if err := os.WriteFile(s.LedgerFile(), []byte("x"), 0o600); err != nil || filepath.Dir(filepath.Dir(s.LedgerFile())) != folder {
		t.Errorf("ledger at %s: %v", s.LedgerFile(), err)
	}
	brokers := s.Brokers()
	if err := s.Close(false); err != nil {
		t.Errorf("Close: %v", err)
	}
	if n := entries(t, folder); n != 0 {
		t.Errorf("%d folders are left", n)
	}
	if c, err := net.Dial("tcp", brokers[0]); err == nil {
		c.Close()
		t.Error("the broker still listens")
	}
}

func TestRealSandboxLeavesItsLedgerWhereAsked(t *testing.T) {
	real(t)
	s, err := sandbox.Open("recon.main", 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.LedgerFile(), []byte("books"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(true); err != nil {
		t.Errorf("Close: %v", err)
	}
	if b, err := os.ReadFile(s.LedgerFile()); err != nil || string(b) != "books" {
		t.Errorf("the ledger is %q, %v", b, err)
	}
}

func TestSandboxWithoutAFolderSaysSo(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "away"))
	s, err := sandbox.Open("recon.main", 1)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "a folder for the ledger") {
		t.Errorf("Open: %v, want the folder named", err)
	}
	if err == nil {
		_ = s.Close(false)
	}
}
