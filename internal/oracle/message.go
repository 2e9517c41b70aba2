package oracle

import (
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// Limits of a message.
const (
	maxAttachments = 10
	maxFilename    = 255
	maxDeclared    = 128 // tools, and as many actions, of a page
)

var (
	mxcPattern   = regexp.MustCompile(`^(mxc|https?)://.+`)
	eventPattern = regexp.MustCompile(`^\$.+`)
)

// message is what a user sends, checked.
type message struct {
	Text        string
	Stream      bool
	ReturnAll   bool
	Model       string
	Tools       []declared // nil when the message does not say; empty takes all back
	Actions     []declared
	Attachments []llm.Attachment
	Invocations map[string]string // CARs by tool
	Timezone    string
	HomeServer  string
	Metadata    jsontext.Value
}

// declared is a tool or an action of the user's page.
type declared struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Schema      jsontext.Value `json:"schema"`
	HasRender   bool           `json:"hasRender,omitzero"`
}

// readMessage checks the body of POST /messages/{sessionId}, whose tools may not
// have the names of those the server has: taken is asked for them only where some were
// sent. Everything that is wrong is named at once.
func readMessage(have members, taken func() []tool.Tool) (*message, error) {
	var bad fault.Checks
	o := newObject("", have, &bad, "message", "stream", "returnAllMessages", "model", "tools", "agActions",
		"attachments", "mcpInvocations", "timezone", "homeServer", "metadata")
	m := &message{
		Text: o.text("message", true), Stream: o.flag("stream"), ReturnAll: o.flag("returnAllMessages"), Model: o.text("model", false),
		Timezone: o.text("timezone", false), HomeServer: o.text("homeServer", false), Metadata: o.object("metadata", false),
	}
	names := map[string]bool{}
	if have["tools"] != nil || have["agActions"] != nil {
		names = namesOf(taken())
	}
	m.Tools = readDeclared(o, "tools", names)
	m.Actions = readDeclared(o, "agActions", names)
	m.readAttachments(o)
	m.readInvocations(o)
	return m, o.err()
}

// readDeclared reads tools or actions, and adds their names to those that are
// taken. A list that was not sent is nil.
func readDeclared(o *object, name string, taken map[string]bool) []declared {
	known, action := []string{"name", "description", "schema"}, name == "agActions"
	if action {
		known = append(known, "hasRender")
	}
	items := o.list(name, maxDeclared, known...)
	if items == nil {
		return nil
	}
	out := make([]declared, len(items))
	for i, item := range items {
		out[i] = declared{
			Name: item.text("name", true), Description: item.text("description", true), Schema: item.object("schema", true),
			HasRender: action && item.flag("hasRender"),
		}
		if safe := safeName(out[i].Name); safe != "" && taken[safe] {
			item.wrong("name", "taken", "name is taken by another tool: "+fault.Echo(out[i].Name))
		} else {
			taken[safe] = true
		}
	}
	return out
}

func namesOf(tools []tool.Tool) map[string]bool {
	out := map[string]bool{}
	for _, t := range tools {
		out[t.Spec().Name] = true
	}
	return out
}

func (m *message) readAttachments(o *object) {
	for _, item := range o.list("attachments", maxAttachments, "mxcUri", "eventId", "filename", "mimetype", "size") {
		a := llm.Attachment{
			MXCURI: item.text("mxcUri", false), EventID: item.text("eventId", false),
			Filename: item.text("filename", true), MIMEType: item.text("mimetype", true),
		}
		size, _ := item.number("size")
		a.Size = int64(min(max(size, 0), 1<<53))
		item.shorter("filename", a.Filename, maxFilename)
		switch {
		case a.MXCURI == "" && a.EventID == "":
			item.wrong("mxcUri", "required", "Either mxcUri or eventId must be provided")
		case a.EventID == "":
			item.matches("mxcUri", a.MXCURI, mxcPattern)
		case a.MXCURI == "":
			item.matches("eventId", a.EventID, eventPattern)
		}
		m.Attachments = append(m.Attachments, a)
	}
}

// room is the Matrix room that events of attachments are in. Clients that edit in a
// room name that one.
func (m *message) room() string {
	var in struct {
		Room   string `json:"roomId"`
		Editor string `json:"editorRoomId"`
	}
	if json.Unmarshal(m.Metadata, &in) != nil || in.Room == "" {
		return in.Editor
	}
	return in.Room
}

// readInvocations reads the tokens of protected tools; Callers checks
// them.
func (m *message) readInvocations(o *object) {
	v := o.object("mcpInvocations", false)
	if v == nil {
		return
	}
	var each members
	if err := json.Unmarshal(v, &each); err != nil {
		o.wrong("mcpInvocations", "type", "mcpInvocations"+mustBeObject)
		return
	}
	if len(each) > maxInvocations {
		o.wrong("mcpInvocations", "too_many", "mcpInvocations must contain no more than 32 elements")
		return
	}
	m.Invocations = make(map[string]string, len(each))
	for name, value := range each {
		var text string
		if value.Kind() != '"' || json.Unmarshal(value, &text) != nil {
			o.wrong("mcpInvocations", "type", "mcpInvocations."+fault.Echo(name)+mustBeText)
			continue
		}
		m.Invocations[name] = text
	}
}

// zonePattern is the form of IANA names. What does not have it is not passed
// on: it would end up in a prompt.
var zonePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_+/-]{0,63}$`)

// zone is the first of texts that can be a time zone.
func zone(texts ...string) string {
	for _, t := range texts {
		if t = strings.TrimSpace(t); zonePattern.MatchString(t) {
			return t
		}
	}
	return ""
}
