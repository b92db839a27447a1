// Package replay is the way back: it tells from the topics which dead letters are open, asks the gates whether one may
// return, and puts its original on main again.
//
// Its promise: a letter comes back at most once, as one root and generation, byte for byte; whatever was cut off in
// between is found again and completed by the next run; and no letter leaves the open set without a disposition that
// says who took it out and why.
package replay

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/audit"
	"recon/pkg/dedup"
	"recon/pkg/envelope"
)

// Producer writes records; *kgo.Client is one. An error given to done means unknown, never "not written".
// The client needs all acks, idempotence, and topics.Partitioner: originals go to the partition that the record names.
type Producer interface {
	Produce(ctx context.Context, r *kgo.Record, done func(*kgo.Record, error))
}

// Journal takes the evidence; *audit.Chain is one. nil: acknowledged. After an error the same entries may be handed in
// again.
type Journal interface {
	Append(ctx context.Context, entries ...audit.Entry) error
}

// Store is what a run needs of the dedup store; dedup.Store is one.
type Store interface {
	Get(ctx context.Context, hash string) (dedup.Value, bool, error)
	Reserve(ctx context.Context, r dedup.Reservation) (dedup.ReserveAnswer, error)
	AcquireLease(ctx context.Context, owner string) (*dedup.Lease, error)
}

// Prechecker is what a handler may offer: would it post this message now? It reads and never writes. nil: it would.
type Prechecker interface {
	Precheck(ctx context.Context, m *envelope.Message) error
}

// Postings is what a ledger may offer: who posted this hash? nil, nil: nobody did.
type Postings interface {
	Lookup(ctx context.Context, sourceHash string) (*envelope.AlreadyPosted, error)
}
