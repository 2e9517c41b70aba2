package extend

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/plugin"
)

// payloads checks what plugins send.
var payloads = tool.NewChecker()

func checkEvent(e plugin.Event) error {
	if e.Description == "" {
		return fmt.Errorf("event %s: there is no description", e.Name)
	}
	if err := tool.CheckSchema(jsontext.Value(e.Schema)); err != nil {
		return fmt.Errorf("event %s: %w", e.Name, err)
	}
	return nil
}

// fitsEvent says why a payload does not fit a typed event.
func (m *member) fitsEvent(event string, payload []byte) error {
	i := slices.IndexFunc(m.typed, func(e plugin.Event) bool { return e.Name == event })
	if i < 0 {
		return nil
	}
	if wrong := payloads.Check(tool.Spec{Schema: jsontext.Value(m.typed[i].Schema)}, payload); wrong != "" {
		return fmt.Errorf("event %s: the payload: %s", event, wrong)
	}
	return nil
}

// Messages describe the typed events of all plugins.
func (s *Set) Messages() []web.Message {
	var out []web.Message
	if s == nil {
		return nil
	}
	for _, m := range s.all {
		for _, e := range m.typed {
			out = append(out, web.Message{Name: e.Name, About: e.Description + " Sent by the plugin " + m.about.Name + ".", Schema: onTheWire(e.Schema)})
		}
	}
	return out
}

// onTheWire is the schema of a payload with the members that are added to it.
func onTheWire(schema string) jsontext.Value {
	var doc map[string]any
	if json.Unmarshal([]byte(schema), &doc) != nil {
		return jsontext.Value("{}") // cannot be: checkEvent has read it
	}
	props, _ := doc["properties"].(map[string]any)
	if props == nil {
		props = map[string]any{}
	}
	required, _ := doc["required"].([]any)
	for _, name := range []string{"sessionId", "requestId"} {
		props[name] = map[string]any{"type": "string"}
		required = append(required, name)
	}
	doc["type"], doc["properties"], doc["required"] = "object", props, required
	out, err := json.Marshal(doc, json.Deterministic(true))
	if err != nil {
		return jsontext.Value("{}") // cannot be either
	}
	return out
}
