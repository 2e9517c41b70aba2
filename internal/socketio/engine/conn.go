package engine

import (
	"context"
	"errors"
	"net"
	"net/http"
	"runtime"
	"sync"
	"time"
)

type transport string

const (
	polling   transport = "polling"
	websocket transport = "websocket"
)

type state byte

const (
	open    state = iota
	closing       // queued packets are still sent
	closed
)

// Reason is why a connection ended, in the terms of socket.io.
type Reason string

// The reasons.
const (
	ReasonTransportClose Reason = "transport close"
	ReasonTransportError Reason = "transport error"
	ReasonPingTimeout    Reason = "ping timeout"
	ReasonParseError     Reason = "parse error"
	ReasonForced         Reason = "forced close"
	ReasonShutdown       Reason = "server shutting down"
	ReasonSlow           Reason = "slow consumer" // ours alone: the queue was full
)

// What Send returns.
var (
	ErrClosed = errors.New("the connection is closed")
	ErrSlow   = errors.New("the client does not read")
)

// Conn is one client. Its methods may be called from any goroutine.
type Conn struct {
	srv     *Server
	id      string
	handler Handler
	release func()

	mu       sync.Mutex
	state    state
	reason   Reason // of our own close
	mode     transport
	sock     net.Conn // on websocket
	queue    []Packet
	spare    []Packet // the queue before this one, to be used again
	queued   int      // weight of queue
	inflight int      // weight of the packets the writer has taken
	writing  bool     // a writer is at work
	batch    uint32   // batches written
	seen     uint32   // batch at the last ping
	farewell int      // the close code that the writer leaves behind; 0 if it need not close

	poll      chan answer // the GET that waits
	posting   bool
	candidate net.Conn // the websocket that is to take over
	probed    bool     // and its probe was answered

	timer    *time.Timer
	awaiting bool // a ping is out
	pingAt   time.Time
	pongBy   time.Time
}

func newConn(s *Server, t transport, release func()) *Conn {
	return &Conn{srv: s, id: NewID(), mode: t, release: release}
}

// start gives the connection its handler and its first packet, before anybody
// can find it.
func (c *Conn) start(r *http.Request) {
	c.handler = c.srv.cfg.Open(c, r)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer = time.AfterFunc(c.srv.cfg.PingInterval, c.tick)
	c.schedule(time.Now())
	if c.mode == polling {
		c.pushLocked(c.srv.openPacket(c))
	}
}

// ID is the id of the connection, a secret between client and server: anybody
// who knows it can speak as the client.
func (c *Conn) ID() string { return c.id }

// Transport is "polling" or "websocket".
func (c *Conn) Transport() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.mode)
}

// Send queues packets, all or none, and never blocks. A client whose queue is
// full is closed; then and later Send returns ErrSlow or ErrClosed.
func (c *Conn) Send(packets ...Packet) error {
	c.mu.Lock()
	if c.state != open {
		c.mu.Unlock()
		return ErrClosed
	}
	if c.tooMuch() {
		c.mu.Unlock()
		c.finish(ReasonSlow, 0)
		return ErrSlow
	}
	c.pushLocked(packets...)
	yield := c.writing && c.full(1)
	c.mu.Unlock()
	if yield {
		// A caller that sends in a loop must not outrun a writer that is ready
		// but has no processor yet.
		runtime.Gosched()
	}
	return nil
}

// tooMuch reports whether the client has fallen too far behind: by sixteen times
// its bounds while there is memory to spare, by its bounds after that, and by a
// sixteenth of them when a crowd of slow clients fills the memory. The caller
// holds mu.
func (c *Conn) tooMuch() bool {
	waiting, spare := c.srv.waiting.Load(), int64(c.srv.cfg.BurstBytes)
	if waiting > crowd*spare && c.queued+c.inflight >= c.srv.cfg.QueueBytes/burst {
		return true
	}
	return c.full(1) && (c.full(burst) || waiting > spare)
}

// full reports whether the queue has reached times its bounds. The caller holds
// mu.
func (c *Conn) full(times int) bool {
	return c.queued+c.inflight >= times*c.srv.cfg.QueueBytes || len(c.queue) >= times*c.srv.cfg.QueueFrames
}

// Close sends what is queued and ends the connection, in a way that the client
// recognises as intended. It does not wait.
func (c *Conn) Close() { c.close(ReasonForced, StatusNormal) }

func (c *Conn) close(reason Reason, code int) {
	c.mu.Lock()
	if c.state != open {
		c.mu.Unlock()
		return
	}
	c.state, c.reason = closing, reason
	c.timer.Reset(closeTimeout)
	switch {
	case c.mode == websocket:
		c.pushLocked(Packet{frame: CloseFrame(code, "")})
		c.mu.Unlock()
	case c.poll != nil:
		c.mu.Unlock()
		c.finish(reason, 0)
	default:
		c.mu.Unlock()
	}
}

// shut ends the connection so that the client connects again.
func (c *Conn) shut() {
	c.mu.Lock()
	mode := c.mode
	c.mu.Unlock()
	if mode == polling {
		c.finish(ReasonShutdown, 0)
		return
	}
	c.close(ReasonShutdown, StatusGoingAway)
}

// push queues a packet of our own, past the bounds.
func (c *Conn) push(p Packet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == open {
		c.pushLocked(p)
	}
}

// pushLocked queues packets and wakes the code that sends them. The caller holds
// mu.
func (c *Conn) pushLocked(packets ...Packet) {
	c.queue = append(c.queue, packets...)
	for _, p := range packets {
		c.weigh(p.weight())
	}
	switch {
	case len(c.queue) == 0:
	case c.mode == websocket && !c.writing:
		c.writing = true
		c.srv.group.add(1)
		go c.write()
	case c.mode == polling && c.poll != nil:
		c.poll <- answer{body: c.takePoll()}
		c.poll = nil
	}
}

// weigh adjusts the count of queued bytes, here and for the server. The caller
// holds mu.
func (c *Conn) weigh(n int) {
	c.queued += n
	c.srv.waiting.Add(int64(n))
}

// finish ends the connection at once, the first time it is called. With a code
// it sends that to a websocket.
func (c *Conn) finish(reason Reason, code int) {
	c.mu.Lock()
	if c.state == closed {
		c.mu.Unlock()
		return
	}
	if c.state == closing {
		reason, code = c.reason, 0 // our close frame is out, or in the queue
	}
	c.state = closed
	c.timer.Stop()
	c.queue, c.spare = nil, nil
	c.weigh(-c.queued)
	bury := false
	if c.poll != nil {
		c.poll <- answer{body: []byte{lastWord(reason)}}
		c.poll = nil
	} else {
		bury = c.mode == polling && reason == ReasonTransportClose
	}
	sock, candidate := c.sock, c.candidate
	if c.writing && code != 0 {
		c.farewell = code // after the frame that is being written
		_ = sock.SetWriteDeadline(time.Now().Add(time.Second))
		sock = nil
	}
	c.mu.Unlock()

	c.srv.remove(c, bury)
	if candidate != nil {
		_ = candidate.Close()
	}
	if sock != nil {
		hangUp(sock, code)
	}
	c.handler.Closed(reason)
	c.release()
}

// lastWord is what a waiting poll gets: a client that closed expects a noop.
func lastWord(reason Reason) byte {
	if reason == ReasonTransportClose {
		return typeNoop
	}
	return typeClose
}

// hangUp closes a websocket without a writer, with a close frame if there is a
// code.
func hangUp(sock net.Conn, code int) {
	if code != 0 {
		_ = sock.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = sock.Write(CloseFrame(code, "")) // a courtesy
	}
	_ = sock.Close()
}

// receive handles one packet of the client.
func (c *Conn) receive(ctx context.Context, p received) error {
	c.mu.Lock()
	state := c.state
	if p.kind == typePong && state == open && c.awaiting {
		c.schedule(time.Now())
		c.timer.Reset(c.srv.cfg.PingInterval)
	}
	c.mu.Unlock()
	switch p.kind {
	case typeMessage:
		if state != open {
			return nil // it came after our close
		}
		return c.handler.Message(ctx, p.data, p.binary)
	case typeClose:
		c.finish(ReasonTransportClose, StatusNormal)
		return nil
	case typePong, typeNoop:
		return nil
	}
	return errPacket // pings are ours to send, and an upgrade has its place
}

// schedule sets when the next ping is due and when its answer is too late. The
// times are absolute, so that a late timer gives no extra time.
func (c *Conn) schedule(now time.Time) {
	c.awaiting = false
	c.pingAt = now.Add(c.srv.cfg.PingInterval)
	c.pongBy = c.pingAt.Add(c.srv.cfg.PingTimeout)
}

// overdue closes the connection if its pong is too late, in case the timer has
// not fired yet.
func (c *Conn) overdue() bool {
	c.mu.Lock()
	late := c.state == open && !time.Now().Before(c.pongBy)
	c.mu.Unlock()
	if late {
		c.finish(ReasonPingTimeout, StatusNormal)
	}
	return late
}

// tick runs when the timer fires: it sends a ping, or ends an expired
// connection.
func (c *Conn) tick() {
	if c.overdue() {
		return
	}
	c.mu.Lock()
	switch now := time.Now(); {
	case c.state == closed:
	case c.state == closing:
		c.mu.Unlock()
		c.finish(ReasonForced, 0)
		return
	case now.Before(c.pingAt):
		c.timer.Reset(c.pingAt.Sub(now))
	case c.awaiting:
		c.timer.Reset(c.pongBy.Sub(now))
	case c.writing && c.batch == c.seen:
		// It answers pings, and yet one write has lasted since the last.
		c.mu.Unlock()
		c.finish(ReasonSlow, 0)
		return
	default:
		c.awaiting = true
		c.seen = c.batch
		c.timer.Reset(c.pongBy.Sub(now))
		c.pushLocked(control(typePing, ""))
	}
	c.mu.Unlock()
}
