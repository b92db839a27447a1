package consumer

// lanes keep the first attempts of one key of one partition in order: while one is at work, those behind it wait.
// The zero value is ready. It has one owner and holds no lock, clock or goroutine.
type lanes[K comparable, V any] struct {
	busy map[K][]V // a key at work, with those behind it, oldest first
	wait int
}

// offer asks for v to start. false: an earlier one of the key is at work, and done will hand v out.
func (l *lanes[K, V]) offer(key K, v V) (start bool) {
	queue, busy := l.busy[key]
	if !busy {
		if l.busy == nil {
			l.busy = make(map[K][]V)
		}
		l.busy[key] = nil
		return true
	}
	l.busy[key] = append(queue, v)
	l.wait++
	return false
}

// done frees the key, and gives the next one in line, which is then at work.
func (l *lanes[K, V]) done(key K) (next V, ok bool) {
	queue, busy := l.busy[key]
	if !busy {
		return next, false
	}
	if len(queue) == 0 {
		delete(l.busy, key)
		return next, false
	}
	next = queue[0]
	var none V
	queue[0] = none
	l.busy[key] = queue[1:]
	l.wait--
	return next, true
}

// waiting is the number of values behind one at work.
func (l *lanes[K, V]) waiting() int { return l.wait }
