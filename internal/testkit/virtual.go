package testkit

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Virtual is a Kafka that lives in memory and in a synctest bubble's time: the real protocol between a real client and kfake, no socket.
// Make it inside the bubble. Everything dialled must be closed before the bubble's function returns, or by its cleanups.
type Virtual struct {
	// Cluster is the broker, for its faults and control functions.
	Cluster *kfake.Cluster
	network *kfake.VirtualNetwork
}

// NewVirtual starts a virtual Kafka of one broker, ended with the test; opts are added to the broker's, for instance kfake.SeedTopics, or
// kfake.Ports for more brokers. Without the build tag synctests the test is skipped: a client would then wait on mutexes, at which a
// bubble's time stands still for ever (seen with franz-go 1.22.3: its commit loop behind a join).
func NewVirtual(t testing.TB, opts ...kfake.Opt) *Virtual {
	t.Helper()
	if !tagged {
		t.Skip("a virtual Kafka needs the client's mutexes for bubbles: run 'make fast', or go test -tags synctests")
	}
	network := &kfake.VirtualNetwork{}
	cluster, err := kfake.NewCluster(append([]kfake.Opt{kfake.Ports(9092), kfake.ListenFn(network.Listen)}, opts...)...)
	if err != nil {
		t.Fatalf("start a virtual Kafka: %v", err)
	}
	t.Cleanup(cluster.Close)
	return &Virtual{Cluster: cluster, network: network}
}

// Seeds are the addresses to bootstrap from; they mean something to a Link's dialler only.
func (v *Virtual) Seeds() []string { return v.Cluster.ListenAddrs() }

// Options make a client of this Kafka over a link of its own that always holds.
func (v *Virtual) Options() []kgo.Opt { return v.NewLink().Options() }

// Link is one client's way to the virtual Kafka; a test can cut or freeze it without touching other clients.
type Link struct {
	virtual *Virtual
	mu      sync.Mutex
	cut     bool
	flows   chan struct{} // closed while traffic flows
	conns   []net.Conn
}

// NewLink makes a link that holds.
func (v *Virtual) NewLink() *Link {
	flows := make(chan struct{})
	close(flows)
	return &Link{virtual: v, flows: flows}
}

// Options make a client that uses this link.
func (l *Link) Options() []kgo.Opt {
	return []kgo.Opt{kgo.SeedBrokers(l.virtual.Seeds()...), kgo.Dialer(l.Dial)}
}

var errCut = errors.New("testkit: the link is cut")

// Dial is for kgo.Dialer.
func (l *Link) Dial(ctx context.Context, _, address string) (net.Conn, error) {
	broker, err := l.virtual.network.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	near, far := net.Pipe()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		_ = broker.Close()
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errCut}
	}
	l.conns = append(l.conns, near)
	closed := make(chan struct{})
	closeAll := sync.OnceFunc(func() { close(closed); _ = far.Close(); _ = broker.Close() })
	go l.pump(broker, far, closed, closeAll)
	go l.pump(far, broker, closed, closeAll)
	return near, nil
}

// Cut breaks every connection of this link and refuses new ones until Mend: the client is alive and the broker hears nothing of it.
func (l *Link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = true
	for _, conn := range l.conns {
		_ = conn.Close()
	}
	l.conns = nil
}

// Mend lets a cut link dial again.
func (l *Link) Mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = false
}

// Freeze keeps connections open and lets nothing through, as with a hung broker or a full switch. What was sent arrives after Thaw.
func (l *Link) Freeze() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if isClosed(l.flows) {
		l.flows = make(chan struct{})
	}
}

// Thaw ends a freeze.
func (l *Link) Thaw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !isClosed(l.flows) {
		close(l.flows)
	}
}

// pump moves bytes one way while traffic flows, until either end closes; then it closes both.
func (l *Link) pump(to io.Writer, from io.Reader, closed <-chan struct{}, closeAll func()) {
	defer closeAll()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		select {
		case <-l.gate():
		case <-closed:
			return
		}
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// gate is closed while traffic flows.
func (l *Link) gate() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.flows
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
