package consumer_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"recon/pkg/consumer"
	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// chaos is one seeded run: engines that come, go and are cut off, before a broker, a store and a handler that fail in
// every way they can, and then a calm in which everything must come to one end.
type chaos struct {
	*world
	seed    uint64
	rng     *rand.Rand // of the run's own goroutine
	zombies bool       // members are cut off and come back; then the ledger must look
	on      atomic.Bool
	store   *moodyStore
	members []*member
	started int
	sent    map[envelope.Coordinates]string // root to hash; empty: cannot be decoded
	broken  []*member                       // links that are cut or frozen

	storyMu sync.Mutex
	story   map[string][]string // by hash
}

// Pitfalls L1 to L26, S4, S13, R4, R26, M2 to M4: whatever fails in whatever order, every record has one outcome in the
// end, none runs early, none is inserted twice, everything is committed, and no engine keeps anything.
// SEEDS=n runs n seeds, SEED=n runs that one.
func TestWhateverFailsEveryRootHasOneOutcome(t *testing.T) {
	for seed := range seeds(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newChaos(t, seed)
				c.rage(2 * time.Minute)
				c.calm()
				c.check()
			})
		})
	}
}

func newChaos(t *testing.T, seed uint64) *chaos {
	w := newWorld(t, short)
	c := &chaos{
		world: w, seed: seed, rng: rand.New(rand.NewPCG(seed, 0)), zombies: seed%3 != 0,
		store: &moodyStore{Store: w.store}, sent: map[envelope.Coordinates]string{}, story: map[string][]string{},
	}
	w.store = c.store
	w.ledger.blind = !c.zombies
	w.ledger.script = c.script
	return c
}

// groupNote adds a line to the story of the group.
func (c *chaos) groupNote(format string, args ...any) {
	c.storyMu.Lock()
	defer c.storyMu.Unlock()
	c.story["group"] = append(c.story["group"], time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

// note adds a line to the story of a root.
func (c *chaos) note(root envelope.Coordinates, m *envelope.Message, format string, args ...any) {
	hash := ""
	if m != nil {
		hash = m.SourceHash
	}
	line := time.Now().Format("15:04:05.000 ") + root.String() + " " + hash + " " + fmt.Sprintf(format, args...)
	c.storyMu.Lock()
	defer c.storyMu.Unlock()
	c.story[hash] = append(c.story[hash], line)
}

// burst sends some records: new ones, twins, other transactions under an old hash, and what cannot be read.
func (c *chaos) burst(n int) {
	var recs []*kgo.Record
	for range n {
		i := len(c.sent) + len(recs)
		r := message(i)
		hash := fmt.Sprintf("hash-%06d", i)
		switch k := c.rng.IntN(20); {
		case k < 3 && i > 0:
			old := c.rng.IntN(i)
			hash, r.Value = fmt.Sprintf("hash-%06d", old), message(old).Value
		case k == 3 && i > 0:
			old := fmt.Sprintf("hash-%06d", c.rng.IntN(i))
			r.Value = []byte(strings.Replace(string(r.Value), hash, old, 1))
			hash = old
		case k == 4:
			r.Value, hash = []byte("not JSON"), ""
		}
		r.Key = []byte(fmt.Sprint("key-", c.rng.IntN(8)))
		if c.rng.IntN(10) == 0 {
			r.Key = nil
		}
		r.Topic, r.Partition = c.names.Main(), int32(c.rng.IntN(partitions))
		r.Headers = []kgo.RecordHeader{{Key: "hash", Value: []byte(hash)}}
		recs = append(recs, r)
	}
	if err := c.out.ProduceSync(c.t.Context(), recs...).FirstErr(); err != nil {
		c.t.Fatal(err)
	}
	for _, r := range recs {
		c.sent[envelope.Coordinates{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}] = string(r.Headers[0].Value)
	}
}

// join starts one more member.
func (c *chaos) join() {
	c.started++
	set := func(cfg *consumer.Config) {
		cfg.Instance = fmt.Sprint("member-", c.started)
		cfg.Policies = quick()
		cfg.ProduceTimeout, cfg.HandlerTimeout, cfg.Lease = 5*time.Second, 20*time.Second, 30*time.Second
		if c.seed%4 == 1 {
			cfg.Protocol = consumer.ProtocolConsumer
		}
		if c.ledger.blind {
			cfg.Grace = time.Minute
			// The virtual broker lets the session of a member end that waits for the others to join; Apache Kafka does not.
			cfg.SessionTimeout = 2 * time.Minute
		}
		cfg.Concurrency = []int{1, 4, 64}[c.rng.IntN(3)]
		cfg.MaxUnsettled = []int{2, 16, 512}[c.rng.IntN(3)]
		cfg.MaxInFlight = []int{8, 1000}[c.rng.IntN(2)]
	}
	name := c.started
	seen := func(ev consumer.Event) {
		c.observe(ev)
		switch ev.Kind {
		case consumer.Assigned, consumer.Revoked, consumer.Lost, consumer.PollError:
			c.groupNote("member %d: %s %s %v", name, ev.Kind, ev.Record, ev.Err)
			return
		}
		c.note(ev.Root, ev.Message, "member %d: %s at %s attempt %d %s %s %v due %s", name, ev.Kind, ev.Record, ev.Attempt, ev.Code, ev.Topic, ev.Err, ev.Due.Format("15:04:05.000"))
	}
	c.groupNote("member %d joins", name)
	c.members = append(c.members, c.start([]func(*consumer.Config){set}, consumer.WithObserve(seen),
		consumer.WithProducer(func(p consumer.Producer) consumer.Producer { return &moodyProducer{Producer: p, c: c} })))
}

// rage lets everything fail for a while.
func (c *chaos) rage(length time.Duration) {
	c.on.Store(true)
	c.join()
	var leaving sync.WaitGroup
	for end := time.Now().Add(length); time.Now().Before(end); time.Sleep(time.Duration(c.rng.IntN(5000)) * time.Millisecond) {
		c.burst(c.rng.IntN(12))
		if c.rng.IntN(3) == 0 {
			mood := int64(c.rng.IntN(4))
			if c.ledger.blind && mood != slowly {
				mood = well // a posting that cannot be settled within the grace comes again: only a ledger that looks bears it
			}
			c.store.mood.Store(mood)
		}
		c.members = slices.DeleteFunc(c.members, (*member).gone)
		switch k := c.rng.IntN(7); {
		case k == 0 && len(c.members) < 3 || len(c.members) == 0:
			c.join()
		case k == 1:
			i := c.rng.IntN(len(c.members))
			m := c.members[i]
			c.members = slices.Delete(c.members, i, i+1)
			leaving.Go(func() { m.stop(); <-m.done })
		case k == 2 && c.zombies:
			m := c.members[c.rng.IntN(len(c.members))]
			m.link.Cut()
			c.broken = append(c.broken, m)
		case k == 3 && c.zombies:
			m := c.members[c.rng.IntN(len(c.members))]
			m.link.Freeze()
			c.broken = append(c.broken, m)
		case k == 4:
			c.heal()
		case k == 5 && c.zombies:
			c.kick()
		}
	}
	c.heal()
	c.on.Store(false)
	c.store.mood.Store(well)
	leaving.Wait()
}

func (c *chaos) heal() {
	for _, m := range c.broken {
		m.link.Mend()
		m.link.Thaw()
	}
	c.broken = nil
}

// calm waits until every record is committed and nothing is in anybody's hands.
func (c *chaos) calm() {
	c.members = slices.DeleteFunc(c.members, (*member).gone)
	if len(c.members) == 0 {
		c.join()
	}
	still := func() error {
		errs := []error{}
		for _, m := range c.members {
			errs = append(errs, m.Counters().Idle())
		}
		if behind := c.behind(); behind != 0 {
			errs = append(errs, fmt.Errorf("%d records are not committed", behind))
		}
		return errors.Join(errs...)
	}
	time.Sleep(time.Minute) // sessions end, members join
	n := 0
	for end := time.Now().Add(30 * time.Minute); ; time.Sleep(5 * time.Second) {
		if n++; n%40 == 0 {
			c.exorcise()
		}
		c.members = slices.DeleteFunc(c.members, (*member).gone)
		if len(c.members) == 0 {
			c.join() // those that began in the rage could not all begin
			continue
		}
		err := still()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			c.t.Fatalf("SEED=%d: after half an hour of calm: %v; the group:\n%s", c.seed, err, strings.Join(c.story["group"], "\n"))
		}
	}
}

// exorcise throws everybody out of the group: the virtual broker keeps a member for ever that joined and was cut off before
// its first heartbeat. Who lives joins anew.
func (c *chaos) exorcise() {
	groups, err := kadm.NewClient(c.out).DescribeGroups(c.t.Context(), c.world.group)
	if err != nil {
		c.t.Fatal(err)
	}
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group = c.world.group
	for _, m := range groups[c.world.group].Members {
		out := kmsg.NewLeaveGroupRequestMember()
		out.MemberID = m.MemberID
		req.Members = append(req.Members, out)
	}
	if len(req.Members) <= len(c.members) {
		return
	}
	if _, err := req.RequestWith(c.t.Context(), c.out); err != nil {
		c.t.Fatal(err)
	}
}

// behind is what main and the tiers hold beyond what is committed, also where nothing ever was.
func (c *chaos) behind() int64 {
	read := []string{c.names.Main()}
	for _, d := range c.tiers {
		read = append(read, c.names.Tier(d))
	}
	ends, err := kadm.NewClient(c.out).ListEndOffsets(c.t.Context(), read...)
	if err != nil {
		c.t.Fatal(err)
	}
	total := -c.committed()
	ends.Each(func(o kadm.ListedOffset) { total += o.Offset })
	return total
}

// check compares what became of every root with the one outcome that it must have.
func (c *chaos) check() {
	t := c.t
	letters := map[envelope.Coordinates]map[string]*envelope.Letter{}
	for _, l := range c.letters() {
		root := l.Lineage.Root
		if letters[root] == nil {
			letters[root] = map[string]*envelope.Letter{}
		}
		letters[root][l.EnvelopeID] = l
	}
	suppressed := map[envelope.Coordinates]bool{}
	for _, ev := range c.of(consumer.Suppressed) {
		suppressed[ev.Root] = true
	}
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	roots := map[string]int{}
	for _, hash := range c.sent {
		roots[hash]++
	}
	for root, hash := range c.sent {
		row := c.ledger.rows[hash]
		how := outcomes(row != nil && row.Root == root, suppressed[root], roots[hash] > 1, letters[root])
		if len(how) != 1 {
			t.Errorf("SEED=%d: %s of %s has outcomes %q, want one; its story:\n%s", c.seed, root, hash, how, strings.Join(c.story[hash], "\n"))
		}
		if suppressed[root] && row == nil {
			t.Errorf("SEED=%d: %s of %s is suppressed, and nothing of its hash is posted", c.seed, root, hash)
		}
	}
	for hash, n := range c.ledger.inserts {
		if n != 1 {
			t.Errorf("SEED=%d: %s inserted %d times (blind %v); its story:\n%s", c.seed, hash, n, c.ledger.blind, strings.Join(c.story[hash], "\n"))
		}
	}
	c.checkEarly()
}

// outcomes are the one of a root, and what must not stand beside it. The fold of CONTRACT 9 counts the first of posted,
// suppressed and letter: a late copy of a root that has its letter is suppressed when another root has posted since; a
// letter of IDENTITY_CONFLICT claimed nothing, so that its record can come again and post; and where a twin takes over
// the claim of a dead root and is cut off, nobody knows of the letter any more when the record comes again.
func outcomes(posted, suppressed, twins bool, letters map[string]*envelope.Letter) (how []string) {
	if posted {
		how = append(how, "posted")
	}
	if suppressed && !posted {
		return append(how, "suppressed")
	}
	for _, l := range letters {
		if !posted || !twins && l.ErrorCode != fault.IdentityConflict {
			how = append(how, "letter "+string(l.ErrorCode))
		}
	}
	return how
}

// checkEarly holds every attempt against the due time of the copy that it came from.
func (c *chaos) checkEarly() {
	type try struct {
		root envelope.Coordinates
		made int
	}
	due := map[try]time.Time{}
	for _, d := range c.tiers {
		for _, r := range c.read(c.names.Tier(d)) {
			_, own := envelope.SplitHeaders(r.Headers)
			said, errs := envelope.ParseRetry(own)
			if len(errs) > 0 {
				c.t.Errorf("SEED=%d: a copy with headers %v", c.seed, errs)
			}
			at := try{said.Root, said.Attempt}
			if old, ok := due[at]; !ok || said.Due.Before(old) {
				due[at] = said.Due
			}
		}
	}
	for _, a := range c.ledger.attempts {
		if a.made == 0 {
			continue
		}
		switch at, ok := due[try{a.root, a.made}]; {
		case !ok:
			c.t.Errorf("SEED=%d: %s ran with %d attempts made, and no copy says so", c.seed, a.root, a.made)
		case a.at.Before(at):
			c.t.Errorf("SEED=%d: %s ran %s early", c.seed, a.root, at.Sub(a.at))
		}
	}
}
