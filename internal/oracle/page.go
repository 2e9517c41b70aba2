package oracle

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

const (
	// pageTimeout is how long a page has for one of its tools.
	pageTimeout = 15 * time.Second
	// noPage is what a model is told when no page can run a page's tool.
	noPage = "No browser is connected to this session, so the tool was not run."
	// userMember is an argument pages get from us: the model neither sees nor
	// chooses it.
	userMember = "oracleUserId"
)

// declaration is what a page has declared, as it is stored with its session.
type declaration struct {
	Tools   []declared `json:"tools,omitempty"`
	Actions []declared `json:"agActions,omitempty"`

	handed []declared // of a guest, for one message: nothing of them is kept
}

// merge returns the declaration after a message: a list that the message lacks
// stays unchanged. changed is nil when nothing new is to be stored.
func (m *message) merge(kept []byte) (d declaration, changed []byte, err error) {
	if len(kept) > 0 {
		if err := json.Unmarshal(kept, &d); err != nil {
			return d, nil, fmt.Errorf("read declared tools: %w", err)
		}
	}
	if m.Tools == nil && m.Actions == nil {
		return d, nil, nil
	}
	if m.Tools != nil {
		d.Tools = m.Tools
	}
	if m.Actions != nil {
		d.Actions = m.Actions
	}
	if changed, err = json.Marshal(d); err != nil {
		return d, nil, fmt.Errorf("keep declared tools: %w", err)
	}
	return d, changed, nil
}

// pageTool is a tool or an action that runs in the user's page.
type pageTool struct {
	spec tool.Spec // Name is one that model servers take
	name string    // what the page calls it
	user bool      // the page wants to be told who the user is
	hand bool      // the call is handed over: its result comes with the next message
	live Live
}

var _ tool.Tool = (*pageTool)(nil)

// Spec describes the tool to the model.
func (p *pageTool) Spec() tool.Spec { return p.spec }

// Run has the page run the tool.
func (p *pageTool) Run(ctx context.Context, c tool.Call) (tool.Output, error) {
	if p.hand {
		return tool.Output{Text: tool.HandedText, Handed: true}, nil
	}
	if p.live == nil {
		return tool.Output{Err: noPage}, nil
	}
	spec := p.spec
	spec.Name, c.Name = p.name, p.name
	if p.user {
		c.Args = withMember(c.Args, userMember, tool.From(ctx).User)
	}
	return p.live.Call(ctx, spec, c)
}

// pageTools makes the tools of a page. Each name is the page's own business;
// what no model server would take is given another one.
func (s *Service) pageTools(d declaration, taken []tool.Tool) []*pageTool {
	if len(d.Tools)+len(d.Actions)+len(d.handed) == 0 {
		return nil
	}
	names := namesOf(taken)
	var out []*pageTool
	add := func(kind tool.Kind, list []declared) {
		for _, one := range list {
			name := safeName(one.Name)
			if names[name] || one.Name == tool.ConfirmName { // the server came by it after the page was opened, or asks by it
				continue
			}
			names[name] = true
			schema, user := withoutUser(one.Schema)
			out = append(out, &pageTool{name: one.Name, user: user, live: s.cfg.Live, spec: tool.Spec{
				Name: name, Description: one.Description, Schema: schema, Kind: kind, HasRender: one.HasRender, Timeout: pageTimeout,
			}})
		}
	}
	add(tool.Browser, d.Tools)
	add(tool.Action, d.Actions)
	page := len(out)
	add(tool.Action, d.handed)
	for _, one := range out[page:] {
		one.hand = true
	}
	return out
}

// safeName is name in the characters every model server takes.
func safeName(name string) string {
	if tool.ValidName(name) {
		return name
	}
	name = strings.Map(func(r rune) rune {
		if r < 0x80 && tool.ValidName(string(r)) {
			return r
		}
		return '_'
	}, name)
	return name[:min(len(name), 64)]
}

// withoutUser takes the member for the user out of a schema. It reports whether
// there was one.
func withoutUser(schema jsontext.Value) (jsontext.Value, bool) {
	var outer, props members
	if !strings.Contains(string(schema), userMember) || json.Unmarshal(schema, &outer) != nil || json.Unmarshal(outer["properties"], &props) != nil {
		return schema, false
	}
	if _, ok := props[userMember]; !ok {
		return schema, false
	}
	delete(props, userMember)
	var required []string
	_ = json.Unmarshal(outer["required"], &required) // without a list nothing is required
	required = slices.DeleteFunc(required, func(name string) bool { return name == userMember })
	outer["properties"] = encoded(props)
	if delete(outer, "required"); len(required) > 0 {
		outer["required"] = encoded(required)
	}
	return encoded(outer), true
}

// encoded writes a value that was read as JSON before.
func encoded(v any) jsontext.Value {
	out, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return jsontext.Value("{}") // cannot be
	}
	return out
}

// withMember puts a text among arguments.
func withMember(args jsontext.Value, name, text string) jsontext.Value {
	var m members
	if json.Unmarshal(args, &m) != nil || m == nil {
		m = members{}
	}
	m[name] = encoded(strings.ToValidUTF8(text, "\uFFFD"))
	return encoded(m)
}
