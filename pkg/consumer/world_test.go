package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"recon/internal/testkit"
	"recon/pkg/broker"
	"recon/pkg/consumer"
	"recon/pkg/dedup"
	"recon/pkg/envelope"
	"recon/pkg/topics"
)

// world is one Kafka, virtual or real, with a store, a ledger and as many engines as a test starts.
type world struct {
	t      *testing.T
	kafka  *testkit.Virtual // nil: the real one at seed
	seed   string
	group  string
	store  dedup.Store
	ledger *ledger
	names  topics.Names
	tiers  topics.Ladder
	out    *kgo.Client

	mu     sync.Mutex
	events []consumer.Event
}

const partitions = 3

// newWorld must be called inside a synctest bubble.
func newWorld(t *testing.T, tiers topics.Ladder) *world {
	t.Helper()
	w := &world{t: t, ledger: newLedger(), names: topics.Names{Prefix: "recon"}, tiers: tiers, group: "recon-consumer"}
	w.kafka = testkit.NewVirtual(t, kfake.SeedTopics(partitions, w.names.Written(tiers)...))
	w.open()
	return w
}

// newRealWorld stands on the real broker, with names of its own.
func newRealWorld(t *testing.T, tiers topics.Ladder) *world {
	t.Helper()
	prefix := testkit.Prefix(t)
	w := &world{t: t, ledger: newLedger(), names: topics.Names{Prefix: prefix}, tiers: tiers, group: prefix, seed: testkit.Kafka(t)}
	testkit.CreateTopics(t, w.seed, partitions, nil, w.names.Written(tiers)...)
	w.open()
	return w
}

func (w *world) open() {
	store, err := dedup.NewMemory(dedup.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	w.store = store
	w.out = w.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
}

func (w *world) client(opts ...kgo.Opt) *kgo.Client {
	w.t.Helper()
	base := []kgo.Opt{kgo.SeedBrokers(w.seed)}
	if w.kafka != nil {
		base = w.kafka.Options()
	}
	cl, err := kgo.NewClient(append(base, opts...)...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(cl.Close)
	return cl
}

// config is the base of every engine here; mut changes it.
func (w *world) config(link *testkit.Link, mut ...func(*consumer.Config)) consumer.Config {
	cfg := consumer.Config{
		Broker: broker.Config{Seeds: []string{w.seed}}, Topics: w.names, Group: w.group, Tiers: w.tiers, Instance: "one", Grace: 5 * time.Second,
	}
	if link != nil {
		cfg.Broker.Seeds, cfg.Broker.Dialer = w.kafka.Seeds(), link.Dial
		cfg.FetchWait = 5 * time.Second // hours of idle polling pass quicker
	}
	for _, m := range mut {
		m(&cfg)
	}
	return cfg
}

// member is a running engine.
type member struct {
	*consumer.Engine
	link *testkit.Link
	stop context.CancelFunc
	done chan struct{}
	err  error
}

// start runs an engine until the test ends or stop is called.
func (w *world) start(mut []func(*consumer.Config), opts ...consumer.Option) *member {
	w.t.Helper()
	m := &member{done: make(chan struct{})}
	if w.kafka != nil {
		m.link = w.kafka.NewLink()
	}
	opts = append([]consumer.Option{consumer.WithObserve(w.observe)}, opts...)
	e, err := consumer.New(w.config(m.link, mut...), w.ledger, w.store, opts...)
	if err != nil {
		w.t.Fatal(err)
	}
	m.Engine = e
	ctx, cancel := context.WithCancel(w.t.Context())
	m.stop = cancel
	go func() {
		defer close(m.done)
		m.err = e.Run(ctx)
	}()
	w.t.Cleanup(func() { cancel(); <-m.done })
	return m
}

// end stops the engine and checks that it stopped cleanly.
func (m *member) end(t *testing.T) {
	t.Helper()
	m.stop()
	<-m.done
	if m.err != nil {
		t.Errorf("Run returned %v", m.err)
	}
}

func (w *world) observe(ev consumer.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, ev)
}

// count is the number of events of a kind so far.
func (w *world) count(kind consumer.Kind) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, ev := range w.events {
		if ev.Kind == kind {
			n++
		}
	}
	return n
}

// of returns the events of a kind so far.
func (w *world) of(kind consumer.Kind) []consumer.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.events), func(ev consumer.Event) bool { return ev.Kind != kind })
}

// send writes values to main, on the partition of their number.
func (w *world) send(recs ...*kgo.Record) {
	w.t.Helper()
	for i, r := range recs {
		r.Topic = w.names.Main()
		if r.Partition == 0 {
			r.Partition = int32(i % partitions)
		}
	}
	if err := w.out.ProduceSync(w.t.Context(), recs...).FirstErr(); err != nil {
		w.t.Fatal(err)
	}
}

// message is a valid record; n makes hash and amount.
func message(n int) *kgo.Record {
	value := fmt.Sprintf(`{"source_hash":"hash-%06d","ledger_entity":"ACME","currency":"EUR","amount":"%d.50","match_decision":"MATCHED"}`, n, n)
	return &kgo.Record{Key: []byte("key-" + strconv.Itoa(n)), Value: []byte(value)}
}

// messages are those numbered from up to, without, to.
func messages(from, to int) []*kgo.Record {
	var all []*kgo.Record
	for n := from; n < to; n++ {
		all = append(all, message(n))
	}
	return all
}

// until waits for a condition, in the bubble's time.
func (w *world) until(limit time.Duration, what string, ok func() bool) {
	w.t.Helper()
	tick := min(max(limit/3000, 20*time.Millisecond), 2*time.Second)
	for began := time.Now(); !ok(); time.Sleep(tick) {
		if time.Since(began) > limit {
			w.t.Fatalf("waited %s: %s", limit, what)
		}
	}
}

// read returns everything that a topic holds.
func (w *world) read(topic string) []*kgo.Record {
	w.t.Helper()
	ends, err := kadm.NewClient(w.out).ListEndOffsets(w.t.Context(), topic)
	if err != nil {
		w.t.Fatal(err)
	}
	left := int64(0)
	starts := map[int32]kgo.Offset{}
	ends.Each(func(o kadm.ListedOffset) {
		left += o.Offset
		starts[o.Partition] = kgo.NewOffset().At(0)
	})
	cl := w.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: starts}))
	defer cl.Close()
	var all []*kgo.Record
	for int64(len(all)) < left {
		all = append(all, cl.PollFetches(w.t.Context()).Records()...)
	}
	return all
}

// letters reads the DLQ.
func (w *world) letters() []*envelope.Letter {
	w.t.Helper()
	var all []*envelope.Letter
	for _, r := range w.read(w.names.DLQ()) {
		l, err := envelope.DecodeLetter(r.Value)
		if err != nil {
			w.t.Fatalf("letter: %v", err)
		}
		all = append(all, l)
	}
	return all
}

// committed is the number of records that the group has committed, over main and all tiers.
func (w *world) committed() int64 {
	w.t.Helper()
	offsets, err := kadm.NewClient(w.out).FetchOffsets(w.t.Context(), w.group)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		w.t.Fatal(err)
	}
	total := int64(0)
	offsets.Each(func(o kadm.OffsetResponse) { total += max(o.At, 0) })
	return total
}

// lag is what the group has not committed yet, over main and all tiers.
func (w *world) lag() int64 {
	w.t.Helper()
	adm := kadm.NewClient(w.out)
	lags, err := adm.Lag(w.t.Context(), w.group)
	if err != nil {
		w.t.Fatal(err)
	}
	total := int64(0)
	for _, l := range lags {
		total += l.Lag.Total()
	}
	return total
}

// ledger is a ledger in memory: unique by source_hash, with a script for what goes wrong.
type ledger struct {
	mu       sync.Mutex
	rows     map[string]*envelope.AlreadyPosted
	attempts []attempt
	script   func(ctx context.Context, m *envelope.Message) error // before the posting; nil: nothing goes wrong
	blind    bool                                                 // inserts without looking: double postings show
	inserts  map[string]int
}

// attempt is one call of the handler.
type attempt struct {
	root       envelope.Coordinates
	hash, key  string
	generation int
	made       int
	at, end    time.Time
}

func newLedger() *ledger {
	return &ledger{rows: map[string]*envelope.AlreadyPosted{}, inserts: map[string]int{}}
}

// Handle posts m, unless the script says otherwise.
func (l *ledger) Handle(ctx context.Context, m *envelope.Message) error {
	l.mu.Lock()
	n := len(l.attempts)
	l.attempts = append(l.attempts, attempt{m.Root, m.SourceHash, string(m.Key), m.Generation, m.Attempt, time.Now(), time.Time{}})
	script := l.script
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.attempts[n].end = time.Now()
	}()
	if script != nil {
		if err := script(ctx, m); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if row := l.rows[m.SourceHash]; row != nil && !l.blind {
		return row
	}
	l.inserts[m.SourceHash]++
	l.rows[m.SourceHash] = &envelope.AlreadyPosted{
		Root: m.Root, Generation: m.Generation, Digest: m.Digest, ID: strconv.Itoa(len(l.rows) + 1), At: time.Now().UTC(),
	}
	return nil
}

// tries is the number of handler calls for a hash.
func (l *ledger) tries(hash string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, a := range l.attempts {
		if a.hash == hash {
			n++
		}
	}
	return n
}

// calls are the handler's calls so far, in the order in which they began.
func (l *ledger) calls() []attempt {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.attempts)
}

func (l *ledger) posted() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.rows)
}

// setScript changes what goes wrong from now on.
func (l *ledger) setScript(f func(context.Context, *envelope.Message) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.script = f
}

var errUnknown = errors.New("something nobody has a code for")
