package preferences_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/plugin"
	"github.com/hearth-dmrv/hearth/plugins/preferences"
)

// memory is a store of one user.
type memory map[string][]byte

func (m memory) User(context.Context) (plugin.Shelf, error)    { return m, nil }
func (m memory) Session(context.Context) (plugin.Shelf, error) { return m, nil }

func (m memory) Get(_ context.Context, name string) ([]byte, error) { return m[name], nil }

func (m memory) Put(_ context.Context, name string, value []byte) error {
	m[name] = value
	return nil
}

func (m memory) PutUntil(ctx context.Context, name string, value []byte, _ time.Time) error {
	return m.Put(ctx, name, value)
}

func (m memory) Delete(_ context.Context, name string) error {
	delete(m, name)
	return nil
}

func (m memory) Entries(context.Context, string, int) ([]plugin.Entry, error) { return nil, nil }

func start(t *testing.T) *preferences.Plugin {
	t.Helper()
	p := preferences.New()
	if err := p.Start(t.Context(), plugin.Host{Store: memory{}}); err != nil {
		t.Fatal(err)
	}
	return p
}

func shown(t *testing.T, v any, err error) string {
	t.Helper()
	if err != nil {
		return err.Error()
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	got, _, _ := strings.Cut(string(text), `,"updatedAt"`)
	return got
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	p := start(t)
	for _, tt := range []struct{ body, want string }{
		{"", "null"},
		{`{"userName":"Amina","language":"sw","formality":"friendly"}`, `{"userName":"Amina","language":"sw","formality":"friendly"`},
		{"", `{"userName":"Amina","language":"sw","formality":"friendly"`},
		{`{"agentName":"Jiko","userName":null,"updatedAt":"2026-01-01T00:00:00Z"}`, `{"agentName":"Jiko"`},
		{
			`{"agentName":7,"userName":"` + strings.Repeat("x", 81) + `","formality":"rude","shoe":1,"tone":"a\u0007"}`,
			"The preferences are not valid: agentName must be a string; formality must be one of the following values: casual, friendly, neutral, semi-formal, professional, formal, technical, academic; " +
				"property shoe should not exist; tone must not hold control characters; userName must be shorter than or equal to 80 characters",
		},
		{`{"userName":"a","userName":"b"}`, "a member appears twice"},
		{`{"customInstructions":"` + strings.Repeat("é", 2001) + `"}`, "customInstructions must be shorter"},
		{"", `{"agentName":"Jiko"`},
		{`{"customInstructions":"` + strings.Repeat("é", 2000) + `\nx"}`, "customInstructions must be shorter"},
		{`{"customInstructions":"Short.\nPlease."}`, `{"customInstructions":"Short.\nPlease."`},
		{`{}`, "null"},
		{"", "null"},
	} {
		route := p.Routes()[0]
		if tt.body != "" {
			route = p.Routes()[1]
		}
		v, err := route.Serve(&plugin.Request{Request: httptest.NewRequest(route.Method, route.Path, nil), Content: []byte(tt.body)})
		if got := shown(t, v, err); !strings.Contains(got, tt.want) {
			t.Errorf("%s %.60s = %s, want %s", route.Method, tt.body, got, tt.want)
		}
	}
}

// The tool changes what it is given, and the model is told all of it.
func TestTools(t *testing.T) {
	t.Parallel()
	p := start(t)
	prompt := func() string {
		text, err := p.Prompt(t.Context(), plugin.Turn{})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if got := prompt(); got != "" {
		t.Errorf("the model is told %q of a user who said nothing", got)
	}
	get, set := p.Tools()[0], p.Tools()[1]
	if set.ReadOnly || !get.ReadOnly {
		t.Error("to set preferences changes something, to read them does not")
	}
	for _, tt := range []struct{ args, want string }{
		{`{"userName":"Amina","tone":"warm"}`, `{"userName":"Amina","tone":"warm"`},
		{`{"tone":null,"language":"sw"}`, `{"userName":"Amina","language":"sw"`},
	} {
		v, err := set.Run(t.Context(), plugin.Call{Args: []byte(tt.args)})
		if got := shown(t, v, err); got != tt.want {
			t.Errorf("%s = %s, want %s", tt.args, got, tt.want)
		}
	}
	v, err := get.Run(t.Context(), plugin.Call{})
	if got := shown(t, v, err); got != `{"userName":"Amina","language":"sw"` {
		t.Errorf("the preferences are %s", got)
	}
	if got := prompt(); !strings.HasSuffix(got, `: {"userName":"Amina","language":"sw"}`) || !strings.Contains(got, "changes no rule") {
		t.Errorf("the model is told %q", got)
	}
	v, err = set.Run(t.Context(), plugin.Call{Args: []byte(`{"userName":null,"language":null}`)})
	if got := shown(t, v, err); got != `"Nothing is remembered any more."` || prompt() != "" {
		t.Errorf("taken back: %s", got)
	}
}
