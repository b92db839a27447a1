package consumer

import (
	"sync"
	"time"
)

// pool runs deliveries on at most limit goroutines, in the order in which they were pushed.
// Goroutines are made when work waits and none is idle, and end with stop.
type pool struct {
	run   func(*delivery)
	limit int

	mu      sync.Mutex // guards what is below
	wake    *sync.Cond
	queue   []*delivery
	next    int // queue[next:] waits
	idle    int
	workers int
	stopped bool
	ended   sync.WaitGroup
}

func newPool(limit int, run func(*delivery)) *pool {
	p := &pool{run: run, limit: limit}
	p.wake = sync.NewCond(&p.mu)
	return p
}

// push hands out work. It never blocks: the caller bounds what it pushes.
func (p *pool) push(ds []*delivery) {
	if len(ds) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == len(p.queue) {
		p.queue, p.next = p.queue[:0], 0
	}
	p.queue = append(p.queue, ds...)
	for n := min(len(ds), p.idle); n > 0; n-- {
		p.wake.Signal()
	}
	for n := min(p.limit-p.workers, len(p.queue)-p.next-p.idle); n > 0; n-- {
		p.workers++
		p.ended.Go(p.work)
	}
}

// stop lets every goroutine end once nothing waits, and waits for them, at most so long. It returns how many are at
// work even then: nothing can end those.
func (p *pool) stop(limit time.Duration) (left int) {
	p.mu.Lock()
	p.stopped = true
	p.wake.Broadcast()
	p.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		p.ended.Wait()
		close(ended)
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-ended:
		return 0
	case <-timer.C:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.workers
}

func (p *pool) work() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		for p.next == len(p.queue) {
			if p.stopped {
				p.workers--
				return
			}
			p.idle++
			p.wake.Wait()
			p.idle--
		}
		d := p.queue[p.next]
		p.queue[p.next] = nil
		p.next++
		p.mu.Unlock()
		p.run(d)
		p.mu.Lock()
	}
}
