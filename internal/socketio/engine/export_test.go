package engine

// Polls reports whether a poll of c waits.
func Polls(c *Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.poll != nil
}

// Probed reports whether the probe of an upgrade was answered.
func Probed(c *Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.probed
}

// Waiting is what waits to be written to c, in bytes.
func Waiting(c *Conn) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.queued + c.inflight
}

// TotalWaiting is what waits in all queues, in bytes.
func (s *Server) TotalWaiting() int64 { return s.waiting.Load() }

// ParsePolling parses a whole polling body and puts its messages together again.
func ParsePolling(body []byte) (again []byte, err error) {
	for first := true; first || len(body) > 0; first = false {
		var p received
		if p, body, err = parsePolling(body); err != nil {
			return nil, err
		}
		switch {
		case p.binary:
			again = Binary(p.data).appendPolling(again)
		default:
			again = control(p.kind, string(p.data)).appendPolling(again)
		}
	}
	return again, nil
}
