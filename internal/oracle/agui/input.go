package agui

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
)

// Limits of a request.
const (
	maxID          = 200      // characters of a threadId or runId
	maxText        = 64 << 10 // bytes of the newest message, and of a result
	maxTools       = 100 << 10
	maxContext     = 4 << 10 // bytes, as for metadata of a message
	maxAttachments = 10
)

// confirmMark begins the id of the call that asks whether a tool may run: the
// call it asks about has the rest of it as its id.
const confirmMark = "confirm-"

// input is a request, checked.
type input struct {
	thread, run string
	text        string
	files       []llm.Attachment
	answers     []answer // of tools that the client runs
	decisions   []decision
	tools       []oracle.HandedTool
	asks        bool // the client can ask its user whether a tool may run
	model, zone string
	context     jsontext.Value
	abort       bool // the run is to end when its reader leaves
}

// fresh reports whether the client says anything new.
func (in *input) fresh() bool { return in.text != "" || len(in.files) > 0 || len(in.answers) > 0 }

// answer is what a tool of the client gave.
type answer struct {
	at     string // where it stands, for refusals
	call   string
	output string
	failed bool
}

// decision is the user's word about a tool that changes something.
type decision struct {
	call string
	yes  bool
}

type (
	object = map[string]jsontext.Value

	wireMessage struct {
		Role    string         `json:"role"`
		Content jsontext.Value `json:"content"`
		CallID  string         `json:"toolCallId"`
		Error   string         `json:"error"`
	}
	wirePart struct {
		Type   string     `json:"type"`
		Text   string     `json:"text"`
		Source wireSource `json:"source"`
	}
	wireSource struct {
		Type     string `json:"type"`
		Value    string `json:"value"`
		MIMEType string `json:"mimeType"`
	}
	wireTool struct {
		Name        string         `json:"name"`
		Description string         `json:"description"`
		Parameters  jsontext.Value `json:"parameters"`
	}
	wireContext struct {
		Description string `json:"description"`
		Value       string `json:"value"`
	}
	wireProps struct {
		Model    string `json:"model"`
		Timezone string `json:"timezone"`
		Abort    bool   `json:"abortOnDisconnect"`
	}
)

// reader reads a request and notes all that is wrong.
type reader struct{ bad fault.Checks }

func (r *reader) wrong(at, code, text string) {
	r.bad.Add("/"+strings.ReplaceAll(at, ".", "/"), code, at+" "+text)
}

// read reads a request. What the protocol may add later is left alone.
func read(raw []byte, confirm string) (*input, error) {
	var have object
	if err := json.Unmarshal(raw, &have); err != nil {
		return nil, fmt.Errorf("read request: %w", err) // the door has read it
	}
	r := &reader{}
	in := &input{thread: r.id(have, "threadId"), run: r.id(have, "runId")}
	r.messages(have, in)
	r.tools(have, in, confirm)
	r.context(have, in)
	var props wireProps
	if v := have["forwardedProps"]; v.Kind() == '{' && r.decode(v, "forwardedProps", &props) {
		in.model, in.zone, in.abort = props.Model, props.Timezone, props.Abort
	}
	return in, r.bad.Err("VALIDATION_FAILED", "The request is not valid.")
}

// id reads a name that the client has chosen.
func (r *reader) id(have object, name string) string {
	var id string
	switch v := have[name]; {
	case v.Kind() != '"' || json.Unmarshal(v, &id) != nil:
		r.wrong(name, "type", "must be a string")
	case id == "":
		r.wrong(name, "required", "should not be empty")
	case utf8.RuneCountInString(id) > maxID:
		r.wrong(name, "too_long", fmt.Sprintf("must be shorter than or equal to %d characters", maxID))
	}
	return id
}

// decode reads a value whose form is known.
func (r *reader) decode(v jsontext.Value, at string, into any) bool {
	if err := json.Unmarshal(v, into); err != nil {
		r.wrong(at, "type", "does not have the form of AG-UI 1.0")
		return false
	}
	return true
}

// list reads a member that is a list; it may be absent unless it is required.
func (r *reader) list(have object, name string, required bool) []jsontext.Value {
	v := have[name]
	if !required && (v == nil || v.Kind() == 'n') {
		return nil
	}
	var out []jsontext.Value
	if v.Kind() != '[' || json.Unmarshal(v, &out) != nil {
		r.wrong(name, "type", "must be an array")
	}
	return out
}

// messages reads the new messages: those after the last one of the assistant.
// The rest is the client's copy of what we have.
func (r *reader) messages(have object, in *input) {
	list := r.list(have, "messages", true)
	said := false
	for i := len(list) - 1; i >= 0; i-- {
		at := fmt.Sprintf("messages.%d", i)
		var m wireMessage
		if !r.decode(list[i], at, &m) {
			return
		}
		switch m.Role {
		case "assistant":
			return
		case "user":
			if !said { // only the newest counts
				in.text, in.files = r.content(m.Content, at)
				said = true
			}
		case "tool":
			r.result(m, at, in)
			said = true // what the user said before it was answered by the call
		case "system", "developer", "activity", "reasoning":
		default:
			r.wrong(at+".role", "not_allowed", "must be a role of AG-UI 1.0")
		}
	}
}

// result reads what a tool of the client gave, the oldest first.
func (r *reader) result(m wireMessage, at string, in *input) {
	text, _ := r.content(m.Content, at)
	call, asked := strings.CutPrefix(m.CallID, confirmMark)
	if !asked {
		a := answer{at: at, call: m.CallID, output: text, failed: m.Error != ""}
		if a.output == "" {
			a.output = m.Error
		}
		in.answers = append([]answer{a}, in.answers...)
		return
	}
	var said struct {
		Confirmed *bool `json:"confirmed"`
	}
	if json.Unmarshal([]byte(text), &said) != nil || said.Confirmed == nil {
		r.wrong(at+".content", "type", `must be {"confirmed":true} or {"confirmed":false}`)
		return
	}
	in.decisions = append(in.decisions, decision{call, *said.Confirmed})
}

// content reads the content of a message: a text, or parts.
func (r *reader) content(v jsontext.Value, at string) (text string, files []llm.Attachment) {
	at += ".content"
	switch v.Kind() {
	case '"':
		r.decode(v, at, &text)
	case '[':
		var parts []wirePart
		if r.decode(v, at, &parts) {
			text, files = r.parts(parts, at)
		}
	default:
		r.wrong(at, "type", "must be a string or an array of parts")
	}
	if len(text) > maxText {
		r.wrong(at, "too_long", fmt.Sprintf("must be shorter than or equal to %d bytes", maxText))
	}
	return text, files
}

var webAddress = regexp.MustCompile(`^https?://.+`)

// parts takes texts, and files that lie at an address.
func (r *reader) parts(parts []wirePart, at string) (string, []llm.Attachment) {
	var texts []string
	var files []llm.Attachment
	for i, p := range parts {
		here := fmt.Sprintf("%s.%d", at, i)
		switch p.Type {
		case "text":
			texts = append(texts, p.Text)
			continue
		case "image", "audio", "video", "document":
		default:
			r.wrong(here+".type", "not_allowed", "must be a kind of part of AG-UI 1.0")
			continue
		}
		if p.Source.Type != "url" || !webAddress.MatchString(p.Source.Value) || len(p.Source.Value) > maxContext {
			r.wrong(here+".source", "not_allowed", "must be an http or https address of the file")
			continue
		}
		files = append(files, fileOf(p))
	}
	if len(files) > maxAttachments {
		r.wrong(at, "too_many", fmt.Sprintf("must contain no more than %d files", maxAttachments))
	}
	return strings.Join(texts, "\n"), files
}

func fileOf(p wirePart) llm.Attachment {
	address, _, _ := strings.Cut(p.Source.Value, "?")
	a := llm.Attachment{MXCURI: p.Source.Value, Filename: path.Base(address), MIMEType: p.Source.MIMEType}
	if a.MIMEType == "" {
		a.MIMEType = "application/octet-stream"
	}
	if a.Filename == "." || a.Filename == "/" || len(a.Filename) > 255 {
		a.Filename = p.Type
	}
	return a
}

// tools reads the tools that the client runs. What they may be called is for the
// oracle to say.
func (r *reader) tools(have object, in *input, confirm string) {
	if len(have["tools"]) > maxTools {
		r.wrong("tools", "too_long", fmt.Sprintf("must take no more than %d bytes", maxTools))
		return
	}
	for i, v := range r.list(have, "tools", false) {
		var t wireTool
		if !r.decode(v, fmt.Sprintf("tools.%d", i), &t) {
			continue
		}
		if t.Name == confirm {
			in.asks = true
		}
		if t.Description == "" {
			t.Description = t.Name
		}
		if t.Parameters == nil {
			t.Parameters = jsontext.Value(`{"type":"object"}`)
		}
		in.tools = append(in.tools, oracle.HandedTool{Name: t.Name, Description: t.Description, Schema: t.Parameters})
	}
}

// context reads what the page says about itself.
func (r *reader) context(have object, in *input) {
	var items []wireContext
	for i, v := range r.list(have, "context", false) {
		var c wireContext
		if r.decode(v, fmt.Sprintf("context.%d", i), &c) {
			items = append(items, c)
		}
	}
	if len(items) == 0 {
		return
	}
	text, err := json.Marshal(map[string]any{"context": items})
	if err != nil || len(text) > maxContext {
		r.wrong("context", "too_long", fmt.Sprintf("must take no more than %d bytes", maxContext))
		return
	}
	in.context = text
}

// requestBody describes a request for the reference; bodies are parsed by hand.
type requestBody struct {
	ThreadID       string         `json:"threadId" maxLength:"200" doc:"Your name for the conversation, or the id of a session."`
	RunID          string         `json:"runId" maxLength:"200" doc:"Your name for the run. Sending the same name again reads the same run again."`
	Messages       []messageBody  `json:"messages" doc:"The conversation. Only what follows the last message of the assistant counts."`
	Tools          []toolBody     `json:"tools,omitempty" doc:"Tools that the client runs, for the duration of the run."`
	Context        []contextBody  `json:"context,omitempty" doc:"Context that the page gives about itself, at most 4 KiB."`
	State          any            `json:"state,omitempty" doc:"Not used."`
	ForwardedProps map[string]any `json:"forwardedProps,omitempty" doc:"model: id of a model of GET /models; timezone; abortOnDisconnect: the run ends when its reader leaves."`
}

type messageBody struct {
	ID         string `json:"id,omitempty"`
	Role       string `json:"role" enum:"user,assistant,tool,system,developer,activity,reasoning"`
	Content    any    `json:"content,omitempty" doc:"A text, or parts: text, and image, audio, video or document with the address of a file."`
	ToolCallID string `json:"toolCallId,omitempty" doc:"For the role tool: the call that this is the result of."`
	Error      string `json:"error,omitempty" doc:"For the role tool: why the tool failed."`
}

type toolBody struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Parameters  jsontext.Value `json:"parameters,omitempty" doc:"JSON Schema of the arguments."`
}

type contextBody struct {
	Description string `json:"description"`
	Value       string `json:"value"`
}

func exampleBody() requestBody {
	return requestBody{ThreadID: "kitchen-talk", RunID: "run-1", Messages: []messageBody{{ID: "m1", Role: "user", Content: "help"}}}
}
