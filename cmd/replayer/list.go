package main

import (
	"fmt"
	"time"

	"recon/pkg/replay"
)

// listCmd is `replayer list`.
type listCmd struct {
	selection
	RootCause []string `placeholder:"NAME" help:"Root cause that a person or a run has named." group:"selection"`
	All       bool     `help:"Also letters that have ended."`
}

// unfinished are the statuses that somebody still has to do something about.
var unfinished = []string{string(replay.Open), string(replay.InFlight), string(replay.Unrecorded), string(replay.InQuarantine)}

// Run prints the letters that are selected. ErrNothing: there are none.
func (c *listCmd) Run(j *job) error {
	now := time.Now()
	t := j.tools()
	defer t.close()
	t.needCalendar()
	sel, mistakes := c.of(t.calendar, now)
	sel.RootCauses = c.RootCause
	t.wrong(append(mistakes, sel.Validate())...)
	if err := t.open(); err != nil {
		return err
	}
	f, err := t.fold()
	if err != nil {
		return err
	}
	l := listing{unreadable: f.Unreadable()}
	l.cases, l.ended = c.pick(f, sel)
	if !sel.Empty() {
		l.unreadable = nil
	}
	if err := l.write(j, now); err != nil || len(l.cases) > 0 {
		return err
	}
	return fmt.Errorf("%w: no letter matches%s", replay.ErrNothing, l.hint())
}

// pick gives the letters to list, and how many more would match but have ended.
func (c *listCmd) pick(f *replay.Fold, sel replay.Selection) (cases []*replay.Case, ended int) {
	if c.All || len(sel.States) > 0 {
		return sel.Of(f), 0
	}
	whole := sel
	whole.Limit = 0
	all := len(whole.Of(f))
	whole.States, sel.States = unfinished, unfinished
	return sel.Of(f), all - len(whole.Of(f))
}

// listing is what a list shows.
type listing struct {
	cases      []*replay.Case
	ended      int
	unreadable []replay.Unreadable
}

// hint says of what is not listed.
func (l *listing) hint() string {
	if l.ended == 0 {
		return ""
	}
	return "; " + l.unlisted()
}

func (l *listing) unlisted() string {
	return replay.Counted(l.ended, "letter that has ended is not listed: --all lists it", "letters that have ended are not listed: --all lists them")
}

func (l *listing) write(j *job, now time.Time) error {
	switch j.form {
	case asLines:
		return lines(j, each(l.cases, letterOf))
	case asJSON:
		return j.document(l.json())
	}
	replay.PrintUnreadable(j.out, l.unreadable)
	if len(l.cases) == 0 {
		return nil
	}
	replay.PrintCases(j.out, l.cases, now)
	if l.ended > 0 {
		fmt.Fprintln(j.out, l.unlisted())
	}
	return nil
}

type listJSON struct {
	Letters []letterJSON `json:"letters"`
	totalsJSON
	Ended      int              `json:"ended_not_listed"`
	Unreadable []unreadableJSON `json:"unreadable"`
}

func (l *listing) json() listJSON {
	var sum replay.Totals
	for _, c := range l.cases {
		sum.Add(c)
	}
	return listJSON{each(l.cases, letterOf), totalsOf(sum), l.ended, each(l.unreadable, unreadableOf)}
}
