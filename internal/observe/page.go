package observe

import (
	"io"
	"sync"
)

// Page is what a command prints on. It remembers its first error, so that what prints need not look at each line: what
// nobody could read is no success, and no evidence.
type Page struct {
	to  io.Writer
	cut func()

	mu  sync.Mutex // guards err
	err error
}

// NewPage prints on to. cut, where it is given, is called once with the first error: nobody reads what comes.
func NewPage(to io.Writer, cut func()) *Page { return &Page{to: to, cut: cut} }

// Write writes on until something is lost; from then on it answers with the error of that.
func (p *Page) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return 0, p.err
	}
	n, err := p.to.Write(b)
	if p.err = err; err != nil && p.cut != nil {
		p.cut()
	}
	return n, err
}

// Err is the first error, nil where nothing was lost.
func (p *Page) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}
