package replay_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"recon/pkg/dedup"
	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/replay"
)

// asked is a letter of generation 1 in hand, with a store and a ledger that know one thing each.
type asked struct {
	letter *envelope.Letter
	opened *replay.Opened
	store  dedup.Store
	ledger *ledger
}

func ask(t *testing.T) *asked {
	t.Helper()
	a := &asked{letter: letterOf(4, 1, 0), ledger: &ledger{rows: map[string]*envelope.AlreadyPosted{}}}
	m, err := envelope.Decode(a.letter.Original.Value, a.letter.Original.Headers)
	if err != nil {
		t.Fatal(err)
	}
	m.Identify(a.letter.Lineage.Root)
	c, _ := foldOf(fact{letter: a.letter}).Case(a.letter.EnvelopeID)
	a.opened = &replay.Opened{Case: c, Letter: a.letter, Message: m}
	store, err := dedup.NewMemory(dedup.Options{})
	if err == nil {
		err = store.Open(t.Context(), false, false)
	}
	if err != nil {
		t.Fatal(err)
	}
	a.store = store
	return a
}

// know puts one value into the store.
func (a *asked) know(t *testing.T, state dedup.State, root envelope.Coordinates, generation int, same bool) {
	t.Helper()
	digest := a.opened.Message.Digest
	if !same {
		digest = "0123456789abcdef"
	}
	hash := a.opened.Message.SourceHash
	if state == dedup.Settled {
		if _, err := a.store.MarkSettled(t.Context(), dedup.Mark{Hash: hash, Digest: digest, Root: root, Generation: generation}); err != nil {
			t.Fatal(err)
		}
		return
	}
	c := dedup.Claim{Hash: hash, Digest: digest, Root: root, Generation: generation, Attempt: 1, At: root}
	_, err := a.store.Claim(t.Context(), time.Minute, []dedup.Claim{c})
	if err == nil && state != dedup.Claimed {
		err = a.store.Settle(t.Context(), []dedup.Settlement{{Claim: c, State: state, Due: time.Now().Add(time.Minute)}})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// plainAnswer is what the contract says of a stored value, in its words.
func plainAnswer(state dedup.State, own bool, generation int, same bool) (replay.Outcome, fault.Failure) {
	const letters = 1 // the letter's generation
	switch {
	case state == dedup.Posted && own:
		return replay.Confirm, "" // a letter whose root posted is not open: what is missing is written
	case state == dedup.Posted && same:
		return replay.Suppress, fault.FailedReplayDuplicate
	case state == dedup.Posted:
		return replay.Refuse, fault.FailedIdentityConflict // never suppressed
	case state == dedup.Settled:
		return replay.Refuse, fault.FailedSettledManually
	case own && generation == letters+1:
		return replay.Complete, "" // the store is already at (root, generation + 1)
	case own && generation > letters, state == dedup.Claimed, state == dedup.Waiting:
		return replay.Refuse, fault.FailedInFlightElsewhere
	default:
		return replay.Reinject, ""
	}
}

// Every stored value gets the answer that the contract gives; and the gate passes exactly where the reservation, which
// asks the store at the moment of taking, is not refused.
func TestGateAndReservationAgreeOnEveryStoredValue(t *testing.T) {
	for _, state := range []dedup.State{dedup.Claimed, dedup.Waiting, dedup.Dead, dedup.Posted, dedup.Settled} {
		for _, own := range []bool{true, false} {
			for generation := range 4 {
				for _, same := range []bool{true, false} {
					name := fmt.Sprintf("%s own %t generation %d same %t", state, own, generation, same)
					a := ask(t)
					root := other
					if own {
						root = a.letter.Lineage.Root
					}
					a.know(t, state, root, generation, same)
					c, err := replay.Idempotency{Store: a.store}.Check(t.Context(), a.opened)
					if err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					got := c.Instead
					switch {
					case c.Pass:
						got = replay.Reinject
					case got == "":
						got = replay.Refuse
					}
					if outcome, code := plainAnswer(state, own, generation, same); got != outcome || c.Code != code || c.Fact == "" {
						t.Errorf("%s: %s %s %q, want %s %s", name, got, c.Code, c.Fact, outcome, code)
					}
					r, err := a.store.Reserve(t.Context(), dedup.Reservation{
						Hash: a.opened.Message.SourceHash, EnvelopeID: a.letter.EnvelopeID, ReplayID: envelope.ReplayID(a.letter.EnvelopeID),
						Root: a.letter.Lineage.Root, Generation: 1,
					})
					if err != nil || r.Refused == c.Pass {
						t.Errorf("%s: the gate passes %t, the reservation is refused %t (%v)", name, c.Pass, r.Refused, err)
					}
				}
			}
		}
	}
}

// The ledger has the last word on postings: it knows what the store has forgotten, names the posting, and where it does
// not know what the store calls posted, nothing is suppressed.
func TestLedgerHasTheLastWordOnPostings(t *testing.T) {
	for name, row := range map[string]struct {
		know    func(t *testing.T, a *asked)
		posted  func(a *asked) *envelope.AlreadyPosted
		want    replay.Outcome
		code    fault.Failure
		posting bool
	}{
		"neither knows it": {nil, nil, replay.Reinject, "", false},
		"the ledger alone, the same": {nil, func(a *asked) *envelope.AlreadyPosted {
			return &envelope.AlreadyPosted{Root: other, Digest: a.opened.Message.Digest, ID: "p-1", At: time.Now()}
		}, replay.Suppress, fault.FailedReplayDuplicate, true},
		"the ledger alone, another": {nil, func(a *asked) *envelope.AlreadyPosted {
			return &envelope.AlreadyPosted{Root: other, Digest: "0123456789abcdef", ID: "p-1", At: time.Now()}
		}, replay.Refuse, fault.FailedIdentityConflict, true},
		"the ledger alone, by its own root": {nil, func(a *asked) *envelope.AlreadyPosted {
			return &envelope.AlreadyPosted{Root: a.letter.Lineage.Root, ID: "p-1", At: time.Now()}
		}, replay.Confirm, "", true},
		"the ledger without a digest": {nil, func(a *asked) *envelope.AlreadyPosted {
			return &envelope.AlreadyPosted{Root: other, ID: "p-1", At: time.Now()}
		}, replay.Refuse, fault.FailedIdentityConflict, true},
		"both, and the ledger names the posting": {
			func(t *testing.T, a *asked) { a.know(t, dedup.Posted, other, 0, true) },
			func(a *asked) *envelope.AlreadyPosted {
				return &envelope.AlreadyPosted{Root: other, Digest: a.opened.Message.Digest, ID: "p-1", At: time.Now()}
			}, replay.Suppress, fault.FailedReplayDuplicate, true,
		},
		"the store alone, by another root": {
			func(t *testing.T, a *asked) { a.know(t, dedup.Posted, other, 0, true) }, nil, replay.Refuse, fault.FailedDedupHorizon, false,
		},
		"the store alone, by its own root": {
			func(t *testing.T, a *asked) { a.know(t, dedup.Posted, a.letter.Lineage.Root, 1, true) }, nil, replay.Refuse, fault.FailedDedupHorizon, false,
		},
		"at work elsewhere, whatever the ledger says": {
			func(t *testing.T, a *asked) { a.know(t, dedup.Claimed, other, 0, true) }, nil, replay.Refuse, fault.FailedInFlightElsewhere, false,
		},
	} {
		a := ask(t)
		if row.know != nil {
			row.know(t, a)
		}
		if row.posted != nil {
			a.ledger.rows[a.opened.Message.SourceHash] = row.posted(a)
		}
		c, err := replay.Idempotency{Store: a.store, Ledger: a.ledger}.Check(t.Context(), a.opened)
		got := c.Instead
		switch {
		case c.Pass:
			got = replay.Reinject
		case got == "":
			got = replay.Refuse
		}
		if err != nil || got != row.want || c.Code != row.code {
			t.Errorf("%s: %s %s %q (%v), want %s %s", name, got, c.Code, c.Fact, err, row.want, row.code)
		}
		if named := c.Evidence != nil && c.Evidence.PostingID == "p-1" && strings.Contains(c.Fact, "p-1"); named != row.posting {
			t.Errorf("%s: evidence %+v and fact %q, want the posting named %t", name, c.Evidence, c.Fact, row.posting)
		}
	}
}

// A gate that could not ask says so by an error, and never by a pass.
func TestGateThatCannotAskSaysSo(t *testing.T) {
	a := ask(t)
	a.ledger.away = errors.New("connection refused")
	if c, err := (replay.Idempotency{Store: a.store, Ledger: a.ledger}).Check(t.Context(), a.opened); err == nil {
		t.Errorf("the ledger is away: %+v, want an error", c)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if c, err := (replay.Idempotency{Store: a.store}).Check(gone, a.opened); err == nil {
		t.Errorf("the store is away: %+v, want an error", c)
	}
	a.ledger.refuse = func(*envelope.Message) error { return gone.Err() }
	if c, err := (replay.Cause{Handler: a.ledger}).Check(gone, a.opened); err == nil {
		t.Errorf("the run has ended: %+v, want an error", c)
	}
}

// Where the message cannot be read no gate passes, and those that need it say that they were not asked.
func TestNoGatePassesWhatCannotBeRead(t *testing.T) {
	for name, change := range map[string]func(o *replay.Opened){
		"no letter":       func(o *replay.Opened) { o.Err, o.Letter, o.Message = errors.New("gone"), nil, nil },
		"invalid message": func(o *replay.Opened) { o.Invalid = fault.New(fault.SchemaInvalid, "no entity") },
	} {
		a := ask(t)
		change(a.opened)
		for _, g := range []replay.Gate{replay.Integrity{}, replay.Cause{}, replay.Idempotency{Store: a.store, Ledger: a.ledger}, replay.Temporal{}} {
			c, err := g.Check(t.Context(), a.opened)
			if err != nil || c.Pass || c.Code != fault.FailedStillInvalid || c.Fact == "" {
				t.Errorf("%s: %s says %+v, %v; want STILL_INVALID", name, g.Name(), c, err)
			}
		}
	}
}

func TestHandlersAnswerDecidesTheCause(t *testing.T) {
	for name, row := range map[string]struct {
		answer error
		pass   bool
		code   fault.Failure
		fact   string
	}{
		"it would post":        {nil, true, "", "would post"},
		"it is posted":         {&envelope.AlreadyPosted{Root: other, ID: "p-1"}, true, "", "idempotency gate decides"},
		"wrapped posted":       {fmt.Errorf("look: %w", &envelope.AlreadyPosted{Root: other}), true, "", "posted"},
		"a coded failure":      {fault.At(fault.StageFX, fault.New(fault.RateNotPublished, "no rate")), false, fault.FailedCauseNotFixed, "RATE_NOT_PUBLISHED: no rate"},
		"an unknown failure":   {errors.New("boom"), false, fault.FailedCauseNotFixed, "UNCLASSIFIED: boom"},
		"the ledger's closing": {fault.New(fault.PeriodClosed, "January"), false, fault.FailedPeriodClosed, "January"},
	} {
		a := ask(t)
		a.ledger.refuse = func(*envelope.Message) error { return row.answer }
		c, err := replay.Cause{Handler: a.ledger}.Check(t.Context(), a.opened)
		if err != nil || c.Pass != row.pass || c.Code != row.code || !strings.Contains(c.Fact, row.fact) {
			t.Errorf("%s: %+v, %v; want pass %t %s with %q", name, c, err, row.pass, row.code, row.fact)
		}
	}
}
