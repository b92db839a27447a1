package consumer

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestPoolRunsAtMostItsLimitAndEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most, ran atomic.Int64
		p := newPool(8, func(*delivery) {
			if n := running.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(time.Second)
			running.Add(-1)
			ran.Add(1)
		})
		began := time.Now()
		for range 10 {
			p.push(make([]*delivery, 16))
		}
		p.stop(time.Minute)
		if ran.Load() != 160 || most.Load() != 8 {
			t.Errorf("ran %d, at most %d at once, want 160 and 8", ran.Load(), most.Load())
		}
		if got, want := time.Since(began), 20*time.Second; got != want {
			t.Errorf("took %s, want %s: 160 of a second each, 8 at once", got, want)
		}
	})
}

func TestPoolStartsInOrder(t *testing.T) {
	var mu sync.Mutex
	var got []*delivery
	p := newPool(1, func(d *delivery) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, d)
	})
	want := make([]*delivery, 1000)
	for i := range want {
		want[i] = &delivery{}
		p.push(want[i : i+1])
	}
	p.stop(time.Minute)
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("delivery %d ran out of turn", i)
		}
	}
}

func TestPoolIsIdleWithoutWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		p := newPool(4, func(*delivery) { done <- struct{}{} })
		for range 3 {
			p.push([]*delivery{{}})
			<-done
			synctest.Wait()
		}
		if p.workers != 1 || p.idle != 1 {
			t.Errorf("%d goroutines, %d idle, want one that was used three times", p.workers, p.idle)
		}
		p.stop(time.Minute)
	})
}
