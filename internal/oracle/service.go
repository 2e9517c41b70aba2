package oracle

import (
	"cmp"
	"log/slog"
	"math"
	"time"

	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// Service serves area D. It is safe for concurrent use.
type Service struct {
	cfg      Config
	callers  *window
	addrs    *window
	places   *places
	origins  *places // runs by the address they were asked for from
	confirms *confirms
	later    background
}

// New makes a Service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.Tools == nil {
		c.Tools = &tool.Registry{}
	}
	if c.Throttle == 0 {
		c.Throttle = DefaultThrottle
	}
	c.ThrottleTTL = orElse(c.ThrottleTTL, DefaultThrottleTTL)
	c.Recheck = orElse(c.Recheck, time.Second)
	c.MaxBody = orElse(c.MaxBody, DefaultMaxBody)
	c.Streams = orElse(c.Streams, DefaultStreams)
	c.AllStreams = orElse(c.AllStreams, DefaultAllStreams)
	if c.Chat != nil && c.Agent != nil {
		c.Chat.Attach(chat.Part{Forget: c.Agent.Forget})
	}
	return &Service{
		cfg: c, places: newPlaces(c.Streams, c.AllStreams), origins: newPlaces(maxRunsOfAddress, math.MaxInt),
		confirms: &confirms{Permits: c.Permits, callers: c.Callers, runs: c.Runs, live: c.Live, tools: c.Tools, now: c.Now},
		callers:  newWindow(c, "oracle-callers", c.Throttle), addrs: newWindow(c, "oracle-addresses", 2*c.Throttle),
	}
}

// Close stops background work and waits for it. Runs are closed by their own
// manager.
func (s *Service) Close() { s.later.close() }

func orElse[T int | int64 | time.Duration](v, usual T) T {
	if v > 0 {
		return v
	}
	return usual
}

// emit sends an event to the sockets of a session of a user.
func (s *Service) emit(user, session, event string, payload any) {
	if s.cfg.Live != nil {
		s.cfg.Live.Emit(user, session, event, payload)
	}
}
