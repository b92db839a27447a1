package main

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"recon/internal/config"
	"recon/pkg/fault"
)

// configCmd is `consumer config`.
type configCmd struct{}

// Run prints the settings, then the retry policies with how long a record takes to the DLQ under each.
func (*configCmd) Run(j *job) error {
	ladder, err := j.settings.Ladder()
	if err != nil {
		return &config.UsageError{Err: err}
	}
	policies, cut, err := j.settings.Policies(ladder.Largest())
	if err != nil {
		return &config.UsageError{Err: err}
	}
	t := plainTable("setting", "value", "from", "environment")
	for _, l := range j.settings.Lines() {
		t.AppendRow(table.Row{l.Path, l.Value, l.From, l.Env})
	}
	fmt.Fprintln(j.out, t.Render())
	fmt.Fprintf(j.out, "\nconfig digest %s\n\n", j.settings.Digest())
	t = plainTable("error code", "attempts", "base", "cap", "spacing", "to the DLQ: expected", "longest", "")
	for _, code := range slices.Sorted(maps.Keys(policies)) {
		if p := policies[code]; p.Class == fault.Transient {
			t.AppendRow(policyRow(policies, code, p, slices.Contains(cut, code)))
		}
	}
	fmt.Fprintln(j.out, t.Render())
	fmt.Fprintln(j.out, "Every other code is poison: one attempt, then the DLQ. Times leave out what attempts take.")
	return nil
}

func policyRow(policies fault.Policies, code fault.Code, p fault.Policy, cut bool) table.Row {
	expected, longest, ends := policies.TimeToDLQ(code)
	row := table.Row{code, p.MaxAttempts, p.Base, p.Cap, p.Spacing, short(expected), short(longest), ""}
	if !ends {
		row[1], row[5], row[6] = "–", "never", "never"
	}
	switch {
	case p.UntilDeadline:
		row[7] = "until the match deadline where there is one"
	case cut:
		row[7] = "cap cut to the largest tier"
	case !policies.CapReached(code):
		row[7] = "cap is never reached"
	}
	return row
}

// short gives a duration without the parts that do not matter at its size.
func short(d time.Duration) string {
	switch {
	case d >= time.Hour:
		return d.Round(time.Minute).String()
	case d >= time.Minute:
		return d.Round(time.Second).String()
	default:
		return d.Round(time.Millisecond).String()
	}
}

// plainTable has no frame: it can be cut and searched with the usual tools.
func plainTable(head ...any) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Options = table.OptionsNoBordersAndSeparators
	t.Style().Format.Header = text.FormatDefault
	t.AppendHeader(head)
	return t
}

// versionCmd is `consumer version`.
type versionCmd struct{}

// Run prints it.
func (*versionCmd) Run(j *job) error {
	_, err := fmt.Fprintln(j.out, config.Version())
	return err
}
