package main

import (
	"fmt"
	"time"

	"recon/pkg/replay"
)

// waitingCmd is `replayer waiting`.
type waitingCmd struct{}

// Run prints what the tiers hold behind the group's committed positions.
func (*waitingCmd) Run(j *job) error {
	t := j.tools()
	defer t.close()
	t.needGroup()
	if err := t.open(); err != nil {
		return err
	}
	p := j.progress("reading the tiers")
	held, err := replay.ReadWaiting(j.ctx, t.opts, t.names, j.settings.Group, p.at)
	p.end()
	if err != nil {
		return err
	}
	switch {
	case j.form == asLines:
		return lines(j, each(held.Held, heldOf))
	case j.form == asJSON:
		return j.document(waitingJSON{each(held.Held, heldOf), totalsOf(held.Totals), each(held.Unreadable, unreadableOf)})
	case len(held.Held) == 0:
		replay.PrintUnreadable(j.out, held.Unreadable)
		fmt.Fprintln(j.out, "nothing waits")
	default:
		replay.PrintWaiting(j.out, held, time.Now())
	}
	return nil
}

type waitingJSON struct {
	Waiting []heldJSON `json:"waiting"`
	totalsJSON
	Unreadable []unreadableJSON `json:"unreadable"`
}

type heldJSON struct {
	At         string      `json:"at"`
	Root       string      `json:"root"`
	Generation int         `json:"generation"`
	Attempts   int         `json:"attempts"`
	Tier       string      `json:"tier"`
	Due        *string     `json:"due_at"`
	ErrorCode  *string     `json:"error_code"`
	Stage      *string     `json:"source_stage"`
	Message    messageJSON `json:"message"`
}

func heldOf(h replay.Held) heldJSON {
	return heldJSON{
		h.At.String(), h.Root.String(), h.Generation, h.Attempts, h.Tier, moment(h.Due), text(string(h.Code)),
		text(string(h.Stage)), messageOf(h.Facts),
	}
}
