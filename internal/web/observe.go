package web

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Seen describes a finished request.
type Seen struct {
	Route    string // the pattern, "unmatched" without one
	Method   string
	Status   int
	Bytes    int64
	Duration time.Duration
	Caller   Caller
	Code     string // of the fault it was answered with, "" when it was not
	Quiet    bool   // it went as usual, and its route says that this is not worth a log line
}

// Observer is called for every finished request.
type Observer func(r *http.Request, s Seen)

// Observe runs next, survives its panics, and reports the outcome of the
// request to see and the log: one line each. write answers after a panic.
func Observe(log *slog.Logger, write ErrorWriter, see Observer, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		p := &response{ResponseWriter: w}
		defer func() {
			if v := recover(); v != nil {
				failPanic(log, write, p, r, v)
			}
			s := Seen{Route: p.route, Method: r.Method, Status: p.status, Bytes: p.bytes, Duration: time.Since(start), Caller: p.caller, Code: p.code, Quiet: p.quiet && p.status == http.StatusOK}
			if s.Route == "" {
				s.Route = "unmatched"
			}
			if see != nil {
				see(r, s)
			}
			logSeen(log, r, s)
		}()
		next.ServeHTTP(p, r)
	})
}

// failPanic answers and logs a panic. http.ErrAbortHandler is a handler's way
// to cut the connection and is passed on.
func failPanic(log *slog.Logger, write ErrorWriter, p *response, r *http.Request, v any) {
	if v == http.ErrAbortHandler { //nolint:errorlint // compared as net/http does
		panic(v)
	}
	log.ErrorContext(r.Context(), "panic", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
	if !started(p) {
		write(p, r, internal())
	}
}

func logSeen(log *slog.Logger, r *http.Request, s Seen) {
	level := slog.LevelInfo
	if s.Quiet || HealthRoute(r) {
		level = slog.LevelDebug // they would drown the rest
	}
	h := log.Handler()
	if !h.Enabled(r.Context(), level) {
		return
	}
	// Not through the logger, which looks for the line of code that calls it.
	line := slog.NewRecord(time.Now(), level, "request", 0)
	line.AddAttrs(
		slog.String("method", r.Method), slog.String("route", s.Route), slog.Int("status", s.Status),
		slog.Int64("bytes", s.Bytes), slog.Float64("duration_ms", float64(s.Duration.Microseconds())/1000),
		slog.String("client", ClientAddr(r.Context()).String()), slog.String("workspace", s.Caller.Workspace), slog.String("key", s.Caller.Key))
	if s.Code != "" {
		line.AddAttrs(slog.String("code", s.Code))
	}
	_ = h.Handle(r.Context(), line) // a failure to log cannot be reported
}

// methods lists the methods a route may have.
var methods = [...]string{"GET", "POST", "PUT", "PATCH", "DELETE"}

// Unknown answers requests that match no route. known reports whether a route
// exists for a method and the same path.
func Unknown(pick func(r *http.Request) ErrorWriter, known func(r *http.Request, method string) bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		write := pick(r)
		allow := ""
		for _, m := range methods {
			if known(r, m) {
				allow += ", " + m
			}
		}
		if allow == "" {
			write(w, r, NoRoute(r))
			return
		}
		w.Header().Set("Allow", allow[2:])
		write(w, r, fault.New(fault.WrongMethod, "METHOD_NOT_ALLOWED", cannot(r)))
	}
}

// NoRoute is the fault of a path without a route, or without one that the
// caller may know: ROUTE_NOT_FOUND.
func NoRoute(r *http.Request) *fault.Error {
	return fault.New(fault.NotFound, "ROUTE_NOT_FOUND", cannot(r))
}

// cannot is what clients of area D know a refused route by.
func cannot(r *http.Request) string {
	return "Cannot " + fault.Echo(r.Method) + " " + fault.Pointer(r.URL.EscapedPath())
}
