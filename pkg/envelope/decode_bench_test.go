package envelope_test

import (
	"bytes"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/envelope"
)

// typical is a message of about 500 bytes with every field and two unknown members.
var typical = []byte(`{"message_id":"0b0f6c1e-8e0c-4a53-9a3f-0d8a7c1f2e11","source_hash":"v1:sha256:4f0a6b1e9d3c8f7a2b5d6e1f0a9c8b7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a1b",` +
	`"ledger_entity":"DE-4711-GIRO","currency":"EUR","amount":"-12345.67","match_decision":"UNMATCHED","booking_date":"2026-03-31","value_date":"2026-04-01",` +
	`"reversal":false,"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","counterpart_ref":"INV-2026-000123","match_deadline":"2026-04-15T18:00:00+02:00",` +
	`"source_system":"camt053","remittance":"Rechnung 4711","feed_line":17}`)

func BenchmarkDecode(b *testing.B) {
	headers := []kgo.RecordHeader{{Key: "traceparent", Value: []byte("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")}}
	b.SetBytes(int64(len(typical)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := envelope.Decode(typical, headers); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTokens is what reading the bare tokens with jsontext costs: the yardstick of BenchmarkDecode.
func BenchmarkTokens(b *testing.B) {
	b.SetBytes(int64(len(typical)))
	b.ReportAllocs()
	dec := jsontext.NewDecoder(bytes.NewBuffer(nil))
	for b.Loop() {
		dec.Reset(bytes.NewBuffer(typical))
		for {
			if _, err := dec.ReadToken(); err != nil {
				break
			}
		}
	}
}
