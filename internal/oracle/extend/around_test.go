package extend_test

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/agent"
	"github.com/hearth-dmrv/hearth/internal/oracle/extend"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm/modeltest"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/plugin"
)

type nextTool = func(stdjson.RawMessage) (plugin.Output, error)

// warden is a plugin around tools and the model.
type warden struct {
	about plugin.Manifest
	tool  func(c plugin.ToolCall, next nextTool) (plugin.Output, error)
	model func(ask *plugin.ModelCall, next func() (plugin.ModelAnswer, error)) error
}

var (
	_ plugin.AroundTools = (*warden)(nil)
	_ plugin.AroundModel = (*warden)(nil)
)

func (w *warden) Manifest() plugin.Manifest { return w.about }

func (w *warden) AroundTool(_ context.Context, c plugin.ToolCall, next func(stdjson.RawMessage) (plugin.Output, error)) (plugin.Output, error) {
	if w.tool == nil {
		return next(c.Args)
	}
	return w.tool(c, next)
}

func (w *warden) AroundModel(ctx context.Context, ask *plugin.ModelCall, next func(context.Context) (plugin.ModelAnswer, error)) error {
	again := func() (plugin.ModelAnswer, error) { return next(ctx) }
	if w.model == nil {
		_, err := again()
		return err
	}
	return w.model(ask, again)
}

// wrapped is a tool with plugins around it.
func wrapped(t *testing.T, inner tool.Tool, plugins ...plugin.Plugin) tool.Tool {
	t.Helper()
	s, err := extend.New(extend.Config{Plugins: plugins})
	if err != nil {
		t.Fatal(err)
	}
	var r tool.Registry
	if err := s.Start(t.Context(), &r); err != nil {
		t.Fatal(err)
	}
	return r.Wrapped([]tool.Tool{inner})[0]
}

func TestAroundTool(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, tt := range map[string]struct {
		around func(c plugin.ToolCall, next nextTool) (plugin.Output, error)
		inner  error
		want   string // output, or the error
		args   string // what the tool was called with; "": it was not
	}{
		"nothing": {func(c plugin.ToolCall, next nextTool) (plugin.Output, error) { return next(c.Args) }, nil, `{"n":1}`, `{"n":1}`},
		"other arguments": {func(_ plugin.ToolCall, next nextTool) (plugin.Output, error) {
			return next(stdjson.RawMessage(`{"n":2}`))
		}, nil, `{"n":2}`, `{"n":2}`},
		"arguments that do not fit": {func(_ plugin.ToolCall, next nextTool) (plugin.Output, error) {
			return next(stdjson.RawMessage(`{"n":"two"}`))
		}, nil, "error The arguments do not fit the schema: /n: got string, want integer.", ""},
		"other output": {func(c plugin.ToolCall, next nextTool) (plugin.Output, error) {
			o, err := next(c.Args)
			o.Content = strings.ReplaceAll(o.Content, "1", "0")
			return o, err
		}, nil, `{"n":0}`, `{"n":1}`},
		"refused": {func(plugin.ToolCall, nextTool) (plugin.Output, error) {
			return plugin.Output{}, plugin.Invalid("Not today.")
		}, nil, "PLUGIN_REFUSED: Not today.", ""},
		"answered": {func(plugin.ToolCall, nextTool) (plugin.Output, error) { return plugin.Output{Content: "known"}, nil }, nil, "known", ""},
		"panic":    {func(plugin.ToolCall, nextTool) (plugin.Output, error) { panic("no") }, nil, "it panicked in AroundTool", ""},
		"twice": {func(c plugin.ToolCall, next nextTool) (plugin.Output, error) {
			if _, err := next(c.Args); err != nil {
				return plugin.Output{}, err
			}
			return next(c.Args)
		}, nil, "a call is made once", `{"n":1}`},
		"fault": {func(c plugin.ToolCall, next nextTool) (plugin.Output, error) {
			o, err := next(c.Args)
			if err != nil || !o.Failed || o.Content != "No city." {
				err = errors.Join(err, errors.New("the failure is not shown: "+o.Content))
			}
			return o, err
		}, fault.New(fault.Invalid, "NO_CITY", "No city."), "NO_CITY: No city.", `{"n":1}`},
		"failure": {func(c plugin.ToolCall, next nextTool) (plugin.Output, error) { return next(c.Args) }, broken, "broken", `{"n":1}`},
	} {
		var args string
		inner := tool.Func{Describe: tool.Spec{Name: "x", ReadOnly: true, Schema: jsontext.Value(`{"type":"object","properties":{"n":{"type":"integer"}}}`)}, Do: func(_ context.Context, c tool.Call) (tool.Output, error) {
			args = string(c.Args)
			return tool.Output{Data: c.Args}, tt.inner
		}}
		var saw plugin.ToolCall
		x := wrapped(t, inner, &warden{about: about("w"), tool: func(c plugin.ToolCall, next nextTool) (plugin.Output, error) { saw = c; return tt.around(c, next) }})
		ctx := tool.With(t.Context(), tool.Context{User: "did:key:z6Mk"})
		out, err := x.Run(ctx, tool.Call{ID: "1", Name: "x", Args: jsontext.Value(`{"n":1}`)})
		got := out.String()
		if out.Err != "" {
			got = "error " + got
		}
		if err != nil {
			got = err.Error()
		}
		if got != tt.want || args != tt.args || saw.Tool != "x" || !saw.ReadOnly || saw.User != "did:key:z6Mk" {
			t.Errorf("%s: %q, called with %q, the plugin saw %+v; want %q, %q", name, got, args, saw, tt.want, tt.args)
		}
	}
	inner := tool.Func{Describe: tool.Spec{Name: "x"}}
	if _, same := wrapped(t, inner, bare("a")).(tool.Func); !same {
		t.Error("a tool is wrapped although no plugin wants it")
	}
}

// Those that others need stand outside, and else the order is that of the names.
func TestAroundOrder(t *testing.T) {
	t.Parallel()
	var order []string
	layer := func(name string, needs ...string) plugin.Plugin {
		return &warden{about: about(name, needs...), tool: func(c plugin.ToolCall, next nextTool) (plugin.Output, error) {
			order = append(order, name)
			return next(c.Args)
		}, model: func(_ *plugin.ModelCall, next func() (plugin.ModelAnswer, error)) error {
			order = append(order, name)
			_, err := next()
			return err
		}}
	}
	plugins := []plugin.Plugin{layer("c"), layer("b", "z"), layer("z"), layer("a")}
	x := wrapped(t, tool.Func{Describe: tool.Spec{Name: "x"}, Do: func(context.Context, tool.Call) (tool.Output, error) { return tool.Output{Text: "ok"}, nil }}, plugins...)
	if out, err := x.Run(t.Context(), tool.Call{Name: "x", Args: jsontext.Value(`{}`)}); err != nil || out.Text != "ok" || !slices.Equal(order, []string{"a", "z", "b", "c"}) {
		t.Errorf("Run() = %v, %v in the order %v", out, err, order)
	}
	order = nil
	s, err := extend.New(extend.Config{Plugins: plugins})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Model(modeltest.NewFake(modeltest.Spoken("ok"))).Stream(t.Context(), llm.Request{}, func(llm.Delta) error { return nil })
	if err != nil || !slices.Equal(order, []string{"a", "z", "b", "c"}) {
		t.Errorf("Stream() = %v in the order %v", err, order)
	}
}

func TestAroundModel(t *testing.T) {
	t.Parallel()
	called := modeltest.Called(tool.Call{Name: "x", Args: jsontext.Value(`{}`)})
	called.Deltas = append([]llm.Delta{{Text: "Let me see."}}, called.Deltas...)
	for name, tt := range map[string]struct {
		around func(ask *plugin.ModelCall, next func() (plugin.ModelAnswer, error)) error
		text   string
		fails  bool
		calls  int32
		asked  string // the last message the model was given; "": it was not asked
	}{
		"nothing": {func(_ *plugin.ModelCall, next func() (plugin.ModelAnswer, error)) error { _, err := next(); return err }, "Let me see.\n\nok", false, 1, "hello"},
		"changed": {func(ask *plugin.ModelCall, next func() (plugin.ModelAnswer, error)) error {
			for i := range ask.Messages {
				ask.Messages[i].Content = strings.ReplaceAll(ask.Messages[i].Content, "hello", "[hidden]")
			}
			_, err := next()
			return err
		}, "Let me see.\n\nok", false, 1, "[hidden]"},
		"longer": {func(ask *plugin.ModelCall, next func() (plugin.ModelAnswer, error)) error {
			ask.Messages = append(ask.Messages, plugin.ModelMessage{Role: "system", Content: "x"})
			_, err := next()
			return err
		}, "", true, 0, ""},
		"refused before": {func(*plugin.ModelCall, func() (plugin.ModelAnswer, error)) error { return plugin.Invalid("Not today.") }, "Not today.", false, 0, ""},
		"refused after": {func(_ *plugin.ModelCall, next func() (plugin.ModelAnswer, error)) error {
			if a, err := next(); err != nil || slices.Contains(a.Tools, "x") && a.Text == "Let me see." {
				return plugin.Invalid("Not with that tool.")
			}
			return nil
		}, "Let me see.\n\nNot with that tool.", false, 0, "hello"},
		"panic": {func(*plugin.ModelCall, func() (plugin.ModelAnswer, error)) error { panic("no") }, "", true, 0, ""},
	} {
		s, err := extend.New(extend.Config{Plugins: []plugin.Plugin{&warden{about: about("w"), model: tt.around}}})
		if err != nil {
			t.Fatal(err)
		}
		var calls atomic.Int32
		x := tool.Func{Describe: tool.Spec{Name: "x"}, Do: func(context.Context, tool.Call) (tool.Output, error) {
			calls.Add(1)
			return tool.Output{Text: "ok"}, nil
		}}
		f := modeltest.NewFake(called, modeltest.Spoken("ok"))
		res, err := agent.New(agent.Config{Model: s.Model(f)}).Turn(t.Context(), agent.Turn{User: llm.Message{Content: "hello"}, Tools: []tool.Tool{x}}, quiet{})
		asked := ""
		if r := f.Requests(); len(r) > 0 {
			asked = r[0].Messages[len(r[0].Messages)-1].Content
		}
		if res.Text != tt.text || (err != nil) != tt.fails || calls.Load() != tt.calls || asked != tt.asked {
			t.Errorf("%s: %q, %v after %d calls, asked %q; want %q, %d calls, %q", name, res.Text, err, calls.Load(), asked, tt.text, tt.calls, tt.asked)
		}
	}
}
