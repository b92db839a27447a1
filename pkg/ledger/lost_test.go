package ledger_test

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"recon/internal/testkit"
	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/pkg/ledger"
)

// wire stands between the ledger and PostgreSQL.
type wire struct {
	mu sync.Mutex
	// onQuery is called with what the client sends, before it is passed on; true: swallow the answer and hang up.
	onQuery func(b []byte) (hangUp bool)
}

func (w *wire) rule(f func([]byte) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.onQuery = f
}

func (w *wire) ask(b []byte) bool {
	w.mu.Lock()
	f := w.onQuery
	w.mu.Unlock()
	return f != nil && f(b)
}

// through returns the address of a server whose traffic runs over a wire.
func through(t *testing.T, address string) (*wire, string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	server := u.Host
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { w.carry(client, server) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); all.Wait() })
	u.Host = l.Addr().String()
	return w, u.String()
}

// carry passes bytes both ways until one side ends, or the rule says that an answer is lost.
func (w *wire) carry(client net.Conn, server string) {
	defer client.Close()
	far, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer far.Close()
	var mu sync.Mutex
	lost, answered := false, make(chan struct{})
	go func() {
		defer close(answered)
		defer client.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := far.Read(buf)
			mu.Lock()
			stop := err != nil || lost // the answer to the last query: by then it has committed
			mu.Unlock()
			if stop {
				return
			}
			if _, err := client.Write(buf[:n]); err != nil {
				return
			}
		}
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			break
		}
		hangUp := w.ask(buf[:n])
		mu.Lock()
		lost = lost || hangUp
		mu.Unlock()
		if _, err := far.Write(buf[:n]); err != nil {
			break
		}
	}
	if mu.Lock(); !lost {
		far.Close()
	}
	mu.Unlock()
	<-answered
	_, _ = io.Copy(io.Discard, client)
}

// Pitfall R4: the commit was done, its answer was lost.
func TestRealAnAnswerLostAfterTheCommitIsHarmless(t *testing.T) {
	direct := testkit.Postgres(t)
	w, address := through(t, direct)
	b := ready(t, address, ledger.Config{Conns: 1})
	b.maps("EUR")
	b.must(b.Handle(t.Context(), message(0))) // the statement is prepared
	m := message(1)
	w.rule(func(sent []byte) bool { return bytes.Contains(sent, []byte(m.SourceHash)) })
	err := b.Handle(t.Context(), m)
	w.rule(nil)
	b.wantCode(err, fault.DependencyUnavailable, fault.StagePost)
	if !ledger.IsAway(err) {
		t.Errorf("got %v, want it away", err)
	}
	p := b.wantPosted(b.Handle(t.Context(), m), m.Root)
	if p.Digest != m.Digest || p.Generation != m.Generation {
		t.Errorf("got %+v", p)
	}
	b.posted(m.SourceHash)
}

func TestRealARateCorrectedBetweenLookAndPostingIsTheOneThatCounts(t *testing.T) {
	direct := testkit.Postgres(t)
	w, address := through(t, direct)
	b := ready(t, address, ledger.Config{Conns: 1})
	b.maps("USD")
	b.must(b.PutEntity(t.Context(), "ACME-DE", "EUR"))
	b.quotes("EUR", "USD", "2026-11-30", "1.50")
	b.must(b.Handle(t.Context(), message(0, currency("USD"))))

	owner := open(t, direct, ledger.Config{})
	m, statements := message(1, currency("USD")), 0
	w.rule(func(sent []byte) bool {
		if bytes.Contains(sent, []byte(m.SourceHash)) {
			if statements++; statements == 2 { // the first has told the old rate; the second would post with it
				owner.quotes("EUR", "USD", "2026-11-30", "1.05")
			}
		}
		return false
	})
	b.must(b.Handle(t.Context(), m))
	w.rule(nil)
	if got := b.posted(m.SourceHash); !got.BaseAmount.Equal(amount("10.00")) {
		t.Errorf("got %s at the old rate, want 10.00", got.BaseAmount)
	}
	if statements != 3 {
		t.Errorf("got %d statements, want 3", statements)
	}
}

func TestRealABaseCurrencyChangedBetweenLookAndPostingIsTheOneThatCounts(t *testing.T) {
	for name, change := range map[string]func(*bundle){
		"with a rate of its own": func(owner *bundle) { owner.quotes("JPY", "USD", "2026-11-30", "1.50") },
		"and the rate with it":   func(owner *bundle) { owner.raw(`UPDATE rates SET base = 'JPY'`) },
	} {
		t.Run(name, func(t *testing.T) {
			direct := testkit.Postgres(t)
			w, address := through(t, direct)
			b := ready(t, address, ledger.Config{Conns: 1})
			b.maps("USD")
			b.must(b.PutEntity(t.Context(), "ACME-DE", "EUR"))
			b.quotes("EUR", "USD", "2026-11-30", "1.50")

			owner := open(t, direct, ledger.Config{})
			m, statements := message(1, currency("USD"), of("10.00")), 0
			w.rule(func(sent []byte) bool {
				if bytes.Contains(sent, []byte(m.SourceHash)) {
					if statements++; statements == 2 {
						change(owner)
						owner.must(owner.PutEntity(t.Context(), "ACME-DE", "JPY"))
					}
				}
				return false
			})
			b.must(b.Handle(t.Context(), m))
			w.rule(nil)
			if got := b.posted(m.SourceHash); got.BaseCurrency != "JPY" || !got.BaseAmount.Equal(amount("7")) {
				t.Errorf("got %s %s, want 7 JPY", got.BaseAmount, got.BaseCurrency)
			}
		})
	}
}

func TestRealAConnectionKilledInMidStatementIsAwayAndTheNextPostingWorks(t *testing.T) {
	b := ready(t, named(t), ledger.Config{})
	b.maps("EUR")
	m := message(1)
	tx := b.rival(m)
	answer := make(chan error, 1)
	go func() { answer <- b.Handle(t.Context(), m) }()
	b.blocked(1)
	b.raw(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = '` + b.application() + `'`)
	err := <-answer
	b.wantCode(err, fault.DependencyUnavailable, fault.StagePost)
	if !ledger.IsAway(err) || fault.Of(err).Dependency != "ledger" {
		t.Errorf("got %v, want it away", err)
	}
	b.must(tx.Rollback())
	b.must(b.Handle(t.Context(), m))
	b.posted(m.SourceHash)
}

func TestKillAServerThatIsKilledIsAwayAndPostsWhatWasMissingWhenItIsBack(t *testing.T) {
	server := testkit.StartPostgres(t)
	b := ready(t, testkit.Schema(t, server.Postgres()), ledger.Config{})
	b.maps("EUR")
	b.must(b.Handle(t.Context(), message(1)))
	server.Kill()
	for _, err := range []error{b.Handle(t.Context(), message(2)), b.Precheck(t.Context(), message(2)), b.Ping(t.Context())} {
		b.wantCode(err, fault.DependencyUnavailable, fault.StagePost)
		if !ledger.IsAway(err) {
			t.Errorf("got %v, want it away", err)
		}
	}
	if _, err := b.Lookup(t.Context(), "any"); !ledger.IsAway(err) {
		t.Errorf("Lookup: got %v, want it away", err)
	}
	server.Start()
	b.must(b.Ping(t.Context()))
	b.wantPosted(b.Handle(t.Context(), message(1)), message(1).Root) // what was acknowledged survived
	b.must(b.Handle(t.Context(), message(2)))
}

// Two processes with one file: the second finds the first one's posting, whichever connection it reads with.
func TestRealTwoLedgersOnOneDatabasePostOnce(t *testing.T) {
	for name, url := range map[string]string{"sqlite": file(t), "postgres": testkit.Postgres(t)} {
		t.Run(name, func(t *testing.T) {
			one, two := ready(t, url, ledger.Config{}), ready(t, url, ledger.Config{})
			one.maps("EUR")
			const hashes = 20
			var all sync.WaitGroup
			results := make([][2]error, hashes)
			for i := range hashes {
				for side, l := range []*bundle{one, two} {
					all.Go(func() {
						results[i][side] = l.Handle(t.Context(), message(i, func(m *envelope.Message) { m.Root.Partition = int32(side) }))
					})
				}
			}
			all.Wait()
			for i, r := range results {
				if (r[0] == nil) == (r[1] == nil) {
					t.Fatalf("%d: got %v and %v, want one insert", i, r[0], r[1])
				}
				for side, err := range r {
					if err != nil {
						one.wantPosted(err, envelope.Coordinates{Topic: "recon.main", Partition: int32(1 - side), Offset: int64(i)})
					}
				}
			}
		})
	}
}
