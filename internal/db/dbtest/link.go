package dbtest

import (
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
)

// Link is a connection to PostgreSQL that a test can freeze: no data passes any more,
// and neither end gets an error.
type Link struct {
	l      net.Listener
	to     string
	mu     sync.Mutex
	frozen chan struct{} // closed while traffic passes
}

// NewLink returns a new link and the URL that reaches a database through it.
func NewLink(t testing.TB, dsn string) (*Link, string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	if q.Get("host") == "" {
		t.Skip("SKIPPED: the database is not on a socket here")
	}
	k := &Link{to: filepath.Join(q.Get("host"), ".s.PGSQL.5432"), frozen: make(chan struct{})}
	close(k.frozen)
	if k.l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.l.Close() })
	go k.serve()
	q.Del("host")
	u.Host, u.RawQuery = k.l.Addr().String(), q.Encode()
	return k, u.String()
}

func (k *Link) serve() {
	for {
		c, err := k.l.Accept()
		if err != nil {
			return
		}
		up, err := net.Dial("unix", k.to)
		if err != nil {
			c.Close()
			continue
		}
		go k.carry(up, c)
		go k.carry(c, up)
	}
}

func (k *Link) carry(to, from net.Conn) {
	defer to.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		k.mu.Lock()
		pass := k.frozen
		k.mu.Unlock()
		<-pass
		if _, werr := to.Write(buf[:n]); err != nil || werr != nil {
			return
		}
	}
}

// Freeze stops all traffic until thaw is called.
func (k *Link) Freeze() (thaw func()) {
	stop := make(chan struct{})
	k.mu.Lock()
	k.frozen = stop
	k.mu.Unlock()
	return sync.OnceFunc(func() { close(stop) })
}
