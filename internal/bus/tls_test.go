package bus_test

import (
	"crypto/tls"
	"encoding/pem"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"github.com/hearth-dmrv/hearth/internal/bus"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// natsWithTLS runs a NATS server that wants TLS, and gives its address and the file of the
// authority that vouches for it.
func natsWithTLS(t *testing.T) (addr, ca string) {
	t.Helper()
	certs := httptest.NewTLSServer(nil) // for its certificate, which is of 127.0.0.1
	defer certs.Close()
	s, err := natsserver.NewServer(&natsserver.Options{
		Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true, TLS: true, TLSTimeout: 60,
		TLSConfig: &tls.Config{Certificates: certs.TLS.Certificates, MinVersion: tls.VersionTLS12},
	})
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the NATS server does not start")
	}
	t.Cleanup(s.Shutdown)
	ca = filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certs.Certificate().Raw})
	if err := os.WriteFile(ca, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return s.Addr().String(), ca
}

// counted carries connections to an address, and says when one has come.
func counted(t *testing.T, to string) (addr string, came <-chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	ch := make(chan struct{}, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			ch <- struct{}{}
			up, err := net.Dial("tcp", to)
			if err != nil {
				c.Close()
				continue
			}
			for _, way := range [][2]net.Conn{{up, c}, {c, up}} {
				go func() {
					defer way[0].Close()
					_, _ = io.Copy(way[0], way[1]) // it ends with either side
				}()
			}
		}
	}()
	return l.Addr().String(), ch
}

// TestNATSWithTLS: buses that trust the authority of the servers hear each other, by tls://
// and where a server wants TLS of whoever comes without; one that does not trust it tries
// again and again, and hears nothing.
func TestNATSWithTLS(t *testing.T) {
	t.Parallel()
	addr, ca := natsWithTLS(t)
	way, came := counted(t, addr)
	on := func(url, ca string) *bus.NATS {
		t.Helper()
		b, err := bus.NewNATS(t.Context(), bus.NATSConfig{URL: url, CA: ca, Space: "tls", Log: dbtest.Log(t)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Close)
		return b
	}
	one, two := joined(t, on("tls://"+addr, ca)), joined(t, on("nats://"+addr, ca))
	stranger := on("tls://"+way, "")
	heard, leaked := make(chan string, 1), make(chan string, 1)
	two.Subscribe("events.ws", func(m bus.Message) {
		if !m.Missed {
			heard <- m.Payload
		}
	})
	stranger.Subscribe("events.ws", func(m bus.Message) {
		if !m.Missed {
			leaked <- m.Payload
		}
	})
	greet(t, one, two)
	for range 3 { // the third time it was refused twice
		<-came
	}
	long := strings.Repeat("frame ", 7000)
	if err := one.Publish(t.Context(), "events.ws", long); err != nil {
		t.Fatal(err)
	}
	if got := <-heard; got != long {
		t.Errorf("%d bytes came, want %d", len(got), len(long))
	}
	if len(leaked) > 0 || !stranger.Degraded() {
		t.Errorf("one that does not trust the server is connected, and heard %d messages", len(leaked))
	}
}
