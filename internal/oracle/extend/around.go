package extend

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/plugin"
)

// errTwice is the error for a plugin that tries to make a call a second time.
var errTwice = errors.New("a call is made once")

// layers are the plugins that have T, the outermost first: those that others need,
// and else by name.
func layers[T any](s *Set) []*member {
	byName := slices.SortedFunc(slices.Values(s.all), func(a, b *member) int { return strings.Compare(a.about.Name, b.about.Name) })
	all, err := inOrder(byName)
	if err != nil {
		all = s.all // cannot be: New has refused circles
	}
	return slices.DeleteFunc(slices.Clone(all), func(m *member) bool { _, ok := m.Plugin.(T); return !ok })
}

// aroundTools wraps a tool in the plugins that wrap tools; nil when there are
// none.
func (s *Set) aroundTools() func(tool.Tool) tool.Tool {
	list := layers[plugin.AroundTools](s)
	if len(list) == 0 {
		return nil
	}
	schemas := tool.NewChecker()
	return func(t tool.Tool) tool.Tool { return &enclosed{t, list, schemas} }
}

// enclosed is a tool with plugins around it.
type enclosed struct {
	tool.Tool
	layers  []*member
	schemas *tool.Checker
}

var _ tool.Tool = (*enclosed)(nil)

// Run has the plugins make the call.
func (e *enclosed) Run(ctx context.Context, c tool.Call) (tool.Output, error) {
	return e.through(ctx, e.layers, c)
}

// through passes a call through layers and runs it behind the last.
func (e *enclosed) through(ctx context.Context, left []*member, c tool.Call) (tool.Output, error) {
	if len(left) == 0 {
		return e.Tool.Run(ctx, c)
	}
	m, spec := left[0], e.Spec()
	var out tool.Output // what the call gave
	var failure error
	var shown plugin.Output
	made := false
	next := func(args stdjson.RawMessage) (plugin.Output, error) {
		if made {
			return plugin.Output{}, errTwice
		}
		made = true
		inner := c
		if !slices.Equal(args, stdjson.RawMessage(c.Args)) {
			inner.Args = slices.Clone(jsontext.Value(args))
			if wrong := e.schemas.Check(spec, inner.Args); wrong != "" {
				m.log.WarnContext(ctx, "plugin changed arguments to what does not fit", "tool", spec.Name)
				out = tool.Output{Err: wrong}
				shown = show(out, nil)
				return shown, nil
			}
		}
		out, failure = e.through(ctx, left[1:], inner)
		shown = show(out, failure)
		if f := fault.As(failure); failure != nil && (f == nil || f.Kind == fault.Internal) {
			return shown, failure
		}
		return shown, nil
	}
	call := plugin.ToolCall{Call: plugin.Call{Turn: turnOf(tool.From(ctx)), ID: c.ID, Args: slices.Clone(stdjson.RawMessage(c.Args))}, Tool: spec.Name, ReadOnly: spec.ReadOnly}
	given, err := m.aroundTool(ctx, call, next)
	switch {
	case err != nil:
		return tool.Output{}, told(err)
	case made && given == shown:
		return out, failure
	}
	return reshaped(out, given), nil
}

func (m *member) aroundTool(ctx context.Context, c plugin.ToolCall, next func(stdjson.RawMessage) (plugin.Output, error)) (out plugin.Output, err error) {
	defer m.recovered("AroundTool", &err)
	return m.Plugin.(plugin.AroundTools).AroundTool(ctx, c, next) //nolint:forcetypeassert // layers has only those
}

// show is what plugins see of an output.
func show(o tool.Output, err error) plugin.Output {
	if f := fault.As(err); f != nil {
		return plugin.Output{Content: f.Message, Failed: true}
	}
	return plugin.Output{Content: o.String(), Failed: err != nil || o.Err != ""}
}

// reshaped is an output with the changes of a plugin. Its other effects stay.
func reshaped(o tool.Output, p plugin.Output) tool.Output {
	if o.Handed { // its result is still to come
		return o
	}
	wasData := len(o.Data) > 0
	o.Text, o.Data, o.Err = "", nil, ""
	switch data := jsontext.Value(p.Content); {
	case p.Failed:
		o.Err = p.Content
	case wasData && data.IsValid():
		o.Data = data
	default:
		o.Text = p.Content
	}
	return o
}

// Model wraps m in the plugins that wrap the model; without any it is m itself.
func (s *Set) Model(m llm.Model) llm.Model {
	list := layers[plugin.AroundModel](s)
	if len(list) == 0 {
		return m
	}
	return llm.Func(func(ctx context.Context, r llm.Request, each func(llm.Delta) error) error {
		q := &question{model: m, request: r, each: each}
		err := q.through(ctx, list)
		if e := (*plugin.Error)(nil); errors.As(err, &e) && r.Purpose == llm.Chat {
			return each(llm.Delta{Text: q.after(e.Error()), Finish: "stop"})
		}
		if err != nil || len(q.calls) == 0 {
			return err
		}
		return each(llm.Delta{ToolCalls: q.calls, Finish: q.finish})
	})
}

// question is one request on its way to the model. The calls of tools in the
// answer wait until no plugin can refuse them any more.
type question struct {
	model   llm.Model
	request llm.Request
	each    func(llm.Delta) error
	said    strings.Builder
	calls   []tool.Call
	usage   llm.Usage
	finish  string
}

// after is a text to append to the answer so far.
func (q *question) after(text string) string {
	if q.said.Len() > 0 {
		return "\n\n" + text
	}
	return text
}

// through passes the question through layers and asks behind the last.
func (q *question) through(ctx context.Context, left []*member) error {
	if len(left) == 0 {
		return q.ask(ctx)
	}
	m, made := left[0], false
	ask := q.shown(ctx)
	err := m.aroundModel(ctx, ask, func(ctx context.Context) (plugin.ModelAnswer, error) {
		if made {
			return plugin.ModelAnswer{}, errTwice
		}
		made = true
		if err := q.take(ask.Messages); err != nil {
			return plugin.ModelAnswer{}, err
		}
		err := q.through(ctx, left[1:])
		return q.answer(), err
	})
	if err != nil {
		return fmt.Errorf("plugin %s: %w", m.about.Name, err)
	}
	return nil
}

func (m *member) aroundModel(ctx context.Context, ask *plugin.ModelCall, next func(context.Context) (plugin.ModelAnswer, error)) (err error) {
	defer m.recovered("AroundModel", &err)
	return m.Plugin.(plugin.AroundModel).AroundModel(ctx, ask, next) //nolint:forcetypeassert // layers has only those
}

// ask asks the model. Its words are passed on at once.
func (q *question) ask(ctx context.Context) error {
	return q.model.Stream(ctx, q.request, func(d llm.Delta) error {
		q.said.WriteString(d.Text)
		if d.Usage != nil {
			q.usage.Add(*d.Usage)
		}
		if len(d.ToolCalls) > 0 {
			q.calls, q.finish = append(q.calls, d.ToolCalls...), d.Finish
			d.ToolCalls, d.Finish = nil, ""
		}
		return q.each(d)
	})
}

// shown is what a plugin sees of the question.
func (q *question) shown(ctx context.Context) *plugin.ModelCall {
	c := &plugin.ModelCall{Turn: turnOf(tool.From(ctx)), Model: q.request.Model, Purpose: plugin.PurposeAnswer, Messages: make([]plugin.ModelMessage, len(q.request.Messages))}
	switch q.request.Purpose {
	case llm.Summary:
		c.Purpose = plugin.PurposeSummary
	case llm.Title:
		c.Purpose = plugin.PurposeTitle
	case llm.Chat:
	}
	for i, m := range q.request.Messages {
		c.Messages[i] = plugin.ModelMessage{Role: string(m.Role), Content: m.Content, Tool: m.ToolName}
	}
	if !q.request.NoTools {
		for _, s := range q.request.Tools {
			c.Tools = append(c.Tools, s.Name)
		}
	}
	return c
}

// take puts the contents of messages into the question. The list is not ours to
// change: the agent asks with it again.
func (q *question) take(messages []plugin.ModelMessage) error {
	if len(messages) != len(q.request.Messages) {
		return errors.New("the messages to the model were added to or taken from")
	}
	list := slices.Clone(q.request.Messages)
	for i := range list {
		list[i].Content = messages[i].Content
	}
	q.request.Messages = list
	return nil
}

func (q *question) answer() plugin.ModelAnswer {
	a := plugin.ModelAnswer{Text: q.said.String(), InputTokens: q.usage.Input, OutputTokens: q.usage.Output}
	for _, c := range q.calls {
		a.Tools = append(a.Tools, c.Name)
	}
	return a
}
