package web

import (
	"log/slog"
	"net/http"
	"time"
)

// ServerConfig configures NewServer. Zero values are the defaults.
type ServerConfig struct {
	Handler        http.Handler
	Log            *slog.Logger  // gets the messages of net/http; nil: its default
	HeaderTimeout  time.Duration // for all headers of a request; 5 s
	IdleTimeout    time.Duration // between requests of a connection; 120 s
	MaxHeaderBytes int           // 32 KiB: room for a UCAN delegation
}

// NewServer makes an http.Server that slow and greedy clients cannot exhaust:
// it times headers and idle connections, and Pace bodies and answers. There is
// no limit on a whole request, because streams have none.
func NewServer(c ServerConfig) *http.Server {
	s := &http.Server{
		Handler:           c.Handler,
		ReadHeaderTimeout: orDefault(c.HeaderTimeout, 5*time.Second),
		IdleTimeout:       orDefault(c.IdleTimeout, 120*time.Second),
		MaxHeaderBytes:    orDefault(c.MaxHeaderBytes, 32<<10),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: 100,
			SendPingTimeout:      30 * time.Second,
			PingTimeout:          15 * time.Second,
			WriteByteTimeout:     30 * time.Second,
		},
	}
	if c.Log != nil {
		s.ErrorLog = slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug)
	}
	return s
}

// orDefault is v, or d when v is zero or less.
func orDefault[T int | int64 | time.Duration](v, d T) T {
	if v > 0 {
		return v
	}
	return d
}
