package fault

import "time"

// Verdict is what one error comes to.
type Verdict struct {
	Code       Code
	Class      Class
	Failure    Failure       // for poison: what the first occurrence leads to; empty for transient
	Stage      Stage         // where it happened; the code's own stage when the error names none
	Dependency string        // the system to blame, empty when none is named
	Detail     string        // the text of the whole error, redacted, one line, not cut
	AtLeast    time.Duration // the longest Retry-After found, 0 when none
	Known      bool          // false: no known code was found and Code is Unclassified
}

// Of answers what an error comes to. It looks through every wrapping and join, and the most specific wins:
// a known code beats none and beats Unclassified; of two codes one inside the other the inner; of two that lie side by
// side in a join the one with more codes around it, then the first. Plain wrapping makes nothing more specific.
// Stage and dependency are the innermost ones on the way to that code or below it.
//
// An error without a known code is poison, Unclassified, with Known false. Context errors are not special: only the
// caller knows whether it was itself who cancelled, so it asks that before it asks here. Of(nil) is the zero Verdict.
func Of(err error) Verdict {
	if err == nil {
		return Verdict{}
	}
	f := find(err, finding{}, 0)
	r, _ := row(f.code)
	v := Verdict{
		Code: r.Code, Class: r.Policy.Class, Failure: r.First, Stage: f.stage, Dependency: f.dependency,
		Detail: Redact(err.Error()), AtLeast: f.atLeast, Known: f.known,
	}
	if v.Stage == "" {
		v.Stage = r.Stage
	}
	return v
}

// finding is what a walk has seen between the root of an error and the code it chose.
type finding struct {
	code       Code
	known      bool // a code of the table other than Unclassified
	depth      int  // codes around it
	stage      Stage
	dependency string
	atLeast    time.Duration
}

// find walks err and everything below it; above are the marks on the way to it, depth the number of codes.
func find(err error, above finding, depth int) finding {
	here := above
	c, ours := err.(*carrier)
	if ours {
		here.mark(c)
		if c.code != "" {
			depth++
		}
	}
	best := here
	for i, below := range children(err) {
		f := find(below, here, depth)
		if i == 0 || f.beats(best) {
			best = f
		}
	}
	if ours && !best.known {
		if _, ok := index[c.code]; ok {
			best.code, best.known, best.depth = c.code, c.code != Unclassified, depth
		}
	}
	return best
}

func (f *finding) mark(c *carrier) {
	if c.stage != "" {
		f.stage = c.stage
	}
	if c.dependency != "" {
		f.dependency = c.dependency
	}
	f.atLeast = max(f.atLeast, c.atLeast)
}

func (f finding) beats(other finding) bool {
	if f.known != other.known {
		return f.known
	}
	return f.known && f.depth > other.depth
}

// children returns what err wraps, one or several, without nils.
func children(err error) []error {
	switch w := err.(type) {
	case interface{ Unwrap() error }:
		if below := w.Unwrap(); below != nil {
			return []error{below}
		}
	case interface{ Unwrap() []error }:
		var below []error
		for _, e := range w.Unwrap() {
			if e != nil {
				below = append(below, e)
			}
		}
		return below
	}
	return nil
}
