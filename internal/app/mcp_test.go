package app_test

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/ucan"
)

// bearer sends headers with every request.
type bearer map[string]string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range b {
		r.Header.Set(name, value)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// assistant is an MCP client of a server, with headers.
func assistant(t *testing.T, base string, headers bearer) *sdk.ClientSession {
	t.Helper()
	c := sdk.NewClient(&sdk.Implementation{Name: "assistant", Version: "1"}, nil)
	s, err := c.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: base + "/mcp", HTTPClient: &http.Client{Transport: headers}, MaxRetries: -1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func withKey(key string) bearer { return bearer{"Authorization": "Bearer " + key} }

func listening(t *testing.T, h http.Handler) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	return srv.URL
}

// TestAssistant is an assistant that uses everything the MCP server has.
func TestAssistant(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	base := listening(t, h.Handler)
	for i := range 60 { // more than a page
		h.post("/v1/entities", fmt.Sprintf(`{"type":"Household","protocol":"did:ixo:protocol/household","properties":{"district":"Page%d"},"metadata":{"name":"House %d"}}`, i, i))
	}
	told := httptest.NewRequest("PUT", "/user-preferences", strings.NewReader(`{"userName":"Amina"}`))
	told.Header.Set("X-API-Key", owner)
	told.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	if h.Handler.ServeHTTP(w, told); w.Code != http.StatusOK {
		t.Fatalf("PUT /user-preferences = %d %s", w.Code, w.Body)
	}
	s := assistant(t, base, withKey(owner))
	tools, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	args := map[string]any{
		"search_twins": map[string]any{"type": "Household"}, "count_twins": map[string]any{"by": "type"}, "read_twin": map[string]any{"did": h.ids["household"]},
		"list_surveys": map[string]any{}, "survey_progress": map[string]any{}, "get_user_preferences": map[string]any{}, "list_files": map[string]any{},
		"list_memories": map[string]any{}, "recall": map[string]any{"query": "tea"}, "list_tasks": map[string]any{},
	}
	for _, one := range tools.Tools {
		if one.OutputSchema == nil {
			t.Errorf("%s announces no schema of what it gives", one.Name)
		}
		if hint := one.Annotations.OpenWorldHint; hint == nil || *hint != (one.Name == "get_weather") {
			t.Errorf("%s: asks others outside = %v", one.Name, hint)
		}
		if args[one.Name] == nil {
			continue
		}
		res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: one.Name, Arguments: args[one.Name]})
		if err != nil || res.IsError {
			t.Errorf("%s = %+v, %v", one.Name, res, err)
			continue
		}
		holds(t, one, res.StructuredContent)
		if one.Name == "get_user_preferences" && !strings.Contains(fmt.Sprint(res.StructuredContent), "Amina") {
			t.Errorf("the assistant reads %v of its user", res.StructuredContent)
		}
		delete(args, one.Name)
	}
	if len(args) > 0 {
		t.Errorf("not offered: %v", args)
	}

	seen, pages := map[string]bool{}, 0
	for cursor := ""; ; pages++ {
		list, err := s.ListResources(t.Context(), &sdk.ListResourcesParams{Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range list.Resources {
			seen[one.URI] = true
		}
		if cursor = list.NextCursor; cursor == "" {
			break
		}
	}
	twin, survey := "hearth://twins/"+h.ids["household"], "hearth://surveys/"+h.ids["survey"]
	if !seen[twin] || !seen[survey] || len(seen) < 60 || pages < 2 {
		t.Errorf("%d resources on %d pages; the household: %v, the survey: %v", len(seen), pages, seen[twin], seen[survey])
	}
	for _, uri := range []string{twin, survey, survey + "/progress"} {
		got, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		if err != nil || len(got.Contents) != 1 || !strings.HasPrefix(got.Contents[0].Text, "{") {
			t.Errorf("read %s = %+v, %v", uri, got, err)
		}
	}
	if _, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "hearth://twins/did:ixo:entity:none"}); err == nil {
		t.Error("a twin that is not there is read")
	}
	for _, tt := range []struct{ name, value, want string }{
		{"did", h.ids["entity"][:20], "did:ixo:entity:"}, {"id", "zq", "zq."}, {"did", "House 7", "did:ixo:entity:"},
	} {
		got, err := s.Complete(t.Context(), &sdk.CompleteParams{
			Ref: &sdk.CompleteReference{Type: "ref/resource", URI: "hearth://twins/{+did}"}, Argument: sdk.CompleteParamsArgument{Name: tt.name, Value: tt.value},
		})
		if err != nil || len(got.Completion.Values) == 0 || !strings.HasPrefix(got.Completion.Values[0], tt.want) {
			t.Errorf("complete %s %q = %+v, %v", tt.name, tt.value, got, err)
		}
	}
	prompts, err := s.ListPrompts(t.Context(), nil)
	if err != nil || len(prompts.Prompts) != 3 {
		t.Errorf("prompts = %+v, %v", prompts, err)
	}
	got, err := s.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "survey_status", Arguments: map[string]string{"survey": "baseline"}})
	if err != nil || !strings.Contains(got.Messages[0].Content.(*sdk.TextContent).Text, `"baseline"`) { //nolint:forcetypeassert // a wrong one fails the test
		t.Errorf("prompt = %+v, %v", got, err)
	}
}

// holds holds what a tool gave to the schema it announces.
func holds(t *testing.T, one *sdk.Tool, given any) {
	t.Helper()
	if one.OutputSchema == nil {
		t.Errorf("%s announces no schema of what it gives", one.Name)
		return
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("x.json", one.OutputSchema); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(given)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.MustCompile("x.json").Validate(v); err != nil {
		t.Errorf("%s gives %s: %v", one.Name, raw, err)
	}
}

// TestAssistantsSeeTheirOwn holds assistants to the rights of what they came with.
func TestAssistantsSeeTheirOwn(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	base := listening(t, h.Handler)
	ctx, err := h.Auth.AsOwner(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	narrow := h.key(t, ctx, "narrow", "events:read").Text
	twin := "hearth://twins/" + h.ids["household"]
	for name, headers := range map[string]func() bearer{
		"a key without rights": func() bearer { return withKey(narrow) }, "another workspace": func() bearer { return withKey(h.other) },
		"a stranger's UCAN": func() bearer {
			return bearer{"X-Auth-Type": "ucan", "Authorization": "Bearer " + token(t, h.Built, 'z')}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := assistant(t, base, headers()) // a token made before the test had its turn may have ended
			if got, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: twin}); err == nil {
				t.Errorf("reads %+v", got.Contents[0])
			}
			res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "read_twin", Arguments: map[string]any{"did": h.ids["household"]}})
			if err != nil || !res.IsError {
				t.Errorf("read_twin = %+v, %v", res, err)
			}
			list, err := s.ListResources(t.Context(), nil)
			for _, one := range list.Resources {
				if one.URI == twin {
					t.Errorf("lists %s, %v", one.URI, err)
				}
			}
		})
	}
}

// TestHearthToHearth has the oracle of one server use the tools of another one.
func TestHearthToHearth(t *testing.T) {
	t.Parallel()
	far := newHouse(t)
	base := listening(t, far.Handler)
	file := filepath.Join(t.TempDir(), "mcp.yaml")
	text := fmt.Sprintf("mcpServers:\n  far:\n    url: %s/mcp\n    headers: {Authorization: Bearer %s}\n    readOnly: [count_twins]\n  safe:\n    url: %s/mcp\n    headers: {Authorization: Bearer %s}\n", base, owner, base, owner)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &programme{app.Build(t, owner, func(c *config.Config) {
		c.Oracle.MCPServersFile, c.Oracle.MCPProtected = file, []string{"safe"}
		c.Events.OutboundAllow = []string{"127.0.0.0/8"}
	})}
	user := keyDID(t, string(rune(talker)))
	var org, made, session struct {
		DID     string `json:"did"`
		Session string `json:"sessionId"`
	}
	p.want(t, "POST", "/v1/entities", `{"type":"x","protocol":"did:ixo:protocol/organisation","properties":{"name":"x"}}`, &org)
	p.want(t, "POST", "/v1/entities/"+org.DID+"/groups", `{"name":"x","scopes":["oracle:tools"]}`, &made)
	p.want(t, "PUT", "/v1/entities/"+made.DID+"/members/"+user, ``, nil)
	if err := json.Unmarshal(p.talk(t, "POST", "/sessions", "").Body.Bytes(), &session); err != nil {
		t.Fatal(err)
	}
	say := func(message, invocations string) string {
		t.Helper()
		body, err := json.Marshal(map[string]string{"message": message})
		if err != nil {
			t.Fatal(err)
		}
		text := string(body)
		if invocations != "" {
			text = strings.TrimSuffix(text, "}") + `,"mcpInvocations":` + invocations + "}"
		}
		return p.talk(t, "POST", "/messages/"+session.Session, text).Body.String()
	}
	if got := say(`/tool far__count_twins {"type":"Household"}`, ""); !strings.Contains(got, "count") {
		t.Errorf("far__count_twins = %s", got)
	}
	if got := say(`/tool far__list_surveys {}`, ""); !strings.Contains(got, "is not granted") {
		t.Errorf("far__list_surveys without a grant = %s", got)
	}
	grantHere(t, p, org.DID, session.Session)
	if got := say(`/tool far__list_surveys {}`, ""); !strings.Contains(got, "zq.survey") {
		t.Errorf("far__list_surveys granted for the conversation = %s", got)
	}
	if got := say(`/tool safe__list_surveys {}`, ""); !strings.Contains(got, "mcp/call on ixo:oracle:"+p.OracleDID().String()+":mcp/safe/list_surveys") {
		t.Errorf("safe__list_surveys without an invocation = %s", got)
	}
	for name, tt := range map[string]struct{ can, tool, want string }{
		"for another tool": {"mcp/call", "count_twins", "does not have the capability"},
		"another ability":  {"memory/read", "list_surveys", "does not have the capability"},
		"as it should be":  {"mcp/call", "list_surveys", "zq.survey"},
	} {
		token := invocation(t, p.Built, tt.can, "ixo:oracle:"+p.OracleDID().String()+":mcp/safe/"+tt.tool)
		sent := `{"safe__list_surveys":"` + token + `"}`
		if got := say(`/tool safe__list_surveys {}`, sent); !strings.Contains(got, tt.want) {
			t.Errorf("an invocation %s = %s", name, got)
		}
		again := httptest.NewRequest("POST", "/messages/"+session.Session, strings.NewReader(`{"message":"again","mcpInvocations":`+sent+`}`))
		again.Header.Set("X-Auth-Type", "ucan")
		again.Header.Set("Authorization", "Bearer "+mine(t, p.Built))
		again.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		if p.Handler.ServeHTTP(w, again); w.Code != http.StatusBadRequest && w.Code != http.StatusConflict {
			t.Errorf("an invocation that was used = %d %s", w.Code, w.Body)
		}
	}
}

// grantHere has the talker, once she may, grant a tool of the server far for one
// conversation.
func grantHere(t *testing.T, p *programme, org, session string) {
	t.Helper()
	grant := func(body string, want int) {
		t.Helper()
		r := httptest.NewRequest("PUT", "/grants/far__list_surveys", strings.NewReader(body))
		r.Header.Set("X-Auth-Type", "ucan")
		r.Header.Set("Authorization", "Bearer "+mine(t, p.Built))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		if p.Handler.ServeHTTP(w, r); w.Code != want {
			t.Errorf("PUT /grants/far__list_surveys %s = %d %s, want %d", body, w.Code, w.Body, want)
		}
	}
	var made struct {
		DID string `json:"did"`
	}
	var tools struct {
		Items []api.MCPTool `json:"items"`
	}
	p.want(t, "GET", "/v1/oracle/mcp-servers/far/tools", "", &tools)
	hash := ""
	for _, one := range tools.Items {
		if one.Name == "far__list_surveys" {
			hash = one.Hash
		}
	}
	whole := `{"sessionId":"` + session + `","hash":"` + hash + `"}`
	grant(whole, http.StatusForbidden)
	p.want(t, "POST", "/v1/entities/"+org+"/groups", `{"name":"y","scopes":["oracle:write"]}`, &made)
	p.want(t, "PUT", "/v1/entities/"+made.DID+"/members/"+keyDID(t, string(rune(talker))), ``, nil)
	grant(`{"hash":"`+hash+`"}`, http.StatusBadRequest)
	grant(`{"sessionId":"`+session+`"}`, http.StatusBadRequest)
	grant(`{"sessionId":"`+session+`","hash":"another"}`, http.StatusConflict)
	grant(whole, http.StatusOK)
}

func mine(t *testing.T, b *app.Built) string { t.Helper(); return token(t, b, talker) }

// invocation is one by the talker.
func invocation(t *testing.T, b *app.Built, can, with string) string {
	t.Helper()
	s, err := ucan.NewSigner("", ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(rune(talker)), 32))))
	if err != nil {
		t.Fatal(err)
	}
	u, err := s.Mint(ucan.Draft{Audience: b.OracleDID(), Expires: time.Now().Add(10 * time.Minute), Capabilities: []ucan.Capability{{Can: can, With: with}}})
	if err != nil {
		t.Fatal(err)
	}
	return u.Text()
}
