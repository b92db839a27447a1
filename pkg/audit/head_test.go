package audit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/audit"
)

func TestLastHeadFindsThePredecessorAmongOthers(t *testing.T) {
	c := newCluster(t)
	find := func(instance string) (audit.Head, bool) {
		t.Helper()
		h, found, err := audit.LastHead(t.Context(), c.opts, "recon.audit", "consumer", instance)
		if err != nil {
			t.Fatal(err)
		}
		return h, found
	}
	if h, found := find("host-1"); found {
		t.Fatalf("empty topic: got %+v", h)
	}
	chains := []*audit.Chain{c.chain(nil), c.chain(func(cfg *audit.Config) { cfg.Instance = "host-2" })}
	for range 3 { // each newer than the one before; the last one never closes
		chains = append(chains, c.chain(nil))
		for i := range int64(5) {
			if err := chains[len(chains)-1].Append(t.Context(), entry(i)); err != nil {
				t.Fatal(err)
			}
		}
		for began := time.Now(); time.Since(began) < 2*time.Millisecond; { // chains are told apart by the millisecond
			continue
		}
	}
	filler := c.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	for i := range int32(300) { // others write on, in every partition: the first step back is not enough
		r := &kgo.Record{Topic: "recon.audit", Partition: i % 2, Key: []byte("other/host-1/x"), Value: []byte("{}")}
		if err := filler.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	last := chains[len(chains)-1]
	h, found := find("host-1")
	if !found || h.Chain != last.ID() || h.Seq != 5 || len(h.Hash) != 64 {
		t.Errorf("got %+v, want seq 5 of %s", h, last.ID())
	}
	if h, found := find("host-2"); !found || h.Chain != chains[1].ID() || h.Seq != 0 {
		t.Errorf("got %+v, want seq 0 of %s", h, chains[1].ID())
	}
	if h, found := find("host"); found {
		t.Errorf("an instance of that name never was, got %+v", h)
	}
}

func TestLastHeadNamesTheTopicItCannotRead(t *testing.T) {
	c := newCluster(t)
	_, _, err := audit.LastHead(t.Context(), c.opts, "nowhere.audit", "consumer", "host-1")
	if err == nil || !strings.Contains(err.Error(), "nowhere.audit") {
		t.Errorf("got %v, want the topic named", err)
	}
}

// What a process writes, its successor names, and the verifier ties them.
func TestSuccessorNamesItsPredecessorsHead(t *testing.T) {
	c := newCluster(t)
	first := c.chain(nil)
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	h, _, err := audit.LastHead(t.Context(), c.opts, "recon.audit", "consumer", "host-1")
	if err != nil {
		t.Fatal(err)
	}
	c.chain(func(cfg *audit.Config) { cfg.Predecessor = h })
	cfg := (&house{cluster: c}).config()
	e, err := audit.Read(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if !e.Trail.Intact() || len(e.Trail.Chains) != 2 || h.Seq != 1 {
		t.Errorf("got %+v after head %+v, want two intact chains", e.Trail, h)
	}
}

// A client that takes batches of no more than the limit takes every part of a large entry.
func TestPartsFitATopicOfThatLimit(t *testing.T) {
	c := newCluster(t)
	const limit = 64 << 10
	c.cl = c.client(kgo.ProducerBatchMaxBytes(limit), kgo.ProducerBatchCompression(kgo.NoCompression()))
	chain := c.chain(func(cfg *audit.Config) { cfg.MaxBytes = limit })
	e := audit.Entry{Topic: "recon.main", From: 0, To: 600}
	for i := range int64(600) {
		ev := posting(i, "1.00")
		ev.Detail = strings.Repeat("x", int(i)%300)
		e.Add(audit.OutcomePosted, ev)
	}
	if err := chain.Append(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if h, _, err := audit.LastHead(t.Context(), c.opts, "recon.audit", "consumer", "host-1"); err != nil || h.Seq < 4 {
		t.Errorf("head %+v, %v: want several parts", h, err)
	}
}
