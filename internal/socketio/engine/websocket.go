package engine

import (
	"context"
	"errors"
	"net"
	"time"
)

const (
	keepQueue = 8        // packets a queue keeps room for while it is empty
	joinBytes = 16 << 10 // frames are joined up to this for one write
)

// read waits for the client, handles what it has sent and leaves the rest to a
// new goroutine: one that only waits has the smallest possible stack, and a
// stack that has grown to handle a message stays large.
func (c *Conn) read(ctx context.Context, reader *Reader) {
	if reader.Wait() != nil {
		c.finish(ReasonTransportClose, 0)
		return
	}
	for c.next(ctx, reader) {
		if !reader.Waiting() {
			c.srv.Go(func() { c.read(ctx, reader) })
			return
		}
	}
}

// next handles one message or control frame, and reports whether more may come.
func (c *Conn) next(ctx context.Context, reader *Reader) bool {
	op, data, err := reader.Next()
	if err == nil {
		err = c.frame(ctx, op, data)
	}
	var broken *CloseError
	switch {
	case err == nil:
		return true
	case errors.As(err, &broken):
		c.finish(ReasonTransportError, broken.Code)
	case op == OpText || op == OpBinary:
		c.finish(ReasonParseError, StatusProtocol)
	case op == OpClose:
		c.finish(ReasonTransportClose, StatusNormal)
	default:
		c.finish(ReasonTransportClose, 0)
	}
	return false
}

// frame handles one message or control frame. An error ends the connection.
func (c *Conn) frame(ctx context.Context, op Opcode, data []byte) error {
	switch op {
	case OpText:
		p, err := parseText(data)
		if err != nil {
			return err
		}
		return c.receive(ctx, p)
	case OpBinary:
		return c.receive(ctx, received{kind: typeMessage, binary: true, data: data})
	case OpPing:
		if err := c.Send(Packet{frame: Frame(OpPong, data)}); errors.Is(err, ErrSlow) {
			return err
		}
		return nil
	case OpClose:
		return ErrClosed
	}
	return nil
}

// write sends what is queued and returns when nothing is left: an idle
// connection has no writer.
func (c *Conn) write() {
	defer c.srv.group.add(-1)
	for {
		c.mu.Lock()
		batch := c.queue
		c.srv.waiting.Add(-int64(c.inflight)) // written
		c.inflight, c.queued = c.queued, 0
		c.batch++
		if len(batch) == 0 || c.state == closed {
			c.writing = false
			farewell := c.farewell
			c.mu.Unlock()
			if farewell != 0 {
				hangUp(c.sock, farewell)
			}
			return
		}
		c.queue, c.spare = c.spare, nil
		sock := c.sock
		c.mu.Unlock()

		if err := c.srv.writeBatch(sock, batch); err != nil {
			c.srv.waiting.Add(-int64(c.inflight)) // lost; nothing else counts it now
			c.finish(ReasonTransportError, 0)
			_ = sock.Close() // it may have been left to us
			return
		}
		c.reuse(batch)
	}
}

// reuse keeps the memory of a batch for the queue, if it is small.
func (c *Conn) reuse(batch []Packet) {
	if cap(batch) > keepQueue {
		return
	}
	clear(batch)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.queue == nil {
		c.queue = batch[:0]
	} else {
		c.spare = batch[:0]
	}
}

// writeBatch joins small frames and writes large ones directly.
func (s *Server) writeBatch(sock net.Conn, batch []Packet) error {
	if len(batch) == 1 {
		_, err := sock.Write(batch[0].frame)
		return err
	}
	buffer := s.buffers.Get().(*[joinBytes]byte)
	defer s.buffers.Put(buffer)
	joined := buffer[:0]
	flush := func() (err error) {
		if len(joined) > 0 {
			_, err = sock.Write(joined)
			joined = joined[:0]
		}
		return err
	}
	for _, p := range batch {
		if len(joined)+len(p.frame) > joinBytes {
			if err := flush(); err != nil {
				return err
			}
		}
		if len(p.frame) >= joinBytes {
			if _, err := sock.Write(p.frame); err != nil {
				return err
			}
			continue
		}
		joined = append(joined, p.frame...)
	}
	return flush()
}

// probe runs a second connection until it has taken over, or has not.
func (c *Conn) probe(sock net.Conn, reader *Reader) bool {
	c.mu.Lock()
	if c.state != open || c.mode != polling || c.candidate != nil {
		c.mu.Unlock()
		hangUp(sock, StatusNormal)
		return false
	}
	c.candidate = sock
	c.mu.Unlock()

	_ = sock.SetDeadline(time.Now().Add(upgradeTimeout)) // a connection without deadlines fails its read
	for {
		op, data, err := reader.Next()
		if err != nil || op == OpClose || op == OpBinary {
			break
		}
		if op != OpText {
			continue // a ping during this short time goes without its pong
		}
		if p, err := parseText(data); err == nil && p.kind == typeUpgrade && c.takeOver(sock) {
			return true
		} else if err != nil || p.kind != typePing || string(p.data) != probe || !c.answerProbe(sock) {
			break
		}
	}
	c.mu.Lock()
	c.candidate, c.probed = nil, false
	c.mu.Unlock()
	hangUp(sock, StatusNormal)
	return false
}

// answerProbe says that the websocket works. Soon after the client needs its
// poll back.
func (c *Conn) answerProbe(sock net.Conn) bool {
	if _, err := sock.Write(control(typePong, probe).frame); err != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.probed = true
	time.AfterFunc(probeGrace, c.releasePoll)
	return c.state == open
}

// takeOver moves the connection to the websocket. A waiting poll is ended; a
// POST that is still being read prevents it, because otherwise two would be
// read at once.
func (c *Conn) takeOver(sock net.Conn) bool {
	if sock.SetDeadline(time.Time{}) != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != open || !c.probed || c.posting {
		return false
	}
	c.mode, c.sock, c.candidate, c.probed = websocket, sock, nil, false
	if c.poll != nil {
		c.poll <- answer{refused: true}
		c.poll = nil
	}
	c.pushLocked()
	return true
}
