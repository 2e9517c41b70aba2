package web_test

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hearth-dmrv/hearth/internal/web"
)

// pipeListener accepts connections made by dial. They live in memory, so
// tests can run them on the clock of synctest.
type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

// dial connects as if from addr.
func (l *pipeListener) dial(addr string) net.Conn {
	client, server := net.Pipe()
	l.conns <- fromConn{server, net.TCPAddrFromAddrPort(netip.MustParseAddrPort(addr))}
	return client
}

type fromConn struct {
	net.Conn
	remote net.Addr
}

func (c fromConn) RemoteAddr() net.Addr { return c.remote }

// refused reports whether the other side has closed c at once.
func refused(t *testing.T, c net.Conn) bool {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
		return true
	}
	_, err := c.Read(make([]byte, 1))
	return errors.Is(err, io.EOF)
}

func TestLimitConns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pipe := newPipeListener()
		l := web.LimitConns(pipe, web.ConnLimits{
			Total: 5, PerAddress: 2,
			Exempt: func(a netip.Addr) bool { return a == netip.MustParseAddr("10.0.0.9") },
		})
		accepted := make(chan net.Conn, 10)
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				accepted <- c
			}
		})
		for _, tt := range []struct {
			from    string
			refused bool
			open    int
		}{
			{"1.1.1.1:1", false, 1},
			{"1.1.1.1:2", false, 2},
			{"1.1.1.1:3", true, 2},
			{"[::ffff:1.1.1.1]:4", true, 2},
			{"10.0.0.9:1", false, 3},
			{"10.0.0.9:2", false, 4},
			{"10.0.0.9:3", false, 5}, // a proxy is not held to the limit of one address
			{"10.0.0.9:4", true, 5},  // but to the total
			{"2.2.2.2:1", true, 5},
		} {
			if got := refused(t, pipe.dial(tt.from)); got != tt.refused {
				t.Errorf("connection from %s refused = %v, want %v", tt.from, got, tt.refused)
			}
			if got := l.Open(); got != tt.open {
				t.Errorf("after %s: %d open, want %d", tt.from, got, tt.open)
			}
		}
		if got := l.Refused(); got != 4 {
			t.Errorf("Refused() = %d, want 4", got)
		}
		first := <-accepted
		for range 2 { // closing twice gives one place back
			_ = first.Close()
		}
		if got := l.Open(); got != 4 {
			t.Errorf("after a close: %d open, want 4", got)
		}
		if refused(t, pipe.dial("1.1.1.1:5")) {
			t.Error("a place was given back, but the next connection was refused")
		}
		_ = l.Close()
		wg.Wait()
		close(accepted)
		for c := range accepted {
			_ = c.Close()
		}
		if got := l.Open(); got != 0 {
			t.Errorf("%d open in the end, want 0", got)
		}
	})
}

func TestLimitConnsIPv6Network(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pipe := newPipeListener()
		l := web.LimitConns(pipe, web.ConnLimits{PerAddress: 1})
		var wg sync.WaitGroup
		var open []net.Conn
		wg.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				open = append(open, c)
			}
		})
		for _, tt := range []struct {
			from    string
			refused bool
		}{{"[2001:db8:0:1::1]:1", false}, {"[2001:db8:0:1::2]:1", true}, {"[2001:db8:0:2::1]:1", false}} {
			if got := refused(t, pipe.dial(tt.from)); got != tt.refused {
				t.Errorf("connection from %s refused = %v, want %v", tt.from, got, tt.refused)
			}
		}
		_ = l.Close()
		wg.Wait()
		for _, c := range open {
			_ = c.Close()
		}
	})
}

func TestLimitConnsTCP(t *testing.T) {
	t.Parallel()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := web.LimitConns(tcp, web.ConnLimits{Total: 1})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
		}
	}()
	first, err := net.Dial("tcp", tcp.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	second, err := net.Dial("tcp", tcp.Addr().String())
	if err == nil {
		defer second.Close()
		_ = second.SetReadDeadline(time.Now().Add(10 * time.Second))
		_, err = second.Read(make([]byte, 1))
	}
	if err == nil || errors.Is(err, net.ErrClosed) || l.Refused() != 1 {
		t.Errorf("second connection: error %v, %d refused, want it closed by the server", err, l.Refused())
	}
	_ = l.Close()
	<-done
}
