package main_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"recon/internal/testkit"
	"recon/pkg/dedup"
	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/replay"
	"recon/pkg/topics"
)

// shelf is an embedded broker with what a consumer and replayers have left on it: the same bytes each time.
type shelf struct {
	t     *testing.T
	addrs []string
	names topics.Names
	cl    *kgo.Client
}

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

func newShelf(t *testing.T, missing ...string) *shelf {
	t.Helper()
	s := &shelf{t: t}
	names := []string{s.names.Main(), s.names.Tier(30 * time.Second), s.names.DLQ(), s.names.Dispositions(), s.names.Audit()}
	for _, m := range missing {
		for i := range names {
			if names[i] == m {
				names[i] = names[0]
			}
		}
	}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(3, names...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	s.addrs = cluster.ListenAddrs()
	testkit.Settings(t, "RECON_KAFKA_BROKERS="+strings.Join(s.addrs, ","))
	if s.cl, err = kgo.NewClient(kgo.SeedBrokers(s.addrs...), kgo.RecordPartitioner(kgo.ManualPartitioner())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.cl.Close)
	return s
}

func (s *shelf) write(rs ...*kgo.Record) {
	s.t.Helper()
	if err := s.cl.ProduceSync(s.t.Context(), rs...).FirstErr(); err != nil {
		s.t.Fatal(err)
	}
}

// letter puts the letter of record n on main into the DLQ.
func (s *shelf) letter(n int, entity, currency, amount string) *envelope.Letter {
	s.t.Helper()
	value := fmt.Appendf(nil, `{"source_hash":"hash-%06d","ledger_entity":%q,"currency":%q,"amount":%q,"match_decision":"MATCHED","booking_date":"2026-01-15","source_system":"bank"}`, n, entity, currency, amount)
	if entity == "" {
		value = []byte("no message at all")
	}
	root := envelope.Coordinates{Topic: s.names.Main(), Partition: int32(n % 3), Offset: int64(n)}
	l := &envelope.Letter{
		FailureCode: fault.FailedPoison, FailureClass: fault.Poison, ErrorCode: fault.CurrencyUnmapped, SourceStage: fault.StageCurrency,
		ErrorDetail: "currency is not in the ledger's table currencies", AttemptCount: 1, Lineage: envelope.Lineage{Root: root},
		Origin: envelope.Origin{Coordinates: root, LeaderEpoch: -1}, Original: envelope.Original{Key: []byte("key"), Value: value},
		FirstSeenAt: noon.Add(time.Duration(n) * time.Minute), DeadLetteredAt: noon.Add(time.Duration(n)*time.Minute + time.Second),
		Producer: envelope.Producer{Service: "recon-consumer", Version: "1.0", Instance: "one"},
		History: []envelope.Attempt{{
			Attempt: 1, At: noon, Stage: fault.StageCurrency, FailureClass: fault.Poison, ErrorCode: fault.CurrencyUnmapped,
			ErrorDetail: "currency is not in the ledger's table currencies", Took: 12 * time.Millisecond, Instance: "one",
		}},
	}
	m, err := envelope.Decode(value, nil)
	if err != nil {
		v := fault.Of(err)
		l.FailureCode, l.ErrorCode, l.SourceStage, l.ErrorDetail = v.Failure, v.Code, v.Stage, v.Detail
	}
	m.Identify(root)
	l.Message = m.Facts()
	body, err := l.Encode()
	if err != nil {
		s.t.Fatal(err)
	}
	s.write(&kgo.Record{Topic: s.names.DLQ(), Partition: root.Partition, Key: []byte("key"), Value: body, Headers: l.Headers()})
	return l
}

// disposed puts a disposition of l into its topic, n minutes after noon.
func (s *shelf) disposed(l *envelope.Letter, state envelope.State, n int, code fault.Failure) {
	s.t.Helper()
	id := envelope.EnvelopeID(l.Lineage.Root, l.Lineage.Generation)
	d := &envelope.Disposition{
		EnvelopeID: id, Root: l.Lineage.Root, State: state, Code: code, SourceHash: l.Message.SourceHash, Entity: l.Message.LedgerEntity,
		Currency: l.Message.Currency, Amount: l.Message.Amount, Actor: "kim", Reason: "mended", RootCause: "mapping_missing", Ticket: "T-1",
		RunID: "run-1", PlanID: "plan-1", Note: "as it was", At: noon.Add(time.Duration(n) * time.Minute),
	}
	if state == envelope.Reinjected {
		d.ReplayID = envelope.ReplayID(id)
	}
	body, err := d.Encode()
	if err != nil {
		s.t.Fatal(err)
	}
	s.write(&kgo.Record{Topic: s.names.Dispositions(), Key: []byte(id), Value: body})
}

// fill is one letter of each kind that a reading command tells apart, and one record on a tier.
func (s *shelf) fill() (open *envelope.Letter) {
	s.t.Helper()
	open = s.letter(1, "ACME", "SEK", "-1234.5")
	refused := s.letter(2, "ACME", "JPY", "1000")
	s.disposed(refused, envelope.Refused, 10, fault.FailedCauseNotFixed)
	flying := s.letter(3, "BETA", "EUR", "0.25")
	s.disposed(flying, envelope.Reinjected, 11, "")
	ended := s.letter(4, "BETA", "EUR", "99.75")
	s.disposed(ended, envelope.Reinjected, 12, "")
	s.disposed(ended, envelope.Confirmed, 13, "")
	s.letter(5, "", "", "")
	s.write(&kgo.Record{Topic: s.names.DLQ(), Value: []byte("no letter")})
	retry := envelope.Retry{
		Root: envelope.Coordinates{Topic: s.names.Main(), Offset: 6}, MessageID: envelope.MessageID(envelope.Coordinates{Topic: s.names.Main(), Offset: 6}),
		Attempt: 2, FirstSeen: noon, Due: noon.Add(time.Hour), Stage: fault.StageCounterpart, Class: fault.Transient, Code: fault.CounterpartNotArrived,
	}
	value := []byte(`{"source_hash":"hash-000006","ledger_entity":"ACME","currency":"EUR","amount":"7.50","match_decision":"PARTIAL"}`)
	s.write(&kgo.Record{Topic: s.names.Tier(30 * time.Second), Value: value, Headers: retry.Append(nil)})
	return open
}

// plan makes one of everything that is open, in the memory of this test.
func (s *shelf) plan(life time.Duration) *replay.Plan {
	s.t.Helper()
	store, err := dedup.NewMemory(dedup.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	defer store.Close()
	if err := store.Open(s.t.Context(), false, false); err != nil {
		s.t.Fatal(err)
	}
	opts := []kgo.Opt{kgo.SeedBrokers(s.addrs...)}
	f, err := replay.Read(s.t.Context(), opts, s.names, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := replay.New(replay.Config{
		Topics: s.names, Options: opts, Store: store, Gates: []replay.Gate{replay.Integrity{}}, Actor: "kim", Reason: "mended",
		RootCause: "mapping_missing", PlanLife: life,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	p, err := r.Plan(s.t.Context(), f, replay.Selection{All: true})
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}
