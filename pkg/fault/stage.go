package fault

import (
	"fmt"
	"slices"
	"sync"
)

// Stage names the step at which an attempt failed (source_stage of CONTRACT 3).
type Stage string

// The stages that exist without registration, in the order a record passes them.
const (
	StageDecode      Stage = "decode"
	StageDedup       Stage = "dedup"
	StageCurrency    Stage = "currency"
	StagePeriod      Stage = "period"
	StageCounterpart Stage = "counterpart"
	StageFX          Stage = "fx_conversion"
	StagePost        Stage = "post"
)

// maxStage is the longest stage name, in bytes: it is a header value, a JSON member and a metric label.
const maxStage = 40

var stages = struct {
	sync.RWMutex
	known []Stage
}{known: []Stage{StageDecode, StageDedup, StageCurrency, StagePeriod, StageCounterpart, StageFX, StagePost}}

// Register adds a handler's own stage, such as carrier_status, and returns it. Registering it again changes nothing.
// It is meant for a package variable and panics on a name that is not 1 to 40 characters a-z, 0-9 and _, beginning
// with a letter: such a name would break headers and metrics much later.
func Register(stage Stage) Stage {
	if !validStage(stage) {
		panic(fmt.Sprintf("fault: stage %q: want 1 to %d characters a-z, 0-9 and _, the first a letter", string(stage), maxStage))
	}
	stages.Lock()
	defer stages.Unlock()
	if !slices.Contains(stages.known, stage) {
		stages.known = append(stages.known, stage)
	}
	return stage
}

// Stages returns every stage that is known now, the built-in ones first, the registered ones in their order.
func Stages() []Stage {
	stages.RLock()
	defer stages.RUnlock()
	return slices.Clone(stages.known)
}

// registered reports whether a stage may stand in evidence.
func registered(stage Stage) bool {
	stages.RLock()
	defer stages.RUnlock()
	return slices.Contains(stages.known, stage)
}

func validStage(stage Stage) bool {
	if len(stage) == 0 || len(stage) > maxStage {
		return false
	}
	for i := range len(stage) {
		c := stage[i]
		letter := c >= 'a' && c <= 'z'
		if !letter && (i == 0 || (c != '_' && (c < '0' || c > '9'))) {
			return false
		}
	}
	return true
}
