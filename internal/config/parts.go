package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"

	"go.uber.org/zap"

	"recon/pkg/broker"
	"recon/pkg/consumer"
	"recon/pkg/dedup"
	"recon/pkg/fault"
	"recon/pkg/ledger"
	"recon/pkg/period"
	"recon/pkg/topics"
)

// Broker is how to dial Kafka.
func (e *Effective) Broker(log *zap.Logger) broker.Config {
	k := e.Kafka
	return broker.Config{
		Seeds: k.Brokers, ClientID: k.ClientID, Logger: log,
		TLS:  broker.TLS{Enabled: k.TLS.Enabled, CAFile: k.TLS.CAFile, CertFile: k.TLS.CertFile, KeyFile: k.TLS.KeyFile, ServerName: k.TLS.ServerName},
		SASL: broker.SASL{Mechanism: k.SASL.Mechanism, User: k.SASL.User, Password: k.SASL.Password, PasswordFile: k.SASL.PasswordFile},
	}
}

// Names are the topics' names.
func (e *Effective) Names() topics.Names { return topics.Names{Prefix: e.Topics.Prefix} }

// Ladder are the configured tiers.
func (e *Effective) Ladder() (topics.Ladder, error) {
	var ladder topics.Ladder
	var errs []error
	for _, text := range e.Retry.Tiers {
		d, err := time.ParseDuration(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("retry.tiers: %q: want a duration such as 2s, 5m or 24h", text))
			continue
		}
		ladder = append(ladder, d)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return ladder, ladder.Validate()
}

// Policies are the retry policies in force, and the codes whose default cap was cut to the largest tier.
func (e *Effective) Policies(largest time.Duration) (p fault.Policies, cut []fault.Code, err error) {
	p = fault.Defaults()
	configured := make(map[fault.Code]bool)
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(e.Retry.Policies)) {
		code, said := fault.Code(name), e.Retry.Policies[name]
		base, known := p[code]
		if !known {
			errs = append(errs, fmt.Errorf("retry.policies.%s: no such error code; docs/errors.md lists them", name))
			continue
		}
		changed, err := said.over(base)
		if err != nil {
			errs = append(errs, fmt.Errorf("retry.policies.%s: %w", name, err))
			continue
		}
		p[code] = changed
		configured[code] = said.Cap != ""
	}
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	if err := p.Validate(); err != nil {
		return nil, nil, err
	}
	cut, err = p.Fit(largest, configured)
	return p, cut, err
}

// over is base with what the file says of it.
func (said Policy) over(base fault.Policy) (fault.Policy, error) {
	var errs []error
	if said.MaxAttempts != "" {
		n, err := strconv.Atoi(said.MaxAttempts)
		if err != nil {
			errs = append(errs, fmt.Errorf("max_attempts %q: want a whole number", said.MaxAttempts))
		}
		base.MaxAttempts = n
	}
	for _, d := range []struct {
		name, text string
		to         *time.Duration
	}{{"base_delay", said.BaseDelay, &base.Base}, {"cap", said.Cap, &base.Cap}} {
		if d.text == "" {
			continue
		}
		v, err := time.ParseDuration(d.text)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s %q: want a duration", d.name, d.text))
		}
		*d.to = v
	}
	if said.Spacing != "" {
		base.Spacing = fault.Spacing(said.Spacing)
	}
	return base, errors.Join(errs...)
}

// Store is the dedup store, not yet asked anything.
func (e *Effective) Store() (dedup.Store, error) {
	if e.Redis.URL == "" {
		return nil, errors.New("redis.url (RECON_REDIS_URL) is empty: give redis://HOST:PORT/DB")
	}
	s, err := dedup.Open(e.Redis.URL, dedup.Options{Prefix: e.Topics.Prefix, TTL: e.Dedup.TTL, RunLease: e.Dedup.RunLease})
	if err != nil {
		return nil, fmt.Errorf("redis.url: %w", err)
	}
	return s, nil
}

// Periods is the accounting calendar, nil where none is configured.
func (e *Effective) Periods() (*period.Calendar, error) {
	if e.Calendar.File == "" {
		return nil, nil
	}
	content, err := os.ReadFile(e.Calendar.File)
	if err != nil {
		return nil, fmt.Errorf("calendar.file: %w", err)
	}
	return period.Load(e.Calendar.File, content)
}

// OpenLedger is the ledger, not yet asked anything.
func (e *Effective) OpenLedger(calendar *period.Calendar) (*ledger.SQL, error) {
	if e.Ledger.URL == "" {
		return nil, errors.New("ledger.url (RECON_LEDGER_URL) is empty: give postgres://… or sqlite:FILE")
	}
	l, err := ledger.Open(e.Ledger.URL, ledger.Config{
		Conns: e.Ledger.Conns, Calendar: calendar,
		FX: ledger.FX{Date: ledger.FXDate(e.FX.Date), Type: e.FX.Type, Source: e.FX.Source, Inverse: e.FX.Inverse},
	})
	if err != nil {
		return nil, fmt.Errorf("ledger.url: %w", err)
	}
	return l, nil
}

// Consumer is the engine's configuration. version is that of the build.
func (e *Effective) Consumer(log *zap.Logger, calendar *period.Calendar, version string) (consumer.Config, error) {
	ladder, err := e.Ladder()
	if err != nil {
		return consumer.Config{}, err
	}
	policies, _, err := e.Policies(ladder.Largest())
	if err != nil {
		return consumer.Config{}, err
	}
	cfg := consumer.Config{
		Broker: e.Broker(log), Group: e.Group, Instance: e.Instance, StaticMember: e.StaticMember,
		Protocol: consumer.Protocol(e.GroupProtocol), Topics: e.Names(), Tiers: ladder, Policies: policies,
		Concurrency: e.Concurrency, Order: consumer.Order(e.Order), MaxUnsettled: e.MaxUnsettled,
		MaxInFlight: e.MaxInFlight, HoldBudget: e.HoldBudget, Lease: e.Dedup.Lease, HandlerTimeout: e.Timeout.Handler,
		ProduceTimeout: e.Timeout.Produce, Grace: e.Timeout.Grace, StartupTimeout: e.Timeout.Startup,
		SessionTimeout: e.Timeout.Session, RebalanceTimeout: e.Timeout.Rebalance, Version: version, ConfigDigest: e.Digest(),
	}
	if calendar != nil {
		cfg.Periods = calendar
	}
	return cfg, cfg.Validate()
}
