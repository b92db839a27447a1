package replay_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"recon/internal/testkit"
	"recon/pkg/dedup"
	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/replay"
	"recon/pkg/topics"
)

const partitions = 3

var short = topics.Ladder{2 * time.Second, 30 * time.Second}

// world is one Kafka, virtual or real, with a dedup store, a ledger, a journal, and what a consumer has left in them.
type world struct {
	t       *testing.T
	kafka   *testkit.Virtual // nil: the real one at seed
	seed    string
	names   topics.Names
	store   dedup.Store
	ledger  *ledger
	journal *journal
	out     *kgo.Client
	taken   map[string]int // how many records of a root and generation the consumer of the rig has accepted
	read    map[int32]int64
}

// newWorld must be called inside a synctest bubble.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, names: topics.Names{Prefix: "recon"}}
	w.kafka = testkit.NewVirtual(t, kfake.SeedTopics(partitions, w.names.Written(short)...))
	store, err := dedup.NewMemory(dedup.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return w.open(store)
}

func (w *world) open(store dedup.Store) *world {
	w.t.Helper()
	w.store, w.ledger, w.journal = store, &ledger{rows: map[string]*envelope.AlreadyPosted{}}, &journal{}
	w.taken, w.read = map[string]int{}, map[int32]int64{}
	if err := store.Open(w.t.Context(), false, false); err != nil {
		w.t.Fatal(err)
	}
	w.out = w.client(kgo.RecordPartitioner(topics.Partitioner(w.names)))
	return w
}

func (w *world) options() []kgo.Opt {
	if w.kafka != nil {
		return w.kafka.Options()
	}
	return []kgo.Opt{kgo.SeedBrokers(w.seed)}
}

func (w *world) client(opts ...kgo.Opt) *kgo.Client {
	w.t.Helper()
	cl, err := kgo.NewClient(append(w.options(), opts...)...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(cl.Close)
	return cl
}

func (w *world) write(rs ...*kgo.Record) {
	w.t.Helper()
	if err := w.out.ProduceSync(w.t.Context(), rs...).FirstErr(); err != nil {
		w.t.Fatal(err)
	}
}

// value is the message number n of entity, 10.50 and more.
func value(n int, entity string) []byte {
	return fmt.Appendf(nil, `{"source_hash":"hash-%06d","ledger_entity":%q,"currency":"EUR","amount":"%d.50","match_decision":"MATCHED","booking_date":"2000-01-15"}`, n, entity, 10+n)
}

// letter is what a consumer writes for message number n that failed; change may make it another one.
func (w *world) letter(n int, entity string, change ...func(*envelope.Letter)) *envelope.Letter {
	l := newLetter(w.names.Main(), n, value(n, entity))
	for _, f := range change {
		f(l)
	}
	m, err := envelope.Decode(l.Original.Value, l.Original.Headers)
	l.Message = m.Facts()
	if err != nil {
		v := fault.Of(err)
		l.FailureCode, l.FailureClass, l.ErrorCode, l.SourceStage, l.ErrorDetail = v.Failure, v.Class, v.Code, v.Stage, v.Detail
	}
	return l
}

// newLetter is a letter of record n on main that could not be posted for want of a mapping.
func newLetter(main string, n int, value []byte) *envelope.Letter {
	root := envelope.Coordinates{Topic: main, Partition: int32(n % partitions), Offset: int64(n / partitions)}
	at := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Second)
	return &envelope.Letter{
		FailureCode: fault.FailedPoison, FailureClass: fault.Poison, ErrorCode: fault.CurrencyUnmapped, ErrorDetail: "no mapping",
		SourceStage: fault.StageCurrency, Fingerprint: envelope.NewFingerprint(fault.CurrencyUnmapped, fault.StageCurrency, "no mapping"),
		AttemptCount: 1, Lineage: envelope.Lineage{Root: root}, Origin: envelope.Origin{Coordinates: root, LeaderEpoch: -1},
		Original: envelope.Original{
			Key: []byte("key-" + strconv.Itoa(n)), Value: value,
			Headers: []kgo.RecordHeader{{Key: "b", Value: []byte("2")}, {Key: "a", Value: nil}, {Key: "b", Value: []byte{}}},
		},
		FirstSeenAt: at, DeadLetteredAt: at.Add(time.Second), Producer: envelope.Producer{Service: "recon-consumer"},
	}
}

// dead writes letters to the DLQ as a consumer does, and settles their hashes as dead.
func (w *world) dead(ls ...*envelope.Letter) {
	w.t.Helper()
	w.known(ls...)
	w.lay(ls...)
}

// lay writes letters to the DLQ.
func (w *world) lay(ls ...*envelope.Letter) {
	w.t.Helper()
	var rs []*kgo.Record
	for _, l := range ls {
		body, err := l.Encode()
		if err != nil {
			w.t.Fatal(err)
		}
		rs = append(rs, w.dlq(l, body))
	}
	w.write(rs...)
}

// known settles the hashes of letters as dead.
func (w *world) known(ls ...*envelope.Letter) {
	w.t.Helper()
	var cs []dedup.Claim
	for _, l := range ls {
		if _, err := envelope.Decode(l.Original.Value, l.Original.Headers); err == nil {
			cs = append(cs, claimOf(w, l, l.Lineage.Root, l.Lineage.Generation))
		}
	}
	w.settle(dedup.Dead, cs...)
}

// dlq is the record of a letter.
func (w *world) dlq(l *envelope.Letter, body []byte) *kgo.Record {
	return &kgo.Record{Topic: w.names.DLQ(), Partition: l.Origin.Partition, Key: l.Original.Key, Value: body, Headers: l.Headers()}
}

// deadOf writes letters 0 to n-1, spread over entities.
func (w *world) deadOf(n, entities int) {
	w.t.Helper()
	var ls []*envelope.Letter
	for i := range n {
		ls = append(ls, w.letter(i, fmt.Sprintf("E%d", i%entities)))
	}
	w.dead(ls...)
}

// letterAt is letter n of deadOf(3, 3) and the like, as it lies in the DLQ.
func (w *world) letterAt(n int) *envelope.Letter {
	w.t.Helper()
	for _, r := range w.all(w.names.DLQ()) {
		if l, err := envelope.DecodeLetter(r.Value); err == nil && l.Message.SourceHash == fmt.Sprintf("hash-%06d", n) {
			return l
		}
	}
	w.t.Fatalf("letter %d is not in the DLQ", n)
	return nil
}

func partitionerOf(w *world) kgo.Partitioner { return topics.Partitioner(w.names) }

func (w *world) create(topic string) error {
	_, err := kadm.NewClient(w.out).CreateTopic(w.t.Context(), partitions, 1, nil, topic)
	return err
}

// settle claims and settles as a consumer does.
func (w *world) settle(as dedup.State, cs ...dedup.Claim) {
	w.t.Helper()
	_, err := w.store.Claim(w.t.Context(), time.Minute, cs)
	var ss []dedup.Settlement
	for _, c := range cs {
		ss = append(ss, dedup.Settlement{Claim: c, State: as, Due: time.Now().Add(time.Minute)})
	}
	if err == nil && as != dedup.Claimed {
		err = w.store.Settle(w.t.Context(), ss)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// claimOf is the claim that record n of another root of the same hash would make.
func claimOf(w *world, l *envelope.Letter, root envelope.Coordinates, generation int) dedup.Claim {
	w.t.Helper()
	m, err := envelope.Decode(l.Original.Value, l.Original.Headers)
	if err != nil {
		w.t.Fatal(err)
	}
	return dedup.Claim{Hash: m.SourceHash, Digest: m.Digest, Root: root, Generation: generation, Attempt: 1, At: root}
}

// runner makes a Runner of this world; change may make it another one.
func (w *world) runner(change ...func(*replay.Config)) *replay.Runner {
	w.t.Helper()
	cfg := replay.Config{
		Topics: w.names, Options: w.options(), Producer: w.out, Journal: w.journal, Store: w.store,
		Gates: []replay.Gate{replay.Integrity{}, replay.Cause{Handler: w.ledger}, replay.Idempotency{Store: w.store, Ledger: w.ledger}, replay.Temporal{}},
		Owner: "test", Actor: "kim", Reason: "mapping added", RootCause: "mapping_missing",
	}
	for _, f := range change {
		f(&cfg)
	}
	r, err := replay.New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) fold() *replay.Fold {
	w.t.Helper()
	f, err := replay.Read(w.t.Context(), w.options(), w.names, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return f
}

// plan makes a plan for everything that is open.
func (w *world) plan() *replay.Plan {
	w.t.Helper()
	p, err := w.runner().Plan(w.t.Context(), w.fold(), replay.Selection{All: true})
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// run executes a plan and wants it to end with exit code want.
func (w *world) run(p *replay.Plan, want replay.Exit, change ...func(*replay.Config)) *replay.Report {
	w.t.Helper()
	report, err := w.runner(change...).Run(w.t.Context(), nil, p)
	if got := replay.ExitOf(err); got != want {
		w.t.Fatalf("the run ended with %d (%v), want %d", got, err, want)
	}
	return report
}

// all reads a topic whole.
func (w *world) all(topic string) []*kgo.Record {
	w.t.Helper()
	cl := w.client(kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer cl.Close()
	ends, err := kadm.NewClient(cl).ListEndOffsets(w.t.Context(), topic)
	if err != nil {
		w.t.Fatal(err)
	}
	var left int64
	ends.Each(func(o kadm.ListedOffset) { left += o.Offset })
	var rs []*kgo.Record
	for left > int64(len(rs)) {
		fetches := cl.PollFetches(w.t.Context())
		if err := fetches.Err(); err != nil {
			w.t.Fatal(err)
		}
		rs = append(rs, fetches.Records()...)
	}
	return rs
}

// dispositions reads them all, repeats folded away.
func (w *world) dispositions() []*envelope.Disposition {
	w.t.Helper()
	seen := map[string]bool{}
	var ds []*envelope.Disposition
	for _, r := range w.all(w.names.Dispositions()) {
		d, err := envelope.DecodeDisposition(r.Value)
		if err != nil {
			w.t.Fatal(err)
		}
		if string(r.Key) != d.EnvelopeID {
			w.t.Errorf("disposition of letter %s lies under key %s", d.EnvelopeID, r.Key)
		}
		if !seen[d.EventID] {
			seen[d.EventID] = true
			ds = append(ds, d)
		}
	}
	return ds
}

// statuses counts the letters of the DLQ by where they stand.
func (w *world) statuses() map[replay.Status]int { return w.fold().Overview().ByStatus }
