package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/internal/socketio"
	"github.com/hearth-dmrv/hearth/internal/socketio/engine"
)

// playground is the server for test/clients/socketio.mjs: its events make the
// server do what the scenarios test. POST /restart drains it and replaces it with
// a new one, as a rolling restart does.
type playground struct {
	mu     sync.RWMutex
	server *socketio.Server
}

func newPlayground() *playground { return &playground{server: newPlay()} }

func newPlay() *socketio.Server {
	s := socketio.New(socketio.Config{Engine: engine.Config{CORS: true, CheckOrigin: func(r *http.Request) bool {
		return r.Header.Get("Origin") != "https://evil.example"
	}}})
	s.Of("/").OnConnect(func(ctx context.Context, one *socketio.Socket, h socketio.Handshake) error {
		return play(ctx, s, one, h)
	})
	return s
}

func (p *playground) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.RLock()
	s := p.server
	p.mu.RUnlock()
	s.ServeHTTP(w, r)
}

func (p *playground) restart(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	old := p.server
	p.server = newPlay()
	p.mu.Unlock()
	old.Drain()
	w.WriteHeader(http.StatusNoContent)
}

// play admits a client unless its auth contains refuse; slow is how many
// milliseconds that takes.
func play(ctx context.Context, srv *socketio.Server, s *socketio.Socket, h socketio.Handshake) error {
	var auth struct {
		Refuse bool `json:"refuse"`
		Slow   int  `json:"slow"`
	}
	if err := json.Unmarshal(h.Auth, &auth); err != nil {
		return err
	}
	select {
	case <-time.After(time.Duration(auth.Slow) * time.Millisecond):
	case <-ctx.Done():
		return ctx.Err()
	}
	if auth.Refuse {
		return errors.New("refused")
	}
	s.On("echo", func(_ context.Context, e *socketio.Event) {
		report(s.Emit("echo", e.Values()...))
		report(e.Ack(e.Values()...))
	})
	s.On("silent", func(_ context.Context, e *socketio.Event) { report(e.Ack()) })
	s.On("join", func(_ context.Context, e *socketio.Event) {
		s.Join(text(e, 0))
		report(e.Ack(s.Rooms()))
	})
	s.On("say", func(ctx context.Context, e *socketio.Event) {
		report(srv.To(text(e, 0)).Emit(ctx, "said", e.Args[1]))
	})
	s.On("ask-me", func(ctx context.Context, _ *socketio.Event) {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		answer, err := s.Call(ctx, "question", "six times seven")
		if err != nil {
			report(s.Emit("no-answer", err.Error()))
			return
		}
		report(s.Emit("answer", answer.Values()...))
	})
	s.On("burst", func(_ context.Context, e *socketio.Event) {
		var n int
		report(json.Unmarshal(e.Args[0], &n))
		for i := range n {
			if err := s.Emit("tick", i); err != nil {
				report(err)
				return
			}
		}
	})
	s.On("leave-me", func(context.Context, *socketio.Event) { s.Disconnect() })
	s.On("close-me", func(context.Context, *socketio.Event) { s.Close() })
	return s.Emit("connected", h.Query.Get("sessionId"))
}

func text(e *socketio.Event, i int) string {
	var v string
	if i >= len(e.Args) || json.Unmarshal(e.Args[i], &v) != nil {
		log.Printf("%s: argument %d is no text", e.Name, i)
	}
	return v
}
