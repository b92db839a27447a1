package envelope

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/fault"
)

// ParseRetry reads the service's own headers. It never fails as a whole: each header that is malformed, unknown or
// there twice (the first one counts) is one error and leaves its zero value; only counts beyond 32 bits stay at the
// largest, so that a limit ends them. Whatever is read is valid to be written again. Without headers nothing is
// allocated.
func ParseRetry(recon []kgo.RecordHeader) (Retry, []error) {
	var r Retry
	var errs []error
	var seen uint32 // one bit for each of retryHeaders: a record may bring a hundred thousand headers
	for i := range recon {
		h := &recon[i]
		var err error
		switch at := slices.Index(retryHeaders, h.Key); {
		case at < 0:
			err = errors.New("not a header of this service")
		case seen&(1<<at) != 0:
			err = errors.New("stands twice, the first one counts")
		default:
			seen |= 1 << at
			err = r.parse(h.Key, h.Value)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("header %s: %w", clip(h.Key), err))
		}
	}
	return r, errs
}

// retryHeaders are the headers that parse reads, fewer than 32.
var retryHeaders = []string{
	HeaderRoot, HeaderOrigin, HeaderOriginRecord, HeaderGeneration, HeaderMessageID, HeaderAttempt, HeaderBudget,
	HeaderMaxAttempts, HeaderFirstSeenAt, HeaderNextRetryAt, HeaderMatchDeadline, HeaderStage, HeaderFailureClass,
	HeaderErrorCode, HeaderError, HeaderHistory, HeaderReplay, HeaderEnvelope,
}

// parse reads one header into its field.
func (r *Retry) parse(name string, value []byte) (err error) {
	if !utf8.Valid(value) {
		return errors.New("not UTF-8")
	}
	v := string(value)
	switch name {
	case HeaderRoot:
		r.Root, err = ParseCoordinates(v)
	case HeaderOrigin:
		r.Origin, err = ParseCoordinates(v)
	case HeaderOriginRecord:
		r.OriginRecord, err = parseRecorded(v)
	case HeaderGeneration:
		r.Generation, err = parseCount(v)
	case HeaderAttempt:
		r.Attempt, err = parseCount(v)
	case HeaderMaxAttempts:
		r.MaxAttempts, err = parseCount(v)
	case HeaderBudget:
		r.Budget, err = parseBudget(v)
	case HeaderFirstSeenAt:
		r.FirstSeen, err = parseMoment(v)
	case HeaderNextRetryAt:
		r.Due, err = parseMoment(v)
	case HeaderMatchDeadline:
		r.MatchDeadline, err = parseMoment(v)
	case HeaderError:
		r.Error = fault.Truncate(v, maxErrorHeader)
	case HeaderHistory:
		r.History, r.Omitted, err = parseHistory(value)
	default:
		err = r.parseName(name, v)
	}
	return err
}

// parseRecorded reads what Recorded.append writes.
func parseRecorded(v string) (Recorded, error) {
	var r Recorded
	words := strings.Split(v, " ")
	bad := errors.New("want leader epoch, milliseconds and CreateTime or LogAppendTime")
	if len(words) != 3 || words[2] != CreateTime && words[2] != LogAppendTime {
		return r, bad
	}
	epoch, err := strconv.ParseInt(words[0], 10, 32)
	ms, err2 := strconv.ParseInt(words[1], 10, 64)
	if err != nil || err2 != nil || epoch < -1 {
		return r, bad
	}
	return Recorded{LeaderEpoch: int32(epoch), TimestampMS: ms, TimestampType: words[2]}, nil
}

// parseName reads the headers whose value is a word by a rule.
func (r *Retry) parseName(name, v string) error {
	switch name {
	case HeaderMessageID:
		return parseText(v, ruleUUID, &r.MessageID)
	case HeaderReplay:
		return parseText(v, ruleUUID, &r.Replay)
	case HeaderEnvelope:
		return parseText(v, ruleUUID, &r.Envelope)
	case HeaderStage:
		return parseText(v, ruleName, &r.Stage)
	case HeaderFailureClass:
		return parseText(v, ruleClass, &r.Class)
	case HeaderErrorCode:
		return parseText(v, ruleCode, &r.Code)
	default:
		return errors.New("not a header of this service")
	}
}

func parseText[S ~string](v string, r rule, into *S) error {
	if !r.ok(v) {
		return errors.New("want " + r.want)
	}
	*into = S(v)
	return nil
}

// parseCount reads a number from 0. What is a number but too large stays at the largest and is an error nevertheless.
func parseCount(v string) (int, error) {
	n, err := parseNatural(v, 32)
	if err == nil {
		return int(n), nil
	}
	if errors.Is(err, strconv.ErrRange) && isDigit(v[0]) {
		return math.MaxInt32, fmt.Errorf("more than %d", math.MaxInt32)
	}
	return 0, errors.New("want a number from 0 in plain digits")
}

func parseMoment(v string) (time.Time, error) {
	t, ok := ParseTime(v)
	if !ok {
		return time.Time{}, errors.New("want a time such as 2026-01-31T09:00:00.000Z")
	}
	return t, nil
}

// parseBudget reads `CODE=count,…`. Pairs that are well formed stay even when another is not; of a code that stands
// twice the larger count stays.
func parseBudget(v string) (map[fault.Code]int, error) {
	if len(v) > maxBudget {
		return nil, fmt.Errorf("%d bytes, at most %d are read", len(v), maxBudget)
	}
	var budget map[fault.Code]int
	var failed error
	for pair := range strings.SplitSeq(v, ",") {
		code, text, _ := strings.Cut(pair, "=")
		n, err := parseCount(text)
		switch _, twice := budget[fault.Code(code)]; {
		case !isCode(code):
			failed = errors.New("want CODE=count,…")
			continue
		case twice:
			failed = fmt.Errorf("%s stands twice", code)
		case err != nil:
			failed = fmt.Errorf("%s: %w", code, err)
		}
		if budget == nil {
			budget = make(map[fault.Code]int)
		}
		budget[fault.Code(code)] = max(budget[fault.Code(code)], n)
	}
	return budget, failed
}

// maxBudget is far more than all codes of the table take.
const maxBudget = 4096
