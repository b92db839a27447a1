package main_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"recon/internal/testkit"
	"recon/pkg/audit"
)

// setting reads a number that `make chaos` raises.
func setting(name string, value int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return value
}

// pair is two members of the group, of which one or the other is killed.
type pair [2]*testkit.Process

func (m *pair) start(t *testing.T, i int) {
	m[i] = testkit.Child(t, "run", "RECON_INSTANCE="+[2]string{"one", "two"}[i])
}

// kill ends one of them as a crash does, and starts another in its place.
func (m *pair) kill(t *testing.T, i int) {
	t.Helper()
	select {
	case <-m[i].Done():
		t.Errorf("a member was gone before it was killed")
	default:
	}
	m[i].Kill()
	if code := m[i].Wait(); code != -1 {
		t.Errorf("a killed member ended with exit %d, want a signal", code)
	}
	m.start(t, i)
}

// Promises 1 and 2: whatever is killed when, no record is lost, none posts twice, none has two outcomes, and the books
// close, while three records in ten fail their first attempt and one in a hundred is poison.
func TestKilledConsumersLoseNothingAndPostNothingTwice(t *testing.T) {
	p := newPlant(t, "200ms,1s,2s")
	n, kills := setting("CHAOS_RECORDS", 3000), setting("CHAOS_KILLS", 3)
	seed := setting("SEED", int(time.Now().UnixNano()%1_000_000))
	t.Logf("SEED=%d: %d records, %d kills", seed, n, kills)
	dice := rand.New(rand.NewPCG(uint64(seed), 1))
	documents := p.load(n)
	var members pair
	members.start(t, 0)
	members.start(t, 1)
	entered := p.employ(documents, rand.New(rand.NewPCG(uint64(seed), 2)))
	// A kill falls while there is work: the gap is drawn, and the next kill waits for progress.
	want := n - n/100
	for k := range kills {
		goal := want * (k + 1) / (kills + 2)
		for rows := 0; rows < goal; rows, _ = p.postings() {
			time.Sleep(50 * time.Millisecond)
		}
		time.Sleep(time.Duration(dice.IntN(400)) * time.Millisecond)
		members.kill(t, dice.IntN(len(members)))
	}
	entered()
	limit := time.Now().Add(5 * time.Minute)
	for rows := 0; rows < want || p.lag() > 0; rows, _ = p.postings() {
		if time.Now().After(limit) {
			t.Fatalf("%d of %d posted, lag %d", rows, want, p.lag())
		}
		time.Sleep(200 * time.Millisecond)
	}
	for _, m := range members {
		if code := m.Stop(); code != 0 {
			t.Errorf("a member ended with exit %d", code)
		}
	}
	p.judge(n, len(documents), kills)
}

// judge looks at what is left after the run: of n records, of which failing wait for a document.
func (p *plant) judge(n, failing, kills int) {
	t := p.t
	t.Helper()
	a := p.account()
	for _, complaint := range a.complaints(n, failing) {
		t.Error(complaint)
	}
	rows, twice := a.postings()
	lost, two := a.outcomes()
	first := len(a.failedFirst)
	e := p.evidence()
	result := e.Books.Result()
	var said bytes.Buffer
	if err := result.Print(&said); err != nil {
		t.Fatal(err)
	}
	if !result.Closes() {
		t.Errorf("the books do not close:\n%s", said.String())
	}
	if dead := result.By[audit.AsOpen].All().Records; dead != n/100 {
		t.Errorf("%d open letters, want %d", dead, n/100)
	}
	if !e.Trail.Intact() {
		t.Errorf("the trail is broken: %v", e.Trail.Findings)
	}
	t.Logf("\n%s\n%s", said.String(), table([]figure{
		{"records", n},
		{"posted", rows},
		{"letters", len(a.lettered)},
		{"transient first", strconv.Itoa(first) + " (" + strconv.FormatFloat(100*float64(first)/float64(n), 'f', 1, 64) + " %)"},
		{"told as retried", len(a.toldRetry)},
		{"killed with SIGKILL", kills},
		{"lost", lost},
		{"posted twice", twice},
		{"two outcomes", two},
		{"completeness", closing(said.String())},
	}))
}

// closing is the line with which the books say whether they close.
func closing(said string) string {
	for line := range strings.Lines(said) {
		if strings.Contains(line, "completeness") {
			return strings.TrimPrefix(strings.TrimSpace(line), "completeness ")
		}
	}
	return "not said"
}
