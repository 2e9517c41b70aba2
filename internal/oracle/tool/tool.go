// Package tool defines the tools that a model may call and keeps the register
// of them, where plugins add their tools, their routes and the names of their
// events.
//
// It promises that a schema written by others is safe to use: a check of
// arguments reaches nothing outside the schema and its work is bounded. It runs
// no tool itself; package agent does.
package tool

import (
	"context"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Kind says where a tool runs.
type Kind int

// The kinds of tools.
const (
	Server  Kind = iota // in this process
	Browser             // in the caller's page, over the socket
	Action              // in the caller's page, as an action of its interface
)

// Client reports whether the tool runs in the caller's page. We never repeat
// such a call: it may have had its effect although no answer came back.
func (k Kind) Client() bool { return k == Browser || k == Action }

// Spec describes a tool to the model and to readers of its calls.
type Spec struct {
	Name        string
	Description string
	Schema      jsontext.Value // JSON Schema of the arguments; Parameters adds the type where it has none
	Output      jsontext.Value // JSON Schema of Output.Data, an object; nothing: it is not known
	Kind        Kind
	HasRender   bool          // an action whose page shows a component for it
	Timeout     time.Duration // of one call; 0: what the agent has as default
	ReadOnly    bool          // a call changes nothing
	Outside     bool          // a call asks servers outside of this one
	Session     bool          // a call is about the conversation it is made in
	Public      bool          // anybody may call it, even an unknown person
	Agent       string        // name of the sub-agent the tool belongs to; empty: the main one
	Sub         string        // step of the sub-agent that a call of the tool runs; empty: it runs none
	Capability  string        // what must be loaded before the tool can be called; empty: nothing
}

// Open reports whether the tool may be called for an unknown person: it is public,
// changes nothing and runs here.
func (s Spec) Open() bool {
	return s.Public && s.ReadOnly && s.Kind == Server && s.Agent == "" && s.Sub == ""
}

// Call is one call of a tool. ID is unique in its session.
type Call struct {
	ID   string         `json:"id"`
	Name string         `json:"name"`
	Args jsontext.Value `json:"args,omitzero"` // a JSON object
}

// Output is the output of a call. Err is a sentence for the model and the
// caller when the call failed; it never holds internals.
type Output struct {
	Text string
	Data jsontext.Value // instead of Text, where the answer is JSON
	Err  string
	Load []string // capabilities whose tools can be called from here on

	// Handed means that the call was handed to the caller, whose next message
	// brings the result: the turn ends with it.
	Handed bool
}

// HandedText takes the place of a result that is still to come.
const HandedText = "The call was handed to the user's page. Its result comes with the next message."

// LoadName is the tool that loads capabilities. Its output names them, so that
// later turns find in the history what is loaded.
const LoadName = "load_capability"

// Loaded is the data in the output of LoadName.
type Loaded struct {
	Loaded []string `json:"loaded"`
	Tools  []string `json:"tools"`
}

// String is the output as one text: the error, the text or the data.
func (o Output) String() string {
	switch {
	case o.Err != "":
		return o.Err
	case o.Text != "":
		return o.Text
	}
	return string(o.Data)
}

// Tool is a tool that models may call. Run gets arguments that fit the schema.
// If it returns a fault, the model sees its message; any other error is shown
// only as a failure. ctx ends when the call must stop.
type Tool interface {
	Spec() Spec
	Run(ctx context.Context, c Call) (Output, error)
}

// Func is a tool made from a description and a function.
type Func struct {
	Describe Spec
	Do       func(ctx context.Context, c Call) (Output, error)
}

var _ Tool = Func{}

// Spec describes the tool.
func (f Func) Spec() Spec { return f.Describe }

// Run calls the function.
func (f Func) Run(ctx context.Context, c Call) (Output, error) { return f.Do(ctx, c) }

// BadArgument refuses an argument, with what it must be.
func BadArgument(name, detail string) error {
	return fault.New(fault.Invalid, "INVALID_PARAMETER", name+": "+detail).With(fault.Field{Pointer: "/" + name, Code: "invalid", Detail: detail})
}
