package main

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"recon/pkg/audit"
	"recon/pkg/fault"
	"recon/pkg/ledger"
)

// seed is what the ledger's owners have entered before the first record: the currencies but one, and every account.
func (p *play) seed(ctx context.Context) error {
	base := make(map[string]string)
	for i := range samples {
		r, err := p.read(&samples[i])
		if err != nil {
			return err
		}
		p.rounds = append(p.rounds, r)
		for _, rec := range r.file.Records {
			if rec.Raw {
				continue
			}
			if other, known := base[rec.Key]; known && other != rec.Currency {
				return fmt.Errorf("%s: an account of %s has records in %s: it needs a rate", r.sample.path, other, rec.Currency)
			}
			base[rec.Key] = rec.Currency
		}
	}
	for _, c := range mapped {
		if err := p.ledger.PutCurrency(ctx, c); err != nil {
			return err
		}
	}
	for entity, currency := range base {
		if err := p.ledger.PutEntity(ctx, entity, currency); err != nil {
			return err
		}
	}
	p.view.say("run %s: the ledger knows %v and %d entities, each with its base currency; %s is not mapped yet", p.name, mapped, len(base), later)
	return nil
}

// first brings each file once, after the runs that must be refused.
func (p *play) first(ctx context.Context) error {
	p.view.title("first ingestion")
	p.view.columns()
	for _, r := range p.rounds {
		for _, f := range r.sample.refused {
			if err := p.refuse(ctx, r.sample, f); err != nil {
				return fmt.Errorf("%s: %w", r.sample.path, err)
			}
		}
		if err := p.ingest(ctx, r); err != nil {
			return fmt.Errorf("%s: %w", r.sample.path, err)
		}
		p.judge(r, r.sample.first())
		if r.sample.facts != nil {
			s := &seen{file: r.file, content: r.content, outcome: r.outcome, postings: p.found.byHash, letters: p.found.lettersOf(r.spans)}
			for _, f := range r.sample.facts(s) {
				p.view.fact(f)
			}
		}
	}
	return nil
}

// foreign offers what is no bank file.
func (p *play) foreign(ctx context.Context) error {
	p.view.title("files that are no bank files")
	for _, path := range others {
		if err := p.refuse(ctx, &sample{path: path}, refusal{says: []string{"is no bank file"}}); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// mend maps the currency, and lets the replayer bring back the letters that failed for it.
func (p *play) mend(ctx context.Context) error {
	p.view.title("the cause is mended: the ledger learns %s; `replayer replay` brings back what failed for it", later)
	if err := p.ledger.PutCurrency(ctx, later); err != nil {
		return err
	}
	a, err := p.call(ctx, "replayer", "replay", "--error-code="+string(fault.CurrencyUnmapped), "--reason=the ledger has learned "+later,
		"--root-cause=mapping_missing", "--as=samples", "--yes", "--wait")
	if err != nil {
		return err
	}
	p.view.indented(a.out + a.diag)
	p.view.holds(a.code == 0, "replayer replay ended with exit %d", a.code)
	n := p.deadOf(fault.CurrencyUnmapped)
	line := fmt.Sprintf("selected %d = reinjected %d + ", n, n)
	p.view.holds(strings.Contains(a.out, line), "the last lines of replayer replay do not say %q", line)
	p.view.say("")
	for _, r := range p.rounds {
		n := r.sample.dead[fault.CurrencyUnmapped]
		if n == 0 {
			continue
		}
		letters := p.found.lettersOf(r.spans)
		if err := p.look(ctx, r); err != nil {
			return err
		}
		w := want{posted: r.sample.first().posted + n, dead: maps.Clone(r.sample.dead)}
		delete(w.dead, fault.CurrencyUnmapped)
		p.judge(r, w)
		back := 0
		for _, l := range letters {
			if posting, ok := p.found.byRoot[l.Lineage.Root]; ok && posting.Generation == 1 && p.found.confirmed[l.EnvelopeID] {
				back++
			}
		}
		p.view.fact(fact{fmt.Sprintf("%d of %d letters went back, posted as generation 1 of their first record, and are confirmed", back, n), back == n})
	}
	return nil
}

// deadOf is how many letters with this code the first ingestion must have left.
func (p *play) deadOf(code fault.Code) int {
	n := 0
	for _, r := range p.rounds {
		n += r.sample.dead[code]
	}
	return n
}

// second brings every file once more.
func (p *play) second(ctx context.Context) error {
	p.view.title("second ingestion of the same files: nothing posts, what had posted is suppressed, each letter comes again")
	p.view.columns()
	before := len(p.found.byHash)
	for _, first := range p.rounds {
		again := &round{sample: first.sample, file: first.file}
		if err := p.ingest(ctx, again); err != nil {
			return fmt.Errorf("%s: %w", first.sample.path, err)
		}
		p.judge(again, first.outcome.again())
	}
	p.view.holds(len(p.found.byHash) == before, "the ledger has %d postings after the second ingestion, %d before", len(p.found.byHash), before)
	return nil
}

// books prints the completeness line, from the topics and the ledger alone, and holds it against the rounds.
func (p *play) books(ctx context.Context) error {
	p.view.title("the books, from the topics and the ledger alone")
	e, err := audit.Read(ctx, audit.ReadConfig{
		Options: p.opts, Group: p.name, Main: p.names.Main(), Tiers: p.tiers,
		DLQ: p.names.DLQ(), Dispositions: p.names.Dispositions(), Audit: p.names.Audit(),
		Postings: func(ctx context.Context, yield func(audit.Posting) error) error {
			return p.ledger.Each(ctx, func(l ledger.Posting) error { return yield(l.Evidence()) })
		},
	})
	if err != nil {
		return err
	}
	result := e.Books.Result()
	if err := result.Print(p.view.out); err != nil {
		return err
	}
	p.view.holds(result.Closes(), "completeness does not close")
	p.view.holds(e.Trail.Intact(), "the audit trail has findings: %v", e.Trail.Findings)
	posted, dead := 0, 0
	for _, r := range p.rounds {
		posted, dead = posted+r.outcome.posted.n, dead+r.outcome.dead.n
	}
	for standing, n := range map[audit.Standing]int{
		audit.AsPosted: posted, audit.AsSuppressed: posted, audit.AsOpen: 2 * dead, audit.AsWaiting: 0,
	} {
		got := result.By[standing].All().Records
		p.view.holds(got == n, "the books have %d %s, the rounds come to %d", got, standing, n)
	}
	return nil
}
