package consumer

import (
	"errors"
	"fmt"
)

// Counters are what an engine has in its hands: everything that must come back to nothing.
type Counters struct {
	Refused                      int // of living partitions
	Running, Unsettled, InHand   int
	ClaimsOut, SettlesOut, Early int
	ToClaim, ToStart, ToWrite    int
	ToSettle, Hashes, Behind     int // hashes at work, and records that wait behind them
	Lanes, LaneWaiting, Claimed  int
	Retries, Held, HeldBytes     int
	Unproven, Pending, Paused    int
	PoolQueue, PoolBusy          int
	ProofOut, Polling, Draining  bool
	Partitions                   int
}

// Counters reads the counters, in the loop while it runs, and directly after it has ended.
func (e *Engine) Counters() (c Counters) {
	l := e.loop.Load()
	read := func() { c = l.counters() }
	ran := false
	l.ask(func() { read(); ran = true })
	if !ran {
		read()
	}
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	c.PoolQueue, c.PoolBusy = len(l.pool.queue)-l.pool.next, l.pool.workers-l.pool.idle
	return c
}

func (l *loop) counters() Counters {
	c := Counters{
		Running: l.running, Unsettled: l.unsettled, ClaimsOut: l.claimsOut, SettlesOut: l.settlesOut, Early: len(l.early),
		ToClaim: len(l.toClaim), ToStart: len(l.toStart), ToWrite: len(l.toWrite), ToSettle: len(l.toSettle),
		Hashes: len(l.hashes), Lanes: len(l.lanes.busy), LaneWaiting: l.lanes.waiting(), Retries: l.retries.len(),
		ProofOut: l.proofOut, Polling: l.polling != nil, Partitions: len(l.parts),
	}
	for _, behind := range l.hashes {
		c.Behind += len(behind)
	}
	for d := l.claimed.oldest; d != nil; d = d.newer {
		c.Claimed++
	}
	for _, h := range l.holds {
		c.Held += h.len()
		c.HeldBytes += h.size()
	}
	for _, part := range l.parts {
		c.InHand += part.inHand
		c.Refused += part.refused
		c.ToStart, c.ToWrite = c.ToStart+len(part.starts), c.ToWrite+len(part.letters)
		c.Unproven += part.window.unproven()
		c.Pending += part.window.pending()
		if part.paused {
			c.Paused++
		}
		c.Draining = c.Draining || part.draining
	}
	return c
}

// Idle is nil when an engine that has nothing to do holds nothing; otherwise it names what it holds.
func (c Counters) Idle() error {
	var errs []error
	for _, n := range []struct {
		name string
		n    int
	}{
		{"running", c.Running},
		{"unsettled", c.Unsettled},
		{"in hand", c.InHand},
		{"claims out", c.ClaimsOut},
		{"settles out", c.SettlesOut},
		{"early answers", c.Early},
		{"to claim", c.ToClaim},
		{"to start", c.ToStart},
		{"to write", c.ToWrite},
		{"to settle", c.ToSettle},
		{"hashes", c.Hashes},
		{"behind a hash", c.Behind},
		{"lanes", c.Lanes},
		{"waiting in lanes", c.LaneWaiting},
		{"claimed", c.Claimed},
		{"refused", c.Refused},
		{"retries", c.Retries},
		{"held", c.Held},
		{"held bytes", c.HeldBytes},
		{"unproven", c.Unproven},
		{"pending", c.Pending},
		{"paused", c.Paused},
		{"pool queue", c.PoolQueue},
		{"pool busy", c.PoolBusy},
	} {
		if n.n != 0 {
			errs = append(errs, fmt.Errorf("%s %d", n.name, n.n))
		}
	}
	return errors.Join(errs...)
}
