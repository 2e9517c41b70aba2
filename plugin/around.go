package plugin

import (
	"context"
	stdjson "encoding/json"
)

// AroundTools is a plugin that wraps every call of a tool: those of the server,
// of plugins and their sub-agents, of MCP servers and of the user's page. Where
// several do, one is inside those it needs, and otherwise inside those whose
// names come before its own.
type AroundTools interface {
	// AroundTool makes the call with next, at most once, and returns what the model is
	// told about it. It may pass other arguments to next: they must fit the tool, and
	// the user is asked about the arguments that are really used. It may change the
	// output, or answer itself and not call next at all. An *Error refuses the call in
	// its words, any other error without them.
	AroundTool(ctx context.Context, call ToolCall, next func(args stdjson.RawMessage) (Output, error)) (Output, error)
}

// ToolCall is a call that is about to be made.
type ToolCall struct {
	Call
	Tool     string // its name
	ReadOnly bool   // it changes nothing
}

// Output is what the model is told about a call.
type Output struct {
	Content string // a text, or JSON
	Failed  bool   // Content says why there is nothing
}

// AroundModel is a plugin that wraps every question to the model, in the same
// order as AroundTools.
type AroundModel interface {
	// AroundModel asks the model with next, at most once. It may change the contents of
	// ask.Messages before, but not how many there are. What the model says reaches the
	// user while next works; the calls of tools it wants are made when AroundModel has
	// returned. An *Error refuses: its words are the answer, or the end of it, and no
	// tool is called. Any other error fails the answer.
	AroundModel(ctx context.Context, ask *ModelCall, next func(ctx context.Context) (ModelAnswer, error)) error
}

// Purposes of a ModelCall.
const (
	PurposeAnswer  = "answer"
	PurposeSummary = "summary" // of old messages
	PurposeTitle   = "title"   // of a conversation
)

// ModelCall is what a model is about to be asked.
type ModelCall struct {
	Turn
	Purpose  string
	Model    string // id; empty: the default one
	Messages []ModelMessage
	Tools    []string // what the model may call
}

// ModelMessage is one message of a question to the model.
type ModelMessage struct {
	Role    string // system, user, assistant or tool
	Content string
	Tool    string // whose output it is
}

// ModelAnswer is the answer of a model.
type ModelAnswer struct {
	Text         string
	Tools        []string // the tools it wants to call
	InputTokens  int      // 0 when unknown
	OutputTokens int
}
