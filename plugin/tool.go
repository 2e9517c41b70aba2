package plugin

import (
	"context"
	stdjson "encoding/json"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Turn is what a plugin may know about the answer that is being made.
type Turn struct {
	User      string // DID of the user, whose rights are the only ones there are
	SessionID string
	RequestID string
	RunID     string
	Timezone  string             // IANA name, or ""
	Metadata  stdjson.RawMessage // what the user's page says about itself, an object, or nothing
}

// Tool is something the model may call.
type Tool struct {
	Name        string // 1 to 64 letters, digits, _ and -; unique in the server
	Description string // tells the model what it does and what it needs
	// Schema is the JSON Schema of the arguments, an object. Empty: there are none.
	Schema string
	// Output is the JSON Schema of what Run returns, an object, for programs that want to
	// know before they call. Empty: not declared.
	Output string
	// ReadOnly says that a call changes nothing anywhere.
	ReadOnly bool
	// Outside says that a call contacts servers other than this one, which receive its
	// arguments. Programs that call the tool are told.
	Outside bool
	// Session says that a call concerns its conversation and is useless without one:
	// programs that call tools over MCP are not offered it.
	Session bool
	// Draft says that a call only keeps a draft of the user's own, which has no effect
	// until another tool, which asks first and shows the draft, sends it. The user is not
	// asked before it runs.
	Draft bool
	// Public lets everybody call the tool, even an unknown user, as over a handset
	// before the login: then the call has no user. Only a tool that changes nothing
	// may be public.
	Public  bool
	Timeout time.Duration // of one call; 30 seconds
	// Run makes the call, with arguments that fit the schema. It returns what the
	// model is told: a string unchanged, nil as "done", anything else as JSON. An
	// *Error is told in its words, any other error as a failure without them. ctx ends
	// when the call must stop.
	Run func(ctx context.Context, call Call) (any, error)
}

// Call is one call of a tool.
type Call struct {
	Turn
	ID   string             // unique in the session
	Args stdjson.RawMessage // a JSON object
}

// Read decodes the arguments into what v points to. Its error names the
// argument.
func (c Call) Read(v any) error {
	return decode(c.Args, v, "The arguments")
}

// decode reads one JSON value strictly: no member twice, none that is not known.
func decode(text []byte, v any, what string) error {
	if jsontext.Value(text).Kind() == 'n' { // null would leave v unchanged
		return Invalid("%s cannot be read: it is null", what)
	}
	if err := json.Unmarshal(text, v, json.RejectUnknownMembers(true)); err != nil {
		return Invalid("%s cannot be read: %s", what, explain(err))
	}
	return nil
}
