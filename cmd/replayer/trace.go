package main

import (
	"recon/pkg/replay"
)

// traceCmd is `replayer trace KEY`.
type traceCmd struct {
	Key string `arg:"" name:"key" help:"Source hash, trace id, message id, or TOPIC/PARTITION@OFFSET."`
}

// Run reads every topic and asks store and ledger for the life of one record.
func (c *traceCmd) Run(j *job) error {
	t := j.tools()
	defer t.close()
	t.needCalendar()
	t.needStore()
	t.needLedger()
	if err := t.open(); err != nil {
		return err
	}
	if err := t.openBooks(); err != nil {
		return err
	}
	p := j.progress("reading main, tiers, letters and dispositions")
	life, err := replay.Trace(j.ctx, replay.TraceConfig{
		Topics: t.names, Options: t.opts, Store: t.store, Ledger: t.ledger, Progress: p.at,
	}, c.Key)
	p.end()
	if err != nil {
		return err
	}
	switch j.form {
	case asLines:
		return lines(j, each(life.Moments, momentOf))
	case asJSON:
		return j.document(lifeOf(life))
	}
	replay.PrintLife(j.out, life)
	return nil
}

type lifeJSON struct {
	Key     string       `json:"key"`
	Moments []momentJSON `json:"moments"`
	Hashes  []hashJSON   `json:"hashes"`
}

type momentJSON struct {
	Where      string      `json:"where"`
	Written    *string     `json:"written_at"`
	What       string      `json:"what"`
	Root       string      `json:"root"`
	Generation int         `json:"generation"`
	Attempts   int         `json:"attempts"`
	Code       *string     `json:"code"`
	Detail     *string     `json:"detail"`
	Due        *string     `json:"due_at"`
	Actor      *string     `json:"actor"`
	Message    messageJSON `json:"message"`
}

func momentOf(m replay.Moment) momentJSON {
	return momentJSON{
		m.Where.String(), moment(m.Written), m.What, m.Root.String(), m.Generation, m.Attempts, text(m.Code), text(m.Detail),
		moment(m.Due), text(m.Actor), messageOf(m.Facts),
	}
}

// hashJSON is what store and ledger know of one source_hash.
type hashJSON struct {
	SourceHash string       `json:"source_hash"`
	Stored     *string      `json:"stored"` // the dedup value as it is kept
	Posting    *postingJSON `json:"posting"`
}

type postingJSON struct {
	ID         string  `json:"id"`
	Root       string  `json:"root"`
	Generation int     `json:"generation"`
	Digest     string  `json:"digest"`
	At         *string `json:"posted_at"`
}

func lifeOf(l *replay.Life) lifeJSON {
	return lifeJSON{l.Key, each(l.Moments, momentOf), each(l.Hashes, func(hash string) hashJSON {
		h := hashJSON{SourceHash: hash}
		if v, ok := l.Stored[hash]; ok {
			h.Stored = text(v.String())
		}
		if p := l.Posted[hash]; p != nil {
			h.Posting = &postingJSON{p.ID, p.Root.String(), p.Generation, p.Digest, moment(p.At)}
		}
		return h
	})}
}
