package dedup_test

import (
	"bytes"
	"errors"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"recon/internal/testkit"
	"recon/pkg/dedup"
	"recon/pkg/envelope"
)

// throughProxy gives a store behind a proxy, and one beside it, on the same keys.
func throughProxy(t *testing.T, server string) (behind, beside *dedup.Redis, p *proxy) {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	p = newProxy(t, u.Host)
	u.Host = p.addr
	prefix := testkit.Prefix(t)
	beside, behind = openRedis(t, server, prefix), openRedis(t, u.String(), prefix)
	for _, s := range []*dedup.Redis{beside, behind} {
		if err := s.Open(t.Context(), false, false); err != nil {
			t.Fatal(err)
		}
	}
	return behind, beside, p
}

// Pitfalls L26, R4: the server did it and the answer was lost. That is an error, not "somebody else's": asked again,
// the record finds its own claim, its own settlement, its own reservation.
func TestRealRedisAnswerThatIsLostIsAskedAgain(t *testing.T) {
	s, _, proxy := throughProxy(t, testkit.Redis(t))
	c := first("answer-lost", rootA)
	lose := func(to string, call func() error) {
		t.Helper()
		proxy.loseAnswerTo(to)
		if err := call(); !errors.Is(err, dedup.ErrUnavailable) {
			t.Fatalf("with its answer lost: got %v, want ErrUnavailable", err)
		}
	}
	lose(c.Hash, func() error { _, err := s.Claim(t.Context(), time.Minute, []dedup.Claim{c}); return err })
	wantVerdict(t, s, c, dedup.Resumed)
	lose(c.Hash, func() error { return s.Settle(t.Context(), []dedup.Settlement{{Claim: c, State: dedup.Dead}}) })
	settle(t, s, dedup.Settlement{Claim: c, State: dedup.Dead})
	if got := stored(t, s, c.Hash); got.State != dedup.Dead {
		t.Errorf("settled twice as dead, stored %q", got)
	}
	env := envelope.EnvelopeID(rootA, 0)
	r := dedup.Reservation{Hash: c.Hash, EnvelopeID: env, ReplayID: envelope.ReplayID(env), Root: rootA}
	lose("evalsha", func() error { _, err := s.Reserve(t.Context(), r); return err })
	if a := reserve(t, s, c.Hash, rootA, 0); !a.AlreadyMine {
		t.Errorf("reserved with the answer lost, asked again: got %+v", a)
	}
}

// A memory that is emptied in the middle of a batch: what the emptied store took is not believed, since the look at
// the generation comes after the writes.
func TestRealRedisEmptiedInsideABatchGrantsNothing(t *testing.T) {
	server := testkit.StartRedis(t)
	behind, _, proxy := throughProxy(t, server.Redis())
	raw := rawClient(t, server.Redis())
	proxy.actBefore("emptied-inside", func() { raw.FlushAll(t.Context()) })
	_, err := behind.Claim(t.Context(), time.Minute, []dedup.Claim{first("emptied-inside", rootA)})
	if !errors.Is(err, dedup.ErrMemoryLost) {
		t.Errorf("got %v, want ErrMemoryLost", err)
	}
}

// What comes between a look and its swap is seen: the decision is made anew on what is there then.
func TestRealRedisDecidesOnWhatTheSwapFinds(t *testing.T) {
	behind, beside, proxy := throughProxy(t, testkit.Redis(t))
	claims := func(c dedup.Claim) func() {
		return func() { wantVerdict(t, beside, c, dedup.Fresh) }
	}
	bury := func(hash string) {
		t.Helper()
		settle(t, beside, dedup.Settlement{Claim: first(hash, rootA), State: dedup.Dead})
	}
	rows := map[string]func(hash string){
		"take over, and another root takes over": func(hash string) {
			bury(hash)
			proxy.actBefore("evalsha", claims(first(hash, at("recon.main", 2, 1))))
			wantVerdict(t, behind, first(hash, rootB), dedup.Busy)
		},
		"reserve, and a record is claimed": func(hash string) {
			bury(hash)
			proxy.actBefore("evalsha", claims(first(hash, rootB)))
			if a := reserve(t, behind, hash, rootA, 0); !a.Refused || a.Stored.Root != rootB {
				t.Errorf("reserve: got %+v, want refused by the claim", a)
			}
		},
		"claim a replay that is not believed, and its letter is reserved": func(hash string) {
			proxy.actBefore("evalsha", func() { reserve(t, beside, hash, rootA, 0) })
			if a := wantVerdict(t, behind, replayOf(hash, rootA, 0, onMain), dedup.Fresh); !a.Trusted {
				t.Error("the replay is not believed though its letter was reserved before the swap")
			}
			if got := stored(t, beside, hash); got.Root != rootA || got.Generation != 1 {
				t.Errorf("stored %q", got)
			}
		},
		"settle as dead, and the hash posts": func(hash string) {
			wantVerdict(t, behind, first(hash, rootA), dedup.Fresh)
			proxy.actBefore("evalsha", func() {
				settle(t, beside, dedup.Settlement{Claim: first(hash, rootB), State: dedup.Posted})
			})
			settle(t, behind, dedup.Settlement{Claim: first(hash, rootA), State: dedup.Dead})
			if got := stored(t, beside, hash); got.State != dedup.Posted || got.Root != rootB {
				t.Errorf("stored %q", got)
			}
		},
		"settle by hand, and the record is claimed": func(hash string) {
			bury(hash)
			proxy.actBefore("evalsha", claims(first(hash, rootB)))
			a, err := behind.MarkSettled(t.Context(), dedup.Mark{Hash: hash, Root: rootA})
			if err != nil || !a.Refused {
				t.Errorf("mark: got %+v, %v, want refused by the claim", a, err)
			}
		},
	}
	for name, row := range rows {
		row(newHash("between"))
		if proxy.armed() {
			t.Errorf("%s: nothing came between", name)
		}
	}
}

// proxy stands between a client and a server. It can take away one answer and the connection with it, and can do
// something at the moment when all before a command is done and the command is not.
type proxy struct {
	addr string

	mu   sync.Mutex
	text string // of the request it waits for; "" for none
	act  func() // nil: lose the answer
}

func (p *proxy) loseAnswerTo(text string)          { p.arm(text, nil) }
func (p *proxy) actBefore(text string, act func()) { p.arm(text, act) }

func (p *proxy) arm(text string, act func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text, p.act = text, act
}

func (p *proxy) armed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text != ""
}

// trigger gives where in a request the awaited command begins, and what to do there; -1 where it is not in it.
func (p *proxy) trigger(request []byte) (begin int, act func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := bytes.Index(request, []byte(p.text))
	if p.text == "" || i < 0 {
		return -1, nil
	}
	p.text = ""
	if j := bytes.LastIndex(request[:i], []byte("\r\n*")); j >= 0 {
		return j + 2, p.act
	}
	return 0, p.act
}

func newProxy(t *testing.T, server string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	p := &proxy{addr: l.Addr().String()}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", server)
			if err != nil {
				_ = client.Close()
				continue
			}
			go p.serve(client, to)
		}
	}()
	return p
}

// serve carries one request at a time: a client that pipelines sends one and waits for its answers.
func (p *proxy) serve(client, server net.Conn) {
	defer client.Close()
	defer server.Close()
	answered := make(chan struct{}, 1<<16) // one for each piece of an answer
	lose := make(chan struct{})
	go func() {
		defer client.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := server.Read(buf)
			select {
			case <-lose:
				return
			default:
			}
			if err != nil {
				return
			}
			if _, err := client.Write(buf[:n]); err != nil {
				return
			}
			answered <- struct{}{}
		}
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		request := buf[:n]
		if begin, act := p.trigger(request); begin >= 0 && act == nil {
			close(lose)
		} else if begin >= 0 {
			for len(answered) > 0 {
				<-answered
			}
			if begin > 0 {
				if _, err := server.Write(request[:begin]); err != nil {
					return
				}
				<-answered
				request = request[begin:]
			}
			act()
		}
		if _, err := server.Write(request); err != nil {
			return
		}
	}
}
