// Command suiteserver is the server that the official protocol suites of
// engine.io and socket.io run against, and the scenarios of
// test/clients/socketio.mjs; docs/socketio-suites.md says how. It has no
// authentication and is for tests only.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"log"
	"net/http"
	"time"

	"github.com/hearth-dmrv/hearth/internal/socketio"
	"github.com/hearth-dmrv/hearth/internal/socketio/engine"
)

func main() {
	port := flag.String("port", "3000", "port on localhost")
	flag.Parse()

	settings := engine.Config{
		PingInterval: 300 * time.Millisecond, PingTimeout: 200 * time.Millisecond, MaxPayload: 1e6, CORS: true,
	}
	sockets := socketio.New(socketio.Config{Engine: settings, ConnectTimeout: time.Second})
	sockets.Of("/").OnConnect(connect)
	sockets.Of("/custom").OnConnect(connect)

	settings.Open = func(c *engine.Conn, _ *http.Request) engine.Handler { return echo{c} }
	mux := http.NewServeMux()
	mux.Handle("/socket.io/", sockets)
	mux.Handle("/engine.io/", engine.New(settings))
	ground := newPlayground()
	mux.Handle("/play/", ground)
	mux.HandleFunc("POST /restart", ground.restart)
	server := &http.Server{Addr: "localhost:" + *port, Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	log.Printf("serving /engine.io/, /socket.io/ and /play/ on %s", server.Addr)
	log.Fatal(server.ListenAndServe())
}

// connect does what the socket.io suite expects.
func connect(_ context.Context, s *socketio.Socket, h socketio.Handshake) error {
	s.On("message", func(_ context.Context, e *socketio.Event) {
		report(s.Emit("message-back", e.Values()...))
	})
	s.On("message-with-ack", func(_ context.Context, e *socketio.Event) {
		report(e.Ack(e.Values()...))
	})
	return s.Emit("auth", json.RawMessage(h.Auth))
}

// echo sends back what it gets, as the engine.io suite expects.
type echo struct{ conn *engine.Conn }

func (e echo) Message(_ context.Context, data []byte, binary bool) error {
	if binary {
		return e.conn.Send(engine.Binary(data))
	}
	return e.conn.Send(engine.Text(data))
}

func (e echo) Closed(engine.Reason) {}

func report(err error) {
	if err != nil {
		log.Print(err)
	}
}
