package ledger

import (
	"errors"
	"fmt"
	"time"

	"recon/pkg/period"
)

// Config is what a ledger needs beyond its URL. Zero values stand for the defaults.
type Config struct {
	// Conns is the number of connections to PostgreSQL; 0 means pool_max_conns of the URL, else 16. At most 4 of them post,
	// each for many handlers at once; the others answer questions. SQLite has one writer whatever is set.
	Conns int
	// Timeout bounds one posting or question with everything in it, waiting for a free connection too. Default 15 s.
	Timeout time.Duration
	// LockTimeout is how long a statement may wait for another transaction before it is LOCK_CONTENTION. Default 5 s.
	// For PostgreSQL it is sent as lock_timeout at connect, unless the URL sets that; below zero it is not sent.
	LockTimeout time.Duration
	// FX says which rate is the right one.
	FX FX
	// Calendar gives accounting dates and holidays; nil: days first seen are UTC days, holidays are Holidays alone.
	Calendar *period.Calendar
}

// FXDate says of which day a rate must be.
type FXDate string

// The rules for the day of a rate.
const (
	AccountingDate      FXDate = "accounting_date"       // the accounting date itself (default)
	PreviousBusinessDay FXDate = "previous_business_day" // the accounting date, or the last business day before it when it is none
)

// FX says which rate converts a posting into its entity's base currency: the row of table rates whose base is the
// entity's base currency and whose quote is the posting's currency, of the day, type and source named here; of several
// the one published last. Rates are not combined over a third currency.
type FX struct {
	Date     FXDate
	Type     string   // default "spot"
	Source   string   // default: any
	Inverse  bool     // where that row is missing, use the one of the opposite direction
	Holidays []string // YYYY-MM-DD: days without rates, beside weekends and the calendar's holidays
}

// filled returns c with the defaults in place.
func (c Config) filled() Config {
	if c.Timeout == 0 {
		c.Timeout = 15 * time.Second
	}
	if c.LockTimeout == 0 {
		c.LockTimeout = 5 * time.Second
	}
	if c.FX.Date == "" {
		c.FX.Date = AccountingDate
	}
	if c.FX.Type == "" {
		c.FX.Type = "spot"
	}
	return c
}

// Validate reports all mistakes at once.
func (c Config) Validate() error {
	c = c.filled()
	var mistakes []error
	if c.Conns < 0 {
		mistakes = append(mistakes, fmt.Errorf("conns: %d is less than none", c.Conns))
	}
	if c.Timeout < 0 {
		mistakes = append(mistakes, fmt.Errorf("timeout: %s lies in the past", c.Timeout))
	}
	if c.FX.Date != AccountingDate && c.FX.Date != PreviousBusinessDay {
		mistakes = append(mistakes, fmt.Errorf("fx.date: %s is no rule; there are: %s, %s", c.FX.Date, AccountingDate, PreviousBusinessDay))
	}
	for i, day := range c.FX.Holidays {
		if _, err := time.Parse(time.DateOnly, day); err != nil {
			mistakes = append(mistakes, fmt.Errorf("fx.holidays[%d]: %s is no date that exists; write YYYY-MM-DD", i, day))
		}
	}
	return errors.Join(mistakes...)
}
