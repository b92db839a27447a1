package consumer

import (
	"context"

	"recon/pkg/envelope"
)

// Handler posts one message. It is called by many goroutines at once, and may be called again for a message that it
// has posted: the process can end between the posting and its settling. Whoever keeps the postings therefore keeps
// them unique by source_hash and says so.
//
// nil means inserted now. *envelope.AlreadyPosted means that a posting of this source_hash stands in the way.
// Any other error is judged by fault.Of: its code decides between retry and dead letter; an error without a known
// code is poison. The message is a copy of the handler's own: letters show what came, whatever it writes there. A panic is the poison code HANDLER_PANIC.
type Handler interface {
	Handle(ctx context.Context, m *envelope.Message) error
}

// HandlerFunc makes a Handler of a function.
type HandlerFunc func(ctx context.Context, m *envelope.Message) error

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, m *envelope.Message) error { return f(ctx, m) }
