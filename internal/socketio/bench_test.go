package socketio_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/socketio"
	"github.com/hearth-dmrv/hearth/internal/socketio/engine"
)

const (
	crowd       = 2000
	maxIdleSize = 15 << 10 // bytes a silent socket may cost
)

// bare is a client of a few bytes, so that a benchmark measures the server.
type bare struct{ conn net.Conn }

// enter opens a socket in "/" and reads up to the event "connected".
func enter(b *testing.B, address string) bare {
	b.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	request := "GET /socket.io/?EIO=4&transport=websocket&sessionId=s-1 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nUser-Agent: " + strings.Repeat("x", 100) + "\r\n\r\n"
	hello := engine.AppendMasked([]byte(request), engine.OpText, false, [4]byte{1, 2, 3, 4}, []byte("40"+`{"token":"`+strings.Repeat("t", 700)+`"}`))
	if _, err := conn.Write(hello); err != nil {
		b.Fatal(err)
	}
	var got []byte
	for buf := make([]byte, 512); !strings.Contains(string(got), `["connected"`); {
		n, err := conn.Read(buf)
		if err != nil {
			b.Fatalf("after %q: %v", got, err)
		}
		got = append(got, buf[:n]...)
	}
	return bare{conn}
}

// gather serves and lets a crowd in, all in one room.
func gather(b *testing.B) (*socketio.Server, []bare) {
	b.Helper()
	server := socketio.New(socketio.Config{})
	server.Of("/").OnConnect(func(_ context.Context, s *socketio.Socket, h socketio.Handshake) error {
		for _, name := range []string{"ping", "status", "list-events", "subscribe", "tool_result", "action_call_result"} {
			s.On(name, func(context.Context, *socketio.Event) {})
		}
		s.Join("session:"+s.ID(), "all")
		return s.Emit("connected", h.Query.Get("sessionId"))
	})
	web := httptest.NewServer(server)
	all := make([]bare, crowd)
	for i := range all {
		all[i] = enter(b, web.Listener.Addr().String())
	}
	b.Cleanup(func() {
		for _, c := range all {
			_ = c.conn.Close()
		}
		until(b, "all have left", func() bool { return server.Conns() == 0 })
		web.Close()
	})
	return server, all
}

// memory is what the process holds after a collection.
func memory() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// BenchmarkIdleSocket measures what a silent socket costs, its client's end of
// the connection included, and fails above the limit.
func BenchmarkIdleSocket(b *testing.B) {
	for b.Loop() {
		before := memory()
		_, all := gather(b)
		each := (memory() - before) / uint64(len(all))
		b.ReportMetric(float64(each), "B/socket")
		if each > maxIdleSize {
			b.Errorf("%d bytes for an idle socket, at most %d", each, maxIdleSize)
		}
	}
}

// BenchmarkBroadcast measures one event to a crowd: the processor time of
// server and clients together, by delivery.
func BenchmarkBroadcast(b *testing.B) {
	server, all := gather(b)
	var received atomic.Int64
	for _, c := range all {
		go func() {
			buf := make([]byte, 4096)
			for {
				n, err := c.conn.Read(buf)
				received.Add(int64(n))
				if err != nil {
					return
				}
			}
		}()
	}
	payload := strings.Repeat("x", 200)
	size := int64(engine.HeaderSize(len(payload)+14) + len(payload) + 14) // 42["said!",""] around it
	b.ReportAllocs()
	b.ResetTimer()
	start, n := cpu(b), 0
	for b.Loop() {
		if err := server.To("all").Emit(b.Context(), "said!", payload); err != nil {
			b.Fatal(err)
		}
		n++
		if n%100 == 0 { // bursts of a hundred
			until(b, "all have it", func() bool { return received.Load() >= int64(n)*size*crowd })
		}
	}
	until(b, "all have it", func() bool { return received.Load() >= int64(n)*size*crowd })
	deliveries := float64(n) * crowd
	b.ReportMetric(float64((cpu(b)-start).Nanoseconds())/deliveries, "cpu-ns/delivery")
	b.ReportMetric(deliveries/b.Elapsed().Seconds(), "deliveries/s")
	if server.Conns() != crowd {
		b.Errorf("%d connections are left of %d", server.Conns(), crowd)
	}
}

func cpu(b *testing.B) time.Duration {
	b.Helper()
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// BenchmarkRoundTrip measures an event with its acknowledgement.
func BenchmarkRoundTrip(b *testing.B) {
	_, url, _ := admitting(b, socketio.Config{}, func(s *socketio.Socket) {
		s.On("echo", func(_ context.Context, e *socketio.Event) { _ = e.Ack(e.Values()...) })
	})
	c := join(b, url, none)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := c.Send(fmt.Sprintf(`42%d["echo",{"text":"hello"}]`, i)); err != nil {
			b.Fatal(err)
		}
		if _, err := c.Text(); err != nil && err != io.EOF {
			b.Fatal(err)
		}
	}
}
