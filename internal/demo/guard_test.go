package demo_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"recon/internal/demo"
	"recon/pkg/audit"
	"recon/pkg/consumer"
	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/ledger"
)

// folder is where the demo makes its own. It opens sockets of loopback, so its tests belong to the real suite.
func folder(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("part of the real suite: it opens sockets")
	}
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	return dir
}

func left(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(dir + "/*/*")
	if err != nil {
		t.Fatal(err)
	}
	folders, err := filepath.Glob(dir + "/*")
	if err != nil {
		t.Fatal(err)
	}
	return append(folders, files...)
}

func message(t *testing.T, hash, system string) *envelope.Message {
	t.Helper()
	m, err := envelope.Decode([]byte(`{"source_hash":"`+hash+`","ledger_entity":"ACME","currency":"EUR","amount":"1.00","match_decision":"MATCHED","source_system":"`+system+`"}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Identify(envelope.Coordinates{Topic: "recon.main", Offset: 99})
	return m
}

func TestRealDemoWhoseBooksDoNotCloseSaysSo(t *testing.T) {
	dir := folder(t)
	var out bytes.Buffer
	if err := demo.Books(t.Context(), &out, "", ""); err != nil {
		t.Fatalf("books of nothing: %v", err)
	}
	for topic, want := range map[string]string{"recon.dlq": "no letter can be read here", "recon.audit": "audit trail: ["} {
		out.Reset()
		if err := demo.Books(t.Context(), &out, topic, "{}"); !errors.Is(err, demo.ErrNotClosed) || !strings.Contains(out.String(), want) {
			t.Errorf("a stranger's value on %s: %v, want %v and %q in\n%s", topic, err, demo.ErrNotClosed, want, out.String())
		}
	}
	if l := left(t, dir); len(l) > 0 {
		t.Errorf("%v is left", l)
	}
}

func TestRealDemoInWhichAHashPostedTwiceNamesIt(t *testing.T) {
	folder(t)
	var out bytes.Buffer
	err := demo.Doubled(t.Context(), &out, message(t, "hash-0001", "bank"))
	if !errors.Is(err, demo.ErrNotClosed) || !strings.Contains(err.Error(), "hash-0001 has 2 postings") {
		t.Errorf("%v, want %v and the hash\n%s", err, demo.ErrNotClosed, out.String())
	}
}

// letter is that of a record of a system which failed at its first attempt.
func letter(t *testing.T, offset int64, hash, system string) *envelope.Letter {
	t.Helper()
	root := envelope.Coordinates{Topic: "recon.main", Offset: offset}
	value := `{"source_hash":"` + hash + `","ledger_entity":"ACME","currency":"EUR","amount":"1.00","match_decision":"MATCHED","source_system":"` + system + `"}`
	return &envelope.Letter{
		FailureCode: fault.FailedPoison, FailureClass: fault.Poison, ErrorCode: fault.CurrencyUnmapped, ErrorDetail: "not mapped",
		SourceStage: fault.StageCurrency, AttemptCount: 1, Lineage: envelope.Lineage{Root: root},
		Message:  envelope.Facts{SourceHash: hash, LedgerEntity: "ACME", Currency: "EUR", Amount: "1", MatchDecision: "MATCHED"},
		Origin:   envelope.Origin{Coordinates: root, LeaderEpoch: -1, TimestampType: envelope.CreateTime},
		Original: envelope.Original{Value: []byte(value)}, FirstSeenAt: time.Unix(1, 0).UTC(), DeadLetteredAt: time.Unix(2, 0).UTC(),
		Producer: envelope.Producer{Service: "recon-consumer", Version: "1", Instance: "i", Group: "g", ConfigDigest: "d"},
	}
}

// Each of the first three letters is stopped by one gate alone. The gate of periods has no calendar here.
func TestRealDemoAsksItsGates(t *testing.T) {
	folder(t)
	differs := letter(t, 1, "hash-0001", "bank")
	differs.Message.Currency = "USD"
	var out bytes.Buffer
	err := demo.Replay(t.Context(), &out, message(t, "hash-0003", "bank"),
		differs, letter(t, 2, "hash-0002", "carrier-billing"), letter(t, 3, "hash-0003", "bank"))
	if err != nil {
		t.Error(err)
	}
	for _, want := range []string{"STILL_INVALID", "CAUSE_NOT_FIXED", "REPLAY_DUPLICATE", "selected 3 = reinjected 0 + suppressed 1 + quarantined 0 + refused 2 +"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the replay does not say %q:\n%s", want, out.String())
		}
	}
}

// What went wrong on the way is said although the books close.
func TestRealDemoThatCannotGoOnSaysWhy(t *testing.T) {
	dir := folder(t)
	var broke error
	out := &cutter{after: "the causes are mended", cut: sync.OnceFunc(func() {
		files, err := filepath.Glob(dir + "/*/ledger.sqlite")
		if err != nil || len(files) != 1 {
			broke = fmt.Errorf("ledgers %v, %v", files, err)
			return
		}
		l, err := sql.Open("sqlite", files[0])
		if err == nil {
			_, err = l.Exec(`PRAGMA busy_timeout = 5000; DROP TABLE currencies`)
			err = errors.Join(err, l.Close())
		}
		broke = err
	})}
	err := demo.Run(t.Context(), out, demo.Options{})
	if broke != nil {
		t.Fatal(broke)
	}
	if err == nil || !strings.Contains(err.Error(), "currencies") {
		t.Errorf("the demo ended with %v, want what it could not enter", err)
	}
}

func TestRealDemoThatIsInterruptedEndsAndLeavesNothing(t *testing.T) {
	dir := folder(t)
	ctx, cancel := context.WithCancel(t.Context())
	out := &cutter{after: "waits on", cut: cancel}
	if err := demo.Run(ctx, out, demo.Options{}); err == nil {
		t.Error("an interrupted demo ended as if it were whole")
	}
	if l := left(t, dir); len(l) > 0 {
		t.Errorf("%v is left", l)
	}
	cancel()
	if err := demo.Run(ctx, out, demo.Options{}); err == nil {
		t.Error("a demo that never began ended as if it were whole")
	}
	if l := left(t, dir); len(l) > 0 {
		t.Errorf("%v is left", l)
	}
}

// cutter cancels once it has been told something.
type cutter struct {
	after string
	cut   func()
}

func (c *cutter) Write(b []byte) (int, error) {
	if strings.Contains(string(b), c.after) {
		c.cut()
	}
	return len(b), nil
}

func TestRealDemoLeavesItsLedgerWhereItSays(t *testing.T) {
	folder(t)
	var out bytes.Buffer
	if err := demo.Run(t.Context(), &out, demo.Options{Keep: true}); err != nil {
		t.Fatal(err)
	}
	said := regexp.MustCompile(`the ledger stays at (\S+)`).FindStringSubmatch(out.String())
	if said == nil {
		t.Fatal("it does not say where the ledger stays")
	}
	if _, err := os.Stat(said[1]); err != nil {
		t.Error(err)
	}
}

func TestPatienceEndsAWaitWithWhatItWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := func() bool { return false }
		if err := demo.Await(t.Context(), "the rain", never); err == nil || !strings.Contains(err.Error(), "waited 1m0s for the rain") {
			t.Errorf("Await: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := demo.Await(ctx, "the rain", never); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Await: %v, want the caller's end", err)
		}
		if err := demo.Await(ctx, "the rain", func() bool { return true }); err != nil {
			t.Errorf("Await: %v, want nil: what it waits for is there", err)
		}
	})
}

func TestCarrierIsAskedForItsOwnRecordsOnly(t *testing.T) {
	l, err := ledger.Open("sqlite:"+filepath.Join(t.TempDir(), "l"), ledger.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := errors.Join(l.Migrate(t.Context()), l.PutCurrency(t.Context(), "EUR")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		hash, system string
		up           bool
		want         fault.Code
	}{
		{"hash-0001", "bank", false, ""},
		{"hash-0002", "carrier-billing", false, fault.CarrierUnreachable},
		{"hash-0002", "carrier-billing", true, ""},
	} {
		handle, precheck := demo.Carrier(t.Context(), l, c.up, message(t, c.hash, c.system))
		for _, err := range []error{handle, precheck} {
			if (err == nil) != (c.want == "") || err != nil && (fault.Of(err).Code != c.want || fault.Of(err).Stage != "carrier_status") {
				t.Errorf("%s of %s, carrier up %v: %v, want %q", c.hash, c.system, c.up, err, c.want)
			}
		}
	}
}

func TestRecordThatComesAgainCountsOnce(t *testing.T) {
	at := func(offset int64) envelope.Coordinates {
		return envelope.Coordinates{Topic: "recon.main", Offset: offset}
	}
	ended, posted, suppressed, dead := demo.Count(
		consumer.Event{Kind: consumer.RetryScheduled, Root: at(1)}, consumer.Event{Kind: consumer.Posted, Root: at(1)},
		consumer.Event{Kind: consumer.Posted, Root: at(1)}, consumer.Event{Kind: consumer.Suppressed, Root: at(2)},
		consumer.Event{Kind: consumer.DeadLettered, Root: at(3)}, consumer.Event{Kind: consumer.Assigned, Root: at(4)},
	)
	if ended != 3 || posted != 1 || suppressed != 1 || dead != 1 {
		t.Errorf("%d ended: %d posted, %d suppressed, %d dead, want one of each", ended, posted, suppressed, dead)
	}
}

func TestEventsAreToldInAPersonsWords(t *testing.T) {
	m := &envelope.Message{LedgerEntity: "ACME", Currency: "EUR", Amount: decimal.RequireFromString("1.5"), HasAmount: true}
	due := time.Date(2026, 11, 27, 9, 0, 0, 0, time.Local)
	for _, c := range []struct {
		ev   consumer.Event
		want []string
	}{
		{consumer.Event{Kind: consumer.Posted, Message: m, Attempt: 1}, []string{"ACME", "1.50 EUR", "  posted\n"}},
		{consumer.Event{Kind: consumer.Posted, Message: m, Attempt: 3}, []string{"posted on attempt 3"}},
		{consumer.Event{Kind: consumer.Suppressed, Message: m}, []string{"suppressed"}},
		{
			consumer.Event{Kind: consumer.RetryScheduled, Message: m, Topic: "recon.retry.1s", Due: due, Code: fault.LockContention, Stage: "post", Attempt: 2},
			[]string{"waits on recon.retry.1s until 09:00:00.000", "the ledger is busy", "LOCK_CONTENTION at post, attempt 2 failed"},
		},
		{
			consumer.Event{Kind: consumer.DeadLettered, Message: &envelope.Message{}, Code: fault.Undecodable, Stage: "decode", Attempt: 1},
			[]string{"unreadable", "–", "no message at all", "UNDECODABLE at decode after 1 attempt)"},
		},
		{consumer.Event{Kind: consumer.DeadLettered, Attempt: 4}, []string{"unreadable", "after 4 attempts)"}},
	} {
		var out bytes.Buffer
		demo.Tell(&out, c.ev)
		for _, want := range c.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("said %q, want it to say %q", out.String(), want)
			}
		}
	}
	var out bytes.Buffer
	if demo.Tell(&out, consumer.Event{Kind: consumer.Assigned}); out.Len() > 0 {
		t.Errorf("said %q of what is no outcome", out.String())
	}
}

func TestBrokenTrailIsShown(t *testing.T) {
	var whole, broken bytes.Buffer
	r := audit.NewBooks("recon.main", true).Result()
	demo.ShowBooks(&whole, r, audit.Trail{})
	demo.ShowBooks(&broken, r, audit.Trail{Findings: []audit.Finding{{Text: "a link is missing"}}})
	if !strings.Contains(whole.String(), "audit trail: intact") || strings.Contains(broken.String(), "intact") || !strings.Contains(broken.String(), "a link is missing") {
		t.Errorf("whole: %s\nbroken: %s", whole.String(), broken.String())
	}
}
