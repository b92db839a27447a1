package replay

import (
	"context"
	"iter"
	"sync"
	"time"
)

// feed loads the letters batch by batch and gives each to the lane of its entity, until the intake ends.
func (x *run) feed(jobs []*job, lanes []chan *job) error {
	laneOf := make(map[string]int)
	for batch := range batches(jobs, func(j *job) int { return j.result.Case.size }) {
		cases := make([]*Case, len(batch))
		for i, j := range batch {
			cases[i] = j.result.Case
		}
		opened, err := Load(x.intake, x.cfg.Options, cases)
		if x.intake.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		for i, j := range batch {
			lane, ok := laneOf[j.entry.Entity]
			if !ok {
				lane = len(laneOf) % len(lanes)
				laneOf[j.entry.Entity] = lane
			}
			j.opened = opened[i]
			select {
			case lanes[lane] <- j:
			case <-x.intake.Done():
				return nil
			}
		}
	}
	return nil
}

// batches cuts a list into what is loaded at once: at most loadBatch letters, and no more bytes than loadBytes unless
// one letter alone has more.
func batches[T any](all []T, size func(T) int) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		from, bytes := 0, 0
		for i := range all {
			n := size(all[i])
			if i > from && (i-from == loadBatch || bytes+n > loadBytes) {
				if !yield(all[from:i]) {
					return
				}
				from, bytes = i, 0
			}
			bytes += n
		}
		if from < len(all) {
			yield(all[from:])
		}
	}
}

// take does one letter, unless the run is ending.
func (x *run) take(j *job) {
	if !x.pace.wait(x.intake) {
		return
	}
	x.letter(j)
	j.opened = Opened{}
	x.cfg.Observe(Event{Kind: Ended, Case: j.result.Case, Result: *j.result, Done: int(x.done.Add(1)), Total: x.total})
}

// interleave orders jobs so that every entity's turn comes round, each one's own order kept.
func interleave(jobs []*job) []*job {
	byEntity := make(map[string][]*job)
	var entities []string
	for _, j := range jobs {
		if _, ok := byEntity[j.entry.Entity]; !ok {
			entities = append(entities, j.entry.Entity)
		}
		byEntity[j.entry.Entity] = append(byEntity[j.entry.Entity], j)
	}
	order := make([]*job, 0, len(jobs))
	for len(order) < len(jobs) {
		for _, e := range entities {
			if queue := byEntity[e]; len(queue) > 0 {
				order = append(order, queue[0])
				byEntity[e] = queue[1:]
			}
		}
	}
	return order
}

// pace spaces the letters that are begun.
type pace struct {
	every time.Duration // 0: no limit
	mu    sync.Mutex    // guards next
	next  time.Time
}

// wait returns true when it is the caller's turn, false when ctx ends first.
func (p *pace) wait(ctx context.Context) bool {
	if ctx.Err() != nil || p.every == 0 {
		return ctx.Err() == nil
	}
	p.mu.Lock()
	now := time.Now()
	turn := now
	if p.next.After(now) {
		turn = p.next
	}
	p.next = turn.Add(p.every)
	p.mu.Unlock()
	timer := time.NewTimer(turn.Sub(now))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
