package observe

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Health answers /livez and /readyz. A process that is alive is not always ready: while the store is away, say, it takes
// no records and says so.
type Health struct {
	server *http.Server
	listen net.Listener
}

// Serve begins to answer on address. ready tells why the process takes no work now; empty means that it does.
func Serve(address string, ready func() []string) (*Health, error) {
	listen, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen (RECON_LISTEN) on %s: %w", address, err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		why := ready()
		if len(why) > 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, "not ready")
		} else {
			fmt.Fprintln(w, "ok")
		}
		if r.URL.Query().Has("verbose") {
			for _, one := range why {
				fmt.Fprintln(w, "- "+one)
			}
		}
	})
	h := &Health{server: &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}, listen: listen}
	go func() { _ = h.server.Serve(listen) }() // it ends with Close, which is its only error
	return h, nil
}

// Address is where it answers: what Serve was given, with the port that a `:0` became.
func (h *Health) Address() string { return h.listen.Addr().String() }

// Close ends answering, and waits for answers under way for at most a second.
func (h *Health) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return h.server.Shutdown(ctx)
}
