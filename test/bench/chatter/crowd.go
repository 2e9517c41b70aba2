package chatter

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hearth-dmrv/hearth/internal/socketio/engine"
	"github.com/hearth-dmrv/hearth/test/server"
)

// What the server allows, which no setting changes, and how a crowd keeps below
// it: 100 sockets of a user, 1,000 of an address.
const (
	socketsOfUser    = 100
	socketsOfAddress = 500
	entering         = 32 // handshakes at one time
)

// loopback is the n-th address that clients come from.
func loopback(n int) net.IP { return net.IPv4(127, 0, byte(n/250), byte(n%250+2)) }

// dialFrom connects from the n-th address.
func dialFrom(ctx context.Context, n int, addr string) (net.Conn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: loopback(n)}, Timeout: patience}
	return d.DialContext(ctx, "tcp", addr)
}

// patience is how long a client waits for anything.
const patience = 30 * time.Second

// newTalkers makes callers with a session each.
func newTalkers(ctx context.Context, s *server.Server, n int) ([]*Talker, error) {
	if n > 255 {
		return nil, errors.New("callers have seeds of one byte")
	}
	all := make([]*Talker, n)
	var err error
	for i := range all {
		if all[i], err = New(ctx, s, byte(i+1)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Key returns the value of the Authorization header for requests of t, with the
// header that must follow it.
func (t *Talker) Key() string { return t.token + "\r\nX-Auth-Type: ucan" }

// guest is the client's end of one socket.
type guest struct {
	conn   net.Conn
	reader *engine.Reader
}

// enter connects a socket of t as a browser does, from the n-th address, and
// returns when the server has let it in.
func enter(ctx context.Context, t *Talker, from int) (*guest, error) {
	addr := strings.TrimPrefix(t.base, "http://")
	conn, err := dialFrom(ctx, from, addr)
	if err != nil {
		return nil, err
	}
	g := &guest{conn: conn}
	if err := errors.Join(conn.SetDeadline(time.Now().Add(patience)), g.handshake(t, addr), conn.SetDeadline(time.Time{})); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return g, nil
}

func (g *guest) handshake(t *Talker, host string) error {
	_, err := fmt.Fprintf(g.conn, "GET /socket.io/?EIO=4&transport=websocket&sessionId=%s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nUser-Agent: bench\r\n\r\n", t.Session, host)
	if err != nil {
		return err
	}
	buffered := bufio.NewReaderSize(g.conn, 1024)
	answer, err := http.ReadResponse(buffered, nil)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusSwitchingProtocols {
		return fmt.Errorf("websocket refused: %s", answer.Status)
	}
	begin, _ := buffered.Peek(buffered.Buffered())
	g.reader = engine.NewClientReader(g.conn, begin, 1<<20)
	if err := g.expect("0{"); err != nil {
		return err
	}
	if err := g.send(`40{"invocation":"` + t.token + `"}`); err != nil {
		return err
	}
	return errors.Join(g.expect("40{"), g.expect(`42["connected"`))
}

// expect reads a message that must begin with start.
func (g *guest) expect(start string) error {
	_, data, err := g.reader.Next()
	if err == nil && !strings.HasPrefix(string(data), start) {
		err = fmt.Errorf("the socket got %q, want %s…", data, start)
	}
	return err
}

func (g *guest) send(text string) error {
	_, err := g.conn.Write(engine.AppendMasked(nil, engine.OpText, false, [4]byte{1, 2, 3, 4}, []byte(text)))
	return err
}

// stay reads until the connection ends and answers pings.
func (g *guest) stay() {
	for {
		op, data, err := g.reader.Next()
		if err == nil && op == engine.OpText && string(data) == "2" {
			err = g.send("3")
		}
		if err != nil {
			return
		}
	}
}

// crowd is many sockets.
type crowd []*guest

// gather connects n sockets, spread over the callers. They send nothing and read.
func gather(ctx context.Context, hosts []*Talker, n int) (crowd, error) {
	all := make(crowd, n)
	var g errgroup.Group
	g.SetLimit(entering)
	for i := range all {
		g.Go(func() (err error) {
			if all[i], err = enter(ctx, hosts[i%len(hosts)], i/socketsOfAddress); err == nil {
				go all[i].stay()
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		all.leave()
		return nil, err
	}
	return all, nil
}

// leave ends all sockets: half of them close properly, the others are cut off.
func (c crowd) leave() {
	for i, g := range c {
		if g == nil {
			continue
		}
		if i%2 == 0 {
			_ = g.send("41") // it may be closed already
			_, _ = g.conn.Write(engine.AppendMasked(nil, engine.OpClose, false, [4]byte{}, nil))
		}
		_ = g.conn.Close()
	}
}
