package tool

import (
	"context"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// ConfirmName is the action by which a page asks its user whether a tool may run.
// A page that declares it shows the question itself; it is offered to no model.
const ConfirmName = "confirm_tool_call"

// Question asks a user whether a tool that changes something may run with
// exactly these arguments.
type Question struct {
	RunID       string         `json:"runId"`
	CallID      string         `json:"callId"`
	Tool        string         `json:"tool"`
	Description string         `json:"description,omitzero" doc:"What the tool does, in the words of its author."`
	Arguments   jsontext.Value `json:"arguments"`
	Status      string         `json:"status" enum:"waiting,confirmed,refused,used,expired" doc:"used: confirmed, and the tool ran with it."`
	ExpiresAt   time.Time      `json:"expiresAt" doc:"Without an answer by then, the call is refused."`
}

// States of a Question.
const (
	QuestionWaiting   = "waiting"
	QuestionConfirmed = "confirmed"
	QuestionRefused   = "refused"
	QuestionUsed      = "used"
	QuestionExpired   = "expired"
)

// Grant is a user's permission for a tool to run without a question each time.
type Grant struct {
	Tool      string    `json:"tool"`
	SessionID string    `json:"sessionId,omitzero" doc:"The only conversation it applies to; when absent, all of yours."`
	Hash      string    `json:"hash,omitzero" doc:"For a tool of an MCP server: its hash when it was granted. The grant ends when the hash changes."`
	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt,omitzero" doc:"When it ends; when absent, never."`
}

// Asker is the run in which a question is asked.
type Asker struct {
	User    string // name the conversation is stored under
	Session int64  // number of the conversation
	Run     string // id of the run

	// Tell shows a question, and again when it is decided. It is nil if nobody
	// is there to answer: then only a grant counts.
	Tell func(q Question) error
	// Page makes a page of the user ask, and returns its answer; ok is false
	// when there was none. It is nil where no page can.
	Page func(ctx context.Context, q Question) (yes, ok bool)
	// Rest marks the run as waiting for a person. Call the returned function when the
	// run continues. It may be nil.
	Rest func() (goOn func())
	// Ended reports whether a run whose context was stopped for this reason has ended for
	// good, and its questions with it, not only until the server is back. Nil: it has.
	Ended func(cause error) bool
}

// Permitted is implemented by a tool that knows whether it may run without a
// question, because an operator has said so, or because another tool asks about its
// effects.
type Permitted interface {
	Permitted(ctx context.Context) bool
}

// Foreign is implemented by a tool that strangers describe and may change, such as one
// of an MCP server. It refuses calls unless Worded.
type Foreign interface {
	Permitted
	// Seal stays the same while the tool is the one a user was shown.
	Seal() string
	// About describes the tool to people, in the words of its server.
	About() string
	// MayPermit refuses users whose permission does not count for it.
	MayPermit(ctx context.Context) error
}

// AsForeign finds a Foreign in a tool or in the tool it wraps.
func AsForeign(t Tool) (Foreign, bool) {
	if w, ok := t.(interface{ Unwrap() Tool }); ok {
		return AsForeign(w.Unwrap())
	}
	f, ok := t.(Foreign)
	return f, ok
}

type wordKey struct{}

// WithWord marks the call of ctx as permitted by the user.
func WithWord(ctx context.Context) context.Context { return context.WithValue(ctx, wordKey{}, true) }

// Worded reports whether the user has permitted the call that ctx is for.
func Worded(ctx context.Context) bool { return ctx.Value(wordKey{}) != nil }
