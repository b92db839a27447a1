package ledger

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bojanz/currency"
	"github.com/shopspring/decimal"

	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// entry is a message on its way into the ledger: what is asked about it, and what is written.
type entry struct {
	m          envelope.Message // a copy: who handed it in may be gone before a lane is done with it
	accounting string           // accounting date
	amount     decimal.Decimal
	own        decimal.Decimal // the amount in the minor unit of its own currency: the base amount where that is the base currency
	want       rateKey
	fx         *conversion // nil until the rate is known
}

// rateKey is which rate would be the right one, but for the base currency, which only the database knows.
type rateKey struct {
	day, kind, source string
	inverse           bool
}

// facts is what the database says about an entry at one moment.
type facts struct {
	inserted bool
	posted   *envelope.AlreadyPosted
	mapped   bool   // the currency is in table currencies
	arrived  bool   // there is no counterpart_ref, or it is in table documents
	base     string // the entity's base currency, empty: none
	rate     *rate  // nil: not published
}

// entry reads what a posting needs from m. SCHEMA_INVALID where m holds what no database can, which only a message that
// did not come through envelope.Decode should.
func (s *SQL) entry(m *envelope.Message) (entry, error) {
	if m.SourceHash == "" || m.Root.IsZero() {
		return entry{}, fault.At(fault.StagePost, fault.New(fault.NoIdentity, "a posting needs a source_hash and a root"))
	}
	e := entry{m: *m, accounting: s.cfg.Calendar.AccountingDate(m), amount: m.Amount}
	for _, day := range []string{m.BookingDate, m.ValueDate, e.accounting} {
		if _, err := time.Parse(time.DateOnly, day); day != "" && err != nil {
			return entry{}, fault.At(fault.StagePost, fault.New(fault.SchemaInvalid, "%s is no date that exists", day))
		}
	}
	texts := []string{m.SourceHash, m.LedgerEntity, m.Currency, m.CounterpartRef, m.MessageID, m.TraceID, m.MatchDecision, m.Digest, m.Root.Topic}
	for _, text := range texts {
		if strings.IndexByte(text, 0) >= 0 || !utf8.ValidString(text) {
			return entry{}, fault.At(fault.StagePost, fault.New(fault.SchemaInvalid, "a text of the message holds a zero byte or is no UTF-8: the ledger cannot hold it"))
		}
	}
	e.own = e.amount
	if digits, ok := currency.GetDigits(m.Currency); ok {
		e.own = e.amount.RoundBank(int32(digits))
	}
	e.want = rateKey{day: s.rateDay(m.LedgerEntity, e.accounting), kind: s.cfg.FX.Type, source: s.cfg.FX.Source, inverse: s.cfg.FX.Inverse}
	return e, nil
}

// maxShown is how many bytes of a reference an error text repeats: it may be as long as the record.
const maxShown = 120

// maxBack is the longest row of days without rates that is stepped over.
const maxBack = 31

// rateDay is the day whose rate converts an entry. Where a month has no business day at all, the accounting date stands:
// then the rate is missing, and the refusal names a day that a person can understand.
func (s *SQL) rateDay(entity, accounting string) string {
	if s.cfg.FX.Date == AccountingDate {
		return accounting
	}
	t, err := time.Parse(time.DateOnly, accounting)
	for range maxBack {
		day := t.Format(time.DateOnly)
		if err != nil || (!s.holidays[day] && s.cfg.Calendar.BusinessDay(entity, day)) {
			return day
		}
		t = t.AddDate(0, 0, -1)
	}
	return accounting
}

// judge says what the facts mean for e: the posting that is there already, the first check that e does not pass, or the
// conversion that it needs; nil and nil where it needs none. The order is that of the stages, so that one record gets the
// same code however often it is asked about.
func (f facts) judge(e *entry) (*conversion, error) {
	switch m := &e.m; {
	case f.posted != nil:
		return nil, f.posted
	case !f.mapped:
		return nil, fault.At(fault.StageCurrency, fault.New(fault.CurrencyUnmapped, "currency %s is not in the ledger's table currencies", m.Currency))
	case !f.arrived:
		return nil, fault.At(fault.StageCounterpart, fault.New(fault.CounterpartNotArrived, "document %s is not in the ledger's table documents", fault.Truncate(m.CounterpartRef, maxShown)))
	case f.base == "" || f.base == m.Currency:
		return nil, nil
	}
	return f.convert(e)
}

// allow tells whether e may be inserted as it is: what PostgreSQL decides in its one statement.
func (f facts) allow(e *entry) bool {
	if f.posted != nil || !f.mapped || !f.arrived {
		return false
	}
	if f.base == "" || f.base == e.m.Currency {
		return true
	}
	return f.rate != nil && e.fx != nil && f.rate.same(e.fx.rate) && f.base == e.fx.base
}
