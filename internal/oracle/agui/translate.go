package agui

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/oracle/run"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// Steps that runs name and that mean nothing to a client: where a run returns
// to, and where it goes for the tools of clients.
const (
	mainStep   = "main_agent"
	clientStep = "ag-ui_agent"
)

// running is the state of a call that has begun.
const running = "isRunning"

// errAsked ends the reading of a run that waits for the client's user.
var errAsked = errors.New("the run waits for the user")

// translator turns the frames of one run into events. It tracks what is open,
// so that everything is closed where it must be.
type translator struct {
	base string // the id of our run: ids of messages begin with it
	// waits reports whether the question about a call waits for the user. It is nil
	// where the client cannot ask, and questions become events of their own.
	waits func(call string) (bool, error)
	muted bool // the client has all of this: only open items, and the end, matter
	// seen are questions that the client has answered with this request: it has all
	// up to the last of them.
	seen []string

	count   int
	told    []string // questions that are calls of this stream
	text    string   // id of the open text message
	thought string   // and of the open reasoning
	parent  string   // the message that calls belong to
	steps   []string
	failure *failure
	status  run.Status
	pending []string // calls that wait for the client
}

// failure is the part of an error frame's payload that clients are told.
type failure struct {
	Error string `json:"error"`
	Kind  string `json:"kind"`
}

// callFrame is the payload of a tool_call or an action_call.
type callFrame struct {
	EventID    string         `json:"eventId"`
	ToolCallID string         `json:"toolCallId"`
	ToolName   string         `json:"toolName"`
	Args       jsontext.Value `json:"args"`
	Status     string         `json:"status"`
	Output     string         `json:"output"`
	Error      string         `json:"error"`
	Handed     bool           `json:"handed"`
}

// frame gives the events of a frame. After errAsked they are the last before the
// end of the AG-UI run.
func (t *translator) frame(f run.Frame) ([]event, error) {
	name, payload := f.Split()
	if !t.muted {
		return t.translate(name, payload)
	}
	_, err := t.translate(name, payload)
	return nil, err
}

func (t *translator) translate(name string, payload jsontext.Value) ([]event, error) {
	switch name {
	case "message":
		return t.words(payload)
	case "reasoning":
		return t.think(payload)
	case "tool_call":
		return t.serverCall(payload)
	case "action_call":
		return t.clientCall(payload)
	case "router.update":
		return t.step(payload)
	case "error":
		t.failure = &failure{}
		return nil, json.Unmarshal(payload, t.failure)
	case "done":
		var d struct {
			Status run.Status `json:"status"`
		}
		err := json.Unmarshal(payload, &d)
		t.status = d.Status
		return nil, err
	}
	return nil, nil
}

// newID names the next message.
func (t *translator) newID() string {
	t.count++
	return t.base + "-" + strconv.Itoa(t.count)
}

// words are a part of the answer.
func (t *translator) words(payload jsontext.Value) ([]event, error) {
	var p struct {
		Content string `json:"content"`
	}
	if err := json.Unmarshal(payload, &p); err != nil {
		return nil, err
	}
	if t.text == "" && strings.TrimSpace(p.Content) == "" {
		return nil, nil // what stands between two answers of the model
	}
	out := t.closeThought()
	if t.text == "" {
		t.text = t.newID()
		t.parent = t.text
		out = append(out, event{Type: textStart, MessageID: t.text, Role: "assistant"})
	}
	return append(out, event{Type: textContent, MessageID: t.text, Delta: p.Content}), nil
}

// think is what the model thinks. The first such frame is only our word that work
// has begun.
func (t *translator) think(payload jsontext.Value) ([]event, error) {
	var p struct {
		Reasoning string         `json:"reasoning"`
		Details   jsontext.Value `json:"reasoningDetails"`
	}
	if err := json.Unmarshal(payload, &p); err != nil || p.Details != nil || p.Reasoning == "" {
		return nil, err
	}
	out := t.closeText()
	if t.thought == "" {
		t.thought = t.newID()
		out = append(out, event{Type: reasoningStart, MessageID: t.thought}, event{Type: thoughtStart, MessageID: t.thought, Role: "reasoning"})
	}
	return append(out, event{Type: thoughtContent, MessageID: t.thought, Delta: p.Reasoning}), nil
}

func (t *translator) closeText() []event {
	if t.text == "" {
		return nil
	}
	id := t.text
	t.text = ""
	return []event{{Type: textEnd, MessageID: id}}
}

func (t *translator) closeThought() []event {
	if t.thought == "" {
		return nil
	}
	id := t.thought
	t.thought = ""
	return []event{{Type: thoughtEnd, MessageID: id}, {Type: reasoningEnd, MessageID: id}}
}

// called is a call from its start to the end of its arguments.
func (t *translator) called(id, name string, args jsontext.Value) []event {
	out := append(t.closeThought(), t.closeText()...)
	if t.parent == "" {
		t.parent = t.newID()
	}
	if len(args) == 0 {
		args = jsontext.Value("{}")
	}
	return append(
		out, event{Type: callStart, ToolCallID: id, ToolCallName: name, ParentMessageID: t.parent},
		event{Type: callArgs, ToolCallID: id, Delta: string(args)}, event{Type: callEnd, ToolCallID: id},
	)
}

// result is what a call gave. What the model says next is another message.
func (t *translator) result(id, output string) event {
	t.parent = ""
	return event{Type: callResult, MessageID: resultID(id), ToolCallID: id, Role: "tool", Content: &output}
}

// resultID names the message with the result of a call, in events and in
// snapshots.
func resultID(call string) string { return call + "-result" }

// serverCall is a tool of ours.
func (t *translator) serverCall(payload jsontext.Value) ([]event, error) {
	var c callFrame
	if err := json.Unmarshal(payload, &c); err != nil {
		return nil, err
	}
	if c.Status != running {
		return []event{t.result(c.EventID, c.Output)}, nil
	}
	return t.called(c.EventID, c.ToolName, withoutName(c.Args)), nil
}

// withoutName removes from arguments what is meant for clients of another
// protocol.
func withoutName(args jsontext.Value) jsontext.Value {
	var m map[string]jsontext.Value
	if json.Unmarshal(args, &m) != nil {
		return args
	}
	delete(m, "toolName")
	out, err := json.Marshal(m, json.Deterministic(true))
	if err != nil {
		return args
	}
	return out
}

// clientCall is a tool of the client, or a question to its user. A client may run
// a tool as soon as it receives the call, so a refused one is sent only together
// with the refusal.
func (t *translator) clientCall(payload jsontext.Value) ([]event, error) {
	var c callFrame
	if err := json.Unmarshal(payload, &c); err != nil {
		return nil, err
	}
	if c.ToolName == tool.ConfirmName {
		return t.question(c)
	}
	if c.Status == running {
		return nil, nil
	}
	out := t.called(c.ToolCallID, c.ToolName, c.Args)
	if c.Handed {
		if !slices.Contains(t.pending, c.ToolCallID) { // those of a run that has ended are known
			t.pending = append(t.pending, c.ToolCallID)
		}
		return out, nil
	}
	if c.Error != "" {
		c.Output = c.Error
	}
	return append(out, t.result(c.ToolCallID, c.Output)), nil
}

// question is whether a tool may run. One that waits ends the AG-UI run; one that
// was decided meanwhile is a call like any other.
func (t *translator) question(c callFrame) ([]event, error) {
	if t.waits == nil {
		return []event{{Type: custom, Name: tool.ConfirmName, Value: c.Args}}, nil
	}
	id := confirmMark + c.ToolCallID
	if c.Status != running {
		if slices.Contains(t.told, id) {
			return []event{t.result(id, c.Output)}, nil
		}
		return nil, nil // the client has answered it
	}
	out := t.called(id, tool.ConfirmName, c.Args)
	if t.muted {
		t.answered(c.ToolCallID)
		return nil, nil
	}
	open, err := t.waits(c.ToolCallID)
	if err != nil {
		return nil, err
	}
	if open {
		t.pending = append(t.pending, id)
		return out, errAsked
	}
	t.told = append(t.told, id)
	return out, nil
}

// answered notes that a question has passed whose answer came with this request.
// Behind the last of them begins what the client does not have.
func (t *translator) answered(call string) {
	i := slices.Index(t.seen, call)
	if i < 0 {
		return
	}
	if t.seen = slices.Delete(t.seen, i, i+1); len(t.seen) == 0 {
		t.muted, t.steps = false, nil // the end of the AG-UI run before has closed them
	}
}

// step is where the run is: a sub-agent, or back from it.
func (t *translator) step(payload jsontext.Value) ([]event, error) {
	var p struct {
		Step string `json:"step"`
	}
	if err := json.Unmarshal(payload, &p); err != nil || p.Step == clientStep {
		return nil, err
	}
	if p.Step == mainStep {
		return t.closeSteps(), nil
	}
	last := len(t.steps) - 1
	switch {
	case p.Step == "" || last >= 0 && t.steps[last] == p.Step:
		return nil, nil
	case slices.Contains(t.steps, p.Step): // back from a sub-agent that it had called
		left := t.steps[last]
		t.steps = t.steps[:last]
		return []event{{Type: stepFinished, StepName: left}}, nil
	}
	t.steps = append(t.steps, p.Step)
	return append(append(t.closeThought(), t.closeText()...), event{Type: stepStarted, StepName: p.Step}), nil
}

func (t *translator) closeSteps() []event {
	var out []event
	for _, name := range slices.Backward(t.steps) {
		out = append(out, event{Type: stepFinished, StepName: name})
	}
	t.steps = nil
	return out
}

// finish closes open items and ends the AG-UI run, whose names the client has
// chosen.
func (t *translator) finish(thread, id string) []event {
	out := append(append(t.closeThought(), t.closeText()...), t.closeSteps()...)
	if t.muted { // nothing was opened
		out = nil
	}
	end := event{Type: runFinished, ThreadID: thread, RunID: id, Outcome: &outcome{Type: "success", Pending: t.pending}}
	switch t.status {
	case run.Aborted:
		end.Outcome = &outcome{Type: "cancelled"}
	case run.Failed:
		end = event{Type: runError, Message: "The answer has failed.", Code: "failed"}
		if t.failure != nil && t.failure.Error != "" {
			end.Message, end.Code = t.failure.Error, t.failure.Kind
		}
	case run.Interrupted:
		end = event{Type: runError, Message: "The server stopped in the middle of the answer. The part that was finished is kept.", Code: "interrupted"}
	}
	return append(out, end)
}
