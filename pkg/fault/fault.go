// Package fault says what a failure means: every error that matters carries a code, and the code has one row in one
// table that decides whether the record waits, how long, and when it is given up.
//
// Promise: whatever error a handler returns, Of answers with exactly one verdict, and Next answers for that verdict
// with either a wait or a failure, never with both and never with neither.
package fault

// Code names what went wrong with one attempt (error_code of CONTRACT 3). Its row in the table decides the rest.
type Code string

// The error codes, in the order of the table.
const (
	CarrierUnreachable    Code = "CARRIER_UNREACHABLE"
	DependencyTimeout     Code = "DEPENDENCY_TIMEOUT"
	DependencyUnavailable Code = "DEPENDENCY_UNAVAILABLE"
	LockContention        Code = "LOCK_CONTENTION"
	RateLimited           Code = "RATE_LIMITED"
	RateNotPublished      Code = "RATE_NOT_PUBLISHED"
	CounterpartNotArrived Code = "COUNTERPART_NOT_ARRIVED"
	DuplicateInFlight     Code = "DUPLICATE_IN_FLIGHT"
	PeriodClosed          Code = "PERIOD_CLOSED"
	PeriodNotOpen         Code = "PERIOD_NOT_OPEN"
	HandlerPanic          Code = "HANDLER_PANIC"
	CopyTooLarge          Code = "COPY_TOO_LARGE"
	Undecodable           Code = "UNDECODABLE"
	NoIdentity            Code = "NO_IDENTITY"
	AmountInvalid         Code = "AMOUNT_INVALID"
	SchemaInvalid         Code = "SCHEMA_INVALID"
	CurrencyUnmapped      Code = "CURRENCY_UNMAPPED"
	IdentityConflict      Code = "IDENTITY_CONFLICT"
	SettledManually       Code = "SETTLED_MANUALLY"
	Unclassified          Code = "UNCLASSIFIED"
)

// Failure names why a record was given up or a replay refused (failure_code of CONTRACT 3). The empty Failure means
// that the record is not given up.
type Failure string

// The failure codes of letters, refusals and alarms.
const (
	FailedPoison            Failure = "POISON_MESSAGE"
	FailedExhausted         Failure = "ATTEMPTS_EXHAUSTED"
	FailedWindowClosed      Failure = "MATCHING_WINDOW_CLOSED"
	FailedUnrecoverable     Failure = "UNRECOVERABLE_PAYLOAD"
	FailedReplayDuplicate   Failure = "REPLAY_DUPLICATE"
	FailedInFlightElsewhere Failure = "IN_FLIGHT_ELSEWHERE"
	FailedStillInvalid      Failure = "STILL_INVALID"
	FailedCauseNotFixed     Failure = "CAUSE_NOT_FIXED"
	FailedPeriodClosed      Failure = "PERIOD_CLOSED"
	FailedPeriodStraddles   Failure = "PERIOD_STRADDLES"
	FailedPeriodUnknown     Failure = "PERIOD_UNKNOWN"
	FailedDedupHorizon      Failure = "DEDUP_HORIZON"
	FailedReplayLimit       Failure = "REPLAY_LIMIT"
	FailedApprovalRequired  Failure = "APPROVAL_REQUIRED"
	FailedSettledManually   Failure = "SETTLED_MANUALLY"
	FailedIdentityConflict  Failure = "IDENTITY_CONFLICT"
	FailedDLQOverflow       Failure = "DLQ_OVERFLOW"
)

// Class says whether trying again can help.
type Class string

// The two classes: a transient failure is retried within its budget, a poisoned record is given up at once.
const (
	Transient Class = "transient"
	Poison    Class = "poison"
)
