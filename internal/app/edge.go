package app

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/ops"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// edge is everything a request passes before a route sees it. One edge serves
// all listeners, so that limits count a client once.
type edge struct {
	proxies web.Proxies
	cors    *web.CORS
	pace    web.Pace
	shed    *web.Shedder
	limit   *web.Limiter                        // by address; nil is off
	probes  *web.Limiter                        // of / and /health where area C is, by address; nil is off
	line    func(http.Handler) http.Handler     // counts requests to area C; nil without it
	store   func(*http.Request) context.Context // limits how long requests wait for the store; nil: no limit
	behind  func(http.Handler) http.Handler     // lets replicas answer; nil: there are none
	see     web.Observer
	tracer  *ops.Tracer
	log     *slog.Logger

	requests *slog.Logger // a line for each request; only failures unless they are wanted
}

func newEdge(cfg *config.Config, log *slog.Logger, see web.Observer, tracer *ops.Tracer, fleet *web.Fleet) (*edge, error) {
	proxies, err := web.NewProxies(cfg.Server.TrustProxy, cfg.Server.TrustedProxies)
	if err != nil {
		return nil, err
	}
	cors, err := web.NewCORS(cfg.Server.CORSOrigin)
	if err != nil {
		return nil, err
	}
	e := &edge{
		proxies: proxies, cors: cors, see: see, tracer: tracer, log: log, requests: log,
		pace: web.Pace{WriteBase: cfg.Limits.WriteTimeout, MinRate: int(cfg.Limits.BodyMinRate)},
		shed: web.NewShedder(web.ShedConfig{InFlight: cfg.Limits.MaxInFlight}),
	}
	if n := cfg.Limits.AddressRateLimit; n > 0 {
		e.limit = web.NewLimiter(web.LimiterConfig{PerMinute: n, Fleet: fleet, Name: "addresses"})
	}
	if n := cfg.USSD.RateLimit; n > 0 && cfg.HasArea("c") {
		e.probes = web.NewLimiter(web.LimiterConfig{PerMinute: n, Fleet: fleet, Name: "probes"})
	}
	return e, nil
}

// requestLog takes a line for each request where that is wanted. On a terminal
// they would push away what the start has printed.
func (a *App) requestLog() *slog.Logger {
	want := a.cfg.Observe.LogRequests
	if want == "on" || want == "auto" && !ops.IsTerminal(a.opt.Err) {
		return a.log
	}
	return slog.New(failures{a.log.Handler()})
}

// dialect writes a fault outside all routes, in the dialect of the path.
func dialect(w http.ResponseWriter, r *http.Request, f *fault.Error) {
	dialectOf(r)(w, r, f)
}

// dialectOf picks the dialect of a path: /v1 with the console, and /api, have
// their own, everything else is area D's. Clients of MCP must be told that a
// method is wrong, unlike area D's.
func dialectOf(r *http.Request) web.ErrorWriter {
	switch {
	case under(r.URL.Path, "/v1"), under(r.URL.Path, "/console"), r.URL.Path == "/mcp":
		return web.Problem
	case under(r.URL.Path, "/api"):
		return web.End
	}
	return web.Nest
}

func under(path, prefix string) bool {
	return path == prefix || strings.HasPrefix(path, prefix+"/")
}

// handler puts the edge in front of the routes of apis. The order matters:
// the id first so that every answer has it, the observer before anything that
// can refuse, so that refusals are counted.
func (e *edge) handler(apis []*web.API, sh shape) http.Handler {
	mux := muxOf(apis)
	// Asked about such a path the mux would name the route it redirects to.
	nothing := web.Unknown(dialectOf, func(*http.Request, string) bool { return false })
	h := cleanPath(nothing, mux)
	if e.behind != nil {
		h = e.behind(h)
	}
	if e.store != nil {
		h = e.bounded(h)
	}
	if e.limit != nil {
		h = e.limit.Guard(limitName, dialect, h)
	}
	if e.probes != nil && sh != shapeOracle {
		h = e.probes.Guard(probeName, dialect, h)
	}
	if e.line != nil {
		h = e.line(h)
	}
	h = e.withCORS(h)
	h = e.pace.Middleware(h)
	h = web.SecureHeaders(h)
	h = web.Observe(e.requests, dialect, e.see, h)
	h = e.traced(h)
	h = e.proxies.Middleware(h)
	return web.WithRequestIDs(h)
}

// bounded limits how long requests wait for the store.
func (e *edge) bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(e.store(r)))
	})
}

// rowOf names what a request changes, if it is one thing that only one request can change
// at a time: the resource at its path, or an earlier copy of the same request. "" means
// several things.
func rowOf(r *http.Request) string {
	switch key := r.Header.Get("Idempotency-Key"); {
	case r.Method == http.MethodPut, r.Method == http.MethodPatch, r.Method == http.MethodDelete,
		r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/v1/devices/"):
		return r.URL.Path
	case key != "":
		return r.URL.Path + " " + key
	}
	return ""
}

// muxOf serves the routes of apis.
func muxOf(apis []*web.API) *http.ServeMux {
	mux := http.NewServeMux()
	var routes []web.Route
	for _, a := range apis {
		a.Mount(mux)
		routes = append(routes, a.Routes()...)
	}
	hidden := hiddenPatterns(apis)
	known := func(r *http.Request, method string) bool {
		probe := *r
		probe.Method = method
		_, pattern := mux.Handler(&probe)
		return pattern != "" && pattern != "/" && !hidden[pattern]
	}
	mux.HandleFunc("/", web.DIDPaths(routes, mux, known, web.Unknown(dialectOf, known)))
	return mux
}

// within serves apis to this process itself. The checks of rights are the same
// as for everybody; limits by address and pace are for callers on a network.
func (e *edge) within(apis []*web.API) http.Handler {
	return web.WithRequestIDs(e.proxies.Middleware(web.Observe(slog.New(failures{e.log.Handler()}), dialect, nil, muxOf(apis))))
}

// failures logs only errors, because a process that calls itself thousands of
// times has nothing else to log.
type failures struct{ slog.Handler }

// Enabled admits errors.
func (f failures) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelError && f.Handler.Enabled(ctx, level)
}

// hiddenPatterns are the routes of operators, which must look like no route at
// all: naming the methods they take would give them away.
func hiddenPatterns(apis []*web.API) map[string]bool {
	hidden := map[string]bool{}
	for _, a := range apis {
		for _, r := range a.Routes() {
			if r.Doc.Scope == web.Operator {
				hidden[r.Method+" "+r.Path] = true
			}
		}
	}
	return hidden
}

// limitName limits areas A and B, the public DID documents and the reference
// by address. C and D have limits of their own, and so have probes.
func limitName(r *http.Request) string {
	p := r.URL.Path
	if under(p, "/v1") || under(p, "/1.0") || under(p, "/entities") || under(p, "/.well-known") || p == "/did.json" || strings.HasPrefix(p, "/docs") || p == "/console/session" {
		return web.AddrName(web.ClientAddr(r.Context()))
	}
	return ""
}

// probeName limits area C's routes for probes separately from its own routes:
// callers on the line must not use up the allowance of probes.
func probeName(r *http.Request) string {
	if p := r.URL.Path; p == "/" || p == "/health" {
		return web.AddrName(web.ClientAddr(r.Context()))
	}
	return ""
}

// withCORS leaves out area C, which only gateways call, and the console, which
// pages of other sites must not use. A and B omit the headers for clients other
// than pages; D promises them to everybody.
func (e *edge) withCORS(next http.Handler) http.Handler {
	cors := e.cors.Middleware(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case under(r.URL.Path, "/api"), under(r.URL.Path, "/console"):
			next.ServeHTTP(w, r)
		case r.Header["Origin"] == nil && under(r.URL.Path, "/v1") && r.Method != http.MethodOptions:
			e.cors.Vary(w.Header())
			next.ServeHTTP(w, r)
		default:
			cors.ServeHTTP(w, r)
		}
	})
}

// cleanPath refuses paths with more than one spelling. The mux would redirect
// them, and a redirect is one more way to reach a route past a rule.
func cleanPath(unknown http.HandlerFunc, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := r.URL.Path; p == "" || p[0] != '/' || strings.Contains(p, "//") || dotted(p) {
			unknown(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// dotted reports whether a part of p is "." or "..".
func dotted(p string) bool {
	return strings.Contains(p, "/.") && // few have one
		(strings.Contains(p+"/", "/./") || strings.Contains(p+"/", "/../"))
}

// traced gives a request its span; the observer names it at the end.
func (e *edge) traced(next http.Handler) http.Handler {
	if e.tracer == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, span := e.tracer.Serve(r.Context(), r.Method, r.Header)
		defer span.End()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
