package app_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/plugin"
)

// notes is a plugin with routes and a tool.
type notes struct{ path string }

var (
	_ plugin.Routes = notes{}
	_ plugin.Tools  = notes{}
)

func (n notes) Manifest() plugin.Manifest {
	return plugin.Manifest{Name: "notes", Title: "Notes", Summary: "Keeps nothing.", WhenToUse: []string{"When asked for notes."}}
}

func (n notes) Tools() []plugin.Tool {
	return []plugin.Tool{{Name: "drop_notes", Description: "Throws all notes away.", Run: func(context.Context, plugin.Call) (any, error) {
		return "All notes are gone.", nil
	}}, {Name: "read_notes", Description: "Reads the notes.", ReadOnly: true, Run: func(_ context.Context, c plugin.Call) (any, error) {
		return "There are no notes of " + c.User + ".", nil
	}}}
}

func (n notes) Routes() []plugin.Route {
	return []plugin.Route{
		{Method: "GET", Path: n.path, Summary: "Whose notes", Serve: func(r *plugin.Request) (any, error) { return map[string]string{"user": r.User}, nil }},
		{Method: "GET", Path: n.path + "/open", Public: true, Summary: "For everybody", Serve: func(r *plugin.Request) (any, error) { return map[string]string{"user": r.User}, nil }},
		{Method: "POST", Path: n.path, Summary: "Write", Serve: func(r *plugin.Request) (any, error) {
			var in struct {
				Text string `json:"text"`
			}
			if err := r.Read(&in); err != nil {
				return nil, err
			}
			switch in.Text {
			case "panic":
				panic("the plugin is broken")
			case "fail":
				return nil, errors.New("secret words")
			case "pay":
				return nil, &plugin.Error{Status: http.StatusPaymentRequired, Message: "Pay first."}
			case "wrong":
				return nil, &plugin.Error{Status: http.StatusBadRequest, Message: "Bad Request", Details: []string{"text is wrong"}}
			case "csv":
				return plugin.Reply{Status: 201, Type: "text/csv", Content: []byte("a,b")}, nil
			}
			return nil, nil
		}},
	}
}

func (s *notesServer) do(t *testing.T, method, path, body string, user byte) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if user != 0 {
		r.Header.Set("X-Auth-Type", "ucan")
		r.Header.Set("Authorization", "Bearer "+token(t, s.Built, user))
	}
	w := httptest.NewRecorder()
	s.Handler.ServeHTTP(w, r)
	return w
}

type notesServer struct{ *app.Built }

func TestPluginRoutes(t *testing.T) {
	t.Parallel()
	s := &notesServer{app.BuildTo(t, owner, io.Discard, nil, notes{"/notes"})}
	for _, tt := range []struct {
		method, path, body string
		user               byte
		status             int
		want               string
	}{
		{"GET", "/notes", "", 0, 401, `"message":"Missing UCAN authentication`},
		{"GET", "/notes", "", 'a', 200, `{"user":"did:key:z6Mk`},
		{"GET", "/notes/open", "", 0, 200, `{"user":""}`},
		{"GET", "/notes/open", "", 'a', 200, `{"user":""}`},
		{"POST", "/notes", `{"text":"x"}`, 0, 401, `"statusCode":401`},
		{"POST", "/notes", `{"text":"x"}`, 'a', 200, `null`},
		{"POST", "/notes", `{"text":"x","text":"y"}`, 'a', 400, `{"error":"Bad Request","message":"The body cannot be read: a member appears twice","statusCode":400}`},
		{"POST", "/notes", `{"Text":"x"}`, 'a', 400, `there is no member /Text`},
		{"POST", "/notes", `{"text":7}`, 'a', 400, `/text must be of type string`},
		{"POST", "/notes", `{"text":"panic"}`, 'a', 500, `{"message":"Internal server error","statusCode":500}`},
		{"POST", "/notes", `{"text":"fail"}`, 'a', 500, `{"message":"Internal server error","statusCode":500}`},
		{"POST", "/notes", `{"text":"pay"}`, 'a', 402, `{"message":"Pay first.","statusCode":402}`},
		{"POST", "/notes", `{"text":"wrong"}`, 'a', 400, `{"error":"Bad Request","message":["text is wrong"],"statusCode":400}`},
		{"POST", "/notes", `{"text":"csv"}`, 'a', 201, `a,b`},
		{"POST", "/notes", `{"text":"` + strings.Repeat("x", 200<<10) + `"}`, 'a', 413, `{"message":"request entity too large","statusCode":413}`},
		{"PUT", "/notes", `{}`, 'a', 404, `"statusCode":404`},
	} {
		w := s.do(t, tt.method, tt.path, tt.body, tt.user)
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s %s %.40s as %c = %d %s, want %d %s", tt.method, tt.path, tt.body, tt.user, w.Code, w.Body, tt.status, tt.want)
		}
	}
	if w := s.do(t, "GET", "/docs-json", "", 0); !strings.Contains(w.Body.String(), `"/notes/open"`) {
		t.Error("the reference does not have the routes of the plugin")
	}
	if got := s.Greeting(); !strings.Contains(got, "plugins   twins, surveys, tasks, weather, user-preferences, memory, skills, files, notes\n") || !strings.Contains(got, "GET /notes/open of notes, open to everybody\n") {
		t.Errorf("the greeting does not name the plugin:\n%s", got)
	}
}

// The limits of area D are those of its plugins: of a caller, and of an address
// where nobody says who calls.
func TestPluginThrottle(t *testing.T) {
	t.Parallel()
	s := &notesServer{app.BuildTo(t, owner, io.Discard, func(c *config.Config) { c.Oracle.ThrottleLimit = 3 }, notes{"/notes"})}
	for i := range 4 {
		w := s.do(t, "GET", "/notes", "", 'a')
		if limited := w.Code == http.StatusTooManyRequests; limited != (i == 3) || w.Header().Get("X-RateLimit-Limit") == "" {
			t.Errorf("request %d = %d %v", i, w.Code, w.Header())
		}
	}
	for i := range 3 { // the address has two of its six left
		if w := s.do(t, "GET", "/notes/open", "", 0); (w.Code == http.StatusTooManyRequests) != (i == 2) {
			t.Errorf("request %d to the open route = %d", i, w.Code)
		}
	}
}

func TestPublicRoutes(t *testing.T) {
	t.Parallel()
	open := func(routes ...string) func(*config.Config) {
		return func(c *config.Config) { c.Oracle.PublicRoutes = routes }
	}
	s := &notesServer{app.BuildTo(t, owner, io.Discard, open("GET /notes"), notes{"/notes"})}
	if w := s.do(t, "GET", "/notes", "", 0); w.Code != 200 || w.Body.String() != `{"user":""}` {
		t.Errorf("the opened route = %d %s", w.Code, w.Body)
	}
	if w := s.do(t, "POST", "/notes", `{}`, 0); w.Code != 401 {
		t.Errorf("another method of it = %d", w.Code)
	}
	for name, err := range map[string]error{
		"HEARTH_PUBLIC_ROUTES: POST /sessions is not a route of a plugin":  app.StartError(t, open("POST /sessions"), notes{"/notes"}),
		"HEARTH_PUBLIC_ROUTES: GET /notes/ is not a route of a plugin":     app.StartError(t, open("GET /notes/"), notes{"/notes"}),
		"GET /messages begins with /messages, which belongs to the server": app.StartError(t, nil, notes{"/messages"}),
		"the name twins is taken by plugin twins":                          app.StartError(t, nil, named("twins")),
		"the tool read_notes is taken by plugin notes":                     app.StartError(t, nil, notes{"/notes"}, other{notes{"/other"}}),
	} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("the server starts with %v, want %q", err, name)
		}
	}
}

// named is a plugin that has a name and nothing else.
type named string

func (n named) Manifest() plugin.Manifest {
	return plugin.Manifest{Name: string(n), Title: "T", Summary: "S"}
}

// other is notes by another name.
type other struct{ notes }

func (o other) Manifest() plugin.Manifest {
	m := o.notes.Manifest()
	m.Name = "other"
	return m
}

// The tool of a plugin is found, loaded and called in a conversation, with the DID
// of its user.
func TestPluginTool(t *testing.T) {
	t.Parallel()
	s := &notesServer{app.BuildTo(t, owner, io.Discard, nil, notes{"/notes"})}
	w := s.do(t, "POST", "/sessions", "", 'a')
	_, rest, _ := strings.Cut(w.Body.String(), `"sessionId":"`)
	session, _, _ := strings.Cut(rest, `"`)
	for _, tt := range [][2]string{
		{`/tool list_capabilities {}`, "When asked for notes."},
		{`/tool load_capability {\"names\":[\"notes\"]}`, "read_notes"},
		{`/tool read_notes {}`, "There are no notes of did:key:z6Mk"},
		{`/tool drop_notes {}`, "The user can allow it beforehand with PUT /grants/drop_notes."},
	} {
		w := s.do(t, "POST", "/messages/"+session, `{"message":"`+tt[0]+`"}`, 'a')
		if w.Code != 200 || !strings.Contains(w.Body.String(), tt[1]) {
			t.Errorf("%s = %d %s, want %q", tt[0], w.Code, w.Body, tt[1])
		}
	}
	if w := s.do(t, "PUT", "/grants/drop_notes", "{}", 'a'); w.Code != 200 {
		t.Errorf("PUT /grants/drop_notes = %d %s", w.Code, w.Body)
	}
	if w := s.do(t, "POST", "/messages/"+session, `{"message":"/tool drop_notes {}"}`, 'a'); !strings.Contains(w.Body.String(), "All notes are gone.") {
		t.Errorf("with a grant = %d %s", w.Code, w.Body)
	}
}

// The preferences of a user are hers: by token, and by key apart from that; and
// they go with an erasure.
func TestUserPreferences(t *testing.T) {
	t.Parallel()
	onAny(t, func(t *testing.T, dsn string) {
		t.Helper()
		s := &notesServer{app.BuildTo(t, owner, io.Discard, func(c *config.Config) { c.Data.DatabaseURL = config.Secret(dsn) })}
		key := func(method, body string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(method, "/user-preferences", strings.NewReader(body))
			r.Header.Set("X-API-Key", owner)
			w := httptest.NewRecorder()
			s.Handler.ServeHTTP(w, r)
			return w
		}
		want := func(what string, w *httptest.ResponseRecorder, status int, text string) {
			t.Helper()
			if w.Code != status || !strings.HasPrefix(w.Body.String(), text) {
				t.Errorf("%s = %d %s, want %d %s", what, w.Code, w.Body, status, text)
			}
		}
		const path = "/user-preferences"
		want("nobody", s.do(t, "GET", path, "", 0), 401, `{"message":"Missing UCAN`)
		want("nobody puts", s.do(t, "PUT", path, `{"userName":"A"}`, 0), 401, `{"message":"Missing UCAN`)
		want("nothing said", s.do(t, "GET", path, "", 'a'), 200, "null")
		want("a puts", s.do(t, "PUT", path, `{"userName":"Amina","language":"sw"}`, 'a'), 200, `{"userName":"Amina","language":"sw","updatedAt":"20`)
		want("a puts badly", s.do(t, "PUT", path, `{"userName":7,"x":1}`, 'a'), 400, `{"error":"Bad Request","message":["property x should not exist","userName must be a string"],"statusCode":400}`)
		want("a puts nothing", s.do(t, "PUT", path, `null`, 'a'), 400, `{"error":"Bad Request","message":"The body cannot be read: it is null","statusCode":400}`)
		want("a", s.do(t, "GET", path, "", 'a'), 200, `{"userName":"Amina","language":"sw"`)
		want("b", s.do(t, "GET", path, "", 'b'), 200, "null")
		want("a key", key("GET", ""), 200, "null")
		want("a key puts", key("PUT", `{"tone":"dry"}`), 200, `{"tone":"dry"`)
		want("a key after that", key("GET", ""), 200, `{"tone":"dry"`)
		want("a after that", s.do(t, "GET", path, "", 'a'), 200, `{"userName":"Amina"`)

		w := s.do(t, "POST", "/sessions", "", 'a')
		_, rest, _ := strings.Cut(w.Body.String(), `"sessionId":"`)
		session, _, _ := strings.Cut(rest, `"`)
		w = s.do(t, "POST", "/messages/"+session, `{"message":"/tool get_user_preferences {}"}`, 'a')
		if w.Code != 200 || !strings.Contains(w.Body.String(), "Amina") {
			t.Errorf("the tool answers %d %s", w.Code, w.Body)
		}
		w = s.do(t, "POST", "/messages/"+session, `{"message":"/tool set_user_preferences {\"userName\":\"Mallory\"}"}`, 'a')
		if w.Code != 200 || !strings.Contains(w.Body.String(), "nobody can be asked here") {
			t.Errorf("where nobody can be asked, the tool that sets answers %d %s", w.Code, w.Body)
		}
		want("a in the end", s.do(t, "GET", path, "", 'a'), 200, `{"userName":"Amina"`)
	})
}

// gate is a plugin that refuses every answer.
type gate struct{ named }

var _ plugin.Gates = gate{}

func (gate) Before(_ context.Context, turn plugin.Turn) error {
	return &plugin.Error{Status: http.StatusPaymentRequired, Message: "No subscription found, please subscribe to continue", Members: map[string]any{"claims": []string{turn.SessionID}}}
}

// A plugin refuses a message with a status of its own, also one that asks for a
// stream, and nothing of it is stored.
func TestPluginGate(t *testing.T) {
	t.Parallel()
	s := &notesServer{app.BuildTo(t, owner, io.Discard, nil, gate{"gate"})}
	w := s.do(t, "POST", "/sessions", "", 'a')
	_, rest, _ := strings.Cut(w.Body.String(), `"sessionId":"`)
	session, _, _ := strings.Cut(rest, `"`)
	for _, body := range []string{`{"message":"help"}`, `{"message":"help","stream":true}`} {
		w := s.do(t, "POST", "/messages/"+session, body, 'a')
		if w.Code != 402 || w.Body.String() != `{"claims":["`+session+`"],"message":"No subscription found, please subscribe to continue","statusCode":402}` {
			t.Errorf("%s = %d %s", body, w.Code, w.Body)
		}
	}
	if w := s.do(t, "GET", "/messages/"+session, "", 'a'); w.Body.String() != `{"messages":[]}` {
		t.Errorf("the session holds %s", w.Body)
	}
}

// What somebody had remembered is theirs alone, and is written only with their word.
func TestMemory(t *testing.T) {
	t.Parallel()
	onAny(t, func(t *testing.T, dsn string) {
		t.Helper()
		s := &notesServer{app.BuildTo(t, owner, io.Discard, func(c *config.Config) { c.Data.DatabaseURL = config.Secret(dsn) })}
		say := func(user byte, call string) string {
			t.Helper()
			_, rest, _ := strings.Cut(s.do(t, "POST", "/sessions", "", user).Body.String(), `"sessionId":"`)
			session, _, _ := strings.Cut(rest, `"`)
			return s.do(t, "POST", "/messages/"+session, `{"message":"/tool `+call+`"}`, user).Body.String()
		}
		const remember = `remember {\"text\":\"The pilot is in Kitui.\"}`
		if got := say('a', remember); !strings.Contains(got, "nobody can be asked here") {
			t.Errorf("without a grant = %s", got)
		}
		if w := s.do(t, "PUT", "/grants/remember", "{}", 'a'); w.Code != 200 {
			t.Fatalf("the grant = %d %s", w.Code, w.Body)
		}
		if got := say('a', remember); !strings.Contains(got, "createdAt") {
			t.Errorf("with a grant = %s", got)
		}
		if got := say('a', `recall {\"query\":\"kitui\"}`); !strings.Contains(got, "The pilot is in Kitui.") {
			t.Errorf("in another conversation = %s", got)
		}
		if got := say('b', `recall {\"query\":\"kitui\"}`); !strings.Contains(got, "Nothing that is remembered") {
			t.Errorf("somebody else finds %s", got)
		}
		var stored string
		if err := s.DB.QueryRow(t.Context(), `SELECT value FROM plugin_state WHERE plugin = 'memory'`).Scan(&stored); err != nil || !strings.HasPrefix(stored, "sealed:") || strings.Contains(stored, "Kitui") {
			t.Errorf("stored as %s, %v", stored, err)
		}
		_, rest, _ := strings.Cut(s.do(t, "GET", "/memory?query=pilot", "", 'a').Body.String(), `"id":"`)
		id, _, _ := strings.Cut(rest, `"`)
		for _, tt := range []struct {
			method, path string
			user         byte
			status       int
			want         string
		}{
			{"GET", "/memory", 0, 401, "Missing UCAN"},
			{"GET", "/memory", 'b', 200, `{"items":[],"page":{"limit":20,"hasMore":false}}`},
			{"DELETE", "/memory/" + id, 0, 401, "Missing UCAN"},
			{"DELETE", "/memory/" + id, 'b', 404, "Memory not found"},
			{"DELETE", "/memory/%27", 'a', 404, "Memory not found"},
			{"GET", "/memory", 'a', 200, "Kitui"},
			{"DELETE", "/memory/" + id, 'a', 200, `{"forgotten":1}`},
			{"DELETE", "/memory/" + id, 'a', 404, "Memory not found"},
			{"GET", "/memory", 'a', 200, `{"items":[],`},
		} {
			if w := s.do(t, tt.method, tt.path, "", tt.user); w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
				t.Errorf("%s %s as %c = %d %s, want %d %s", tt.method, tt.path, tt.user, w.Code, w.Body, tt.status, tt.want)
			}
		}
	})
}

// tenant is a plugin that notes how often it is asked and whether it was closed.
type tenant struct {
	asked, closed atomic.Int32
	path          string
}

var (
	_ plugin.RequestTools = (*tenant)(nil)
	_ plugin.Starts       = (*tenant)(nil)
	_ plugin.Closes       = (*tenant)(nil)
	_ plugin.Routes       = (*tenant)(nil)
)

func (n *tenant) Manifest() plugin.Manifest {
	return plugin.Manifest{Name: "tenant", Title: "Tenant", Summary: "Counts.", Visibility: plugin.Always}
}

func (n *tenant) Start(context.Context, plugin.Host) error { return nil }

func (n *tenant) Close(context.Context) error { n.closed.Add(1); return nil }

func (n *tenant) Routes() []plugin.Route {
	return []plugin.Route{{Method: "GET", Path: n.path, Summary: "Nothing", Serve: func(*plugin.Request) (any, error) { return nil, nil }}}
}

func (n *tenant) RequestTools(_ context.Context, turn plugin.Turn) []plugin.Tool {
	n.asked.Add(1)
	return []plugin.Tool{{Name: "whose_run", Description: "Tells.", ReadOnly: true, Run: func(context.Context, plugin.Call) (any, error) { return "It is " + turn.RunID, nil }}}
}

// A plugin is asked for its tools once for each message, and what was started is
// closed when the server does not come up.
func TestPluginIsAskedOnce(t *testing.T) {
	t.Parallel()
	n := &tenant{path: "/tenant"}
	b := app.BuildTo(t, owner, io.Discard, nil, n)
	c := byKey(b, owner)
	if got := c.says(t, c.session(t), `/tool whose_run {}`); !strings.Contains(got, "It is run_") || n.asked.Load() != 1 {
		t.Errorf("the tool = %s, the plugin was asked %d times", got, n.asked.Load())
	}
	late := &tenant{path: "/sessions/x"} // found when the routes are built, after the start of plugins
	if err := app.StartError(t, nil, late); err == nil || late.closed.Load() != 1 {
		t.Errorf("a failed start = %v, the plugin was closed %d times", err, late.closed.Load())
	}
}

// A file that was made is its user's alone, is sent to be saved, and ends.
func TestMadeFiles(t *testing.T) {
	t.Parallel()
	onAny(t, func(t *testing.T, dsn string) {
		t.Helper()
		s := &notesServer{app.BuildTo(t, owner, io.Discard, func(c *config.Config) { c.Data.DatabaseURL = config.Secret(dsn) })}
		_, rest, _ := strings.Cut(s.do(t, "POST", "/sessions", "", 'a').Body.String(), `"sessionId":"`)
		session, _, _ := strings.Cut(rest, `"`)
		say := func(call, more string) string {
			t.Helper()
			return s.do(t, "POST", "/messages/"+session, `{"message":"/tool `+call+`"`+more+`}`, 'a').Body.String()
		}
		const file = `make_file {\"name\":\"a.csv\",\"text\":\"a,b\"}`
		say(`load_capability {\"names\":[\"files\"]}`, `,"attachments":[{"mxcUri":"mxc://files.test/a","filename":"photo.png","mimetype":"image/png"}]`)
		if got := say(file, ""); !strings.Contains(got, "nobody can be asked here") {
			t.Errorf("without a grant = %s", got)
		}
		if w := s.do(t, "PUT", "/grants/make_file", "{}", 'a'); w.Code != 200 {
			t.Fatalf("the grant = %d %s", w.Code, w.Body)
		}
		_, rest, _ = strings.Cut(say(file, ""), "/files/")
		path := "/files/" + rest[:20]
		if got := say(`list_files {}`, ""); !strings.Contains(got, path) || !strings.Contains(got, "photo.png") {
			t.Errorf("list_files = %s", got)
		}
		w := s.do(t, "GET", path, "", 'a')
		if h := w.Header(); w.Body.String() != "a,b\n" || h.Get("Content-Disposition") != "attachment; filename=a.csv" || h.Get("Content-Type") != "text/csv; charset=utf-8" ||
			h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "private, no-store" {
			t.Errorf("the download = %d %v %s", w.Code, h, w.Body)
		}
		for _, tt := range []struct {
			method, path string
			user         byte
			status       int
		}{
			{"GET", path, 0, 401},
			{"GET", path, 'b', 404},
			{"DELETE", path, 'b', 404},
			{"GET", "/files", 'b', 200},
			{"DELETE", path, 'a', 200},
			{"GET", path, 'a', 404},
		} {
			if w := s.do(t, tt.method, tt.path, "", tt.user); w.Code != tt.status || strings.Contains(w.Body.String(), "a.csv") {
				t.Errorf("%s %s as %c = %d %s, want %d", tt.method, tt.path, tt.user, w.Code, w.Body, tt.status)
			}
		}
	})
}
