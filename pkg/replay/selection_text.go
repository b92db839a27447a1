package replay

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"recon/pkg/envelope"
)

// String is the selection as flags, for evidence.
func (s *Selection) String() string {
	if w := s.words(true); w != "" {
		return w
	}
	return "--all"
}

func (s *Selection) words(whole bool) string {
	var b strings.Builder
	flag := func(name string, values ...string) {
		for _, v := range values {
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString("--" + name + " " + v)
		}
	}
	flag("code", texts(s.Codes)...)
	flag("error-code", texts(s.ErrorCodes)...)
	flag("class", texts(s.Classes)...)
	flag("stage", texts(s.Stages)...)
	flag("fingerprint", s.Fingerprints...)
	flag("root-cause", s.RootCauses...)
	flag("entity", s.Entities...)
	flag("currency", s.Currencies...)
	flag("match-decision", s.MatchDecisions...)
	if !s.MinAmount.IsZero() {
		flag("min-amount", envelope.CanonicalAmount(s.MinAmount))
	}
	flag("period", s.Periods...)
	flag("source-system", s.SourceSystems...)
	flag("source-hash", s.SourceHashes...)
	flag("trace-id", s.TraceIDs...)
	flag("message-id", s.MessageIDs...)
	flag("id", s.IDs...)
	flag("root", s.Roots...)
	for _, g := range s.Generations {
		flag("generation", fmt.Sprint(g))
	}
	flag("state", s.States...)
	if !s.Since.IsZero() {
		flag("since", envelope.FormatTime(s.Since))
	}
	if !s.Until.IsZero() {
		flag("until", envelope.FormatTime(s.Until))
	}
	if whole {
		flag("exclude-id", s.ExcludeIDs...)
		if s.Limit > 0 {
			flag("limit", fmt.Sprint(s.Limit))
		}
	}
	return b.String()
}

func texts[S ~string](values []S) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = string(v)
	}
	return all
}

// maxDays is a hundred years and more, and less than a duration can hold.
const maxDays = 100_000

// ParseMoment reads what --since and --until take: RFC 3339 with a zone, or how long before now (`2h`, `7d`).
func ParseMoment(s string, now time.Time) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t.UTC(), nil
	}
	ago, err := time.ParseDuration(s)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		var n int
		n, err = strconv.Atoi(days)
		ago = time.Duration(n) * 24 * time.Hour
		if n > maxDays {
			ago = -1
		}
	}
	if err != nil || ago < 0 {
		return time.Time{}, fmt.Errorf("%w: time %q: want RFC 3339 such as 2026-01-31T09:00:00Z, or a duration such as 2h or 7d", ErrUsage, s)
	}
	return now.Add(-ago).UTC(), nil
}
