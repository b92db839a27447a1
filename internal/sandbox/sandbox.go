// Package sandbox is everything that the service stands on, inside one process and gone with it: a broker, a dedup
// store and a folder for a SQLite ledger. It is for the demo and for trying things out, never for real records.
package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/twmb/franz-go/pkg/kfake"

	"recon/pkg/dedup"
)

// Sandbox is a running sandbox.
type Sandbox struct {
	Store  dedup.Store
	broker *kfake.Cluster
	dir    string
}

// Open starts one on a free port of loopback. main is the topic that upstream would own; it gets so many partitions.
func Open(main string, partitions int32) (*Sandbox, error) {
	dir, err := os.MkdirTemp("", "recon-demo-")
	if err != nil {
		return nil, fmt.Errorf("a folder for the ledger: %w", err)
	}
	store, err := dedup.NewMemory(dedup.Options{})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(partitions, main))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("embedded broker: %w", err), os.RemoveAll(dir))
	}
	return &Sandbox{Store: store, broker: cluster, dir: dir}, nil
}

// Brokers are the embedded broker's addresses.
func (s *Sandbox) Brokers() []string { return s.broker.ListenAddrs() }

// LedgerFile is where a SQLite ledger may lie.
func (s *Sandbox) LedgerFile() string { return filepath.Join(s.dir, "ledger.sqlite") }

// Close ends broker and store. The folder goes too, unless it is to be kept.
func (s *Sandbox) Close(keep bool) error {
	s.broker.Close()
	errs := []error{s.Store.Close()}
	if !keep {
		errs = append(errs, os.RemoveAll(s.dir))
	}
	return errors.Join(errs...)
}
