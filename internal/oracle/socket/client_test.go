package socket_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/oracle/socket"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/socketio/clienttest"
)

// TestRealClient has the real socket.io-client play the scenarios of
// test/clients/live.mjs.
func TestRealClient(t *testing.T) {
	t.Parallel()
	clienttest.Need(t)
	stage := newStage(t)
	web := httptest.NewServer(stage)
	t.Cleanup(web.Close)
	t.Cleanup(stage.stop)
	clienttest.Run(t, "live.mjs", "URL="+web.URL)
}

// stage is a gateway that can be restarted, and a route to play a run.
type stage struct {
	t   *testing.T
	dir *directory
	hub atomic.Pointer[socket.Hub]
}

func newStage(t *testing.T) *stage {
	s := &stage{t: t, dir: newDirectory()}
	s.open()
	return s
}

func (s *stage) open() {
	s.hub.Store(socket.New(s.t.Context(), socket.Config{
		Handshake: s.dir.handshake, Owns: s.dir.owns, Events: func() []string { return []string{"weather.changed"} },
	}))
}

// stop ends the gateway that is open now.
func (s *stage) stop() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.t.Context()), patience)
	defer cancel()
	if err := s.hub.Load().Shutdown(ctx); err != nil {
		s.t.Errorf("Shutdown() = %v", err)
	}
}

// order is what a scenario wants to happen.
type order struct {
	Do        string         `json:"do"`
	User      string         `json:"user"`
	Session   string         `json:"session"`
	Event     string         `json:"event"`
	Payload   jsontext.Value `json:"payload"`
	Kind      string         `json:"kind"`
	Name      string         `json:"name"`
	Args      jsontext.Value `json:"args"`
	HasRender bool           `json:"hasRender"`
	TimeoutMS int64          `json:"timeoutMs"`
}

func (s *stage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/control" {
		s.hub.Load().ServeHTTP(w, r)
		return
	}
	var o order
	if err := json.UnmarshalRead(r.Body, &o); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer := map[string]any{}
	hub := s.hub.Load()
	switch o.Do {
	case "emit":
		hub.Emit(o.User, o.Session, o.Event, o.Payload)
	case "drop":
		hub.DisconnectSession(o.User, o.Session)
	case "count":
		answer["sockets"] = hub.Stats().Sockets
	case "restart":
		hub.Drain()
		s.stop()
		s.open()
	case "call":
		spec := tool.Spec{Name: o.Name, HasRender: o.HasRender, Kind: tool.Browser, Timeout: time.Duration(o.TimeoutMS) * time.Millisecond}
		if o.Kind == "action" {
			spec.Kind = tool.Action
		}
		out, err := hub.Call(about(r.Context(), o.User, o.Session), spec, tool.Call{Name: o.Name, Args: o.Args})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		answer = map[string]any{"text": out.Text, "err": out.Err}
		if len(out.Data) > 0 {
			answer["data"] = out.Data
		}
	}
	if err := json.MarshalWrite(w, answer); err != nil {
		s.t.Errorf("answer: %v", err)
	}
}
