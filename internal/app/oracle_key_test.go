package app_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm/modeltest"
	"github.com/hearth-dmrv/hearth/internal/ucan"
)

// chatter sends requests to the oracle with headers, given in pairs.
type chatter struct {
	built   *app.Built
	headers []string
}

func (c chatter) send(method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(c.headers); i += 2 {
		r.Header.Add(c.headers[i], c.headers[i+1])
	}
	w := httptest.NewRecorder()
	c.built.Handler.ServeHTTP(w, r)
	return w
}

// session opens a session of the chatter.
func (c chatter) session(t *testing.T) string {
	t.Helper()
	w := c.send("POST", "/sessions", "")
	var made struct {
		ID string `json:"sessionId"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil || w.Code != http.StatusCreated {
		t.Fatalf("POST /sessions by %s = %d %s", c.headers, w.Code, w.Body)
	}
	return made.ID
}

// says is what the oracle answers in a session.
func (c chatter) says(t *testing.T, session, text string) string {
	t.Helper()
	body, err := json.Marshal(map[string]string{"message": text})
	if err != nil {
		t.Fatal(err)
	}
	w := c.send("POST", "/messages/"+session, string(body))
	if w.Code != http.StatusOK {
		t.Fatalf("%s = %d %s", text, w.Code, w.Body)
	}
	return w.Body.String()
}

func byKey(b *app.Built, key string) chatter { return chatter{b, []string{"X-API-Key", key}} }

// byCookie is a page of the console, where a browser has signed in with a key.
func byCookie(t *testing.T, b *app.Built, key string) chatter {
	t.Helper()
	o, err := b.Auth.Sessions().SignIn(httptest.NewRequest(http.MethodPost, "/console/session", nil), key)
	if err != nil {
		t.Fatal(err)
	}
	return chatter{b, []string{"Cookie", "hearth=" + o.Text, "Sec-Fetch-Site", "same-origin", "X-Hearth-Console", "1"}}
}

// TestOracleTakesKeys: an API key and the session of a browser are callers of the
// oracle. A bearer without its selector is ignored, tokens decide alone, and the
// cookie counts for our own pages only.
func TestOracleTakesKeys(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	good := minted(t, 'a', h.OracleDID(), time.Now().Add(10*time.Minute))
	inside := h.keyOf(t, auth.Draft{Role: "owner", Networks: []string{"10.0.0.0/8"}})
	cookie := byCookie(t, h.Built, owner).headers[1]
	const missing, invalid, key, origin = ucan.TextMissing, ucan.TextInvalid, "X-API-Key", "http://example.com"
	for _, tt := range []struct {
		name, line string
		status     int
		text       string // of the refusal
		headers    []string
	}{
		{"a key", "GET /sessions", 200, "", []string{key, owner}},
		{"a key that writes", "POST /sessions", 201, "", []string{key, owner}},
		{"a key that only reads", "GET /sessions", 200, "", []string{key, h.read}},
		{"a key of another workspace", "GET /sessions", 200, "", []string{key, h.other}},
		{"no key", "GET /sessions", 401, missing, []string{key, ""}},
		{"a wrong key", "GET /sessions", 401, "The API key is not valid.", []string{key, "x"}},
		{"two keys", "GET /sessions", 401, "The request carries two different keys. Send one.", []string{key, owner, key, h.read}},
		{"a key from outside its networks", "GET /sessions", 403, "This key does not work from your network.", []string{key, inside}},
		{"a bearer alone", "GET /sessions", 401, missing, []string{"Authorization", "Bearer " + owner}},
		{"a bearer is ignored", "GET /sessions", 200, "", []string{"Authorization", "Bearer x", key, owner}},
		{"a key in the query", "GET /sessions?key=" + owner, 401, missing, nil},
		{"tokens decide: missing", "GET /sessions", 401, missing, []string{"X-Auth-Type", "ucan", key, owner}},
		{"tokens decide: bad", "GET /sessions", 401, invalid, []string{"X-Auth-Type", "ucan", "Authorization", "Bearer x", key, owner}},
		{"tokens decide: capitals", "GET /sessions", 401, missing, []string{"X-Auth-Type", "UCAN", key, owner}},
		{"tokens decide: a bad delegation", "GET /sessions", 401, missing, []string{"X-Ucan-Delegation", "x", key, owner}},
		{"tokens decide: good beside a wrong key", "GET /sessions", 200, "", []string{"X-Auth-Type", "ucan", "Authorization", "Bearer " + good, key, "x"}},
		{"tokens decide over the cookie", "GET /sessions", 401, invalid, []string{"X-Auth-Type", "ucan", "Authorization", "Bearer x", "Cookie", cookie, "Sec-Fetch-Site", "same-origin"}},
		{"own page", "GET /sessions", 200, "", []string{"Cookie", cookie, "Sec-Fetch-Site", "same-origin"}},
		{"own page over plain http", "GET /sessions", 200, "", []string{"Cookie", cookie}},
		{"own page that writes", "POST /sessions", 201, "", []string{"Cookie", cookie, "Sec-Fetch-Site", "same-origin", "X-Hearth-Console", "1"}},
		{"own page that writes over plain http", "POST /sessions", 201, "", []string{"Cookie", cookie, "Origin", origin, "X-Hearth-Console", "1"}},
		{"a form", "POST /sessions", 401, missing, []string{"Cookie", cookie, "Sec-Fetch-Site", "same-origin"}},
		{"another port", "GET /sessions", 401, missing, []string{"Cookie", cookie, "Sec-Fetch-Site", "same-site"}},
		{"another site", "POST /sessions", 401, missing, []string{"Cookie", cookie, "Sec-Fetch-Site", "cross-site", "X-Hearth-Console", "1"}},
		{"another port over plain http", "GET /sessions", 401, missing, []string{"Cookie", cookie, "Origin", origin + ":81"}},
		{"a link from outside that writes", "POST /sessions", 401, missing, []string{"Cookie", cookie, "Sec-Fetch-Site", "none", "X-Hearth-Console", "1"}},
		{"the cookie beside a bearer", "GET /sessions", 401, missing, []string{"Cookie", cookie, "Sec-Fetch-Site", "same-origin", "Authorization", "Bearer " + owner}},
		{"a cookie nobody has", "GET /sessions", 401, "Your session has ended. Sign in again.", []string{"Cookie", "hearth=x", "Sec-Fetch-Site", "same-origin"}},
		{"a delegation is for those who sign", "GET /delegation", 401, missing, []string{key, owner}},
		{"nor taken back", "DELETE /delegation", 401, missing, []string{key, owner}},
	} {
		method, path, _ := strings.Cut(tt.line, " ")
		w := chatter{h.Built, tt.headers}.send(method, path, "")
		if w.Code != tt.status || tt.text != "" && !strings.Contains(w.Body.String(), tt.text) {
			t.Errorf("%s: %s = %d %s, want %d %s", tt.name, tt.line, w.Code, w.Body, tt.status, tt.text)
		}
	}
}

// TestConversationsOfKeys: a conversation is there for the keys of its principal
// that may do the same, in their workspace. For every other key, and for whoever
// signs as the principal, it looks like one that does not exist.
func TestConversationsOfKeys(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	me := keyDID(t, "a") // who has a conversation by UCAN, too
	full := auth.Draft{Principal: me, Role: "manager"}
	mine := byKey(h.Built, h.keyOf(t, full))
	session := mine.session(t)
	mine.says(t, session, "help")
	limited := full
	limited.Projects = []string{"did:ixo:entity:123"}
	ctx, err := h.Auth.AsOwner(t.Context(), "elsewhere")
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := h.Auth.Create(ctx, auth.Draft{Name: "x", Principal: me, Role: "manager"})
	if err != nil {
		t.Fatal(err)
	}
	routes := []string{
		"GET /messages/%s", "GET /sessions/%s/messages", "GET /sessions/%s/run", "POST /messages/%s", "POST /messages/abort %s", "DELETE /sessions/%s",
	}
	try := func(c chatter, line, session string) string {
		method, path, _ := strings.Cut(strings.ReplaceAll(line, "%s", session), " ")
		path, id, _ := strings.Cut(path, " ")
		body := `{"message":"help"}`
		if id != "" {
			body = `{"sessionId":"` + id + `"}`
		}
		w := c.send(method, path, body)
		return fmt.Sprint(w.Code, " ", w.Body)
	}
	for name, c := range map[string]chatter{
		"a narrower key":                    byKey(h.Built, h.keyOf(t, auth.Draft{Principal: me, Scopes: []string{"entities:read"}})),
		"a wider key":                       byKey(h.Built, h.keyOf(t, auth.Draft{Principal: me, Role: "owner"})),
		"a key for one project":             byKey(h.Built, h.keyOf(t, limited)),
		"somebody else's key":               byKey(h.Built, h.keyOf(t, auth.Draft{Role: "manager"})),
		"the owner":                         byKey(h.Built, owner),
		"the principal in another place":    byKey(h.Built, foreign.Text),
		"the principal with a signed token": {h.Built, []string{"X-Auth-Type", "ucan", "Authorization", "Bearer " + token(t, h.Built, 'a')}},
	} {
		if w := c.send("GET", "/sessions", ""); strings.Contains(w.Body.String(), session) {
			t.Errorf("%s lists it: %s", name, w.Body)
		}
		if w := c.send("POST", "/ag-ui", `{"threadId":"`+session+`","runId":"r","messages":[]}`); w.Code != 200 || strings.Contains(w.Body.String(), "help") || !strings.Contains(w.Body.String(), `"messages":[]`) {
			t.Errorf("%s reads it as a thread: %d %s", name, w.Code, w.Body)
		}
		for _, line := range routes {
			got, missing := try(c, line, session), try(c, line, "$nobody")
			if got != strings.ReplaceAll(missing, "$nobody", session) {
				t.Errorf("%s: %s = %s, of none: %s", name, line, got, missing)
			}
		}
	}
	if w := mine.send("GET", "/sessions", ""); strings.Contains(w.Body.String(), h.ids["chat"]) {
		t.Errorf("a key shows what its principal said with a token: %s", w.Body)
	}
	second := h.keyOf(t, full)
	for name, c := range map[string]chatter{"a second key": byKey(h.Built, second), "a browser": byCookie(t, h.Built, second)} {
		if w := c.send("POST", "/ag-ui", `{"threadId":"`+session+`","runId":"r","messages":[]}`); w.Code != 200 || !strings.Contains(w.Body.String(), `"content":"help"`) {
			t.Errorf("%s that may do the same reads the thread: %d %s, want what was said", name, w.Code, w.Body)
		}
		if w := c.send("GET", "/sessions", ""); !strings.Contains(w.Body.String(), session) || !strings.Contains(w.Body.String(), `"total":1`) {
			t.Errorf("%s that may do the same: %s, want the session", name, w.Body)
		}
	}
}

// TestKeysTalkWithTheirRights: tools see what the key sees, in its workspace.
func TestKeysTalkWithTheirRights(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	var ids, bomas [2]string
	for i, name := range []string{"Kitui", "Kwale"} {
		ids[i] = h.made(t, owner, "/v1/entities", `{"type":"Project","protocol":"did:ixo:protocol/project","properties":{"name":"`+name+`"}}`)
		bomas[i] = h.made(t, owner, "/v1/entities", `{"type":"Boma","protocol":"did:ixo:protocol/household","relationships":[{"role":"project","target":"`+ids[i]+`"}]}`)
	}
	read := []string{"entities:read"}
	for _, tt := range []struct {
		name, key   string
		sees, hides string
	}{
		{"owner", owner, bomas[1], "no right"},
		{"a reader", h.keyOf(t, auth.Draft{Scopes: read}), bomas[1], "no right"},
		{"for one project", h.keyOf(t, auth.Draft{Scopes: read, Projects: ids[:1]}), bomas[0], bomas[1]},
		{"without the scope", h.keyOf(t, auth.Draft{Scopes: []string{"surveys:read"}}), "your key does not have entities:read", bomas[0]},
		{"of another workspace", h.other, "which no twin has", bomas[0]},
	} {
		c := byKey(h.Built, tt.key)
		got := c.says(t, c.session(t), "list Boma")
		if !strings.Contains(got, tt.sees) || strings.Contains(got, tt.hides) {
			t.Errorf("%s: %s, want %q and not %q", tt.name, got, tt.sees, tt.hides)
		}
	}
}

// TestRunsEndWithTheirKeys: what a key loses while an answer is made, the next tool
// does not see. A planned end lets the answer come to its own.
func TestRunsEndWithTheirKeys(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		cookie  bool
		end     func(t *testing.T, h *house, k auth.Issued, c chatter)
		refused bool
	}{
		{"revoked", false, func(t *testing.T, h *house, k auth.Issued, _ chatter) {
			h.guest(t, owner).wants("revoke", "DELETE /v1/api-keys/"+k.ID, "", "200")
		}, true},
		{"rotated, in its grace", false, rotateIt, false},
		{"rotated, in a browser", true, rotateIt, true},
		{"signed out", true, func(t *testing.T, h *house, _ auth.Issued, c chatter) {
			c.send("DELETE", "/console/session", "")
		}, true},
		{"nothing", true, func(*testing.T, *house, auth.Issued, chatter) {}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var end func()
			read := modeltest.Script{modeltest.Calls(0, modeltest.Call{ID: "c", Name: "search_twins", Args: `{"type":"Secret"}`}), modeltest.Finish("tool_calls")}
			model := modeltest.Start(read, append(modeltest.Script{func(*modeltest.Player) bool { end(); return true }}, read...), modeltest.Say("That is all."))
			t.Cleanup(model.Close)
			h := &house{Built: app.Build(t, owner, func(c *config.Config) { c.Model.BaseURL = model.URL })}
			h.made(t, owner, "/v1/entities", `{"type":"Secret","protocol":"did:ixo:protocol/household","properties":{"district":"Canaryplace"}}`)
			ctx, err := h.Auth.AsOwner(t.Context(), auth.OperatorWorkspace)
			if err != nil {
				t.Fatal(err)
			}
			k, err := h.Auth.Create(ctx, auth.Draft{Name: "x", Role: "manager"})
			if err != nil {
				t.Fatal(err)
			}
			c := byKey(h.Built, k.Text)
			if tt.cookie {
				c = byCookie(t, h.Built, k.Text)
			}
			session := c.session(t)
			end = func() { tt.end(t, h, k, c) }
			c.send("POST", "/messages/"+session, `{"message":"Look twice."}`)
			told := map[int]string{} // what the tools gave, as the model sees it
			for _, asked := range model.Requests() {
				n := 0
				for _, m := range asked.Messages {
					if m.Role == "tool" {
						told[n] = string(m.Content)
						n++
					}
				}
			}
			if !strings.Contains(told[0], "Canaryplace") {
				t.Fatalf("the tools gave %v", told)
			}
			if seen := strings.Contains(told[1], "Canaryplace"); seen == tt.refused {
				t.Errorf("the second call gave %q, want it refused: %v", told[1], tt.refused)
			}
		})
	}
}

func rotateIt(t *testing.T, h *house, k auth.Issued, _ chatter) {
	t.Helper()
	h.guest(t, owner).wants("rotate", "POST /v1/api-keys/"+k.ID+"/rotate", `{"graceSeconds":600}`, "201")
}

// TestNobodyRotatesToRead: whoever may do all that a key may does not get its
// conversations by a successor of it.
func TestNobodyRotatesToRead(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx, err := h.Auth.AsOwner(t.Context(), auth.OperatorWorkspace)
	if err != nil {
		t.Fatal(err)
	}
	k, err := h.Auth.Create(ctx, auth.Draft{Name: "x", Role: "collector"})
	if err != nil {
		t.Fatal(err)
	}
	clerk, path := h.keyOf(t, auth.Draft{Role: "manager"}), "POST /v1/api-keys/"+k.ID+"/rotate"
	byKey(h.Built, k.Text).session(t)
	h.guest(t, clerk).wants("somebody else's", path, `{}`, "403 SCOPE_MISSING")
	h.guest(t, k.Text).wants("one's own", path, `{"graceSeconds":0}`, "403 SCOPE_MISSING")
	next, _ := h.guest(t, owner).wants("an owner", path, `{"graceSeconds":0}`, "201")["key"].(string)
	if w := byKey(h.Built, next).send("GET", "/sessions", ""); !strings.Contains(w.Body.String(), `"total":1`) {
		t.Errorf("after a rotation: %s, want the conversation", w.Body)
	}
}

// TestConversationsOfKeysAreErased: an erasure in a workspace takes the
// conversations of the person's keys there, and blanks what others were told about
// her there; another workspace, which gives the DID to somebody else, keeps its own.
func TestConversationsOfKeysAreErased(t *testing.T) {
	t.Parallel()
	onAny(t, func(t *testing.T, dsn string) {
		t.Helper()
		const her = "did:ixo:household/she"
		h := &house{Built: app.Build(t, owner, func(c *config.Config) { c.Data.DatabaseURL = config.Secret(dsn) })}
		ctx, err := h.Auth.AsOwner(t.Context(), auth.OperatorWorkspace)
		if err != nil {
			t.Fatal(err)
		}
		opened, err := h.Auth.CreateWorkspace(ctx, auth.WorkspaceDraft{ID: "elsewhere", Name: "Elsewhere"})
		if err != nil {
			t.Fatal(err)
		}
		type talk struct {
			chatter
			session string
		}
		var own, about [2]talk
		for i, key := range []string{owner, opened.OwnerKey.Text} {
			made := h.guest(t, key)
			made.wants("a twin", "POST /v1/entities", `{"did":"`+her+`","type":"Household","protocol":"did:ixo:protocol/household","properties":{"district":"Kwale"}}`, "201")
			hers, _ := made.wants("a key", "POST /v1/api-keys", `{"name":"hers","principal":"`+her+`","scopes":["entities:read"]}`, "201")["key"].(string)
			own[i].chatter, about[i].chatter = byKey(h.Built, hers), byKey(h.Built, key)
			own[i].session, about[i].session = own[i].chatter.session(t), about[i].chatter.session(t)
			own[i].says(t, own[i].session, "help")
			about[i].says(t, about[i].session, "read twin "+her)
		}
		h.guest(t, opened.OwnerKey.Text).wants("erase", "POST /v1/erasures", `{"subject":"`+her+`","reason":"asked to"}`, "201")
		if w := about[1].send("GET", "/messages/"+about[1].session, ""); !strings.Contains(w.Body.String(), "[erased]") || strings.Contains(w.Body.String(), "Kwale") {
			t.Errorf("what was said about her = %s, want it blanked", w.Body)
		}
		var left int
		if err := h.DB.QueryRow(t.Context(), `SELECT count(*) FROM chat_users WHERE workspace = 'elsewhere' AND did = $1`, her).Scan(&left); err != nil || left != 0 {
			t.Errorf("%d users are hers, %v", left, err)
		}
		if w := about[0].send("GET", "/messages/"+about[0].session, ""); strings.Contains(w.Body.String(), "[erased]") {
			t.Errorf("what was said in another workspace = %s, want it whole", w.Body)
		}
		if w := own[0].send("GET", "/sessions", ""); !strings.Contains(w.Body.String(), `"total":1`) {
			t.Errorf("her namesake's = %s", w.Body)
		}
	})
}
