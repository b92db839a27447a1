package main

import (
	"fmt"
	"time"

	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/period"
	"recon/pkg/replay"
)

// selection is the flags that choose letters: all that are given must fit, of each one value must. What upstream may
// have put a comma into takes one value a flag.
type selection struct {
	Codes          []fault.Failure `name:"code" placeholder:"CODE" help:"Failure code." group:"selection"`
	ErrorCodes     []fault.Code    `name:"error-code" placeholder:"CODE" help:"Error code." group:"selection"`
	Classes        []fault.Class   `name:"class" placeholder:"CLASS" help:"transient or poison." group:"selection"`
	Stages         []fault.Stage   `name:"stage" placeholder:"STAGE" help:"Stage that failed." group:"selection"`
	Fingerprints   []string        `name:"fingerprint" placeholder:"HASH" help:"Fingerprint of the failure." group:"selection"`
	Entities       []string        `name:"entity" sep:"none" placeholder:"NAME" help:"Ledger entity." group:"selection"`
	Currencies     []string        `name:"currency" placeholder:"CODE" help:"Currency." group:"selection"`
	MatchDecisions []string        `name:"match-decision" placeholder:"WORD" help:"MATCHED, PARTIAL or UNMATCHED." group:"selection"`
	MinAmount      string          `name:"min-amount" placeholder:"AMOUNT" help:"From this amount on, its sign aside." group:"selection"`
	Periods        []string        `name:"period" sep:"none" placeholder:"NAME" help:"Period of the calendar; without a calendar the month, YYYY-MM." group:"selection"`
	SourceSystems  []string        `name:"source-system" sep:"none" placeholder:"NAME" help:"Source system." group:"selection"`
	SourceHashes   []string        `name:"source-hash" sep:"none" placeholder:"HASH" help:"Source hash." group:"selection"`
	TraceIDs       []string        `name:"trace-id" sep:"none" placeholder:"ID" help:"Trace id." group:"selection"`
	MessageIDs     []string        `name:"message-id" placeholder:"ID" help:"Message id." group:"selection"`
	IDs            []string        `name:"id" placeholder:"ID" help:"Envelope id." group:"selection"`
	ExcludeIDs     []string        `name:"exclude-id" placeholder:"ID" help:"Envelope id that is left out." group:"selection"`
	Roots          []string        `name:"root" placeholder:"TOPIC/P@OFFSET" help:"Root coordinates." group:"selection"`
	Generations    []int           `name:"generation" placeholder:"N" help:"Generation: 0 before any replay." group:"selection"`
	States         []string        `name:"state" placeholder:"STATE" help:"State, or what was said last of an open letter." group:"selection"`
	Since          string          `name:"since" placeholder:"TIME" help:"Dead-lettered since: RFC 3339, or how long ago (2h, 7d)." group:"selection"`
	Until          string          `name:"until" placeholder:"TIME" help:"Dead-lettered before." group:"selection"`
	Limit          int             `name:"limit" placeholder:"N" help:"The first so many." group:"selection"`
}

// of gives the selection at the moment now, and what is wrong with it.
func (s *selection) of(calendar *period.Calendar, now time.Time) (sel replay.Selection, mistakes []error) {
	sel = replay.Selection{
		Codes: s.Codes, ErrorCodes: s.ErrorCodes, Classes: s.Classes, Stages: s.Stages, Fingerprints: s.Fingerprints,
		Entities: s.Entities, Currencies: s.Currencies, MatchDecisions: s.MatchDecisions, Periods: s.Periods,
		SourceSystems: s.SourceSystems, SourceHashes: s.SourceHashes, TraceIDs: s.TraceIDs, MessageIDs: s.MessageIDs,
		IDs: s.IDs, ExcludeIDs: s.ExcludeIDs, Roots: s.Roots, Generations: s.Generations, States: s.States, Limit: s.Limit,
		Calendar: calendar,
	}
	for _, t := range []struct {
		flag, text string
		at         *time.Time
	}{{"--since", s.Since, &sel.Since}, {"--until", s.Until, &sel.Until}} {
		if t.text == "" {
			continue
		}
		var err error
		if *t.at, err = replay.ParseMoment(t.text, now); err != nil {
			mistakes = append(mistakes, fmt.Errorf("%s: %w", t.flag, err))
		}
	}
	if s.MinAmount != "" {
		var ok bool
		if sel.MinAmount, ok = envelope.ParseAmount(s.MinAmount); !ok {
			mistakes = append(mistakes, fmt.Errorf("--min-amount %q: want an amount such as 1500 or 0.25", s.MinAmount))
		}
	}
	return sel, mistakes
}

// given tells whether anything at all is selected or left out.
func (s *selection) given(sel *replay.Selection) bool {
	return !sel.Empty() || len(s.ExcludeIDs) > 0 || s.Limit != 0
}
