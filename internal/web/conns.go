package web

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// ConnLimits limits open connections.
type ConnLimits struct {
	Total      int // on the whole listener; 0 means no limit
	PerAddress int // from one address (an IPv6 /64); 0 means no limit
	// Exempt addresses are not subject to PerAddress: trusted proxies, behind
	// which everybody has the same address.
	Exempt func(netip.Addr) bool
}

// ConnListener is a listener that closes connections over its limits at once,
// before a byte is read. It keeps slow clients from using up all memory and
// file descriptors.
type ConnListener struct {
	net.Listener
	limits  ConnLimits
	refused atomic.Int64

	mu    sync.Mutex
	open  int
	names map[string]int
}

// LimitConns puts limits on l.
func LimitConns(l net.Listener, limits ConnLimits) *ConnListener {
	return &ConnListener{Listener: l, limits: limits, names: map[string]int{}}
}

// Open is the number of open connections.
func (l *ConnListener) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}

// Refused is the number of connections closed because of a limit.
func (l *ConnListener) Refused() int64 { return l.refused.Load() }

// Accept waits for a connection within the limits.
func (l *ConnListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		name := l.name(c)
		if l.enter(name) {
			return &countedConn{Conn: c, leave: sync.OnceFunc(func() { l.leave(name) })}, nil
		}
		l.refused.Add(1)
		if tcp, ok := c.(*net.TCPConn); ok {
			// A reset leaves no state behind on our side. If it cannot be
			// set, the plain close below does.
			_ = tcp.SetLinger(0)
		}
		_ = c.Close() // refused either way
	}
}

// name is what the connection is counted under, "" when only in the total.
func (l *ConnListener) name(c net.Conn) string {
	addr := hostAddr(c.RemoteAddr().String())
	if !addr.IsValid() || l.limits.PerAddress <= 0 || l.limits.Exempt != nil && l.limits.Exempt(addr) {
		return ""
	}
	return AddrName(addr)
}

func (l *ConnListener) enter(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.limits.Total > 0 && l.open >= l.limits.Total {
		return false
	}
	if name != "" {
		if l.names[name] >= l.limits.PerAddress {
			return false
		}
		l.names[name]++
	}
	l.open++
	return true
}

func (l *ConnListener) leave(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if name == "" {
		return
	}
	if l.names[name]--; l.names[name] == 0 {
		delete(l.names, name)
	}
}

// countedConn gives its place back when it is closed, once.
//
// It sets a read deadline only when a read happens: net/http and Pace set and
// clear five for each request, mostly around bytes that have arrived already,
// and each costs as much as a small system call. A write deadline that is only
// slightly later than the present one changes nothing.
type countedConn struct {
	net.Conn
	leave func()

	mu         sync.Mutex
	reading    bool
	want, have time.Time // the read deadline, and the one the connection knows of
	write      time.Time // the write deadline
}

// Read reads before the deadline that was set last.
func (c *countedConn) Read(p []byte) (int, error) {
	c.mu.Lock()
	if err := c.pass(); err != nil {
		c.mu.Unlock()
		return 0, err
	}
	c.reading = true
	c.mu.Unlock()
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	c.reading = false
	c.mu.Unlock()
	return n, err
}

// pass hands the deadline on. The caller holds mu.
func (c *countedConn) pass() error {
	if c.want.Equal(c.have) {
		return nil
	}
	c.have = c.want
	return c.Conn.SetReadDeadline(c.want)
}

// SetReadDeadline ends a read that waits as well.
func (c *countedConn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.want = t
	if !c.reading {
		return nil
	}
	return c.pass()
}

// SetWriteDeadline leaves a deadline alone that is earlier by less than a 256th
// of the time that is given.
func (c *countedConn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if later := t.Sub(c.write); !t.IsZero() && !c.write.IsZero() && later >= 0 && later < time.Until(t)>>8 {
		return nil
	}
	c.write = t
	return c.Conn.SetWriteDeadline(t)
}

// SetDeadline sets both deadlines.
func (c *countedConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// handOver gives up the connection to who hijacked it and has no use for the
// care about deadlines. It is still counted until it is closed.
func (c *countedConn) handOver() (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &heldConn{Conn: c.Conn, leave: c.leave}, c.pass()
}

// heldConn is a counted connection as a socket has it: many of them do nothing
// but wait, so it is small, and so is what stands on the stack of a Read.
type heldConn struct {
	net.Conn
	leave func()
}

// Close closes the connection.
func (c *heldConn) Close() error {
	err := c.Conn.Close()
	c.leave()
	return err
}

// Close closes the connection.
func (c *countedConn) Close() error {
	err := c.Conn.Close()
	c.leave()
	return err
}
