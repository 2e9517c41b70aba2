// Package oracle is area D on the wire: chat sessions, messages answered as
// JSON or as a stream, durable runs that can be joined again, and delegations,
// in the routes, bodies, texts and frames that published clients know.
//
// It promises that nobody reads, aborts or joins what is not theirs, and that
// what is somebody else's looks like what does not exist; that an accepted
// message is stored before anything is answered; that a stream that has begun
// ends with a done frame, goes on when its reader leaves and can be joined from
// any frame; and that no internal text reaches a client. What a turn does is in
// package agent, what is kept in chat and run, who calls in caller.
package oracle

import (
	"context"
	"log/slog"
	"math"
	"time"

	"github.com/hearth-dmrv/hearth/internal/oracle/agent"
	"github.com/hearth-dmrv/hearth/internal/oracle/attach"
	"github.com/hearth-dmrv/hearth/internal/oracle/caller"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// Defaults of Config.
const (
	// DefaultStreams is how many streams a caller may have open, and
	// DefaultAllStreams how many all of them together.
	DefaultStreams    = 32
	DefaultAllStreams = 10_000
)

// Live reaches the sockets of a session.
type Live interface {
	// Emit sends an event to all sockets of a session of a user, flat and in
	// its envelope. It never waits for a client.
	Emit(user, session, event string, payload any)
	// Call has a page of the user run one of its own tools and waits for the
	// answer. ctx carries the tool.Context of the run.
	Call(ctx context.Context, s tool.Spec, c tool.Call) (tool.Output, error)
}

// Config configures a Service. Zero values are the defaults.
type Config struct {
	Callers *caller.Service
	Chat    *chat.Store
	Runs    *run.Manager
	Agent   *agent.Agent
	Models  *llm.Catalogue
	Tools   *tool.Registry
	Files   *attach.Reader // nil: attachments are named to the model, not read
	Live    Live           // nil: no sockets, and no page to run a tool
	Name    string         // of the oracle, for its prompt
	Prompt  string         // what the operator wants the model to know; "" is nothing

	Throttle    int           // requests of a caller in ThrottleTTL, twice that of an address; 300; negative: any
	ThrottleTTL time.Duration // a minute
	MaxBody     int64         // bytes of a body; 100 KiB
	Streams     int           // open streams of a caller
	AllStreams  int           // and of all callers
	TitleModel  string        // id of the model that makes titles; "" is the default one
	Recheck     time.Duration // how often a run asks whether the key it was sent with still counts; 1 s

	Log *slog.Logger     // nil: silent
	Now func() time.Time // the clock
}

// Service serves area D. It is safe for concurrent use.
type Service struct {
	cfg     Config
	callers *window
	addrs   *window
	places  *places
	origins *places // runs by the address they were asked for from
	later   background
}

// New makes a Service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
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
		callers: newWindow(c.Throttle, c.ThrottleTTL, c.Now), addrs: newWindow(2*c.Throttle, c.ThrottleTTL, c.Now),
	}
}

// Close stops what goes on beside requests and waits for it. Runs are closed by
// their own manager.
func (s *Service) Close() { s.later.close() }

func orElse[T int | int64 | time.Duration](v, usual T) T {
	if v > 0 {
		return v
	}
	return usual
}

// emit tells the sockets of a session of a user.
func (s *Service) emit(user, session, event string, payload any) {
	if s.cfg.Live != nil {
		s.cfg.Live.Emit(user, session, event, payload)
	}
}
