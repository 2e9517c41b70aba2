package engine

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// answer is what a waiting GET is given: a body, or a refusal.
type answer struct {
	body    []byte
	refused bool
}

// servePoll answers a GET: with what is queued, or with the next packets.
func (c *Conn) servePoll(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	switch {
	case c.state == closed:
		c.mu.Unlock()
		c.serveLate(w)
		return
	case c.mode != polling:
		c.mu.Unlock()
		errRequest.write(w)
		return
	case c.poll != nil:
		c.mu.Unlock()
		c.finish(ReasonTransportError, 0)
		errRequest.write(w)
		return
	case len(c.queue) > 0:
		body := c.takePoll()
		c.mu.Unlock()
		writePoll(w, body)
		return
	case c.state == closing:
		// The word that came before went out in a poll of its own: together
		// with the close the client would take it for an accident.
		c.mu.Unlock()
		c.finish(ReasonForced, 0)
		writePoll(w, []byte{typeClose})
		return
	}
	wait := make(chan answer, 1)
	c.poll = wait
	if c.probed {
		time.AfterFunc(probeGrace, c.releasePoll)
	}
	c.mu.Unlock()
	c.awaitPoll(w, r, wait)
}

func (c *Conn) awaitPoll(w http.ResponseWriter, r *http.Request, wait chan answer) {
	// A server's limit for one answer must not apply to silence.
	patience := c.srv.cfg.PingInterval + c.srv.cfg.PingTimeout + closeTimeout
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(patience)) // not every writer can
	select {
	case a := <-wait:
		if a.refused {
			errRequest.write(w)
			return
		}
		writePoll(w, a.body)
	case <-r.Context().Done():
		c.mu.Lock()
		if c.poll == wait {
			c.poll = nil
		}
		c.mu.Unlock()
		c.finish(ReasonTransportError, 0)
	}
}

// serveLate answers a GET that found its connection and then lost it.
func (c *Conn) serveLate(w http.ResponseWriter) {
	if c.srv.dig(c.id) {
		writePoll(w, []byte{typeNoop})
		return
	}
	errSession.write(w)
}

// releasePoll ends a poll that keeps the client from upgrading.
func (c *Conn) releasePoll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.probed && c.poll != nil {
		c.poll <- answer{body: []byte{typeNoop}}
		c.poll = nil
	}
}

// takePoll empties the queue into the body of a poll. The caller holds mu.
func (c *Conn) takePoll() []byte {
	var body []byte
	for i, p := range c.queue {
		body = p.appendPolling(body)
		c.queue[i] = Packet{}
	}
	c.queue = c.queue[:0]
	c.weigh(-c.queued)
	return body
}

func writePoll(w http.ResponseWriter, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=UTF-8")
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write(body) // a client that left is found by its ping
}

// servePost takes the packets of a POST.
func (c *Conn) servePost(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	busy, ok := c.posting, c.mode == polling && c.state != closed
	c.posting = true
	c.mu.Unlock()
	switch {
	case !ok:
		errRequest.write(w)
		return
	case busy: // two at once have no order
		c.finish(ReasonTransportError, 0)
		errRequest.write(w)
		return
	}
	status := c.takePost(w, r)
	c.mu.Lock()
	c.posting = false
	c.mu.Unlock()
	if status != nil {
		status.write(w)
		return
	}
	writePoll(w, []byte("ok"))
}

func (c *Conn) takePost(w http.ResponseWriter, r *http.Request) *refusal {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(c.srv.cfg.MaxPayload)))
	if err != nil {
		c.finish(ReasonTransportError, 0)
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return &errTooLarge
		}
		return &errRequest
	}
	ctx := context.WithoutCancel(r.Context())
	for first := true; first || len(body) > 0; first = false {
		var p received
		if p, body, err = parsePolling(body); err == nil {
			err = c.receive(ctx, p)
		}
		if err != nil {
			c.finish(ReasonParseError, 0)
			return &errRequest
		}
	}
	return nil
}
