package envelope

import (
	"time"

	"recon/pkg/fault"
)

// Retry is what the recon-* headers of CONTRACT 4 say, typed. The zero value is a record that was never tried.
type Retry struct {
	Root          Coordinates // first coordinates; zero: not known
	Origin        Coordinates // coordinates on main in this generation; zero: not known
	OriginRecord  Recorded    // what the broker kept of the record at Origin; zero: not known
	Generation    int         // 0 before any replay
	MessageID     string
	Attempt       int // attempts made, over all codes; the first failure is attempt 1
	Budget        map[fault.Code]int
	MaxAttempts   int // informative
	FirstSeen     time.Time
	Due           time.Time // recon-next-retry-at
	MatchDeadline time.Time // zero: none
	Stage         fault.Stage
	Class         fault.Class
	Code          fault.Code
	Error         string // ≤ 1 KiB when written
	History       []Attempt
	Omitted       int    // entries of History left out
	Replay        string // replay id
	Envelope      string // envelope id of the letter that was replayed
}

// Recorded is what the broker keeps of a record beside its bytes, and what a copy on a tier would otherwise lose.
type Recorded struct {
	LeaderEpoch   int32  // -1: unknown
	TimestampMS   int64  // milliseconds since 1970, may be negative
	TimestampType string // CreateTime or LogAppendTime; empty: nothing is known
}

// Attempt is one entry of a record's history.
type Attempt struct {
	Attempt      int
	At           time.Time
	Stage        fault.Stage
	FailureClass fault.Class
	ErrorCode    fault.Code
	ErrorDetail  string        // ≤ 200 bytes when written
	Waited       time.Duration // before this attempt, kept in milliseconds
	Took         time.Duration // of the attempt, kept in milliseconds
	Instance     string        // ≤ 200 bytes when written
}
