// Package agui lets front ends that speak AG-UI 1.0 talk with the oracle: one
// route takes the request of such a client and answers with the events of the
// protocol.
//
// It has no runs of its own. A request becomes a message of the guest, and the
// frames of the run that answers it become events, in the order that clients of
// the protocol check: everything that was opened is closed before the run ends.
// It promises that the conversation is the one we keep, whatever history a
// client sends; that the thread id of another user opens a new thread; that a
// run goes on when its reader leaves and can be read again; and that a call of
// a tool which the client runs ends the run, and the next request brings its
// result.
package agui

import (
	"cmp"
	"context"
	"log/slog"

	"github.com/hearth-dmrv/hearth/internal/oracle"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// MaxBody limits the size of a request, in bytes, unless the oracle accepts
// larger ones: clients send the whole conversation each time.
const MaxBody = 2 << 20

// Permits answers questions about tools that change something.
type Permits interface {
	// Waiting lists the open questions of a run.
	Waiting(ctx context.Context, user, run string) ([]tool.Question, error)
	// Decide answers a question.
	Decide(ctx context.Context, user, run, call string, yes bool) (tool.Question, error)
}

// Config configures a Service.
type Config struct {
	Door    oracle.Door
	Chat    *chat.Store
	Runs    *run.Manager
	Permits Permits
	MaxBody int64        // bytes of a request, when it is more than MaxBody
	Log     *slog.Logger // nil: silent
}

// Service serves AG-UI. It is safe for concurrent use.
type Service struct{ cfg Config }

// New makes a Service.
func New(c Config) *Service {
	c.MaxBody = max(c.MaxBody, MaxBody)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return &Service{c}
}

// Routes adds the route to a, whose dialect is that of the oracle.
func (s *Service) Routes(a *web.API) {
	a.Handle("POST", "/ag-ui", s.cfg.Door.Welcome(s.cfg.MaxBody, s.serve), web.Doc{
		Summary: "Talk with the oracle by AG-UI", Tag: "oracle", Scope: web.Public, UCAN: true, MaxBody: s.cfg.MaxBody,
		Consumes: "application/json", Produces: "text/event-stream", Body: requestBody{}, Example: exampleBody(),
		Codes: []string{"VALIDATION_FAILED", "TOO_MANY_RUNS", "IDEMPOTENCY_KEY_REUSED", "CONFIRMATION_NOT_FOUND", "CONFIRMATION_DECIDED", "CONFIRMATION_EXPIRED"},
		Description: "The endpoint for clients of the protocol AG-UI 1.0, such as HttpAgent of @ag-ui/client: the body is a RunAgentInput, the answer a stream of AG-UI events, each a line `data: {…}`.\n\n" +
			"threadId names a conversation of yours, which is created if it is new; the id of one of your sessions names that session. RUN_STARTED has the ids of our session and run in `metadata.hearth`. Only messages after the last message of the assistant count: the newest message of the user and the results of tools that the client runs. Our own history is used for the rest. With nothing new, the answer is a MESSAGES_SNAPSHOT of the conversation, followed by the current run, if there is one. Sending the same runId again reads the same run again.\n\n" +
			"tools are tools that the client runs: a call ends the run, and the next request brings the result as a message of the role tool. A tool of ours that changes something asks first: as a call of `" + tool.ConfirmName + "` when the client has that tool, to be answered with `{\"confirmed\":true}`, otherwise as a CUSTOM event of that name, to be answered with POST /runs/{runId}/confirmations/{callId}.\n\n" +
			"A run goes on when its reader leaves, unless `forwardedProps.abortOnDisconnect` is true; POST /messages/abort stops it, and its stream ends with the outcome cancelled.\n\n" +
			"Authentication: as for POST /messages/{sessionId}.",
	})
}
