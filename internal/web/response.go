package web

import (
	"bufio"
	"errors"
	"net"
	"net/http"
)

// response notes what happens to an answer, for the log, the metrics and for
// Fail, which must not write a second one.
type response struct {
	http.ResponseWriter
	status int
	bytes  int64
	route  string // pattern; "" when nothing matched
	caller Caller
	code   string // of the fault it was answered with
	quiet  bool   // see Doc
	hijack bool
}

// WriteHeader notes the status. Informational ones do not start an answer.
func (p *response) WriteHeader(status int) {
	if p.status == 0 && status >= 200 {
		p.status = status
	}
	p.ResponseWriter.WriteHeader(status)
}

// Write counts bytes.
func (p *response) Write(b []byte) (int, error) {
	if p.status == 0 {
		p.status = http.StatusOK
	}
	n, err := p.ResponseWriter.Write(b)
	p.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController find the connection.
func (p *response) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// FlushError sends what is buffered, and reports when the client is gone.
func (p *response) FlushError() error {
	return http.NewResponseController(p.ResponseWriter).Flush()
}

// Flush is FlushError for callers that ignore errors.
func (p *response) Flush() { _ = p.FlushError() } // the next write says so too

// Hijack hands the connection over to a socket.
func (p *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	p.hijack = true
	conn, rw, err := http.NewResponseController(p.ResponseWriter).Hijack()
	c, ok := conn.(*countedConn)
	if !ok || err != nil {
		return conn, rw, err
	}
	held, err := c.handOver()
	if err != nil {
		return nil, nil, errors.Join(err, held.Close())
	}
	return held, rw, nil
}

// find looks through wrappers for the response.
func find(w http.ResponseWriter) *response {
	for {
		switch v := w.(type) {
		case *response:
			return v
		case interface{ Unwrap() http.ResponseWriter }:
			w = v.Unwrap()
		default:
			return nil
		}
	}
}

// started reports whether an answer has begun.
func started(w http.ResponseWriter) bool {
	p := find(w)
	return p != nil && (p.status != 0 || p.hijack)
}
