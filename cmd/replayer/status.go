package main

import (
	"time"

	"recon/pkg/replay"
)

// statusCmd is `replayer status`.
type statusCmd struct{}

// Run reads DLQ and dispositions and prints where all letters stand.
func (*statusCmd) Run(j *job) error {
	t := j.tools()
	defer t.close()
	if err := t.open(); err != nil {
		return err
	}
	f, err := t.fold()
	if err != nil {
		return err
	}
	o := f.Overview()
	if j.form != asTable {
		return j.document(overviewOf(o))
	}
	replay.PrintOverview(j.out, o, time.Now())
	return nil
}

// fold reads DLQ and dispositions, and shows how far it is.
func (t *tools) fold() (*replay.Fold, error) {
	p := t.progress("reading letters and dispositions")
	defer p.end()
	return replay.Read(t.ctx, t.opts, t.names, p.at)
}

type overviewJSON struct {
	Letters    int            `json:"letters"`
	Repeats    int            `json:"repeats"`
	Unreadable int            `json:"unreadable"`
	Orphans    int            `json:"orphans"`
	ByStatus   map[string]int `json:"by_status"` // every status, also those with no letter
	Open       struct {
		Oldest *string        `json:"oldest_dead_lettered_at"`
		Codes  map[string]int `json:"failure_codes"`
		totalsJSON
	} `json:"open"`
	InFlight struct {
		Oldest *string `json:"oldest_reinjected_at"`
		totalsJSON
	} `json:"in_flight"`
	Conflicts []conflictJSON `json:"conflicts"`
	Gaps      []string       `json:"gaps"`
}

type conflictJSON struct {
	EnvelopeID string `json:"envelope_id"`
	Root       string `json:"root"`
	What       string `json:"what"`
}

func overviewOf(o replay.Overview) overviewJSON {
	out := overviewJSON{
		Letters: o.Letters, Repeats: o.Repeats, Unreadable: o.Unreadable, Orphans: o.Orphans, ByStatus: make(map[string]int),
		Conflicts: each(o.Conflicts, func(c replay.Conflict) conflictJSON { return conflictJSON{c.EnvelopeID, c.Root.String(), c.What} }),
		Gaps:      append([]string{}, o.Gaps...),
	}
	for _, s := range replay.Statuses() {
		out.ByStatus[string(s)] = o.ByStatus[s]
	}
	out.Open.Oldest, out.Open.Codes, out.Open.totalsJSON = moment(o.Oldest), make(map[string]int), totalsOf(o.Open)
	for code, n := range o.Codes {
		out.Open.Codes[string(code)] = n
	}
	out.InFlight.Oldest, out.InFlight.totalsJSON = moment(o.OldestInFlight), totalsOf(o.InFlight)
	return out
}
