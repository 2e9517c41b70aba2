package oracle

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Names of frames and of events of sockets. Published clients drop any other.
const (
	eventReasoning  = "reasoning"
	eventTool       = "tool_call"
	eventAction     = "action_call"
	eventRouter     = "router_update" // on sockets, where router.update is sent too
	frameRouter     = "router.update"
	eventInvalidate = "message_cache_invalidation"
)

// ackText is what a client shows before the model has said anything.
const ackText = "Thinking..."

// States of a call.
const (
	stateRunning = "isRunning"
	stateDone    = "done"
	stateError   = "error"
)

// ack is what sockets receive when a run begins; its stream has the same.
type ack struct {
	SessionID  string   `json:"sessionId"`
	RequestID  string   `json:"requestId"`
	Reasoning  string   `json:"reasoning"`
	Details    []detail `json:"reasoningDetails"`
	IsComplete bool     `json:"isComplete"`
	Timestamp  string   `json:"timestamp"`
}

type detail struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// call is a tool_call frame, and an action_call one: those have a ToolCallID
// where the others have an EventID.
type call struct {
	SessionID  string         `json:"sessionId"`
	RequestID  string         `json:"requestId"`
	ToolCallID string         `json:"toolCallId,omitzero"`
	ToolName   string         `json:"toolName"`
	Args       jsontext.Value `json:"args"`
	Status     string         `json:"status"`
	EventID    string         `json:"eventId,omitzero"`
	Output     *string        `json:"output,omitzero"`
	Error      string         `json:"error,omitzero"`
	Failed     bool           `json:"failed,omitzero" doc:"The tool failed; output says why."`
	Agent      string         `json:"agent,omitzero" doc:"Step of the sub-agent that calls the tool; when absent, the oracle itself calls it."`
	Handed     bool           `json:"handed,omitzero" doc:"The client of AG-UI runs the tool: the run ends, and the next one brings the result."`
}

// failure is an error frame. Nothing in it is internal.
type failure struct {
	Error     string   `json:"error"`
	Kind      llm.Kind `json:"kind"`
	Source    string   `json:"source"`
	Status    int      `json:"status,omitzero"`
	Retryable bool     `json:"retryable"`
	Detail    string   `json:"detail"`
	SessionID string   `json:"sessionId"`
	RequestID string   `json:"requestId"`
	Timestamp string   `json:"timestamp"`
}

// step is a router.update frame.
type step struct {
	SessionID string `json:"sessionId"`
	RequestID string `json:"requestId"`
	Step      string `json:"step"`
}

// invalidation tells the tabs of a session to reload it.
type invalidation struct {
	SessionID string `json:"sessionId"`
	RequestID string `json:"requestId"`
	Status    string `json:"status"`
}

// Frames describes the frames of the stream of a run.
func Frames() []web.Message {
	return append(run.Frames(),
		web.Message{Name: eventTool, About: "A tool begins (isRunning), then ends (done); eventId pairs the two.", Payload: call{}},
		web.Message{Name: eventAction, About: "An action of the page begins, then ends (done or error); toolCallId pairs the two. One named " + tool.ConfirmName + " asks the user whether a tool may run: answer it with POST /runs/{runId}/confirmations/{callId}; its end says how it was decided.", Payload: call{}},
		web.Message{Name: frameRouter, About: "Which step the run is at: a sub-agent begins, such as stove-care_agent, or main_agent goes on. Tools that the sub-agent calls name it in agent.", Payload: step{}},
	)
}

// SocketEvents describes what the sockets of a session receive about its runs.
func SocketEvents() []web.Message {
	return []web.Message{
		{Name: eventReasoning, About: "A run has begun.", Payload: ack{}},
		{Name: eventTool, About: "As in the stream of the run.", Payload: call{}},
		{Name: eventRouter, About: "Which step the run is at.", Payload: step{}},
		{Name: frameRouter, About: "The same under its other name.", Payload: step{}},
		{Name: eventInvalidate, About: "A run has ended: read the session again.", Payload: invalidation{}},
	}
}

// ids are what every frame of a run carries.
type ids struct{ session, request string }

func (i ids) ack(at time.Time) ack {
	return ack{
		SessionID: i.session, RequestID: i.request, Reasoning: ackText, Timestamp: chat.Stamp(at),
		Details: []detail{{"thinking", ackText}},
	}
}

func (i ids) failure(f llm.Failure, at time.Time) failure {
	return failure{
		Error: f.Text, Kind: f.Kind, Source: "platform", Status: f.Status, Retryable: f.Retryable, Detail: f.Detail,
		SessionID: i.session, RequestID: i.request, Timestamp: chat.Stamp(at),
	}
}

// call is the frame of a call that has begun, or of its end when out is given.
// name is what the page calls the tool.
func (i ids) call(c tool.Call, s tool.Spec, name string, out *tool.Output) (event string, e call) {
	e = call{SessionID: i.session, RequestID: i.request, ToolName: name, Args: c.Args, Status: stateRunning, Agent: s.Agent}
	if out != nil {
		e.Status = stateDone
	}
	if s.Kind == tool.Action {
		e.ToolCallID = c.ID
		switch {
		case out == nil:
		case out.Err != "":
			e.Status, e.Error = stateError, out.Err
		default:
			e.Output, e.Handed = new(out.String()), out.Handed
		}
		return eventAction, e
	}
	// Clients look for the name among the arguments, and know no failed state: failed says so to those that look.
	e.EventID, e.Args = c.ID, withMember(c.Args, "toolName", name)
	if out != nil {
		e.Failed = out.Err != ""
		text := out.String()
		if text != "" && strings.HasSuffix(chat.Unfinished, text) {
			text = chat.Unfinished // the words clients know
		}
		e.Output = &text
	}
	return eventTool, e
}
