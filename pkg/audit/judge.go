package audit

import (
	"fmt"
	"strings"

	"recon/pkg/envelope"
)

// judge gives the alarms of one counted root.
func (b *Books) judge(w *row) []Alarm {
	var as []Alarm
	add := func(grave bool, format string, args ...any) {
		as = append(as, Alarm{w.root, grave, fmt.Sprintf(format, args...)})
	}
	a := w.account
	if w.standing != AsMissing && !w.out.money.Equal(w.in.money) {
		add(true, "the amount differs: ingested %s, %s %s", w.in.money, w.standing, w.out.money)
	}
	if w.standing == AsMissing && a.arrival != nil && a.arrival.Replay != nil {
		r := a.arrival.Replay
		add(false, "its headers say that it replays %s as generation %d, but nothing shows that it was handled as that", r.Root, r.Generation)
	}
	b.judgePosting(w, add)
	if w.standing == AsSuppressed && b.ledger {
		b.judgeTwin(w, add)
	}
	if a.hand == nil {
		return as
	}
	if w.standing == AsPosted && a.hand.any(envelope.Resolved) {
		add(true, "posted, and resolved by a person as well")
	}
	if w.standing == AsPosted && (a.hand.quarantined("") || a.hand.any(envelope.JournalPosted)) {
		add(true, "posted, and quarantined for a manual journal as well")
	}
	for _, l := range a.letters {
		if ss := a.hand.terminal(l.envelopeID); len(ss) > 1 {
			add(false, "letter %s has %d terminal states: %s", l.envelopeID, len(ss), listStates(ss))
		}
	}
	if l := b.open(a); l != nil && (w.standing == AsResolved || w.standing == AsJournaled || w.standing == AsQuarantined) {
		add(false, "letter %s is open although its root is %s", l.envelopeID, w.standing)
	}
	return as
}

// judgePosting compares the ledger's row with the record, and with what the trail says of it.
func (b *Books) judgePosting(w *row, add func(bool, string, ...any)) {
	a := w.account
	if p, in := a.posting, a.arrival; p != nil && in != nil {
		if in.SourceHash != "" && p.SourceHash != in.SourceHash {
			add(true, "posted under source_hash %s, but the record's is %s", p.SourceHash, in.SourceHash)
		}
		if in.Digest != "" && p.Digest != "" && in.Digest != p.Digest {
			add(true, "posted with digest %s, but the record's is %s: the posting is of another content", p.Digest, in.Digest)
		}
	}
	if b.ledger && a.posting == nil && a.toldPosted {
		add(true, "the trail says that it posted, but the ledger has no posting of it")
	}
	if b.ledger && a.posting == nil && a.hand.any(envelope.Confirmed) {
		add(true, "its replay is confirmed as posted, but the ledger has no posting of it")
	}
	if b.posted(a) && (a.toldSuppressed || a.hand.any(envelope.Suppressed)) {
		add(false, "posted, and reported as suppressed as well")
	}
}

// judgeTwin looks for the posting that a suppressed record was suppressed for.
func (b *Books) judgeTwin(w *row, add func(bool, string, ...any)) {
	hash := w.in.hash
	if hash == "" {
		hash = w.out.hash
	}
	twins := b.hashes[hash]
	if len(twins) == 0 {
		add(true, "suppressed as a duplicate, but source_hash %q is not posted", hash)
	}
	if in := w.account.arrival; in != nil && in.Digest != "" {
		for root, p := range twins {
			if p.Digest != "" && p.Digest != in.Digest {
				add(true, "suppressed as a duplicate of %s, which is another transaction: digest %s there, %s here", root, p.Digest, in.Digest)
			}
		}
	}
}

func listStates(ss []envelope.State) string {
	var names []string
	for _, s := range ss {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}
