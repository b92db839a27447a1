// Package config turns flags, environment, file and defaults into one set of settings, says where each came from, and
// hands every package its own Config. What a value must be, the package that uses it knows; all mistakes are reported
// together, each with the full name of its setting.
package config

import "time"

// Settings are what both binaries can be told. The path of a setting is its place here by the yaml tags, joined with
// dots; its environment variable is RECON_ and the path in upper case with `_`; its flag is the path with `-`.
type Settings struct {
	Kafka    Kafka    `yaml:"kafka" embed:"" prefix:"kafka-"`
	Topics   Topics   `yaml:"topics" embed:"" prefix:"topics-"`
	Retry    Retry    `yaml:"retry" embed:"" prefix:"retry-"`
	Redis    Redis    `yaml:"redis" embed:"" prefix:"redis-"`
	Dedup    Dedup    `yaml:"dedup" embed:"" prefix:"dedup-"`
	Ledger   Ledger   `yaml:"ledger" embed:"" prefix:"ledger-"`
	FX       FX       `yaml:"fx" embed:"" prefix:"fx-"`
	Calendar Calendar `yaml:"calendar" embed:"" prefix:"calendar-"`
	Replay   Replay   `yaml:"replay" embed:"" prefix:"replay-"`
	Timeout  Timeout  `yaml:"timeout" embed:"" prefix:"timeout-"`

	Group         string `yaml:"group" help:"Consumer group." placeholder:"NAME"`
	GroupProtocol string `yaml:"group_protocol" help:"Group protocol: classic (cooperative-sticky) or consumer (KIP-848)." placeholder:"NAME"`
	Instance      string `yaml:"instance" help:"Name of this process in evidence and metrics." placeholder:"NAME"`
	StaticMember  bool   `yaml:"static_member" help:"Use the instance as static member id (classic protocol)."`
	Listen        string `yaml:"listen" help:"Address of metrics and health." placeholder:"HOST:PORT"`
	Concurrency   int    `yaml:"concurrency" help:"Handlers at once." placeholder:"N"`
	Order         string `yaml:"order" help:"key: first attempts of one key start in order; none: at once." placeholder:"NAME"`
	MaxUnsettled  int    `yaml:"max_unsettled" help:"Records handled and not yet settled." placeholder:"N"`
	MaxInFlight   int    `yaml:"max_in_flight" help:"Records delivered and not yet done, per partition." placeholder:"N"`
	HoldBudget    int    `yaml:"hold_budget" help:"Bytes that the waiting records of one tier may occupy." placeholder:"BYTES"`
}

// Kafka says how to reach the brokers.
type Kafka struct {
	Brokers  []string `yaml:"brokers" help:"Brokers to begin with." placeholder:"HOST:PORT"`
	ClientID string   `yaml:"client_id" help:"Client id in the broker's logs and quotas." placeholder:"NAME"`
	TLS      TLS      `yaml:"tls" embed:"" prefix:"tls-"`
	SASL     SASL     `yaml:"sasl" embed:"" prefix:"sasl-"`
}

// TLS says how connections to the brokers are encrypted.
type TLS struct {
	Enabled    bool   `yaml:"enabled" help:"Encrypt connections to the brokers."`
	CAFile     string `yaml:"ca_file" help:"Who signs the brokers' certificates (PEM)." placeholder:"FILE"`
	CertFile   string `yaml:"cert_file" help:"The client's certificate (PEM)." placeholder:"FILE"`
	KeyFile    string `yaml:"key_file" help:"The client's key (PEM)." placeholder:"FILE"`
	ServerName string `yaml:"server_name" help:"Name in the brokers' certificate." placeholder:"NAME"`
}

// SASL says who we are to the brokers.
type SASL struct {
	Mechanism    string `yaml:"mechanism" help:"plain, scram-sha-256 or scram-sha-512." placeholder:"NAME"`
	User         string `yaml:"user" help:"User." placeholder:"NAME"`
	Password     string `yaml:"password" help:"Password; better in the environment or a file." placeholder:"SECRET" secret:"yes"`
	PasswordFile string `yaml:"password_file" help:"File with the password, read anew for each login." placeholder:"FILE"`
}

// Topics says how topics are called.
type Topics struct {
	Prefix string `yaml:"prefix" help:"Beginning of every topic's name." placeholder:"NAME"`
}

// Retry says how often and when a failed record is tried again.
type Retry struct {
	Tiers []string `yaml:"tiers" help:"Delays of the tiers, growing." placeholder:"DURATION"`
	// Policies are those of the file: by error code, each with what it changes of the code's defaults.
	Policies map[string]Policy `yaml:"policies" kong:"-"`
}

// Policy is what the file changes of one code's policy; an empty text changes nothing.
type Policy struct {
	MaxAttempts string // attempts in all, the first included
	BaseDelay   string // duration
	Cap         string // duration
	Spacing     string // full_jitter or fixed
}

// Redis says where the dedup store is.
type Redis struct {
	URL     string `yaml:"url" help:"Dedup store: redis://… or rediss://…" placeholder:"URL" secret:"url"`
	URLFile string `yaml:"url_file" help:"File with the URL." placeholder:"FILE"`
}

// Dedup says how long the store remembers.
type Dedup struct {
	TTL   time.Duration `yaml:"ttl" help:"How long the outcome of a hash is known." placeholder:"DURATION"`
	Lease time.Duration `yaml:"lease" help:"Life of a claim, renewed at a third." placeholder:"DURATION"`
	// RunLease is how soon the next replay run may begin after one was killed.
	RunLease time.Duration `yaml:"run_lease" kong:"-"`
}

// Ledger says where postings go.
type Ledger struct {
	URL     string `yaml:"url" help:"Ledger: postgres://… or sqlite:FILE" placeholder:"URL" secret:"url"`
	URLFile string `yaml:"url_file" help:"File with the URL." placeholder:"FILE"`
	Conns   int    `yaml:"conns" help:"Connections to PostgreSQL; 0: the URL's pool_max_conns, else 16." placeholder:"N"`
	Migrate bool   `yaml:"migrate" help:"Make or update the ledger's tables at start."`
}

// FX says which rate is the right one.
type FX struct {
	Date    string `yaml:"date" help:"accounting_date or previous_business_day." placeholder:"NAME"`
	Type    string `yaml:"type" help:"Type of the rates used." placeholder:"NAME"`
	Source  string `yaml:"source" help:"Source of the rates used; empty: any." placeholder:"NAME"`
	Inverse bool   `yaml:"inverse" help:"Where a rate is missing, use the one of the opposite direction."`
}

// Calendar says where the accounting periods stand.
type Calendar struct {
	File string `yaml:"file" help:"Accounting calendar; empty: no calendar." placeholder:"FILE"`
}

// Replay says what the way back asks of a person. File and environment alone say it.
type Replay struct {
	RootCauses     []string `yaml:"root_causes" kong:"-"`     // besides those of the contract
	TicketRequired bool     `yaml:"ticket_required" kong:"-"` // a plan without --ticket is refused
}

// Timeout bounds waits.
type Timeout struct {
	Startup   time.Duration `yaml:"startup" help:"For broker, store and ledger to answer at start." placeholder:"DURATION"`
	Handler   time.Duration `yaml:"handler" help:"Of one attempt." placeholder:"DURATION"`
	Produce   time.Duration `yaml:"produce" help:"Of one write before it is made again." placeholder:"DURATION"`
	Grace     time.Duration `yaml:"grace" help:"Between the end of intake and the end of work." placeholder:"DURATION"`
	Session   time.Duration `yaml:"session" help:"Group session (classic protocol)." placeholder:"DURATION"`
	Rebalance time.Duration `yaml:"rebalance" help:"Of a rebalance; a revoke drains for at most half of it." placeholder:"DURATION"`
}

// Defaults are the settings where nothing is said.
func Defaults() Settings {
	return Settings{
		Topics: Topics{Prefix: "recon"},
		Retry:  Retry{Tiers: []string{"2s", "30s", "5m", "1h", "6h", "24h"}},
		Dedup:  Dedup{TTL: 720 * time.Hour, Lease: time.Minute, RunLease: 30 * time.Second},
		Ledger: Ledger{Migrate: true},
		FX:     FX{Date: "accounting_date", Type: "spot"},
		Timeout: Timeout{
			Startup: 30 * time.Second, Handler: 30 * time.Second, Produce: 30 * time.Second, Grace: 20 * time.Second,
			Session: 15 * time.Second, Rebalance: time.Minute,
		},
		Group: "recon-consumer", GroupProtocol: "classic", Listen: "127.0.0.1:9464", Concurrency: 256, Order: "key",
		MaxUnsettled: 512, MaxInFlight: 10_000, HoldBudget: 64 << 20,
	}
}
