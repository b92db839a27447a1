package consumer

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/broker"
	"recon/pkg/dedup"
	"recon/pkg/envelope"
)

// A log that was cut behind what was read holds other records at those offsets: whoever went on would skip them.
func TestDataLossEndsTheEngine(t *testing.T) {
	store, err := dedup.NewMemory(dedup.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := HandlerFunc(func(context.Context, *envelope.Message) error { return nil })
	e, err := New(Config{Broker: broker.Config{Seeds: []string{"127.0.0.1:1"}}}, h, store)
	if err != nil {
		t.Fatal(err)
	}
	e.pollErrors(t.Context(), kgo.NewErrFetch(&kgo.ErrDataLoss{Topic: "recon.main", Partition: 1, ConsumedTo: 100, ResetTo: 90}), time.Now())
	if cause := e.end.Load().cause(); !errors.Is(cause, ErrOffsetGone) {
		t.Errorf("ended by %v, want ErrOffsetGone", cause)
	}
}
