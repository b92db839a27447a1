package consumer

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"recon/pkg/broker"
	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/topics"
)

// Order says whether first attempts of one key wait for each other.
type Order string

// OrderKey starts the first attempts of one key of one partition in order, one at a time; a retried record is
// overtaken. OrderNone starts everything as soon as there is room.
const (
	OrderKey  Order = "key"
	OrderNone Order = "none"
)

// Protocol is the group protocol.
type Protocol string

// ProtocolClassic is the client-side, cooperative-sticky protocol. ProtocolConsumer is KIP-848: the broker assigns.
const (
	ProtocolClassic  Protocol = "classic"
	ProtocolConsumer Protocol = "consumer"
)

// Periods is the accounting calendar.
type Periods interface {
	// Check answers whether the message's accounting period takes postings at a moment. nil: it does; else a fault with
	// code PERIOD_CLOSED or PERIOD_NOT_OPEN.
	Check(m *envelope.Message, now time.Time) error
	// MatchDeadline is when the entity's matching window closes for a record that failed first at failed, and whether the
	// entity has one.
	MatchDeadline(entity string, failed time.Time) (deadline time.Time, ok bool)
}

// Config is all that an Engine needs. The zero value of every field but Broker is its default.
type Config struct {
	Broker       broker.Config
	Group        string   // default recon-consumer
	Instance     string   // name in evidence; default the host's
	StaticMember bool     // Instance is the static member id too (classic protocol only)
	Protocol     Protocol // default ProtocolClassic
	FromStart    bool     // accepts a group that lost its offsets although the dedup store knows that it had some

	Topics   topics.Names   // default prefix recon
	Tiers    topics.Ladder  // default 2s, 30s, 5m, 1h, 6h, 24h
	Policies fault.Policies // default fault.Defaults, caps cut to the largest tier
	Periods  Periods        // nil: no calendar, nothing is refused for its period

	Concurrency  int   // handlers at once; default 256
	Order        Order // default OrderKey
	MaxUnsettled int   // handled and not yet settled; default 512
	MaxInFlight  int   // delivered and not yet done, per partition; default 10,000
	HoldBudget   int   // bytes that the waiting records of one tier may occupy; default 64 MiB

	Lease            time.Duration // of a claim, renewed at a third; default 60 s
	HandlerTimeout   time.Duration // of one attempt; default 30 s
	ProduceTimeout   time.Duration // of one write to tier, DLQ or trail, before it is tried again; default 30 s
	Grace            time.Duration // between the end of intake and the end of work; default 20 s
	StartupTimeout   time.Duration // for broker and store to answer at start; default 30 s
	SessionTimeout   time.Duration // classic protocol; default 15 s
	RebalanceTimeout time.Duration // default 60 s; a revoke drains for at most half of it
	CommitInterval   time.Duration // default 1 s
	FetchWait        time.Duration // how long the broker may hold a fetch that finds nothing; default 500 ms

	Service      string // name in evidence; default recon-consumer
	Version      string // of the build, in evidence
	ConfigDigest string // of the effective configuration, in evidence
}

// withDefaults fills what is zero.
func (c Config) withDefaults() Config {
	def(&c.Group, "recon-consumer")
	if host, err := os.Hostname(); err == nil {
		def(&c.Instance, host)
	}
	def(&c.Instance, "unnamed")
	def(&c.Protocol, ProtocolClassic)
	def(&c.Topics.Prefix, topics.DefaultPrefix)
	if c.Tiers == nil {
		c.Tiers = topics.DefaultLadder()
	}
	if c.Policies == nil {
		c.Policies = fault.Defaults()
		// Only a configured cap can be above the largest tier, and here none is configured.
		_, _ = c.Policies.Fit(c.Tiers.Largest(), nil)
	}
	def(&c.Concurrency, 256)
	def(&c.Order, OrderKey)
	def(&c.MaxUnsettled, 512)
	def(&c.MaxInFlight, 10_000)
	def(&c.HoldBudget, 64<<20)
	def(&c.Lease, 60*time.Second)
	def(&c.HandlerTimeout, 30*time.Second)
	def(&c.ProduceTimeout, 30*time.Second)
	def(&c.Grace, 20*time.Second)
	def(&c.StartupTimeout, 30*time.Second)
	def(&c.SessionTimeout, 15*time.Second)
	def(&c.RebalanceTimeout, 60*time.Second)
	def(&c.CommitInterval, time.Second)
	def(&c.FetchWait, 500*time.Millisecond)
	def(&c.Service, "recon-consumer")
	return c
}

func def[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Validate reports every mistake at once, each with the name of its setting.
func (c Config) Validate() error {
	c = c.withDefaults()
	errs := []error{c.Broker.Validate(), c.Topics.Validate(), c.Tiers.Validate(), c.Policies.Validate()}
	wrong := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	wrong(c.Protocol == ProtocolClassic || c.Protocol == ProtocolConsumer,
		"protocol %q: want %s or %s", c.Protocol, ProtocolClassic, ProtocolConsumer)
	wrong(c.Order == OrderKey || c.Order == OrderNone, "order %q: want %s or %s", c.Order, OrderKey, OrderNone)
	wrong(!c.StaticMember || c.Protocol == ProtocolClassic,
		"static_member: under protocol consumer a crashed static member keeps its partitions for the whole session; want protocol classic")
	for _, n := range []struct {
		name  string
		value int
	}{
		{"concurrency", c.Concurrency},
		{"max_unsettled", c.MaxUnsettled},
		{"max_in_flight", c.MaxInFlight},
		{"hold_budget", c.HoldBudget},
	} {
		wrong(n.value > 0, "%s %d: want a number from 1", n.name, n.value)
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"lease", c.Lease},
		{"handler_timeout", c.HandlerTimeout},
		{"produce_timeout", c.ProduceTimeout},
		{"grace", c.Grace},
		{"startup_timeout", c.StartupTimeout},
		{"session_timeout", c.SessionTimeout},
		{"rebalance_timeout", c.RebalanceTimeout},
		{"commit_interval", c.CommitInterval},
		{"fetch_wait", c.FetchWait},
	} {
		wrong(d.value > 0, "%s %s: want a duration above 0", d.name, d.value)
	}
	for _, n := range []struct{ name, value string }{
		{"instance", c.Instance}, {"service", c.Service}, {"version", c.Version}, {"group", c.Group}, {"config digest", c.ConfigDigest},
	} {
		// They stand in every letter and name the audit chain.
		wrong(len(n.value) <= maxName && !strings.ContainsAny(n.value, "/\n"), "%s %.40q: want at most %d characters without a slash", n.name, n.value, maxName)
	}
	errs = append(errs, c.Topics.ValidateGroup(c.Group))
	return errors.Join(errs...)
}

// maxName is how long a name in evidence may be.
const maxName = 200
