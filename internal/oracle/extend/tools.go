package extend

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/order"
	"github.com/hearth-dmrv/hearth/plugin"
)

// noArguments is the schema of a tool that takes none.
const noArguments = `{"type":"object","additionalProperties":false}`

func schemaOf(t plugin.Tool) jsontext.Value {
	if t.Schema == "" {
		return jsontext.Value(noArguments)
	}
	return jsontext.Value(t.Schema)
}

// adapted are tools of a plugin as the agent runs them.
func (m *member) adapted(tools []plugin.Tool) []tool.Tool {
	capability := m.demanded()
	out := make([]tool.Tool, len(tools))
	for i, t := range tools {
		out[i] = &adapted{t.Run, t.Draft, tool.Spec{
			Name: t.Name, Description: t.Description, Schema: schemaOf(t), Output: jsontext.Value(t.Output), ReadOnly: t.ReadOnly, Outside: t.Outside, Session: t.Session, Public: t.Public, Timeout: t.Timeout, Capability: capability,
		}}
	}
	return out
}

// demanded is what must be loaded before the tools of a plugin can be called, ""
// when they are always there.
func (m *member) demanded() string {
	if m.about.Visibility == plugin.OnDemand {
		return m.about.Name
	}
	return ""
}

// perRun are the tools of a plugin for one run. What does not fit is left out.
func (m *member) perRun(ctx context.Context, p plugin.RequestTools) (out []tool.Tool) {
	defer func() {
		if v := recover(); v != nil {
			m.log.ErrorContext(ctx, "plugin panicked", "kind", "request tools", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			out = nil
		}
	}()
	if tool.From(ctx).Preview {
		return nil
	}
	given := p.RequestTools(ctx, turnOf(tool.From(ctx)))
	if len(given) == 0 {
		return nil
	}
	if last := m.last.Load(); last != nil && len(last.given) == len(given) && &last.given[0] == &given[0] {
		return last.tools
	}
	tools := slices.DeleteFunc(slices.Clone(given), func(t plugin.Tool) bool {
		err := checkTool(t, m.schemas)
		if err != nil {
			m.log.WarnContext(ctx, "tool left out", "err", err.Error())
		}
		return err != nil
	})
	out = m.adapted(tools)
	m.last.Store(&lent{given, out})
	return out
}

// lent are tools that a plugin has given for a run, and how the agent runs them. One
// that gives the same slice again has changed nothing in it.
type lent struct {
	given []plugin.Tool
	tools []tool.Tool
}

// adapted is a tool of a plugin.
type adapted struct {
	run   func(ctx context.Context, call plugin.Call) (any, error)
	draft bool
	spec  tool.Spec
}

var (
	_ tool.Tool      = (*adapted)(nil)
	_ tool.Permitted = (*adapted)(nil)
)

// Permitted reports that the user is asked when what a call keeps is sent.
func (a *adapted) Permitted(context.Context) bool { return a.draft }

// Spec describes the tool.
func (a *adapted) Spec() tool.Spec { return a.spec }

// Run runs the tool for the user of the run. The agent recovers its panics.
func (a *adapted) Run(ctx context.Context, c tool.Call) (tool.Output, error) {
	v, err := a.run(ctx, plugin.Call{Turn: turnOf(tool.From(ctx)), ID: c.ID, Args: stdjson.RawMessage(c.Args)})
	if err != nil {
		return tool.Output{}, told(err)
	}
	switch v := v.(type) {
	case nil:
		return tool.Output{Text: "done"}, nil
	case string:
		return tool.Output{Text: v}, nil
	case stdjson.RawMessage:
		return tool.Output{Data: jsontext.Value(v)}, nil
	}
	data, err := stdjson.Marshal(v)
	return tool.Output{Data: data}, err
}

// told turns a plugin's Error into a fault; other errors stay unchanged, and
// nobody sees their text.
func told(err error) error {
	var e *plugin.Error
	if fault.As(err) == nil && errors.As(err, &e) {
		return fault.New(fault.Unprocessable, "PLUGIN_REFUSED", e.Error())
	}
	return err
}

func turnOf(c tool.Context) plugin.Turn {
	return plugin.Turn{
		User: c.User, SessionID: c.SessionID, RequestID: c.RequestID, RunID: c.RunID, Timezone: c.Timezone, Metadata: stdjson.RawMessage(c.Metadata),
	}
}

// capability is what the model is told about a plugin.
type capability struct {
	Name         string           `json:"name"`
	Title        string           `json:"title"`
	Summary      string           `json:"summary"`
	WhenToUse    []string         `json:"whenToUse,omitzero"`
	WhenNotToUse []string         `json:"whenNotToUse,omitzero"`
	Examples     []plugin.Example `json:"examples,omitzero"`
	Tags         []string         `json:"tags,omitzero"`
	Stability    string           `json:"stability"`
	Loaded       string           `json:"loaded"` // always, or on demand
	Tools        []string         `json:"tools"`
}

const listName = "list_capabilities"

// capabilities are the tools that find and load tools on demand; none where all
// are always present.
func (s *Set) capabilities() []tool.Tool {
	var all []capability
	demanded := map[string]capability{}
	for _, m := range s.all {
		_, more := m.Plugin.(plugin.RequestTools)
		if m.about.Visibility == plugin.Silent || !more && len(m.tools)+len(m.agents) == 0 {
			continue
		}
		c := m.capability()
		all = append(all, c)
		if m.about.Visibility == plugin.OnDemand {
			demanded[c.Name] = c
		}
	}
	if len(demanded) == 0 {
		return nil
	}
	// What can be loaded comes first: the others are known by their tools.
	order.Stable(all, func(a, b capability) int { return rank(a) - rank(b) })
	list, err := json.Marshal(map[string]any{"capabilities": all})
	return []tool.Tool{
		tool.Func{
			Describe: tool.Spec{Name: listName, ReadOnly: true, Schema: jsontext.Value(noArguments), Description: "List what you can do beyond the tools you see, and when to use it. Call it before you say that something cannot be done."},
			Do: func(context.Context, tool.Call) (tool.Output, error) {
				return tool.Output{Data: list}, err
			},
		},
		tool.Func{
			Describe: tool.Spec{
				Name: tool.LoadName, ReadOnly: true, Description: "Load capabilities that " + listName + " names. Their tools can be called afterwards, for the rest of the conversation.",
				Schema: jsontext.Value(`{"type":"object","additionalProperties":false,"required":["names"],"properties":{"names":{"type":"array","minItems":1,"maxItems":20,"items":{"type":"string","maxLength":64}}}}`),
			},
			Do: func(_ context.Context, c tool.Call) (tool.Output, error) { return load(demanded, all, c.Args) },
		},
	}
}

func rank(c capability) int {
	if c.Loaded == string(plugin.OnDemand) {
		return 0
	}
	return 1
}

func (m *member) capability() capability {
	a := m.about
	c := capability{
		Name: a.Name, Title: a.Title, Summary: a.Summary, WhenToUse: a.WhenToUse, WhenNotToUse: a.WhenNotToUse, Examples: a.Examples, Tags: a.Tags,
		Stability: string(a.Stability), Loaded: string(a.Visibility), Tools: []string{},
	}
	for _, t := range m.tools {
		c.Tools = append(c.Tools, t.Name)
	}
	for _, a := range m.agents {
		c.Tools = append(c.Tools, callOf(a))
	}
	return c
}

// load answers load_capability.
func load(demanded map[string]capability, all []capability, args jsontext.Value) (tool.Output, error) {
	var in struct {
		Names []string `json:"names"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return tool.Output{}, err
	}
	out := tool.Loaded{Loaded: []string{}, Tools: []string{}}
	for _, name := range in.Names {
		c, ok := demanded[name]
		if !ok && slices.ContainsFunc(all, func(c capability) bool { return c.Name == name }) {
			continue // it is always there
		}
		if !ok {
			return tool.Output{}, tool.BadArgument("names", "There is no capability "+strconv.Quote(fault.Echo(name))+". There are: "+strings.Join(namesOf(all), ", ")+".")
		}
		out.Loaded, out.Tools = append(out.Loaded, name), append(out.Tools, c.Tools...)
	}
	data, err := json.Marshal(out)
	return tool.Output{Data: data, Load: out.Loaded}, err
}

func namesOf(all []capability) []string {
	out := make([]string, len(all))
	for i, c := range all {
		out[i] = c.Name
	}
	return out
}

// cut keeps a text within its limit.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	return strings.ToValidUTF8(s[:limit], "")
}
