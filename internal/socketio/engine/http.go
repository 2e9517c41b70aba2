package engine

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// refusal is an error as engine.io clients know it.
type refusal struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	status  int
}

var (
	errTransport = refusal{0, "Transport unknown", http.StatusBadRequest}
	errSession   = refusal{1, "Session ID unknown", http.StatusBadRequest}
	errMethod    = refusal{2, "Bad handshake method", http.StatusBadRequest}
	errRequest   = refusal{3, "Bad request", http.StatusBadRequest}
	errForbidden = refusal{4, "Forbidden", http.StatusForbidden}
	errVersion   = refusal{5, "Unsupported protocol version", http.StatusBadRequest}
	errTooLarge  = refusal{3, "Payload too large", http.StatusRequestEntityTooLarge}
	errFull      = refusal{4, "Too many connections, or the server is stopping", http.StatusServiceUnavailable}
)

func (e refusal) write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(e.status)
	_ = json.NewEncoder(w).Encode(e) // a client that left needs no answer
}

// ServeHTTP answers one request of engine.io.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.origin(w, r) {
		errForbidden.write(w)
		return
	}
	if r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	q := r.URL.Query()
	t := transport(q.Get("transport"))
	switch {
	case t != polling && t != websocket:
		errTransport.write(w)
	case q.Get("EIO") != "4":
		errVersion.write(w)
	case (t == websocket) != Requested(r):
		errRequest.write(w)
	case q.Has("sid"):
		s.serveKnown(w, r, q.Get("sid"), t)
	case r.Method != http.MethodGet:
		errMethod.write(w)
	default:
		s.serveNew(w, r, t)
	}
}

// origin checks the Origin header and writes those of CORS.
func (s *Server) origin(w http.ResponseWriter, r *http.Request) bool {
	from := r.Header.Get("Origin")
	if from != "" && s.cfg.CheckOrigin != nil && !s.cfg.CheckOrigin(r) {
		return false
	}
	if !s.cfg.CORS {
		return true
	}
	h := w.Header()
	if s.cfg.CheckOrigin == nil {
		h.Set("Access-Control-Allow-Origin", "*")
	} else if from != "" {
		h.Set("Access-Control-Allow-Origin", from)
		h.Set("Access-Control-Allow-Credentials", "true")
		h.Add("Vary", "Origin")
	}
	if r.Method == http.MethodOptions {
		h.Set("Access-Control-Allow-Methods", "GET, POST, OPTIONS")
		h.Set("Access-Control-Max-Age", "600")
		if want := r.Header.Values("Access-Control-Request-Headers"); len(want) > 0 {
			h.Set("Access-Control-Allow-Headers", strings.Join(want, ", "))
			h.Add("Vary", "Access-Control-Request-Headers")
		}
	}
	return true
}

// serveNew opens a connection.
func (s *Server) serveNew(w http.ResponseWriter, r *http.Request, t transport) {
	var release func()
	if s.cfg.Admit != nil {
		var err error
		if release, err = s.cfg.Admit(r); err != nil {
			refuse(w, err)
			return
		}
	}
	if release == nil {
		release = func() {}
	}
	if !s.reserve() {
		release()
		errFull.write(w)
		return
	}
	c := newConn(s, t, release)
	if t == websocket {
		s.openWebsocket(w, r, c)
		return
	}
	c.start(r)
	if !s.add(c) {
		c.finish(ReasonShutdown, 0)
		errFull.write(w)
		return
	}
	c.servePoll(w, r)
}

func (s *Server) openWebsocket(w http.ResponseWriter, r *http.Request, c *Conn) {
	sock, begin, err := Accept(w, r)
	if err != nil {
		s.mu.Lock()
		s.count--
		s.group.add(-1)
		s.mu.Unlock()
		c.release()
		refuseHandshake(w, err)
		return
	}
	c.sock = sock
	c.start(r)
	if !s.add(c) {
		c.finish(ReasonShutdown, StatusGoingAway)
		return
	}
	ctx := context.WithoutCancel(r.Context())
	reader := NewReader(sock, begin, s.cfg.MaxPayload)
	c.push(s.openPacket(c))
	s.Go(func() { c.read(ctx, reader) })
}

// refuseHandshake answers a request that cannot become a websocket. After a
// hijack no answer is possible.
func refuseHandshake(w http.ResponseWriter, err error) {
	if errors.Is(err, ErrHandshake) || errors.Is(err, http.ErrNotSupported) {
		errRequest.write(w)
	}
}

// refuse answers a connection that was not admitted.
func refuse(w http.ResponseWriter, err error) {
	e := errForbidden
	var f *fault.Error
	if errors.As(err, &f) {
		e.Message = f.Message
		if f.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(f.RetryAfter.Seconds()))))
		}
		switch f.Kind {
		case fault.TooMany:
			e.status = http.StatusTooManyRequests
		case fault.Unavailable:
			e.status = http.StatusServiceUnavailable
		}
	}
	e.write(w)
}

// serveKnown answers a request of a connection that exists, or did.
func (s *Server) serveKnown(w http.ResponseWriter, r *http.Request, id string, t transport) {
	c := s.find(id)
	switch {
	case c == nil && t == polling && r.Method == http.MethodGet && s.dig(id):
		writePoll(w, []byte{typeNoop})
	case c == nil || c.overdue():
		errSession.write(w)
	case t == websocket:
		s.upgrade(w, r, c)
	case r.Method == http.MethodGet:
		c.servePoll(w, r)
	case r.Method == http.MethodPost:
		c.servePost(w, r)
	default:
		errRequest.write(w)
	}
}

// upgrade takes a second connection for a client that polls. One that comes too
// late is accepted and closed: clients see that sooner than a refused
// handshake.
func (s *Server) upgrade(w http.ResponseWriter, r *http.Request, c *Conn) {
	sock, begin, err := Accept(w, r)
	if err != nil {
		refuseHandshake(w, err)
		return
	}
	ctx := context.WithoutCancel(r.Context())
	reader := NewReader(sock, begin, s.cfg.MaxPayload)
	s.Go(func() {
		if c.probe(sock, reader) {
			c.read(ctx, reader)
		}
	})
}
