package run

import (
	"context"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// call is the payload of a tool_call or action_call frame, as far as we look
// into it.
type call struct {
	EventID    string         `json:"eventId"`
	ToolCallID string         `json:"toolCallId"`
	ToolName   string         `json:"toolName"`
	Args       jsontext.Value `json:"args"`
	Status     string         `json:"status"`
	Output     string         `json:"output"`
	Error      string         `json:"error"`
	Agent      string         `json:"agent"` // the sub-agent that calls
}

func (c call) id() string {
	if c.EventID != "" {
		return c.EventID
	}
	return c.ToolCallID
}

// started is a tool that has started.
type started struct {
	event   string
	id      string
	payload jsontext.Value
}

// ended is the payload of the frame that ends the tool in its place.
func (s started) ended() any {
	payload := map[string]jsontext.Value{}
	if err := json.Unmarshal(s.payload, &payload); err != nil {
		return s.payload // cannot be: note has read it
	}
	set := func(name, text string) { payload[name] = appendQuote(nil, text) }
	if s.event == frameAction {
		set("status", "error")
		set("error", "Action did not complete")
	} else {
		set("status", "done")
		set("output", chat.Unfinished)
	}
	return payload
}

// calls are the tools that have started and not ended.
type calls struct{ list []started }

// note looks at a frame.
func (cs *calls) note(event string, payload jsontext.Value) {
	if event != frameTool && event != frameAction {
		return
	}
	var c call
	if err := json.Unmarshal(payload, &c); err != nil || c.id() == "" {
		return
	}
	cs.list = slices.DeleteFunc(cs.list, func(s started) bool { return s.event == event && s.id == c.id() })
	if c.Status == "isRunning" {
		cs.list = append(cs.list, started{event, c.id(), payload})
	}
}

// draft is an answer put together from frames.
type draft struct {
	text []byte
	open calls
	said []part
	outs map[string]llm.Message // results by call
}

// part is a message of the oracle that is being put together.
type part struct {
	content, reasoning []byte
	calls              []tool.Call
}

// add looks at a frame.
func (d *draft) add(f Frame) {
	event, payload := f.Split()
	switch event {
	case frameMessage:
		var p struct {
			Content string `json:"content"`
		}
		if json.Unmarshal(payload, &p) == nil {
			d.text = append(d.text, p.Content...)
			a := d.answer(true)
			a.content = append(a.content, p.Content...)
		}
	case frameReasoning:
		var p struct {
			Reasoning string         `json:"reasoning"`
			Details   jsontext.Value `json:"reasoningDetails"`
		}
		if json.Unmarshal(payload, &p) == nil && p.Details == nil && p.Reasoning != "" {
			a := d.answer(true)
			a.reasoning = append(a.reasoning, p.Reasoning...)
		}
	case frameTool, frameAction:
		d.open.note(event, payload)
		d.call(payload)
	}
}

// answer is the message of the oracle that is being put together. Text after
// the call of a tool begins another.
func (d *draft) answer(text bool) *part {
	if n := len(d.said); n > 0 && !(text && len(d.said[n-1].calls) > 0) {
		return &d.said[n-1]
	}
	d.said = append(d.said, part{})
	return &d.said[len(d.said)-1]
}

// call records the start or the end of a tool. A sub-agent's calls are not part of
// the conversation.
func (d *draft) call(payload jsontext.Value) {
	var c call
	if err := json.Unmarshal(payload, &c); err != nil || c.id() == "" || c.Agent != "" {
		return
	}
	if c.Status == "isRunning" {
		a := d.answer(false)
		a.calls = append(a.calls, tool.Call{ID: c.id(), Name: c.ToolName, Args: plainArgs(c.Args)})
		return
	}
	if d.outs == nil {
		d.outs = map[string]llm.Message{}
	}
	out := llm.Message{Role: llm.Tool, ToolCallID: c.id(), ToolName: c.ToolName, Content: c.Output}
	if c.Status == "error" {
		out.Content, out.Failed = c.Error, true
	}
	d.outs[c.id()] = out
}

// plainArgs are the arguments of a call without the name of the tool, which
// frames carry among them.
func plainArgs(args jsontext.Value) jsontext.Value {
	members := map[string]jsontext.Value{}
	if json.Unmarshal(args, &members) != nil {
		return jsontext.Value("{}")
	}
	delete(members, "toolName")
	out, err := json.Marshal(members, json.Deterministic(true))
	if err != nil {
		return jsontext.Value("{}")
	}
	return out
}

// messages are the messages of the draft. Every call has a result.
func (d *draft) messages() []llm.Message {
	var out []llm.Message
	for _, p := range d.said {
		out = append(out, llm.Message{Role: llm.Assistant, Content: string(p.content), Reasoning: string(p.reasoning), ToolCalls: p.calls})
		for _, c := range p.calls {
			result, ok := d.outs[c.ID]
			if !ok {
				result = llm.Message{Role: llm.Tool, ToolCallID: c.ID, ToolName: c.Name, Content: chat.Unfinished, Failed: true}
			}
			out = append(out, result)
		}
	}
	return out
}

// partial puts together what a run has sent so far, from its rows and its
// memory.
func (r *Run) partial(ctx context.Context) []llm.Message {
	d := &draft{}
	r.mu.Lock()
	r.ending = true // later text is in neither
	stored := r.stored
	var rest []Frame
	for _, s := range r.segs {
		for id := max(s.seq, stored+1); id <= s.upto(); id++ {
			rest = append(rest, s.frame(id))
		}
	}
	r.mu.Unlock()
	err := r.cfg.stored().each(ctx, r.nid, 0, Whole(func(f Frame) error {
		d.add(f)
		return nil
	}))
	if err != nil {
		r.cfg.Log.WarnContext(ctx, "frames of a run cannot be read", "run", r.id, "err", err)
	}
	for _, f := range rest {
		d.add(f)
	}
	return d.messages()
}
