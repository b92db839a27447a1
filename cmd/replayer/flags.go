package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/alecthomas/kong"
)

// consumers are the settings that both binaries may be given by file and environment, but that change nothing here: as
// flags they are mistakes.
var consumers = []string{
	"retry-tiers", "dedup-lease", "ledger-migrate", "timeout-handler", "timeout-session", "timeout-rebalance",
	"group-protocol", "static-member", "listen", "order", "max-unsettled", "max-in-flight", "hold-budget",
}

// help is what some settings mean here.
var help = map[string]string{
	"group":         "The consumer's group: its committed positions tell what waits.",
	"concurrency":   "Letters at once, each of another ledger entity (8 unless this flag is given).",
	"timeout-grace": "For letters in hand once a run is asked to end.",
}

// titles are those of the groups of flags in the help.
var titles = kong.Groups{"selection": "Selection (all that are given must fit):"}

// ownFlags takes the consumer's flags out of the grammar, says what others mean here, and sets the settings apart from
// a command's own flags.
func ownFlags() kong.Option {
	settings := &kong.Group{Key: "settings", Title: "Settings (also by file and environment):"}
	return kong.PostBuild(func(k *kong.Kong) error {
		k.Model.Flags = slices.DeleteFunc(k.Model.Flags, func(f *kong.Flag) bool { return slices.Contains(consumers, f.Name) })
		for _, f := range k.Model.Flags {
			if text, ok := help[f.Name]; ok {
				f.Help = text
			}
			if f.Name != "help" && f.Name != "output" {
				f.Group = settings
			}
		}
		return nil
	})
}

// patience is a flag that may stand alone or with how long: --wait, --wait=5m.
type patience struct {
	asked bool
	limit time.Duration
}

// usualPatience is how long --wait alone waits.
const usualPatience = 10 * time.Minute

// IsBool lets the flag stand alone.
func (p *patience) IsBool() bool { return true }

// Decode reads it.
func (p *patience) Decode(ctx *kong.DecodeContext) error {
	p.asked, p.limit = true, usualPatience
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		return nil
	}
	text := ctx.Scan.Pop().String()
	limit, err := time.ParseDuration(text)
	if err != nil || limit <= 0 {
		return fmt.Errorf("%q: want a duration such as 30s or 10m", text)
	}
	p.limit = limit
	return nil
}
