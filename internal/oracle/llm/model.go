// Package llm talks to language models: one interface, a client for every
// server that speaks the OpenAI chat protocol, and the built-in model, which
// works offline and says so.
//
// It promises that ending the context ends the upstream request at once, that
// nothing is repeated once a part of an answer has been passed on, and that the
// texts of its errors are our own: what a server said goes to the log.
package llm

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// Role is the author of a message.
type Role string

// The roles.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
)

// Message is one message of a conversation.
type Message struct {
	Role        Role         `json:"role"`
	Content     string       `json:"content,omitzero"`
	Reasoning   string       `json:"reasoning,omitzero"`   // of an assistant; shown, never sent to a model again
	ToolCalls   []tool.Call  `json:"toolCalls,omitzero"`   // of an assistant; each is followed by its result
	ToolCallID  string       `json:"toolCallId,omitzero"`  // of a tool: the call it answers
	ToolName    string       `json:"toolName,omitzero"`    // of a tool
	Failed      bool         `json:"failed,omitzero"`      // of a tool: the call gave an error, which is Content
	Attachments []Attachment `json:"attachments,omitzero"` // of a user
}

// Attachment is a file of a user's message. A model sees Text, or the picture
// at URL when it can see; otherwise its name alone.
type Attachment struct {
	Filename string `json:"filename"`
	MIMEType string `json:"mimetype"`
	Size     int64  `json:"size,omitzero"`
	MXCURI   string `json:"mxcUri,omitzero"`
	EventID  string `json:"eventId,omitzero"`
	Text     string `json:"text,omitzero"` // text read from it
	Note     string `json:"note,omitzero"` // what the model is told about it: why there is no text, or not all
	URL      string `json:"url,omitzero"`  // data: or https: address of a picture for models that see
}

// Purpose is the purpose of an answer. Only the offline model uses it: a
// language model is told in words.
type Purpose int

// The purposes.
const (
	Chat    Purpose = iota // a turn of a conversation
	Summary                // a short version of old messages
	Title                  // a title for a session
)

// Request asks for one answer.
type Request struct {
	Model       string // empty: the default one
	Messages    []Message
	Tools       []tool.Spec
	NoTools     bool // the tools are named, but may not be called
	MaxTokens   int  // of the answer; 0: what the server has as default
	Temperature *float64
	Purpose     Purpose
	// Customer is the language of a user with a simple phone, "" for everybody else. It
	// is not sent to servers; the offline model has other words for such users.
	Customer string
}

// Usage counts the tokens of one answer, or of all answers of a turn.
type Usage struct {
	Input     int `json:"inputTokens"`
	Output    int `json:"outputTokens"`
	Reasoning int `json:"reasoningTokens,omitzero"` // part of Output
	Cached    int `json:"cachedTokens,omitzero"`    // part of Input
	// Cost is the server's figure, in its currency; 0 when it gives none.
	Cost float64 `json:"cost,omitzero"`
}

// Add adds v.
func (u *Usage) Add(v Usage) {
	u.Input += v.Input
	u.Output += v.Output
	u.Reasoning += v.Reasoning
	u.Cached += v.Cached
	u.Cost += v.Cost
}

// Delta is a piece of an answer. Tool calls are complete: they come once the
// model has finished them, in its order, with the server's ids (which may be
// empty or duplicated).
type Delta struct {
	Text      string
	Reasoning string
	ToolCalls []tool.Call
	Usage     *Usage
	Finish    string // why the model stopped: stop, length, tool_calls, …; with the last delta
}

// Model answers requests. Stream calls each for every piece, one at a time, and
// returns when the answer is over, ctx has ended or each has failed; an error
// of each is returned unchanged, those of the model are *Error.
type Model interface {
	Stream(ctx context.Context, r Request, each func(Delta) error) error
}

// Func is a model made of a function.
type Func func(ctx context.Context, r Request, each func(Delta) error) error

var _ Model = Func(nil)

// Stream calls the function.
func (f Func) Stream(ctx context.Context, r Request, each func(Delta) error) error {
	return f(ctx, r, each)
}

// emptyArgs are the arguments of a call that has none.
func emptyArgs() jsontext.Value { return jsontext.Value("{}") }
