package mcp

import (
	"context"
	stdjson "encoding/json"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// tick is how often a client that asked for it is told that a tool is running.
const tick = time.Second

// request is one request of a client.
type request struct {
	*Endpoint
	base func() context.Context // with the caller; ends when the client leaves
}

// within is a context for the work on a message: it has the caller, and ends when the
// message is cancelled, when the client leaves, or when its time is over.
func (q *request) within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	work, cancel := context.WithTimeout(q.base(), limit)
	stop := context.AfterFunc(ctx, cancel)
	return work, func() { stop(); cancel() }
}

// offered are the tools others may call.
func (q *request) offered() []tool.Tool {
	var out []tool.Tool
	for _, t := range q.cfg.Tools(q.base()) {
		s := t.Spec()
		// Capabilities are loaded in conversations; here everything is always
		// available.
		loads := s.Name == tool.LoadName || s.Name == "list_capabilities"
		if s.Kind == tool.Server && s.ReadOnly && !s.Session && s.Agent == "" && s.Sub == "" && !loads && !IsRemote(t) {
			out = append(out, t)
		}
	}
	if q.cfg.Wrapped == nil {
		return out
	}
	return q.cfg.Wrapped(out)
}

func (q *request) addTools(to *sdk.Server) {
	no := false
	for _, t := range q.offered() {
		spec := t.Spec()
		one := &sdk.Tool{
			Name: spec.Name, Title: titleOf(spec.Name), Description: spec.Description, InputSchema: stdjson.RawMessage(spec.Parameters()),
			Annotations: &sdk.ToolAnnotations{Title: titleOf(spec.Name), ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &spec.Outside},
		}
		if len(spec.Output) > 0 {
			one.OutputSchema = stdjson.RawMessage(spec.Output)
		}
		to.AddTool(one, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return q.call(ctx, t, r), nil
		})
	}
}

// titleOf is the name of a tool for people.
func titleOf(name string) string {
	words := strings.ReplaceAll(name, "_", " ")
	return strings.ToUpper(words[:1]) + words[1:]
}

// call runs a tool, and tells a client that asks for it about the progress.
func (q *request) call(ctx context.Context, t tool.Tool, r *sdk.CallToolRequest) *sdk.CallToolResult {
	spec := t.Spec()
	args := jsontext.Value(r.Params.Arguments)
	if len(args) == 0 {
		args = jsontext.Value("{}")
	}
	if wrong := q.schemas.Check(spec, args); wrong != "" {
		return failed(wrong)
	}
	limit := spec.Timeout
	if limit <= 0 {
		limit = callTime
	}
	work, cancel := q.within(ctx, limit)
	defer cancel()
	if token := r.Params.GetProgressToken(); token != nil {
		defer report(ctx, r.Session, token)() // by the context of the message, which says to whose answer it belongs
	}
	out, err := q.run(work, t, tool.Call{ID: "mcp", Name: spec.Name, Args: args})
	if err != nil {
		return failed(q.words(work, spec.Name, err))
	}
	return resultOf(out)
}

// report tells a client how long a tool has been running, until the returned
// function is called.
func report(ctx context.Context, to *sdk.ServerSession, token any) func() {
	done, ended := make(chan struct{}), make(chan struct{})
	tell := func(seconds float64) {
		// A client that does not listen misses nothing.
		_ = to.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: seconds, Message: "At work"})
	}
	go func() {
		defer close(ended)
		every := time.NewTicker(tick)
		defer every.Stop()
		for n := 0.0; ; n++ {
			tell(n)
			select {
			case <-every.C:
			case <-done:
				return
			}
		}
	}()
	return func() { close(done); <-ended }
}

// run runs a tool; one that panics costs its answer.
func (q *request) run(ctx context.Context, t tool.Tool, c tool.Call) (out tool.Output, err error) {
	defer func() {
		if v := recover(); v != nil {
			q.cfg.Log.ErrorContext(ctx, "tool panicked", "tool", c.Name, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			err = fault.New(fault.Internal, "INTERNAL", "")
		}
	}()
	return t.Run(ctx, c)
}

// words says what went wrong, in words for a model, without internals.
func (q *request) words(ctx context.Context, name string, err error) string {
	f := fault.As(err)
	switch {
	case f != nil && f.Kind != fault.Internal:
		text := f.Message
		for _, field := range f.Fields {
			text += " " + field.Pointer + ": " + field.Detail
		}
		return text
	case ctx.Err() != nil:
		return "The tool did not finish in time."
	}
	q.cfg.Log.ErrorContext(ctx, "tool failed", "tool", name, "err", err)
	return "The tool failed."
}

func failed(text string) *sdk.CallToolResult {
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}

// resultOf is what a tool gave in the form of the protocol: an object comes as such, and
// as text for clients that know no objects.
func resultOf(o tool.Output) *sdk.CallToolResult {
	if o.Err != "" {
		return failed(o.Err)
	}
	res := &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: o.String()}}}
	if o.Text == "" && o.Data.Kind() == '{' {
		res.StructuredContent = stdjson.RawMessage(o.Data)
	}
	return res
}

// refusal turns an error into one of the protocol, without internals.
func (q *request) refusal(ctx context.Context, err error) error {
	if f := fault.As(err); f != nil && f.Kind != fault.Internal {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: f.Message}
	}
	q.cfg.Log.ErrorContext(ctx, "MCP request failed", "err", err)
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "Internal error."}
}
