package topics

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Ladder are the delays of the tiers, shortest first.
type Ladder []time.Duration

// DefaultLadder is 2s, 30s, 5m, 1h, 6h, 24h.
func DefaultLadder() Ladder {
	return Ladder{2 * time.Second, 30 * time.Second, 5 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour}
}

// ParseLadder reads delays separated by commas, in any order and in Go's spelling or ours ("90s" and "1m30s" are the
// same delay). It reports every one that cannot be read or stands there twice, together with what Validate reports.
func ParseLadder(text string) (Ladder, error) {
	var l Ladder
	var errs []error
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		d, err := time.ParseDuration(part)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("retry.tiers (RECON_RETRY_TIERS): %q is no delay: write it like 30s, 5m or 24h", part))
		case slices.Contains(l, d):
			errs = append(errs, fmt.Errorf("retry.tiers (RECON_RETRY_TIERS): %s stands there twice", part))
		default:
			l = append(l, d)
		}
	}
	slices.Sort(l)
	if len(errs) > 0 && len(l) == 0 {
		return nil, errors.Join(errs...)
	}
	if err := errors.Join(append(errs, l.Validate())...); err != nil {
		return nil, err
	}
	return l, nil
}

// Choose is the smallest delay that is at least wait, else the largest.
func (l Ladder) Choose(wait time.Duration) time.Duration {
	for _, d := range l {
		if d >= wait {
			return d
		}
	}
	return l.Largest()
}

// Largest is the last delay, zero for an empty ladder.
func (l Ladder) Largest() time.Duration {
	if len(l) == 0 {
		return 0
	}
	return l[len(l)-1]
}

// longestDelay keeps twice a delay, which a tier's retention must hold, within what Kafka and Go can count.
const longestDelay = 10 * 365 * 24 * time.Hour

// Validate reports every mistake together: an empty ladder, delays that are not whole milliseconds between 1 ms and
// ten years, and delays that do not grow.
func (l Ladder) Validate() error {
	if len(l) == 0 {
		return errors.New("retry.tiers (RECON_RETRY_TIERS) is empty: give at least one delay")
	}
	var errs []error
	for i, d := range l {
		if d < time.Millisecond || d > longestDelay || d%time.Millisecond != 0 {
			errs = append(errs, fmt.Errorf("retry.tiers: %s: want whole milliseconds, at least 1ms and at most %s", d, Suffix(longestDelay)))
		}
		if i > 0 && d <= l[i-1] {
			errs = append(errs, fmt.Errorf("retry.tiers: %s follows %s: want growing delays", d, l[i-1]))
		}
	}
	return errors.Join(errs...)
}

var units = []struct {
	name string
	unit time.Duration
}{{"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}}

// Suffix writes a delay in its largest units, zero units dropped: 2s, 1m30s, 24h, 200ms. Less than a millisecond is
// dropped too.
func Suffix(d time.Duration) string {
	var b strings.Builder
	for _, u := range units {
		if n := d / u.unit; n > 0 {
			b.WriteString(strconv.FormatInt(int64(n), 10))
			b.WriteString(u.name)
			d -= n * u.unit
		}
	}
	return b.String()
}

// ParseSuffix reads what Suffix writes and nothing else: each delay has one spelling, so that it has one topic
// ("60s" and "1.5s" are errors).
func ParseSuffix(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || Suffix(d) != text {
		return 0, fmt.Errorf("tier suffix %q: want a delay in its largest units, as 2s, 1m30s, 24h or 200ms", text)
	}
	return d, nil
}
