package fault

import (
	"slices"
	"time"
)

// Row is the whole meaning of one error code.
type Row struct {
	Code    Code
	Policy  Policy  // the default; the configuration may change its numbers, never its class
	First   Failure // what the first occurrence leads to; empty for transient codes, which wait
	Stage   Stage   // where it arises unless the error names another stage
	Meaning string  // one sentence
	Action  string  // what a person does about it
}

// waitOnly reports whether the code never gives a record up: it waits until whoever holds the claim settles.
func (r Row) waitOnly() bool { return r.Code == DuplicateInFlight }

// Rows returns the table, one row for each code, in the order of the documentation.
func Rows() []Row { return slices.Clone(table) }

// row finds a code's row; an unknown code gets the row of Unclassified and false.
func row(code Code) (Row, bool) {
	if i, ok := index[code]; ok {
		return table[i], true
	}
	return table[index[Unclassified]], false
}

var index = func() map[Code]int {
	at := make(map[Code]int, len(table))
	for i, r := range table {
		at[r.Code] = i
	}
	return at
}()

func jittered(attempts int, base, limit time.Duration) Policy {
	return Policy{Class: Transient, MaxAttempts: attempts, Base: base, Cap: limit, Spacing: FullJitter}
}

func untilDeadline(p Policy) Policy {
	p.UntilDeadline = true
	return p
}

var once = Policy{Class: Poison, MaxAttempts: 1}

// table is CONTRACT 3. Nothing else in the product knows what a code means.
var table = []Row{
	{
		CarrierUnreachable, jittered(6, 5*time.Second, 5*time.Minute), "", StagePost,
		"The carrier that this record needs did not answer.",
		"Nothing while attempts are left. Afterwards see whether the carrier is reachable again, then replay.",
	},
	{
		DependencyTimeout, jittered(6, 5*time.Second, 5*time.Minute), "", StagePost,
		"A system that this record needs did not answer in time.",
		"Nothing while attempts are left. Afterwards see why the named dependency is slow, then replay.",
	},
	{
		DependencyUnavailable, jittered(6, 5*time.Second, 5*time.Minute), "", StagePost,
		"A system that this record needs answered that it cannot serve now, or refused the connection.",
		"Nothing while attempts are left. Afterwards see that the named dependency is up, then replay.",
	},
	{
		LockContention, jittered(5, 200*time.Millisecond, 30*time.Second), "", StagePost,
		"The ledger gave another transaction precedence (deadlock or serialization failure).",
		"Nothing as a rule. Many of them: lower the concurrency, or look for a long transaction in the ledger.",
	},
	{
		RateLimited, jittered(6, 2*time.Second, 5*time.Minute), "", StagePost,
		"A system that this record needs asked us to slow down; a Retry-After that it named is kept.",
		"Nothing while attempts are left. Many of them: lower the concurrency or ask for a higher limit, then replay.",
	},
	{
		RateNotPublished, jittered(4, 6*time.Hour, 24*time.Hour), "", StageFX,
		"There is no exchange rate for this pair and day yet.",
		"Load the rate into the ledger's rates, then replay.",
	},
	{
		CounterpartNotArrived, untilDeadline(jittered(12, 30*time.Second, 6*time.Hour)), "", StageCounterpart,
		"The document that must arrive before this record may post is not there yet.",
		"Find out where the counterpart is. When it has arrived, replay.",
	},
	{
		DuplicateInFlight, jittered(0, 2*time.Second, 5*time.Minute), "", StageDedup,
		"Another record with the same source hash is at work or waiting; this one waits for its outcome.",
		"Nothing: it ends by itself when the other record is settled or its claim expires.",
	},
	{
		PeriodClosed, once, FailedPoison, StagePeriod,
		"The accounting period of this record is closed.",
		"Quarantine it for a manual journal, or have the period re-opened and replay.",
	},
	{
		PeriodNotOpen, once, FailedPoison, StagePeriod,
		"The accounting period of this record is not open yet, or the calendar does not name the entity or the period.",
		"Complete the calendar or wait until the period opens, then replay.",
	},
	{
		HandlerPanic, once, FailedPoison, StagePost,
		"The handler panicked on this record: a defect in code, not in the record.",
		"Mend the handler, deploy it, then replay.",
	},
	{
		CopyTooLarge, once, FailedPoison, StagePost,
		"The copy for the delay topic is larger than that topic accepts.",
		"Raise max.message.bytes of the delay topics as `consumer check --online` says, then replay.",
	},
	{
		Undecodable, once, FailedUnrecoverable, StageDecode,
		"The value is missing, empty, not JSON, not an object, names a member twice or is not UTF-8.",
		"Have the feed send the record again in the right form, then resolve the letter as superseded or invalid at source.",
	},
	{
		NoIdentity, once, FailedUnrecoverable, StageDecode,
		"The record has no usable source hash, or its body and its header disagree on it.",
		"Have the feed send the record again with its hash, then resolve the letter as superseded.",
	},
	{
		AmountInvalid, once, FailedPoison, StageDecode,
		"The amount is text that is no decimal number as the contract writes it.",
		"Have the feed send the record again with a correct amount, then resolve the letter as superseded.",
	},
	{
		SchemaInvalid, once, FailedPoison, StageDecode,
		"A member of the message is missing or breaks its rule.",
		"Have the feed send the record again corrected, then resolve the letter as superseded.",
	},
	{
		CurrencyUnmapped, once, FailedPoison, StageCurrency,
		"The currency is not in use under ISO 4217, has no minor unit, or the ledger does not map it.",
		"Add the currency to the ledger's currency map, then replay.",
	},
	{
		IdentityConflict, once, FailedPoison, StageDedup,
		"Another transaction is known under the same source hash: entity, amount, currency or dates differ.",
		"Compare both records. A wrong hash: have the feed send it again under its own; a correction: resolve as superseded.",
	},
	{
		SettledManually, once, FailedPoison, StageDedup,
		"A person has already settled the record with this source hash.",
		"Compare it with the manual journal, then resolve the letter as duplicate.",
	},
	{
		Unclassified, once, FailedPoison, StagePost,
		"The handler returned an error without a known code.",
		"Read the detail, mend the cause, then replay. If it can heal by itself, give the error a code.",
	},
}

// Outcome is the meaning of one failure code.
type Outcome struct {
	Failure Failure
	On      string // what carries it: letter, refusal or alarm
	Meaning string // one sentence
}

// Outcomes returns the meaning of every failure code, in the order of the documentation.
func Outcomes() []Outcome { return slices.Clone(outcomes) }

var outcomes = []Outcome{
	{FailedPoison, "letter", "The same input would fail again: given up on the first occurrence."},
	{FailedExhausted, "letter", "A transient failure whose attempts are spent; its class stays transient."},
	{FailedWindowClosed, "letter", "A transient failure at or after the end of the matching window."},
	{FailedUnrecoverable, "letter", "The record cannot be decoded or has no identity."},
	{FailedReplayDuplicate, "refusal", "Suppressed: this transaction has already posted, with the same content."},
	{FailedInFlightElsewhere, "refusal", "Another record of this hash is at work or waiting; the letter stays open."},
	{FailedStillInvalid, "refusal", "The payload still breaks the schema; the letter stays open."},
	{FailedCauseNotFixed, "refusal", "The handler's check says that the cause still holds; the letter stays open."},
	{FailedPeriodClosed, "refusal", "The accounting period is closed: goes to quarantine for a manual journal."},
	{FailedPeriodStraddles, "refusal", "The dates lie in two periods of which one is closed: goes to quarantine for a manual journal."},
	{FailedPeriodUnknown, "refusal", "The calendar does not name the entity or the period, or is too old; the letter stays open."},
	{FailedDedupHorizon, "refusal", "Older than the memory of postings, and the ledger cannot be asked; the letter stays open."},
	{FailedReplayLimit, "refusal", "Replayed as often as allowed; the letter stays open."},
	{FailedApprovalRequired, "refusal", "A second person has to sign first; the letter stays open."},
	{FailedSettledManually, "refusal", "A person has already settled this transaction."},
	{FailedIdentityConflict, "refusal", "Posted already under this hash, with other content; the letter stays open."},
	{FailedDLQOverflow, "alarm", "More open letters than the high-water mark allows."},
}
