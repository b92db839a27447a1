package fault

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Ceiling is the number of attempts after which a record is given up whatever its codes allow.
const Ceiling = 100

// Spacing says how the waits of a policy are chosen.
type Spacing string

// FullJitter draws each wait from U(0, min(cap, base * 2^n)), n being the earlier failures of the code (Brooker,
// "Exponential Backoff And Jitter", AWS Architecture Blog 2015). Fixed waits for the base every time.
const (
	FullJitter Spacing = "full_jitter"
	Fixed      Spacing = "fixed"
)

// Policy is how often and with which waits one code is tried.
type Policy struct {
	Class         Class
	MaxAttempts   int           // in all, the first included; 0 and 1 both give up at the first failure
	Base, Cap     time.Duration // see Spacing
	Spacing       Spacing
	UntilDeadline bool // with a deadline that alone ends it (and the Ceiling); MaxAttempts counts without one
}

// Bound is the longest wait after a failure that had n earlier ones: min(cap, base * 2^n), or base when fixed.
// It cannot overflow, whatever n.
func (p Policy) Bound(n int) time.Duration {
	if p.Spacing == Fixed {
		return min(p.Base, p.Cap)
	}
	if n = max(n, 0); n >= 63 || p.Base > p.Cap>>n {
		return p.Cap
	}
	return p.Base << n
}

// draw chooses a wait; u is uniform in [0,1), and anything outside is taken for its nearest end.
func (p Policy) draw(n int, u float64) time.Duration {
	bound := p.Bound(n)
	if p.Spacing == Fixed {
		return bound
	}
	if !(u > 0) { // also NaN
		return 0
	}
	return min(time.Duration(min(u, 1)*float64(bound)), bound)
}

// limit is the number of failures of the code that ends it, under the ceiling.
func (p Policy) limit(deadline bool) int {
	if p.UntilDeadline && deadline && p.MaxAttempts > 0 {
		return Ceiling
	}
	return min(p.MaxAttempts, Ceiling)
}

// Policies holds the policy of each code. A code that is not in it has its default.
type Policies map[Code]Policy

// Defaults returns the policies of CONTRACT 3, a fresh map.
func Defaults() Policies {
	p := make(Policies, len(table))
	for _, r := range table {
		p[r.Code] = r.Policy
	}
	return p
}

// For returns the policy of a code; an unknown code has that of Unclassified.
func (p Policies) For(code Code) Policy {
	r, _ := row(code)
	if own, ok := p[r.Code]; ok {
		return own
	}
	return r.Policy
}

// Validate reports every mistake together, each with its code: an unknown code, a class other than the table's,
// negative or too many attempts, a poison code with more than one attempt, waits that are not positive, a cap below
// the base, an unknown spacing.
func (p Policies) Validate() error {
	var errs []error
	for _, code := range slices.Sorted(maps.Keys(p)) {
		r, ok := row(code)
		if !ok {
			errs = append(errs, fmt.Errorf("policy of %s: there is no such error code; docs/errors.md lists them", code))
			continue
		}
		for _, mistake := range p[code].mistakes(r) {
			errs = append(errs, fmt.Errorf("policy of %s: %s", code, mistake))
		}
	}
	return errors.Join(errs...)
}

func (p Policy) mistakes(r Row) (found []string) {
	add := func(wrong bool, format string, args ...any) {
		if wrong {
			found = append(found, fmt.Sprintf(format, args...))
		}
	}
	add(p.Class != r.Policy.Class, "class is %s and cannot be %q", r.Policy.Class, string(p.Class))
	add(p.MaxAttempts < 0, "max_attempts is %d: give 0 (straight to the dead letters) or more", p.MaxAttempts)
	if r.Policy.Class == Poison {
		add(p.MaxAttempts > 1, "max_attempts is %d, but poison is given up on its first occurrence: leave it at 1", p.MaxAttempts)
		return found
	}
	add(p.MaxAttempts > Ceiling, "max_attempts is %d, above the ceiling of %d", p.MaxAttempts, Ceiling)
	add(r.waitOnly() && p.MaxAttempts != 0, "max_attempts is %d, but it only waits and has no limit: leave it out", p.MaxAttempts)
	add(r.waitOnly() && p.UntilDeadline, "no deadline ends it: leave deadline out")
	add(p.Base <= 0, "base_delay is %s: give more than 0", p.Base)
	add(p.Cap < p.Base, "cap %s is below base_delay %s", p.Cap, p.Base)
	add(p.Spacing != FullJitter && p.Spacing != Fixed, "spacing is %q: give %s or %s", string(p.Spacing), FullJitter, Fixed)
	return found
}

// Fit cuts the caps that no tier can hold. A default cap above the largest tier is cut to it and its code returned,
// sorted; a cap that was configured (the codes in configured) is a mistake of the configuration and is left as it is.
// A base above a cap that was cut comes down with it. All mistakes are reported together.
func (p Policies) Fit(largestTier time.Duration, configured map[Code]bool) (cut []Code, err error) {
	var errs []error
	for _, r := range table {
		own := p.For(r.Code)
		switch {
		case own.Class != Transient || own.Cap <= largestTier:
		case configured[r.Code]:
			errs = append(errs, fmt.Errorf("policy of %s: cap %s is above the largest tier %s: lower the cap or add a tier (RECON_RETRY_TIERS)",
				r.Code, own.Cap, largestTier))
		default:
			own.Cap, own.Base = largestTier, min(own.Base, largestTier)
			p[r.Code], cut = own, append(cut, r.Code)
		}
	}
	slices.SortFunc(cut, cmp.Compare[Code])
	return cut, errors.Join(errs...)
}
