package fault

import (
	"fmt"
	"time"
)

// carrier is the one error type of this package. Its text is redacted when it is made; err keeps the chain for
// errors.Is and errors.As and is never printed.
type carrier struct {
	code       Code // empty: adds only marks
	stage      Stage
	dependency string
	atLeast    time.Duration
	text       string
	err        error // nil for a root cause
}

// Error returns the redacted text, one line, without the code: evidence carries the code beside it.
func (c *carrier) Error() string { return c.text }

// Unwrap gives errors.Is and errors.As the chain below, which may hold text that is not redacted.
func (c *carrier) Unwrap() error { return c.err }

// New makes an error with a code; format and args are those of fmt.Errorf, %w included. The text is redacted here,
// so no secret in an argument survives in it. A code that the table does not know is kept in the text, and Of answers
// Unclassified.
func New(code Code, format string, args ...any) error {
	made := fmt.Errorf(format, args...)
	return &carrier{code: code, text: Redact(unknown(code) + made.Error()), err: made}
}

// Wrap gives err a code and keeps its chain; its text is err's, redacted. Wrap of nil is nil.
func Wrap(code Code, err error) error {
	if err == nil {
		return nil
	}
	return &carrier{code: code, text: Redact(unknown(code) + err.Error()), err: err}
}

// At says at which stage err happened. At of nil is nil. A stage that is not registered cannot stand in evidence: it
// goes in front of the text, and the code's own stage counts.
func At(stage Stage, err error) error {
	if err == nil {
		return nil
	}
	if !registered(stage) {
		return &carrier{text: Redact(string(stage) + ": " + err.Error()), err: err}
	}
	return &carrier{stage: stage, text: Redact(err.Error()), err: err}
}

// On names the system that is to blame for err, as evidence and metrics show it. On of nil is nil.
func On(dependency string, err error) error {
	if err == nil {
		return nil
	}
	return &carrier{dependency: dependency, text: Redact(err.Error()), err: err}
}

// RetryAfter says that the other side asked not to be tried again before d has passed. RetryAfter of nil is nil.
func RetryAfter(d time.Duration, err error) error {
	if err == nil {
		return nil
	}
	return &carrier{atLeast: d, text: Redact(err.Error()), err: err}
}

func unknown(code Code) string {
	if _, ok := index[code]; ok {
		return ""
	}
	return fmt.Sprintf("code %s: ", string(code))
}
