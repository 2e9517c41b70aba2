// Package oracle is area D on the wire: chat sessions, messages answered as
// JSON or as a stream, durable runs that can be joined again, and delegations,
// in the routes, bodies, texts and frames that published clients know.
//
// It promises that users read, abort and join only what is theirs, and that
// what belongs to somebody else looks like what does not exist; that an
// accepted message is stored before anything is answered; that a stream that
// has begun ends with a done frame, goes on when its reader leaves and can be
// joined from any frame; and that no internal text reaches a client. Package
// agent does what a turn does, chat and run keep its data.
//
// Callers finds out who calls, by the UCAN tokens of a request or of a socket's
// handshake, by an API key or by the session of a browser. The DID comes from a
// credential that was checked and from nothing else: x-did and the query are never
// read. A delegation counts only if the caller made it, an address that sends many
// bad tokens is refused for a while, and a token meant for one use is accepted once,
// even after a restart or by several instances.
package oracle

import (
	"context"
	"log/slog"
	"time"

	"github.com/hearth-dmrv/hearth/internal/oracle/agent"
	"github.com/hearth-dmrv/hearth/internal/oracle/attach"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Defaults of Config.
const (
	// DefaultStreams limits the open streams of a caller, and DefaultAllStreams
	// those of all callers together.
	DefaultStreams    = 32
	DefaultAllStreams = 10_000
)

// Live reaches the sockets of a session.
type Live interface {
	// Emit sends an event to all sockets of a session of a user, flat and in
	// its envelope. It never waits for a client.
	Emit(user, session, event string, payload any)
	// Call runs a tool of the user's page and waits for the answer. ctx carries
	// the tool.Context of the run.
	Call(ctx context.Context, s tool.Spec, c tool.Call) (tool.Output, error)
}

// Permits decides whether tools that change something may run. What belongs to
// another user looks like what does not exist.
type Permits interface {
	// Guard asks the user before each such tool of a run.
	Guard(tools []tool.Tool, a tool.Asker) []tool.Tool
	Questions
	Granter
}

// Questions are questions to users about calls of tools.
type Questions interface {
	// Waiting lists the open questions of a run.
	Waiting(ctx context.Context, user, run string) ([]tool.Question, error)
	// Decide answers a question.
	Decide(ctx context.Context, user, run, call string, yes bool) (tool.Question, error)
	// Keep grants the tool of a confirmed question for its conversation.
	Keep(ctx context.Context, user, run, call string) error
	// Close refuses the open questions of a conversation, because its user has
	// stopped it.
	Close(ctx context.Context, user, session string) error
}

// Granter keeps what a user's tools may do without a question.
type Granter interface {
	// Grants lists the grants.
	Grants(ctx context.Context, user string) ([]tool.Grant, error)
	// Grant adds a grant, and Withdraw removes one.
	Grant(ctx context.Context, user string, g tool.Grant) (tool.Grant, error)
	Withdraw(ctx context.Context, user, session, name string) error
}

// Config configures a Service. Zero values are the defaults.
type Config struct {
	Callers *Callers
	Chat    *chat.Store
	Runs    *run.Manager
	Agent   *agent.Agent
	Models  *llm.Catalogue
	Tools   *tool.Registry
	Files   *attach.Reader // nil: attachments are named to the model, not read
	Permits Permits        // required
	Live    Live           // nil: no sockets, and no page to run a tool
	Name    string         // of the oracle, for its prompt
	Prompt  string         // what the operator wants the model to know; "" is nothing
	// Sections are further sections of the prompt; ctx carries the tool.Context of
	// the run. It may be nil.
	Sections func(ctx context.Context) []string
	// Before is called before an answer begins, with the tool.Context of the message.
	// It may refuse it with a *tool.Refusal. It may be nil.
	Before func(ctx context.Context) error
	// Settle receives what an answer admitted by Before has used, nil when it never
	// began, and returns what its user pays, in credits. Nil: nobody pays.
	Settle func(ctx context.Context, used *run.Account) int64
	// Purse returns the Purse for the transactions in which the answer to a message
	// begins and ends. Nil: there is none.
	Purse func(about tool.Context) run.Purse

	Throttle    int           // requests of a caller in ThrottleTTL, twice that of an address; 300; negative: any
	Fleet       *web.Fleet    // counts them at all servers; nil: at this one
	ThrottleTTL time.Duration // a minute
	MaxBody     int64         // bytes of a body; 100 KiB
	Streams     int           // open streams of a caller
	AllStreams  int           // and of all callers
	TitleModel  string        // id of the model that makes titles; "" is the default one
	Recheck     time.Duration // how often a run asks whether the key it was sent with still counts; 1 s

	Log *slog.Logger     // nil: silent
	Now func() time.Time // the clock
}
