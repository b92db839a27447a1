package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"recon/examples/ingester/statement"
	"recon/pkg/ledger"
)

// round is one ingestion of one file, and what it came to.
type round struct {
	sample  *sample
	file    *statement.File
	content []byte
	spans   []span
	outcome *outcome
}

// read reads a file as the ingester will.
func (p *play) read(s *sample) (*round, error) {
	content, err := os.ReadFile(filepath.Join(p.samples, s.path))
	if err != nil {
		return nil, err
	}
	file, err := statement.Read(filepath.Base(s.path), bytes.NewReader(content), s.opts)
	if err != nil {
		return nil, err
	}
	return &round{sample: s, file: file, content: content}, nil
}

// ingest sends a file and waits until each of its records has an outcome.
func (p *play) ingest(ctx context.Context, r *round) error {
	before, err := p.ends(ctx)
	if err != nil {
		return err
	}
	a, err := p.ingester(ctx, filepath.Join(p.samples, r.sample.path), r.sample.opts)
	if err != nil {
		return err
	}
	p.view.holds(a.code == 0, "%s: the ingester ended with exit %d: %s", r.sample.path, a.code, strings.TrimSpace(a.diag))
	raw := 0
	for i := range r.file.Records {
		if r.file.Records[i].Raw {
			raw++
		}
	}
	n := len(r.file.Records)
	line := fmt.Sprintf("records %d = sent %d + sent-raw %d\n", n, n-raw, raw)
	p.view.holds(a.code != 0 || strings.Contains(a.out, line), "%s: the ingester did not say %q but: %s", r.sample.path, line, a.out)
	after, err := p.ends(ctx)
	if err != nil {
		return err
	}
	r.spans = nil
	for _, partition := range slices.Sorted(maps.Keys(after)) {
		r.spans = append(r.spans, span{partition, before[partition], after[partition]})
	}
	return p.look(ctx, r)
}

// look waits until nothing is under way, then takes what became of the round's records from the evidence.
func (p *play) look(ctx context.Context, r *round) error {
	if err := p.settled(ctx, p.consumer); err != nil {
		return err
	}
	if err := p.tail.catchUp(ctx); err != nil {
		return err
	}
	p.found.forgetPostings()
	if err := p.ledger.Each(ctx, func(posting ledger.Posting) error {
		p.found.posting(posting)
		return nil
	}); err != nil {
		return fmt.Errorf("postings of the ledger: %w", err)
	}
	r.outcome = p.found.of(r.spans)
	return nil
}

func (p *play) ingester(ctx context.Context, path string, opts statement.Options) (answer, error) {
	return p.call(ctx, "ingester", append(flagsOf(opts), "--topic="+p.names.Main(), path)...)
}

// judge prints a round and holds it against what was wanted.
func (p *play) judge(r *round, w want) {
	p.view.file(r.sample, r.file, r.outcome)
	p.view.none(r.sample.path, judge(r.sample, r.file, r.outcome, w))
	p.view.holds(len(p.found.twice) == 0, "hashes that the ledger has twice: %v", p.found.twice)
}

// refuse runs the ingester on what it must not take.
func (p *play) refuse(ctx context.Context, s *sample, f refusal) error {
	path, about := filepath.Join(p.samples, s.path), s.path
	if f.spoil != nil {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		spoiled, ok := f.spoil(content)
		p.view.holds(ok, "%s cannot be spoiled %s", s.path, f.what)
		path, about = filepath.Join(p.folder, filepath.Base(s.path)), s.path+" "+f.what
		if err := os.WriteFile(path, spoiled, 0o600); err != nil {
			return err
		}
	}
	before, err := p.ends(ctx)
	if err != nil {
		return err
	}
	a, err := p.ingester(ctx, path, f.opts)
	if err != nil {
		return err
	}
	after, err := p.ends(ctx)
	if err != nil {
		return err
	}
	wrong := refused(a, f.says)
	if !maps.Equal(before, after) {
		wrong = append(wrong, "records are on main")
	}
	if len(wrong) == 0 {
		p.view.say("%s: refused, as it must be", about)
		p.view.indented(strings.TrimPrefix(a.diag, "ingester: "))
	}
	p.view.none(about, wrong)
	return nil
}

// refused says what is wrong with an answer that should be a refusal: exit 2, one sentence, these words in it.
func refused(a answer, says []string) []string {
	var wrong []string
	if a.code != 2 {
		wrong = append(wrong, fmt.Sprintf("the ingester ended with exit %d, want 2", a.code))
	}
	if strings.Count(strings.TrimSpace(a.diag), "\n") > 0 || a.diag == "" || a.out != "" {
		wrong = append(wrong, fmt.Sprintf("it did not say one sentence but: %s%s", a.out, a.diag))
	}
	for _, words := range says {
		if !strings.Contains(a.diag, words) {
			wrong = append(wrong, fmt.Sprintf("it did not say %q but: %s", words, a.diag))
		}
	}
	return wrong
}
