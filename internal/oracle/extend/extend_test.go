package extend_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/extend"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/plugin"
)

// sample is a plugin made of what a test gives it.
type sample struct {
	about    plugin.Manifest
	tools    []plugin.Tool
	perRun   func(turn plugin.Turn) []plugin.Tool
	prompt   func(turn plugin.Turn) (string, error)
	routes   []plugin.Route
	settings []plugin.Setting
	events   []string
	before   func(turn plugin.Turn) error
	start    func(h plugin.Host) error
	end      func() error
}

var (
	_ plugin.Tools        = (*sample)(nil)
	_ plugin.RequestTools = (*sample)(nil)
	_ plugin.Prompts      = (*sample)(nil)
	_ plugin.Routes       = (*sample)(nil)
	_ plugin.Events       = (*sample)(nil)
	_ plugin.Gates        = (*sample)(nil)
	_ plugin.Settings     = (*sample)(nil)
	_ plugin.Starts       = (*sample)(nil)
	_ plugin.Closes       = (*sample)(nil)
)

func (s *sample) Manifest() plugin.Manifest  { return s.about }
func (s *sample) Tools() []plugin.Tool       { return s.tools }
func (s *sample) Routes() []plugin.Route     { return s.routes }
func (s *sample) Settings() []plugin.Setting { return s.settings }

func (s *sample) Events() []string { return s.events }

func (s *sample) Before(_ context.Context, turn plugin.Turn) error {
	if s.before == nil {
		return nil
	}
	return s.before(turn)
}

func (s *sample) RequestTools(_ context.Context, turn plugin.Turn) []plugin.Tool {
	if s.perRun == nil {
		return nil
	}
	return s.perRun(turn)
}

func (s *sample) Prompt(_ context.Context, turn plugin.Turn) (string, error) {
	if s.prompt == nil {
		return "", nil
	}
	return s.prompt(turn)
}

func (s *sample) Start(_ context.Context, h plugin.Host) error {
	if s.start == nil {
		return nil
	}
	return s.start(h)
}

func (s *sample) Close(context.Context) error {
	if s.end == nil {
		return nil
	}
	return s.end()
}

// bare is a plugin with a manifest and nothing else.
type bare string

func (b bare) Manifest() plugin.Manifest { return about(string(b)) }

func about(name string, needs ...string) plugin.Manifest {
	return plugin.Manifest{Name: name, Title: "A sample", Summary: "Does what a test says.", WhenToUse: []string{"In tests."}, Visibility: plugin.Always, Needs: needs}
}

func says(name, text string) plugin.Tool {
	return plugin.Tool{Name: name, Description: "Says something.", Run: func(context.Context, plugin.Call) (any, error) { return text, nil }}
}

func route(method, path string) plugin.Route {
	return plugin.Route{Method: method, Path: path, Summary: "A route", Serve: func(*plugin.Request) (any, error) { return nil, nil }}
}

// given are settings, with _ for those of no plugin.
func given(of map[string]map[string]string, stray ...string) func([]string) (map[string]map[string]string, []string) {
	return func([]string) (map[string]map[string]string, []string) { return of, stray }
}

// What does not fit stops the start, with a sentence that names the plugin.
func TestRefused(t *testing.T) {
	t.Parallel()
	off := func(name string) func([]string) (map[string]map[string]string, []string) {
		return given(map[string]map[string]string{name: {"enabled": "false"}})
	}
	silent, lonely := about("quiet"), about("lonely")
	mine := plugin.Route{Method: "GET", Path: "/mine", Personal: true, Summary: "s", Serve: func(*plugin.Request) (any, error) { return nil, nil }}
	silent.Visibility, lonely.Visibility, lonely.WhenToUse = plugin.Silent, plugin.OnDemand, nil
	for _, tt := range []struct {
		name string
		c    extend.Config
		want string
	}{
		{"nil", extend.Config{Plugins: []plugin.Plugin{nil}}, "nil"},
		{"name", extend.Config{Plugins: []plugin.Plugin{bare("No Name")}}, `the name "No Name" must be`},
		{"same name", extend.Config{Plugins: []plugin.Plugin{bare("a"), bare("a")}}, "plugin a: the name a is taken by plugin a"},
		{"same tool", extend.Config{Plugins: []plugin.Plugin{
			&sample{about: about("a"), tools: []plugin.Tool{says("x", "")}}, &sample{about: about("b"), tools: []plugin.Tool{says("x", "")}},
		}}, "plugin b: the tool x is taken by plugin a"},
		{"bad tool", extend.Config{Plugins: []plugin.Plugin{&sample{about: about("a"), tools: []plugin.Tool{{Name: "x", Description: "d"}}}}}, "plugin a: tool x: there is no Run"},
		{"bad schema", extend.Config{Plugins: []plugin.Plugin{&sample{about: about("a"), tools: []plugin.Tool{{Name: "x", Description: "d", Schema: "[]", Run: says("", "").Run}}}}}, "plugin a: tool x: "},
		{"silent with tools", extend.Config{Plugins: []plugin.Plugin{&sample{about: silent, tools: []plugin.Tool{says("x", "")}}}}, "silent"},
		{"on demand for nothing", extend.Config{Plugins: []plugin.Plugin{&sample{about: lonely, tools: []plugin.Tool{says("x", "")}}}}, "when to use"},
		{"same route", extend.Config{Plugins: []plugin.Plugin{
			&sample{about: about("a"), routes: []plugin.Route{route("GET", "/notes/{id}")}}, &sample{about: about("b"), routes: []plugin.Route{route("GET", "/notes/{name}")}},
		}}, "plugin b: the route GET /notes/{name} clashes"},
		{"bad path", extend.Config{Plugins: []plugin.Plugin{&sample{about: about("a"), routes: []plugin.Route{route("GET", "/{any}")}}}}, "plugin a: route GET /{any}: want a path"},
		{"bad method", extend.Config{Plugins: []plugin.Plugin{&sample{about: about("a"), routes: []plugin.Route{route("CONNECT", "/x")}}}}, "want GET, POST"},
		{"same event", extend.Config{Plugins: []plugin.Plugin{&sample{about: about("a"), events: []string{"x"}}, &sample{about: about("b"), events: []string{"x"}}}}, "plugin b: the event x is taken by plugin a"},
		{"missing", extend.Config{Plugins: []plugin.Plugin{&sample{about: about("a", "b")}}}, "plugin a needs the plugin b, which is not there"},
		{"switched off", extend.Config{Plugins: []plugin.Plugin{&sample{about: about("a", "b")}, bare("b")}, Settings: off("b")}, "plugin a needs the plugin b"},
		{"circle", extend.Config{Plugins: []plugin.Plugin{&sample{about: about("a", "b")}, &sample{about: about("b", "c")}, &sample{about: about("c", "b")}}}, "in a circle: b, c, b"},
		{"setting", extend.Config{Plugins: []plugin.Plugin{&sample{about: about("a"), settings: []plugin.Setting{{Name: "size", Kind: plugin.Integer, Min: 1, Max: 9}}}}, Settings: given(map[string]map[string]string{"a": {"size": "10", "hue": "red"}})}, "size: want a whole number from 1 to 9"},
		{"unknown setting", extend.Config{Plugins: []plugin.Plugin{bare("a")}, Settings: given(map[string]map[string]string{"a": {"hue": "red"}})}, "plugin a: hue: there is no setting"},
		{"stray setting", extend.Config{Settings: given(nil, "plugins.b.x")}, "plugins.b.x: this program has no plugin"},
		{"public core route", extend.Config{Plugins: []plugin.Plugin{bare("a")}, Public: []string{"POST /sessions"}}, "HEARTH_PUBLIC_ROUTES: POST /sessions is not a route of a plugin"},
		{"public personal route", extend.Config{Plugins: []plugin.Plugin{&sample{about: about("a"), routes: []plugin.Route{mine}}}, Public: []string{"GET /mine"}}, "GET /mine of the plugin a is about its caller and cannot be public"},
		{"public other method", extend.Config{Plugins: []plugin.Plugin{&sample{about: about("a"), routes: []plugin.Route{route("GET", "/a")}}}, Public: []string{"PUT /a"}}, "PUT /a is not a route"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := extend.New(tt.c); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("New() = %v, want %q", err, tt.want)
			}
		})
	}
}

// Plugins are started after those they need, closed before them, and one that
// fails to start closes those that did.
func TestOrder(t *testing.T) {
	t.Parallel()
	var log []string
	one := func(name string, fail error, needs ...string) plugin.Plugin {
		return &sample{
			about: about(name, needs...), end: func() error { log = append(log, "-"+name); return nil },
			start: func(plugin.Host) error { log = append(log, "+"+name); return fail },
		}
	}
	s, err := extend.New(extend.Config{Plugins: []plugin.Plugin{one("c", nil, "a", "b"), one("b", nil, "a"), one("a", nil), one("d", errors.New("no disk"))}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context(), &tool.Registry{}); err == nil || !strings.Contains(err.Error(), "plugin d: start: no disk") {
		t.Errorf("Start() = %v, want what plugin d says", err)
	}
	if got := strings.Join(log, " "); got != "+a +b +c +d -c -b -a" {
		t.Errorf("started and closed %s", got)
	}
}

// A plugin that panics costs what it panicked in.
func TestPanics(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	bad := &sample{
		about: about("bad"), perRun: func(plugin.Turn) []plugin.Tool { panic("tools") }, prompt: func(plugin.Turn) (string, error) { panic("prompt") },
		end: func() error { panic("close") },
	}
	good := &sample{
		about: about("good"),
		perRun: func(turn plugin.Turn) []plugin.Tool {
			return []plugin.Tool{says("for_"+turn.User, ""), {Name: "not whole"}}
		},
		prompt: func(turn plugin.Turn) (string, error) {
			return "The user is " + turn.User + strings.Repeat("!", plugin.MaxPrompt), nil
		},
	}
	s, err := extend.New(extend.Config{Plugins: []plugin.Plugin{bad, good}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	var r tool.Registry
	if err := s.Start(t.Context(), &r); err != nil {
		t.Fatal(err)
	}
	ctx := tool.With(t.Context(), tool.Context{User: "ann"})
	if got := r.ForRun(ctx); len(got) != 1 || got[0].Spec().Name != "for_ann" {
		t.Errorf("the tools of the run are %v", got)
	}
	if got := s.Prompts(ctx); len(got) != 1 || !strings.HasPrefix(got[0], "The user is ann!") || len(got[0]) != plugin.MaxPrompt {
		t.Errorf("the model is told %.30q…", got)
	}
	if err := s.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "plugin bad: close") {
		t.Errorf("Close() = %v, want that bad panicked", err)
	}
	if got := log.String(); strings.Count(got, "plugin panicked") != 3 || !strings.Contains(got, "plugin=bad") {
		t.Errorf("the log does not name all panics:\n%s", got)
	}
}

// The tools of a run are those of its user, whether a plugin makes them anew or gives
// the same again.
func TestToolsGivenAgain(t *testing.T) {
	t.Parallel()
	shared := []plugin.Tool{says("shared", ""), {Name: "not whole"}}
	p := &sample{about: about("p"), perRun: func(turn plugin.Turn) []plugin.Tool {
		if turn.User == "ann" {
			return []plugin.Tool{says("for_ann", "")}
		}
		return shared
	}}
	s, err := extend.New(extend.Config{Plugins: []plugin.Plugin{p}})
	if err != nil {
		t.Fatal(err)
	}
	var r tool.Registry
	if err := s.Start(t.Context(), &r); err != nil {
		t.Fatal(err)
	}
	var before tool.Tool
	for _, step := range [][2]string{{"ben", "shared"}, {"ann", "for_ann"}, {"ben", "shared"}, {"cleo", "shared"}, {"ann", "for_ann"}} {
		got := r.ForRun(tool.With(t.Context(), tool.Context{User: step[0]}))
		if len(got) != 1 || got[0].Spec().Name != step[1] {
			t.Errorf("the tools of %s are %v, want %s", step[0], got, step[1])
		}
		if step[0] == "cleo" && got[0] != before {
			t.Error("tools that were given again were made again")
		}
		before = got[0]
	}
}

// The settings of a plugin reach it, checked and with defaults; those of the host
// are its too.
func TestHost(t *testing.T) {
	t.Parallel()
	var got plugin.Host
	p := &sample{
		about: about("a"), start: func(h plugin.Host) error { got = h; return nil }, tools: []plugin.Tool{says("x", "")},
		settings: []plugin.Setting{{Name: "size", Kind: plugin.Integer, Default: "3"}, {Name: "where", Kind: plugin.URL}},
	}
	s, err := extend.New(extend.Config{Plugins: []plugin.Plugin{p}, Oracle: "did:ixo:o", Settings: given(map[string]map[string]string{"a": {"where": "http://x.example/y", "visibility": "on-demand"}})})
	if err != nil {
		t.Fatal(err)
	}
	var r tool.Registry
	if err := s.Start(t.Context(), &r); err != nil {
		t.Fatal(err)
	}
	if got.Settings.Int("size") != 3 || got.Settings.Text("where") != "http://x.example/y" || got.Oracle != "did:ixo:o" || got.Log == nil {
		t.Errorf("the host is %+v", got)
	}
	if spec := r.ForRun(t.Context())[0].Spec(); spec.Capability != "a" {
		t.Errorf("the tool has the capability %q although the operator wants it on demand", spec.Capability)
	}
}

// What a tool returns is what the model is told.
func TestToolAnswers(t *testing.T) {
	t.Parallel()
	answers := map[string]struct {
		v    any
		err  error
		want string
	}{
		"text":    {"hello", nil, "hello"},
		"nothing": {nil, nil, "done"},
		"json":    {map[string]int{"n": 1}, nil, `{"n":1}`},
		"refused": {nil, plugin.Invalid("No city %q.", "X"), "PLUGIN_REFUSED: No city \"X\"."},
		"fault":   {nil, fault.New(fault.NotFound, "TWIN_NOT_FOUND", "No twin."), "TWIN_NOT_FOUND: No twin."},
		"failed":  {nil, errors.New("disk"), "disk"},
	}
	p := &sample{about: about("a")}
	for name, a := range answers {
		p.tools = append(p.tools, plugin.Tool{Name: name, Description: "d", Run: func(_ context.Context, c plugin.Call) (any, error) {
			if c.User != "ann" || c.ID != "7" || string(c.Args) != "{}" {
				t.Errorf("%s: the call is %+v", name, c)
			}
			return a.v, a.err
		}})
	}
	s, err := extend.New(extend.Config{Plugins: []plugin.Plugin{p}})
	if err != nil {
		t.Fatal(err)
	}
	var r tool.Registry
	if err := s.Start(t.Context(), &r); err != nil {
		t.Fatal(err)
	}
	ctx := tool.With(t.Context(), tool.Context{User: "ann"})
	for _, one := range r.ForRun(ctx) {
		a := answers[one.Spec().Name]
		out, err := one.Run(ctx, tool.Call{ID: "7", Args: jsontext.Value("{}")})
		got := out.String()
		if err != nil {
			got = err.Error()
		}
		if got != a.want || a.err != nil && (fault.As(err) == nil) != (a.want == "disk") {
			t.Errorf("%s = %q, %v, want %q", one.Spec().Name, got, err, a.want)
		}
	}
}

// Tools that are not always there can be found and loaded.
func TestCapabilities(t *testing.T) {
	t.Parallel()
	demanded := about("weather")
	demanded.Visibility, demanded.WhenToUse = plugin.OnDemand, []string{"Rain."}
	s, err := extend.New(extend.Config{Plugins: []plugin.Plugin{
		&sample{about: demanded, tools: []plugin.Tool{says("get_weather", "")}}, &sample{about: about("twins"), tools: []plugin.Tool{says("search", "")}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var r tool.Registry
	if err := s.Start(t.Context(), &r); err != nil {
		t.Fatal(err)
	}
	ask := func(name, args string) (string, []string) {
		all := r.ForRun(t.Context())
		out, err := all[slices.IndexFunc(all, func(o tool.Tool) bool { return o.Spec().Name == name })].Run(t.Context(), tool.Call{Args: jsontext.Value(args)})
		if err != nil {
			return err.Error(), nil
		}
		return out.String(), out.Load
	}
	if got, _ := ask("list_capabilities", `{}`); !strings.Contains(got, `"whenToUse":["Rain."]`) || !strings.Contains(got, `"name":"twins"`) {
		t.Errorf("list_capabilities = %s", got)
	}
	if got, load := ask("load_capability", `{"names":["weather","twins"]}`); got != `{"loaded":["weather"],"tools":["get_weather"]}` || !slices.Equal(load, []string{"weather"}) {
		t.Errorf("load_capability = %s, %v", got, load)
	}
	if got, load := ask("load_capability", `{"names":["rain"]}`); !strings.Contains(got, `There is no capability "rain". There are: weather, twins.`) || load != nil {
		t.Errorf("load_capability of nothing = %s, %v", got, load)
	}
}

// A route of a plugin cannot stand beside one of the server.
func TestClash(t *testing.T) {
	t.Parallel()
	core := []web.Route{{Method: "GET", Path: "/sessions/{id}", Doc: web.Doc{Tag: "oracle"}}, {Method: "GET", Path: "/weather/now", Doc: web.Doc{Tag: extend.Tag}}}
	for path, want := range map[string]string{
		"/weather/now": "", "/sessions/x": "plugin a: the route GET /sessions/x begins with /sessions, which belongs to the server (GET /sessions/{id})", "/v1/x": "belongs to the server (/v1)",
	} {
		s, err := extend.New(extend.Config{Plugins: []plugin.Plugin{&sample{about: about("a"), routes: []plugin.Route{route("GET", path)}}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Clash(core); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("Clash of %s = %v, want %q", path, err, want)
		}
	}
}

// A plugin may refuse an answer, with what the client needs to go on.
func TestBefore(t *testing.T) {
	t.Parallel()
	gate := &sample{about: about("gate")}
	never := &sample{about: about("never"), before: func(turn plugin.Turn) error {
		if turn.User != "ann" {
			t.Errorf("asked about %+v", turn)
		}
		return nil
	}}
	s, err := extend.New(extend.Config{Plugins: []plugin.Plugin{never, gate}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, body string
		before     func(plugin.Turn) error
		done       bool
		failed     bool
	}{
		{"goes on", "", func(plugin.Turn) error { return nil }, false, false},
		{"pays first", `{"claims":["c1"],"message":"Pay first.","statusCode":402}`, func(plugin.Turn) error {
			return &plugin.Error{Status: 402, Message: "Pay first.", Members: map[string]any{"claims": []string{"c1"}, "statusCode": 200, "error": "no"}}
		}, true, false},
		{"forbidden", `{"error":"Forbidden","message":["a","b"],"statusCode":403}`, func(plugin.Turn) error {
			return &plugin.Error{Status: 403, Message: "No", Details: []string{"a", "b"}}
		}, true, false},
		{"fails", "", func(plugin.Turn) error { return errors.New("disk") }, true, true},
		{"panics", "", func(plugin.Turn) error { panic("x") }, true, true},
	} {
		gate.before = tt.before
		err := s.Before(tool.With(t.Context(), tool.Context{User: "ann"}))
		var no *tool.Refusal
		body := ""
		if errors.As(err, &no) {
			body = string(no.Body)
		}
		if (err != nil) != tt.done || (no == nil) != (tt.failed || !tt.done) || body != tt.body {
			t.Errorf("%s: %v, %s; want %v and %s", tt.name, err, body, tt.done, tt.body)
		}
	}
}

// Events a plugin has named reach the sockets of the conversation, with its ids.
func TestEvents(t *testing.T) {
	t.Parallel()
	var host plugin.Host
	p := &sample{about: about("a"), events: []string{"weather.changed"}, start: func(h plugin.Host) error { host = h; return nil }}
	s, err := extend.New(extend.Config{Plugins: []plugin.Plugin{p}})
	if err != nil {
		t.Fatal(err)
	}
	var r tool.Registry
	if err := s.Start(t.Context(), &r); err != nil {
		t.Fatal(err)
	}
	if got := r.Events(); !slices.Equal(got, []string{"weather.changed"}) {
		t.Errorf("the catalogue has %v", got)
	}
	var sent []string
	ctx := tool.With(t.Context(), tool.Context{SessionID: "$1", RequestID: "r1", Emit: func(event string, payload any) {
		sent = append(sent, fmt.Sprint(event, payload))
	}})
	if err := host.Emit(ctx, "weather.changed", map[string]any{"temp": 3, "sessionId": "$other"}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(sent, []string{"weather.changedmap[requestId:r1 sessionId:$1 temp:3]"}) {
		t.Errorf("sent %v", sent)
	}
	for name, err := range map[string]error{
		"another event": host.Emit(ctx, "tool_call", map[string]any{}), "no object": host.Emit(ctx, "weather.changed", 3), "no conversation": host.Emit(t.Context(), "weather.changed", map[string]any{}),
	} {
		if err == nil {
			t.Errorf("%s is sent", name)
		}
	}
}
