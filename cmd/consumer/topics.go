package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"recon/internal/config"
	"recon/pkg/broker"
	"recon/pkg/topics"
)

// topicsCmd is `consumer topics`.
type topicsCmd struct {
	Apply bool `help:"Create and change what the plan says. Main is never touched."`
}

// Run prints what the topics need, and makes it so where that is asked for.
func (c *topicsCmd) Run(j *job) error {
	adm, err := dial(j)
	if err != nil {
		return err
	}
	defer adm.Close()
	found, err := inspect(j, adm)
	if err != nil {
		return err
	}
	plan, err := found.Plan()
	if err != nil {
		return fmt.Errorf("%w: %w", errPrecondition, err)
	}
	if len(plan) == 0 {
		fmt.Fprintln(j.out, "topics: nothing to do")
	}
	for _, step := range plan {
		fmt.Fprintln(j.out, step)
	}
	if len(plan) > 0 && !c.Apply {
		fmt.Fprintln(j.out, "nothing was changed; `consumer topics --apply` does it")
	}
	if c.Apply {
		if err := plan.Apply(j.ctx, adm); err != nil {
			return err
		}
		if found, err = inspect(j, adm); err != nil {
			return err
		}
	}
	return report(j, found.Verify(), c.Apply || len(plan) == 0)
}

// report prints findings, a line for all topics of which the same is to be said; fail makes those that are wrong an error.
func report(j *job, findings []topics.Finding, fail bool) error {
	for _, f := range joined(findings) {
		fmt.Fprintln(j.out, f)
	}
	if wrong := topics.Wrongs(findings); len(wrong) > 0 && fail {
		return fmt.Errorf("%w: %d topic settings break a promise of the service", errPrecondition, len(wrong))
	}
	return nil
}

// joined gives findings that differ in their topic alone one line, where the first of them stood.
func joined(findings []topics.Finding) (lines []topics.Finding) {
	at := make(map[topics.Finding]int)
	for _, f := range findings {
		same := f
		same.Topic = ""
		if i, ok := at[same]; ok {
			lines[i].Topic += ", " + f.Topic
			continue
		}
		at[same] = len(lines)
		lines = append(lines, f)
	}
	return lines
}

// dial waits for a broker and returns a client for questions.
func dial(j *job) (*kadm.Client, error) {
	opts, err := j.settings.Broker(nil).Options()
	if err != nil {
		return nil, &config.UsageError{Err: err}
	}
	cl, err := kgo.NewClient(append(opts, kgo.MetadataMinAge(100*time.Millisecond))...) // what was just created is seen at once
	if err != nil {
		return nil, &config.UsageError{Err: err}
	}
	if err := broker.Await(j.ctx, j.settings.Timeout.Startup, cl); err != nil {
		cl.Close()
		return nil, err
	}
	return kadm.NewClient(cl), nil
}

func inspect(j *job, adm *kadm.Client) (*topics.Found, error) {
	ladder, err := j.settings.Ladder()
	if err != nil {
		return nil, &config.UsageError{Err: err}
	}
	ctx, cancel := context.WithTimeout(j.ctx, j.settings.Timeout.Startup)
	defer cancel()
	return topics.Inspect(ctx, adm, j.settings.Names(), ladder)
}
