package replay

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/shopspring/decimal"

	"recon/pkg/audit"
	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// planDomain separates plan ids from all other hashes of the service.
const planDomain = "recon.plan/v1\n"

// seal gives the plan its id.
func (p *Plan) seal() error {
	b, err := p.body()
	if err != nil {
		return err
	}
	sum := sha256.Sum256(append([]byte(planDomain), b...))
	p.ID = hex.EncodeToString(sum[:])
	return nil
}

// Verify checks that the plan is the one that its id names. The error is ErrPlanChanged.
func (p *Plan) Verify() error {
	sealed := *p
	if err := sealed.seal(); err != nil {
		return err
	}
	if sealed.ID != p.ID {
		return fmt.Errorf("%w: its content has the id %s, it calls itself %s; make a new plan with --dry-run", ErrPlanChanged, sealed.ID, p.ID)
	}
	return nil
}

// Encode gives the plan as a file: JSON, indented, with its id.
func (p *Plan) Encode() ([]byte, error) {
	w := p.wire()
	w.ID = p.ID
	b, err := json.Marshal(w, jsontext.WithIndent("  "))
	if err != nil {
		return nil, fmt.Errorf("plan %s: %w", p.ID, err)
	}
	return append(b, '\n'), nil
}

// DecodePlan reads a plan file strictly: no unknown members, none twice. ErrUsage: it is no plan; ErrPlanChanged: it is
// not the plan that its id names.
func DecodePlan(b []byte) (*Plan, error) {
	var w wirePlan
	if err := json.Unmarshal(bytes.TrimSpace(b), &w, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("%w: this is no plan file: %w", ErrUsage, err)
	}
	p, err := w.plan()
	if err != nil {
		return nil, fmt.Errorf("%w: this is no plan file: %w", ErrUsage, err)
	}
	return p, p.Verify()
}

// body is what the id is made of: the file without the id, in one spelling.
func (p *Plan) body() ([]byte, error) {
	b, err := json.Marshal(p.wire())
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	return b, nil
}

type wirePlan struct {
	Version    int         `json:"plan_version"`
	ID         string      `json:"id"`
	Action     string      `json:"action"`
	CreatedAt  string      `json:"created_at"`
	ExpiresAt  string      `json:"expires_at"`
	Actor      string      `json:"actor"`
	Reason     string      `json:"reason"`
	RootCause  string      `json:"root_cause"`
	Ticket     string      `json:"ticket"`
	Selection  string      `json:"selection"`
	Totals     []wireTotal `json:"totals"`
	Unreadable int         `json:"unreadable_amounts"`
	Entries    []wireEntry `json:"letters"`
}

type wireTotal struct {
	Currency string `json:"currency"`
	Debit    string `json:"debit"`
	Credit   string `json:"credit"`
	Count    int    `json:"count"`
}

type wireEntry struct {
	EnvelopeID string     `json:"envelope_id"`
	Root       string     `json:"root"`
	Generation int        `json:"generation"`
	Entity     string     `json:"ledger_entity"`
	SourceHash string     `json:"source_hash"`
	Currency   string     `json:"currency"`
	Amount     string     `json:"amount"`
	Outcome    string     `json:"outcome"`
	Code       string     `json:"code"`
	Fact       string     `json:"fact"`
	Gates      []wireGate `json:"gates"`
}

type wireGate struct {
	Gate string `json:"gate"`
	Pass bool   `json:"pass"`
	Code string `json:"code"`
	Fact string `json:"fact"`
}

func (p *Plan) wire() wirePlan {
	w := wirePlan{
		Version: PlanVersion, Action: p.Action, Actor: p.Actor, Reason: p.Reason, RootCause: p.RootCause, Ticket: p.Ticket,
		CreatedAt: envelope.FormatTime(p.CreatedAt), ExpiresAt: envelope.FormatTime(p.ExpiresAt), Selection: p.Selection,
		Totals: []wireTotal{}, Unreadable: p.Totals.Unreadable, Entries: make([]wireEntry, len(p.Entries)),
	}
	for _, currency := range slices.Sorted(maps.Keys(p.Totals.Currencies)) {
		t := p.Totals.Currencies[currency]
		w.Totals = append(w.Totals, wireTotal{currency, envelope.CanonicalAmount(t.Debit), envelope.CanonicalAmount(t.Credit), t.Count})
	}
	for i, e := range p.Entries {
		w.Entries[i] = wireEntry{
			EnvelopeID: e.EnvelopeID, Root: e.Root.String(), Generation: e.Generation, Entity: e.Entity, SourceHash: e.SourceHash,
			Currency: e.Currency, Amount: e.Amount, Outcome: string(e.Outcome), Code: string(e.Code), Fact: e.Fact,
			Gates: make([]wireGate, len(e.Gates)),
		}
		for j, g := range e.Gates {
			w.Entries[i].Gates[j] = wireGate{g.Gate, g.Pass, string(g.Code), g.Fact}
		}
	}
	return w
}

func (w *wirePlan) plan() (*Plan, error) {
	if w.Version != PlanVersion {
		return nil, fmt.Errorf("plan_version %d: this program reads version %d", w.Version, PlanVersion)
	}
	p := &Plan{
		ID: w.ID, Action: w.Action, Actor: w.Actor, Reason: w.Reason, RootCause: w.RootCause, Ticket: w.Ticket,
		Selection: w.Selection, Totals: Totals{Unreadable: w.Unreadable},
	}
	for _, t := range []struct {
		name, text string
		at         *time.Time
	}{{"created_at", w.CreatedAt, &p.CreatedAt}, {"expires_at", w.ExpiresAt, &p.ExpiresAt}} {
		var ok bool
		if *t.at, ok = envelope.ParseTime(t.text); !ok {
			return nil, fmt.Errorf("%s %q: want a time such as 2026-01-31T09:00:00.000Z", t.name, t.text)
		}
	}
	for _, t := range w.Totals {
		debit, ok := sum(t.Debit)
		credit, ok2 := sum(t.Credit)
		if !ok || !ok2 {
			return nil, fmt.Errorf("totals of %s: want canonical decimal text without a sign", t.Currency)
		}
		if p.Totals.Currencies == nil {
			p.Totals.Currencies = make(map[string]audit.Total)
		}
		p.Totals.Currencies[t.Currency] = audit.Total{Debit: debit, Credit: credit, Count: t.Count}
	}
	for _, e := range w.Entries {
		root, err := envelope.ParseCoordinates(e.Root)
		if err != nil {
			return nil, fmt.Errorf("letter %s: %w", e.EnvelopeID, err)
		}
		entry := Entry{
			EnvelopeID: e.EnvelopeID, Root: root, Generation: e.Generation, Entity: e.Entity, SourceHash: e.SourceHash,
			Currency: e.Currency, Amount: e.Amount, Outcome: Outcome(e.Outcome), Code: fault.Failure(e.Code), Fact: e.Fact,
		}
		if !slices.Contains(outcomes, entry.Outcome) {
			return nil, fmt.Errorf("letter %s: outcome %q: want one of %v", e.EnvelopeID, e.Outcome, outcomes)
		}
		for _, g := range e.Gates {
			entry.Gates = append(entry.Gates, Named{g.Gate, Check{Pass: g.Pass, Code: fault.Failure(g.Code), Fact: g.Fact}})
		}
		p.Entries = append(p.Entries, entry)
	}
	return p, nil
}

// sum reads a gross sum. It may be longer than an amount, but it has one spelling.
func sum(s string) (decimal.Decimal, bool) {
	if len(s) > 64 {
		return decimal.Decimal{}, false
	}
	d, err := decimal.NewFromString(s)
	return d, err == nil && d.Sign() >= 0 && envelope.CanonicalAmount(d) == s
}
