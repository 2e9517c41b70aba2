package app

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// shape says which documented bodies a listener gives at / and /health.
type shape int

const (
	shapeAll    shape = iota // the merged listener: everything
	shapeUSSD                // area C alone
	shapeOracle              // area D alone
)

// system answers the questions about the process itself.
type system struct {
	name        string
	version     string
	environment string
	started     time.Time
	ping        func(context.Context) error // a round trip to the store
	writable    func(context.Context) error // a write that is stored
	ready       func(context.Context) readiness
	metrics     http.Handler // nil when metrics are off
}

// probeTime bounds a check of the store, because a probe that hangs is no
// answer.
const probeTime = 2 * time.Second

type rootAnswer struct {
	Status      string `json:"status" example:"ok"`
	Message     string `json:"message" example:"Hearth is running. See /docs for the API."`
	Environment string `json:"environment,omitempty" example:"development"`
	Timestamp   string `json:"timestamp" example:"2026-11-15T00:18:36.069Z"`
	Version     string `json:"version,omitempty" example:"0.1.0"`
}

type healthAnswer struct {
	Status      string   `json:"status" doc:"ok, or degraded when the store does not answer or accepts no writes." enum:"ok,degraded"`
	Environment string   `json:"environment,omitempty"`
	Timestamp   string   `json:"timestamp"`
	Uptime      *float64 `json:"uptime,omitempty" doc:"Seconds since the start."`
	Database    string   `json:"database,omitempty" doc:"connected or disconnected, from a real round trip." enum:"connected,disconnected"`
}

type liveAnswer struct {
	Status string `json:"status" example:"live"`
}

// readiness is the answer of /readyz.
type readiness struct {
	Status     string            `json:"status" doc:"ready or not ready." enum:"ready,not ready"`
	Durability string            `json:"durability" doc:"What a 2xx on a write means." example:"sqlite synchronous=FULL"`
	Checks     map[string]string `json:"checks" doc:"ok, or the problem, by part. A wrong clock and a newer schema are named even while the server is ready."`
}

type nothing struct{}

// rootIn is what a browser says that opens the server.
type rootIn struct {
	Accept string `header:"Accept" doc:"A browser, which asks for text/html first, is sent to the console."`
}

// public enters what anyone may ask; pages reports whether the console is here.
func (s *system) public(a *web.API, sh shape, pages bool) {
	web.Get(a, "/{$}", s.serveRoot(sh, pages), web.Doc{Summary: "Read the name and version of the server", Scope: web.Public, Light: true})
	web.Get(a, "/health", s.serveHealth(sh), web.Doc{Summary: "Read the health, after a real round trip to the store", Scope: web.Public, Light: true})
	web.Get(a, "/livez", s.serveLive, web.Doc{Summary: "Check whether the process is alive", Scope: web.Public, Light: true})
	web.Get(a, "/readyz", s.serveReady, web.Doc{
		Summary: "Check whether the server can accept requests", Scope: web.Public, Light: true,
		Description: "200 when the store accepts writes, the schema is one this program can work with, the keys are loaded and the clock is right, else 503. A shutdown begins by answering 503.",
	})
}

// operator enters what operators may ask.
func (s *system) operator(a *web.API) {
	if s.metrics == nil {
		return
	}
	a.Handle("GET", "/metrics", func(w http.ResponseWriter, r *http.Request) error {
		s.metrics.ServeHTTP(w, r)
		return nil
	}, web.Doc{Summary: "Prometheus metrics", Scope: web.Operator, Produces: "text/plain", Light: true})
}

func (s *system) serveRoot(sh shape, pages bool) func(context.Context, *rootIn) (web.Reply[rootAnswer], error) {
	return func(_ context.Context, in *rootIn) (web.Reply[rootAnswer], error) {
		a := rootAnswer{Status: "ok", Message: s.name + " is running. See /docs for the API.", Timestamp: now()}
		if sh != shapeOracle {
			a.Environment = s.environment
		}
		if sh == shapeAll {
			a.Version = s.version
		}
		if pages && strings.HasPrefix(in.Accept, "text/html") {
			return web.Reply[rootAnswer]{Value: a, Status: http.StatusSeeOther, Location: "/console/"}, nil
		}
		return web.Reply[rootAnswer]{Value: a}, nil
	}
}

func (s *system) serveHealth(sh shape) func(context.Context, *nothing) (healthAnswer, error) {
	return func(ctx context.Context, _ *nothing) (healthAnswer, error) {
		ctx, cancel := context.WithTimeout(ctx, probeTime)
		defer cancel()
		a := healthAnswer{Status: "ok", Timestamp: now()}
		database := "connected"
		if s.ping(ctx) != nil {
			a.Status, database = "degraded", "disconnected"
		} else if err := s.writable(ctx); err != nil {
			a.Status = "degraded"
			if errors.Is(err, context.DeadlineExceeded) || db.Busy(err) { // not refused, as on a full disk: stuck
				database = "disconnected"
			}
		}
		if sh != shapeOracle {
			up := time.Since(s.started).Seconds()
			a.Environment, a.Uptime, a.Database = s.environment, &up, database
		}
		return a, nil
	}
}

func (s *system) serveLive(context.Context, *nothing) (liveAnswer, error) {
	return liveAnswer{Status: "live"}, nil
}

func (s *system) serveReady(ctx context.Context, _ *nothing) (web.Reply[readiness], error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	p := web.Reply[readiness]{Value: s.ready(ctx)}
	if p.Value.Status != "ready" {
		p.Status = http.StatusServiceUnavailable
	}
	return p, nil
}

func now() string { return time.Now().UTC().Format(web.TimeFormat) }

// remembered keeps a probe's outcome for a moment: /readyz is public, and the
// probe behind it is a real durable write.
func remembered(keep time.Duration, probe func(context.Context) error) func(context.Context) error {
	var mu sync.Mutex
	var at time.Time
	var last error
	return func(ctx context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(at) > keep || at.IsZero() {
			last, at = probe(ctx), time.Now()
		}
		return last
	}
}
