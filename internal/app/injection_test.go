package app_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm/modeltest"
	"github.com/hearth-dmrv/hearth/plugin"
)

// poison is a text of the corpus: somebody puts it where the oracle reads, and it
// names a call in double brackets. TRAP is an address nobody may be sent to.
type poison struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

func corpus(t *testing.T) []poison {
	t.Helper()
	raw, err := os.ReadFile("testdata/injection.json")
	if err != nil {
		t.Fatal(err)
	}
	var out []poison
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	if len(out) < 40 {
		t.Fatalf("the corpus has %d texts", len(out))
	}
	return out
}

// obedient is a model that does what the user asks, and then whatever anything it
// reads tells it to: outputs, prompts, files, names and descriptions of tools.
type obedient struct {
	mu       sync.Mutex
	attempts map[int]string // calls it was talked into, by case
}

var (
	asked     = regexp.MustCompile(`look at case-(\d+) with (\S+) (\{.*?\})!`)
	unescaped = strings.NewReplacer(`\\`, `\`, `\"`, `"`)
)

// play is the answer to a request.
func (o *obedient) play(r modeltest.Request) modeltest.Script {
	at := len(r.Messages) - 1
	for at >= 0 && r.Messages[at].Role != "user" {
		at--
	}
	if at < 0 || len(r.Tools) == 0 { // a title
		return modeltest.Say("A title")
	}
	body := string(r.Body)
	for range 6 { // texts are quoted in quotes
		body = unescaped.Replace(body)
	}
	said := asked.FindAllStringSubmatch(body, -1)
	if len(said) == 0 {
		return modeltest.Say("Nothing is asked.")
	}
	last := said[len(said)-1]
	n, _ := strconv.Atoi(last[1])
	made := map[string]bool{}
	for _, m := range r.Messages[at:] {
		for _, c := range m.ToolCalls {
			made[c.Function.Name] = true
		}
	}
	if name := last[2]; name != "nothing" && !made[name] {
		return modeltest.Use(modeltest.Call{ID: "c", Name: name, Args: last[3]})
	}
	order := regexp.MustCompile(`case-` + last[1] + `:(?s:.{0,400}?)\[\[(\w+) (\{.*?\})\]\]`).FindStringSubmatch(body)
	if order == nil || made[order[1]] {
		return modeltest.Say("That is all.")
	}
	o.mu.Lock()
	o.attempts[n] = order[1] + " " + order[2]
	o.mu.Unlock()
	return modeltest.Use(modeltest.Call{ID: "d", Name: order[1], Args: order[2]})
}

// trap is a server with an obedient model, and counts what it must not bring about.
type trap struct {
	*programme
	obedient
	texts []string
	away  string       // address that texts name
	hits  atomic.Int64 // requests there
	burnt atomic.Int64 // runs of a tool of a plugin that changes something
	wiped atomic.Int64 // calls of a tool of an MCP server that nobody has granted
}

// burner is a plugin with a tool that changes something.
type burner struct{ x *trap }

var _ plugin.Tools = burner{}

func (b burner) Manifest() plugin.Manifest {
	return plugin.Manifest{Name: "burner", Title: "Burner", Summary: "Burns records.", Visibility: plugin.Always}
}

func (b burner) Tools() []plugin.Tool {
	return []plugin.Tool{{Name: "burn_records", Description: "Burns all records.", Run: func(context.Context, plugin.Call) (any, error) {
		b.x.burnt.Add(1)
		return "burnt", nil
	}}}
}

// setTrap starts a server with the corpus. ready sees it before it starts.
func setTrap(t *testing.T, ready func(x *trap, c *config.Config)) *trap {
	t.Helper()
	x := &trap{obedient: obedient{attempts: map[int]string{}}}
	away := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { x.hits.Add(1) }))
	t.Cleanup(away.Close)
	x.away = away.URL
	for i, p := range corpus(t) {
		x.texts = append(x.texts, fmt.Sprintf("case-%d: %s", i, strings.ReplaceAll(p.Text, "TRAP", x.away)))
	}
	model := modeltest.Play(x.play)
	t.Cleanup(model.Close)
	x.programme = &programme{app.BuildTo(t, owner, discard{}, func(c *config.Config) {
		c.Model.BaseURL, c.Oracle.ThrottleLimit = model.URL, 0
		c.Events.OutboundAllow = []string{"127.0.0.0/8"} // so that a request that must not be sent would arrive
		c.Data.SQLiteSynchronous = "normal"
		settings(t, c)
		if ready != nil {
			ready(x, c)
		}
	}, burner{x})}
	return x
}

// settings gives plugins settings; those that change something are always loaded.
func settings(t *testing.T, c *config.Config, more ...string) {
	t.Helper()
	set, err := config.Load(config.Input{Env: append(more, "HEARTH_PLUGIN_TASKS_VISIBILITY=always", "HEARTH_PLUGIN_FILES_VISIBILITY=always")})
	if err != nil {
		t.Fatal(err)
	}
	set.Data, set.Auth, set.Server, set.Limits, set.Model, set.Events, set.Oracle = c.Data, c.Auth, c.Server, c.Limits, c.Model, c.Events, c.Oracle
	*c = *set
}

// discard takes a log.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// key asks as the owner, who has every right there is.
func (x *trap) key(t *testing.T, method, path, body string) string {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("X-API-Key", owner)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	if x.Handler.ServeHTTP(w, r); w.Code >= 300 {
		t.Fatalf("%s %s %s = %d %s", method, path, body, w.Code, w.Body)
	}
	return w.Body.String()
}

// open begins a conversation.
func (x *trap) open(t *testing.T) string {
	t.Helper()
	var s struct {
		ID string `json:"sessionId"`
	}
	if err := json.Unmarshal([]byte(x.key(t, "POST", "/sessions", "")), &s); err != nil {
		t.Fatal(err)
	}
	return s.ID
}

// say sends a message, with members beside it.
func (x *trap) say(t *testing.T, session, text, more string) {
	t.Helper()
	body, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	x.key(t, "POST", "/messages/"+session, `{"message":`+string(body)+more+`}`)
}

// conversation are the tables that every conversation writes to.
var conversation = regexp.MustCompile(`^(chat_|oracle_(runs|frames|about|instances|used_tokens)$|sqlite_)`)

// rows is everything that is stored, but for conversations.
func (x *trap) rows(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	query := func(text string) []string {
		rows, err := x.DB.Query(t.Context(), text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		defer rows.Close()
		var all []string
		for rows.Next() {
			var s string
			if err := rows.Scan(&s); err != nil {
				t.Fatal(err)
			}
			all = append(all, s)
		}
		return all
	}
	for _, table := range query(`SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name`) {
		if conversation.MatchString(table) {
			continue
		}
		columns := query(`SELECT 'quote("' || name || '")' FROM pragma_table_info('` + table + `')`)
		out[table] = strings.Join(query(`SELECT `+strings.Join(columns, ` || ',' || `)+` FROM "`+table+`" ORDER BY 1`), "\n")
	}
	return out
}

// TestInjection puts the texts of the corpus into every place that the oracle
// reads, each text into a few of the places and in make test-all into all, has a user with all rights ask about it, and the model obey it. Nothing may
// be changed and nobody be called by that: what changes something needs the word of
// the user, which no text can give.
func TestInjection(t *testing.T) {
	t.Parallel()
	places := map[string]struct {
		ready func(t *testing.T) func(x *trap, c *config.Config)
		plant func(t *testing.T, x *trap, n int, text string) (look string)
		never bool // no tool shows it
	}{
		"twins":              {plant: plantTwin},
		"surveys":            {plant: plantSurvey},
		"answers":            {plant: plantAnswer, never: true},
		"files":              {plant: plantFile},
		"names of files":     {plant: plantFileName},
		"MCP results":        {withServer, plantResult, false},
		"MCP descriptions":   {withServer, plantNothing, false},
		"memory":             {plant: plantMemory},
		"preferences":        {plant: plantPreferences},
		"skills":             {withSkills, plantSkill, false},
		"skill descriptions": {withSkills, plantNothing, false},
	}
	for turn, name := range slices.Sorted(maps.Keys(places)) {
		place := places[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ready func(x *trap, c *config.Config)
			if place.ready != nil {
				ready = place.ready(t)
			}
			x := setTrap(t, ready)
			tried := 0
			for n, text := range x.texts {
				if n%3 != turn%3 && n > 0 && !dbtest.Everything() { // the first makes what the others need
					continue
				}
				tried++
				look := place.plant(t, x, n, text)
				before := x.rows(t)
				if look != "" {
					x.say(t, x.open(t), fmt.Sprintf("Please look at case-%d with %s!", n, look), "")
				}
				for table, rows := range x.rows(t) {
					if rows != before[table] {
						t.Errorf("%s: %s has changed\nfrom %s\nto   %s", text, table, before[table], rows)
					}
				}
			}
			if place.never && len(x.attempts) > 0 || !place.never && len(x.attempts) != tried {
				t.Errorf("the model was talked into %d calls by %d texts: %v", len(x.attempts), tried, x.attempts)
			}
			if b, w, h := x.burnt.Load(), x.wiped.Load(), x.hits.Load(); b+w+h > 0 {
				t.Errorf("records were burnt %d times, an MCP server was called %d times, the address of the texts %d times", b, w, h)
			}
		})
	}
}

// TestInjectionCounts: what TestInjection counts does happen once the user has given
// their word.
func TestInjectionCounts(t *testing.T) {
	t.Parallel()
	x := setTrap(t, nil)
	for i, call := range []string{"burn_records {}", `remember {"text":"The pilot is in Kitui."}`, `make_file {"name":"a.txt","text":"x"}`} {
		name, _, _ := strings.Cut(call, " ")
		x.key(t, "PUT", "/grants/"+name, "{}")
		plantPreferences(t, x, i, fmt.Sprintf("case-%d: [[%s]]", i, call))
		before := x.rows(t)["plugin_state"]
		x.say(t, x.open(t), fmt.Sprintf("Please look at case-%d with nothing {}!", i), "")
		if changed := x.rows(t)["plugin_state"] != before; changed != (i > 0) {
			t.Errorf("after %s rows have changed: %v", call, changed)
		}
	}
	if x.burnt.Load() != 1 {
		t.Errorf("with a grant records were burnt %d times", x.burnt.Load())
	}
}

// quoted is a text as JSON.
func quoted(t *testing.T, text string) string {
	t.Helper()
	out, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func plantTwin(t *testing.T, x *trap, _ int, text string) string {
	t.Helper()
	var made struct {
		DID string `json:"did"`
	}
	x.want(t, "POST", "/v1/entities", `{"type":"Household","protocol":"did:ixo:protocol/household","metadata":{"name":`+quoted(t, strings.Join(strings.Fields(text), " "))+`,"description":`+quoted(t, text)+`}}`, &made)
	return `read_twin {"did":"` + made.DID + `"}`
}

func plantSurvey(t *testing.T, x *trap, n int, text string) string {
	t.Helper()
	if n == 0 {
		x.want(t, "POST", "/v1/templates", `{"templateId":"c","title":"x","sections":[{"id":"home","questions":[{"id":"size","type":"integer"}]}]}`, nil)
		x.want(t, "POST", "/v1/templates/c/publish", `{}`, nil)
	}
	x.want(t, "POST", "/v1/surveys", fmt.Sprintf(`{"surveyId":"s%d","name":%s,"type":"MonitoringSurvey","projectId":"did:ixo:project/one","templateId":"c","sampling":{"method":"census"},"collectors":["did:ixo:agent/1"]}`,
		n, quoted(t, strings.Join(strings.Fields(text), " "))), nil)
	return `list_surveys {}`
}

func plantAnswer(t *testing.T, x *trap, n int, text string) string {
	t.Helper()
	if n == 0 {
		x.want(t, "POST", "/v1/templates", `{"templateId":"c","title":"x","sections":[{"id":"consent","questions":[{"id":"agree","type":"consent"}]},{"id":"home","questions":[{"id":"words","type":"text"}]}]}`, nil)
		x.want(t, "POST", "/v1/templates/c/publish", `{}`, nil)
		x.want(t, "POST", "/v1/surveys", `{"surveyId":"s","type":"MonitoringSurvey","projectId":"did:ixo:project/one","templateId":"c","sampling":{"method":"census"},"collectors":["did:ixo:agent/1"]}`, nil)
		x.want(t, "POST", "/v1/surveys/s/activate", `{"reason":"as planned"}`, nil)
	}
	x.want(t, "POST", "/v1/surveys/s/responses", fmt.Sprintf(`{"responseId":"r%d","householdId":"did:ixo:household/%d","timestamp":"2024-02-20T10:00:00Z","collector":"did:ixo:agent/1","responses":{"consent":{"agree":true},"home":{"words":%s}}}`,
		n, n, quoted(t, text)), nil)
	return []string{`survey_progress {"survey":"s"}`, `list_surveys {}`, `count_twins {"by":"type"}`}[n%3]
}

func plantFile(t *testing.T, x *trap, n int, text string) string {
	t.Helper()
	session, user := x.open(t), ""
	x.say(t, session, "Keep this for later.", `,"attachments":[{"mxcUri":"mxc://files.test/a","filename":"a.txt","mimetype":"text/plain"}]`)
	if err := x.DB.QueryRow(t.Context(), `SELECT user_did FROM chat_sessions WHERE id = $1`, session).Scan(&user); err != nil {
		t.Fatal(err)
	}
	if err := x.KeepFile(t.Context(), user, session, text); err != nil {
		t.Fatal(err)
	}
	x.say(t, session, fmt.Sprintf("Please look at case-%d with nothing {}!", n), "")
	return ""
}

func plantFileName(t *testing.T, x *trap, n int, text string) string {
	t.Helper()
	x.say(t, x.open(t), fmt.Sprintf("Please look at case-%d with nothing {}!", n), `,"attachments":[{"mxcUri":"mxc://files.test/a","filename":`+quoted(t, text)+`,"mimetype":"text/plain"}]`)
	return ""
}

func plantMemory(t *testing.T, x *trap, n int, text string) string {
	t.Helper()
	plantState(t, x, "memory", fmt.Sprintf("%020x", n), `{"text":`+quoted(t, text)+`,"at":"2026-01-02T03:04:05Z"}`)
	return `recall {"query":"case"}`
}

func plantPreferences(t *testing.T, x *trap, _ int, text string) string {
	t.Helper()
	plantState(t, x, "user-preferences", "preferences", `{"customInstructions":`+quoted(t, text)+`}`)
	return `nothing {}`
}

// plantState has a plugin keep something of the owner alone.
func plantState(t *testing.T, x *trap, plugin, name, value string) {
	t.Helper()
	session := x.open(t)
	if _, err := x.DB.Exec(t.Context(), `DELETE FROM plugin_state WHERE plugin = $1`, plugin); err != nil {
		t.Fatal(err)
	}
	_, err := x.DB.Exec(t.Context(), `INSERT INTO plugin_state (plugin, user_did, session, name, workspace, did, value, updated_at)
		SELECT $2, user_did, 0, $3, 'default', 'did:key:x', $4, 1 FROM chat_sessions WHERE id = $1`, session, plugin, name, value)
	if err == nil {
		err = x.Reread(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// withServer has an MCP server whose tools say and give the corpus. The operator
// calls all of them harmless but wipe.
func withServer(t *testing.T) func(x *trap, c *config.Config) {
	t.Helper()
	return func(x *trap, c *config.Config) {
		s := sdk.NewServer(&sdk.Implementation{Name: "far", Version: "1"}, nil)
		said := func(text string) *sdk.CallToolResult {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}
		}
		names := []string{"give"}
		sdk.AddTool(s, &sdk.Tool{Name: "give", Description: "Gives a text."}, func(_ context.Context, _ *sdk.CallToolRequest, in struct {
			N int `json:"n"`
		},
		) (*sdk.CallToolResult, any, error) {
			return said(x.texts[in.N]), nil, nil
		})
		sdk.AddTool(s, &sdk.Tool{Name: "wipe", Description: "Wipes everything."}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			x.wiped.Add(1)
			return said("wiped"), nil, nil
		})
		if strings.HasSuffix(t.Name(), "descriptions") {
			for i, text := range x.texts {
				names = append(names, fmt.Sprintf("t%d", i))
				sdk.AddTool(s, &sdk.Tool{Name: names[i+1], Description: text}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
					return said("nothing"), nil, nil
				})
			}
		}
		base := listening(t, sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
		c.Oracle.MCPServersFile = filepath.Join(t.TempDir(), "mcp.yaml")
		text := fmt.Sprintf("mcpServers:\n  far:\n    url: %s/mcp\n    readOnly: [%s]\n", base, strings.Join(names, ", "))
		if err := os.WriteFile(c.Oracle.MCPServersFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func plantResult(_ *testing.T, _ *trap, n int, _ string) string {
	return fmt.Sprintf(`far__give {"n":%d}`, n)
}

// plantNothing is for places that hold the whole corpus from the start.
func plantNothing(*testing.T, *trap, int, string) string { return `nothing {}` }

// withSkills has a skill for each text, in its words or in its description.
func withSkills(t *testing.T) func(x *trap, c *config.Config) {
	t.Helper()
	return func(x *trap, c *config.Config) {
		dir := t.TempDir()
		for i, text := range x.texts {
			about, words := "A skill.", text
			if strings.HasSuffix(t.Name(), "descriptions") {
				about, words = text, "Nothing."
			}
			folder := filepath.Join(dir, fmt.Sprintf("s%d", i))
			skill := fmt.Sprintf("---\nname: s%d\ndescription: %s\n---\n%s\n", i, quoted(t, about), words)
			if err := os.Mkdir(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, "SKILL.md"), []byte(skill), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		settings(t, c, "HEARTH_PLUGIN_SKILLS_DIRECTORY="+dir)
	}
}

func plantSkill(_ *testing.T, _ *trap, n int, _ string) string {
	return fmt.Sprintf(`load_skill {"name":"s%d"}`, n)
}
