package demo

import (
	"net/http"
	"net/netip"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/web"
)

// inside is an http.RoundTripper on a handler of this process. A request passes
// the same rights and checks as one that came over a socket.
type inside struct {
	handler http.Handler
	prefix  string // of request ids, by which the events of a load are found
}

// address is the base of requests that never leave the process.
const address = "http://localhost"

// RoundTrip answers a request.
func (t inside) RoundTrip(r *http.Request) (*http.Response, error) {
	// Who asks for the load is not who sends its requests.
	id := t.prefix + strings.ReplaceAll(r.Header.Get("Idempotency-Key"), "/", ".")
	in := r.Clone(web.WithRequestID(web.WithCaller(r.Context(), web.Caller{}), id))
	return web.Answer(t.handler, in, netip.AddrFrom4([4]byte{127, 0, 0, 1}), 0)
}
