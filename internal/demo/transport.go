package demo

import (
	"bytes"
	"io"
	"net/http"
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
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	// Who asks for the load is not who sends its requests.
	id := t.prefix + strings.ReplaceAll(r.Header.Get("Idempotency-Key"), "/", ".")
	in := r.Clone(web.WithRequestID(web.WithCaller(r.Context(), web.Caller{}), id))
	if in.Body == nil {
		in.Body = http.NoBody
	}
	in.RequestURI, in.RemoteAddr, in.Host = r.URL.RequestURI(), "127.0.0.1:1", r.URL.Host
	w := &answer{head: http.Header{}}
	t.handler.ServeHTTP(w, in)
	if err := r.Context().Err(); err != nil {
		return nil, err // what was answered may be cut
	}
	w.WriteHeader(http.StatusOK)
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.head, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}, nil
}

// answer keeps what a handler writes.
type answer struct {
	head   http.Header
	status int // 0 until it is written
	body   bytes.Buffer
}

// Header is the head of the answer.
func (a *answer) Header() http.Header { return a.head }

// WriteHeader sets the status; the first one counts.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= 200 {
		a.status = status
	}
}

// Write adds to the body.
func (a *answer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(b)
}
