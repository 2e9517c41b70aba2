package oracle_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/oracle"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm/modeltest"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

const declaring = `{"message":"x","stream":true,` +
	`"tools":[{"name":"read page","description":"Reads","schema":{"$schema":"http://json-schema.org/draft-07/schema#"}}],` +
	`"agActions":[{"name":"paint","description":"Paints","schema":{"type":"object","properties":{"colour":{"type":"string"},"oracleUserId":{"type":"string"}},"required":["colour","oracleUserId"]},"hasRender":true}]}`

// TestPageTools: tools and actions of a page reach the model, go out to the
// page and come back; on the stream they have the names the page gave them.
func TestPageTools(t *testing.T) {
	t.Parallel()
	m := modeltest.NewFake(
		modeltest.Called(tool.Call{Name: "read_page", Args: jsontext.Value(`{"any":1}`)}, tool.Call{Name: "paint", Args: jsontext.Value(`{"colour":"red"}`)}),
		modeltest.Spoken("Painted."),
	)
	h, u := small(t, m, func(c *oracle.Config, _ *run.Config) {
		if err := c.Tools.Add(tool.Func{Describe: tool.Spec{Name: "search", Description: "Ours", ReadOnly: true}, Do: func(context.Context, tool.Call) (tool.Output, error) {
			return tool.Output{}, nil
		}}); err != nil {
			t.Fatal(err)
		}
	}), newUser(t, 1)
	h.live.answer = func(_ context.Context, s tool.Spec, _ tool.Call) (tool.Output, error) {
		if s.Kind == tool.Action {
			return tool.Output{Data: jsontext.Value(`{"success":true}`)}, nil
		}
		return tool.Output{Text: "the page"}, nil
	}
	s := h.session(u)
	got := h.do(u, "POST", "/messages/"+s, `{"message":"x","tools":[{"name":"search","description":"Not ours","schema":{"a":1}}]}`)
	if got.status != 400 || !strings.Contains(got.body, `tools.0.name is taken by another tool: search`) {
		t.Errorf("a tool with a name of ours = %d %s, want 400", got.status, got.body)
	}
	r, _ := h.stream(u, "POST", "/messages/"+s, declaring)
	frames := r.all()

	var offered []string
	for _, spec := range chats(m)[0].Tools {
		offered = append(offered, spec.Name+" "+spec.Description+" "+string(spec.Schema))
	}
	want := []string{
		"search Ours ",
		`read_page Reads {"$schema":"http://json-schema.org/draft-07/schema#"}`,
		`paint Paints {"properties":{"colour":{"type":"string"}},"required":["colour"],"type":"object"}`,
	}
	if !slices.Equal(offered, want) {
		t.Errorf("offered %q\nwant %q", offered, want)
	}

	h.live.mu.Lock()
	for i, c := range h.live.calls {
		spec, about := h.live.specs[i], h.live.about[i]
		if about.User != u.did() || about.SessionID != s || spec.Name != c.Name {
			t.Errorf("call %s of %+v", c.Name, about)
		}
		switch c.Name {
		case "read page":
			if string(c.Args) != `{"any":1}` || spec.Kind != tool.Browser {
				t.Errorf("browser call %s %v", c.Args, spec.Kind)
			}
		case "paint":
			if string(c.Args) != `{"colour":"red","oracleUserId":"`+u.did()+`"}` || !spec.HasRender || spec.Kind != tool.Action {
				t.Errorf("action call %s %+v", c.Args, spec)
			}
		}
	}
	if len(h.live.calls) != 2 {
		t.Errorf("%d calls", len(h.live.calls))
	}
	h.live.mu.Unlock()

	var seen []string
	for _, f := range frames {
		switch f.event {
		case "tool_call":
			seen = append(seen, f.text("toolName")+" "+f.text("status")+" "+f.text("output"))
		case "action_call":
			if f.text("toolCallId") == "" || f.data["eventId"] != nil {
				t.Errorf("action frame %s", f.raw)
			}
			if args, _ := f.data["args"].(map[string]any); len(args) != 1 {
				t.Errorf("arguments of an action: %s", f.raw)
			}
			seen = append(seen, f.text("toolName")+" "+f.text("status")+" "+f.text("output"))
		case "router.update":
			seen = append(seen, "router "+f.text("step"))
		}
	}
	slices.Sort(seen)
	wantSeen := []string{"paint done {\"success\":true}", "paint isRunning ", "read page done the page", "read page isRunning ", "router ag-ui_agent", "router main_agent"}
	if !slices.Equal(seen, wantSeen) {
		t.Errorf("frames %q\nwant %q", seen, wantSeen)
	}
	if n := len(h.live.heard("action_call")); n != 0 {
		t.Errorf("sockets heard %d action_calls beside the call itself: the page would run it again", n)
	}
	if heard := h.live.heard("router_update"); len(heard) != 2 {
		t.Errorf("sockets heard %v", heard)
	}
}

// TestActionFails: an action that fails says so.
func TestActionFails(t *testing.T) {
	t.Parallel()
	m := modeltest.NewFake(modeltest.Called(tool.Call{Name: "paint", Args: jsontext.Value(`{"colour":"red"}`)}), modeltest.Spoken("Sorry."))
	h, u := small(t, m), newUser(t, 1)
	h.live.answer = func(context.Context, tool.Spec, tool.Call) (tool.Output, error) {
		return tool.Output{}, errors.New("socket is gone: 10.0.0.1")
	}
	r, _ := h.stream(u, "POST", "/messages/"+h.session(u), declaring)
	for _, f := range r.all() {
		if f.event == "action_call" && f.text("status") != "isRunning" {
			if f.text("status") != "error" || f.text("error") == "" || strings.Contains(f.raw, "10.0.0.1") || f.data["output"] != nil {
				t.Errorf("frame %s", f.raw)
			}
		}
	}
}

// TestNoPage: without sockets a page's tool fails at once.
func TestNoPage(t *testing.T) {
	t.Parallel()
	m := modeltest.NewFake(modeltest.Called(tool.Call{Name: "read_page", Args: jsontext.Value(`{}`)}), modeltest.Spoken("No page."))
	h, u := small(t, m, func(c *oracle.Config, _ *run.Config) { c.Live = nil }), newUser(t, 1)
	r, _ := h.stream(u, "POST", "/messages/"+h.session(u), declaring)
	frames := r.all()
	found := false
	for _, f := range frames {
		found = found || f.event == "tool_call" && strings.Contains(f.text("output"), "No browser is connected") && f.data["failed"] == true
	}
	if !found || spoken(frames) != "No page." {
		t.Errorf("frames %v", frames)
	}
}

// TestDeclarationsStay: a list that a later message leaves out stays; an empty
// one takes all back.
func TestDeclarationsStay(t *testing.T) {
	t.Parallel()
	m := modeltest.NewFake(modeltest.Spoken("x"))
	h, u := small(t, m), newUser(t, 1)
	s := h.session(u)
	for _, tt := range []struct{ body, want string }{
		{declaring, "read_page paint"},
		{`{"message":"y"}`, "read_page paint"},
		{`{"message":"y","tools":[]}`, "paint"},
		{`{"message":"y","agActions":[]}`, ""},
		{`{"message":"y","agActions":[{"name":"dance","description":"d","schema":{}}]}`, "dance"},
	} {
		before := len(chats(m))
		h.do(u, "POST", "/messages/"+s, tt.body)
		var have []string
		for _, spec := range chats(m)[before].Tools {
			have = append(have, spec.Name)
		}
		if got := strings.Join(have, " "); got != tt.want {
			t.Errorf("%s: offered %q, want %q", tt.body, got, tt.want)
		}
	}
	other := h.session(u)
	before := len(chats(m))
	h.do(u, "POST", "/messages/"+other, `{"message":"y"}`)
	if n := len(chats(m)[before].Tools); n != 0 {
		t.Errorf("another session is offered %d tools", n)
	}
}
