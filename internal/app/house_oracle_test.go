package app_test

import (
	"crypto/ed25519"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/ucan"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// ofOracle reports whether a route asks for a UCAN.
func ofOracle(r web.Route) bool { return r.Doc.UCAN }

// token is a UCAN of one of the house's users of the oracle.
func token(t *testing.T, b *app.Built, user byte) string {
	t.Helper()
	s, err := ucan.NewSigner("", ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(rune(user)), 32))))
	if err != nil {
		t.Fatal(err)
	}
	d := ucan.Draft{
		Audience: b.OracleDID(), Expires: time.Now().Add(10 * time.Minute),
		Capabilities: []ucan.Capability{{Can: "*", With: ucan.DefaultResource}},
	}
	u, err := s.Mint(d)
	if err != nil {
		t.Fatal(err)
	}
	return u.Text()
}

// asOracleUser makes the key of a caller the token of a user: the owner of the
// house has a session, the others have none.
func (h *house) asOracleUser(t *testing.T, req *http.Request, key string) {
	t.Helper()
	if key == "" {
		return
	}
	user := byte('b')
	if key == owner {
		user = 'a'
	}
	req.Header.Set("X-Auth-Type", "ucan")
	req.Header.Set("Authorization", "Bearer "+token(t, h.Built, user))
}

// furnishMind opens a session and says something in it.
func (h *house) furnishMind(t *testing.T) {
	t.Helper()
	do := func(path, body string) *httptest.ResponseRecorder {
		t.Helper()
		r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		h.asOracleUser(t, r, owner)
		w := httptest.NewRecorder()
		h.Handler.ServeHTTP(w, r)
		if w.Code >= 300 {
			t.Fatalf("POST %s: %d %s", path, w.Code, w.Body)
		}
		return w
	}
	var made struct {
		SessionID string `json:"sessionId"`
	}
	if err := json.Unmarshal(do("/sessions", "").Body.Bytes(), &made); err != nil {
		t.Fatal(err)
	}
	h.ids["chat"] = made.SessionID
	h.furnishMCP(t)
	h.ids["credits"] = creditor
	if _, err := h.DB.Exec(t.Context(), `INSERT INTO credit_accounts(workspace, did, status, balance, created_at, updated_at) VALUES ('default', $1, 'active', 5, 1, 1)`, creditor); err != nil {
		t.Fatal(err)
	}
	h.ids["run"] = do("/messages/"+made.SessionID, `{"message":"help","stream":true}`).Header().Get("X-Run-Id")
	h.grantAndAsk(t)
	var planned struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(do("/tasks", `{"title":"Look","prompt":"help","cron":"0 7 * * *"}`).Body.Bytes(), &planned); err != nil {
		t.Fatal(err)
	}
	h.ids["task"] = planned.ID
	h.keep(t, "files", memoryID, `{"id":"`+memoryID+`","name":"a.txt","mediaType":"text/plain; charset=utf-8","bytes":1,"url":"/files/`+memoryID+`","createdAt":"2026-01-02T03:04:05Z","expiresAt":"2036-01-02T03:04:05Z"}`)
	h.keep(t, "files", "text-"+memoryID, "x")
	h.keep(t, "memory", memoryID, `{"text":"The pilot is in Kitui.","at":"2026-01-02T03:04:05Z"}`)
}

// creditor has a credit account in the house.
const creditor = "did:key:zCreditor"

// memoryID is something the oracle remembers of the owner of the house, and a file
// that it has made.
const memoryID = "fe5f9c1d2a3b0c9d8e7f"

// keep has a plugin keep something of the user of the house.
func (h *house) keep(t *testing.T, plugin, name, value string) {
	t.Helper()
	_, err := h.DB.Exec(t.Context(), `INSERT INTO plugin_state (plugin, user_did, session, name, workspace, did, value, updated_at)
		SELECT $2, user_did, 0, $3, 'default', user_did, $4, 1 FROM oracle_runs WHERE id = $1`, h.ids["run"], plugin, name, value)
	if err != nil {
		t.Fatal(err)
	}
}

// grantAndAsk lets a tool run without a question, and puts a question about
// another: no tool of the house changes anything, so nothing asks one by itself.
func (h *house) grantAndAsk(t *testing.T) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPut, "/grants/remember", strings.NewReader("{}"))
	r.Header.Set("Content-Type", "application/json")
	h.asOracleUser(t, r, owner)
	w := httptest.NewRecorder()
	if h.Handler.ServeHTTP(w, r); w.Code != http.StatusOK {
		t.Fatalf("PUT /grants/remember: %d %s", w.Code, w.Body)
	}
	now := time.Now().UnixMilli()
	_, err := h.DB.Exec(t.Context(), `INSERT INTO oracle_confirmations (run, call, user_did, session, tool, about, args, hash, state, created_at, expires_at)
		SELECT id, 'call_1', user_did, session, 'burn', '', '{}', '', 'waiting', $2, $3 FROM oracle_runs WHERE id = $1`, h.ids["run"], now, now+time.Hour.Milliseconds())
	if err != nil {
		t.Fatal(err)
	}
}

// furnishMCP puts an MCP server there that nobody reaches, and a grant of its tool.
func (h *house) furnishMCP(t *testing.T) {
	t.Helper()
	h.ids["mcp-servers"] = "house-of-tools"
	err := h.DB.InTx(t.Context(), func(tx *db.Tx) error {
		_, err := tx.Exec(t.Context(), `INSERT INTO mcp_servers (ws, name, url, description, timeout_ms, revision, created_at, updated_at)
			VALUES ('default', 'house-of-tools', 'http://127.0.0.1:1/mcp', 'Nobody is there', 0, 1, 1, 1)`)
		if err != nil {
			return err
		}
		_, err = tx.Exec(t.Context(), `INSERT INTO mcp_grants (ws, server, tool, hash, granted_by, granted_at) VALUES ('default', 'house-of-tools', 'forecast', '0', 'did:key:x', 1)`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// mindPart fills the values of area D into a pattern.
func (h *house) mindPart(r web.Route, name string) string {
	switch {
	case !ofOracle(r):
		return ""
	case name == "{sessionId}":
		return h.ids["chat"]
	case name == "{runId}":
		return h.ids["run"]
	case name == "{tool}":
		return "remember"
	case name == "{callId}":
		return "call_1"
	case name == "{memoryId}" || name == "{fileId}":
		return memoryID
	case name == "{taskId}":
		return h.ids["task"]
	}
	return ""
}

// TestOracleForeign holds that what belongs to another user of the oracle looks
// like what does not exist.
func TestOracleForeign(t *testing.T) {
	t.Parallel()
	for _, r := range newHouse(t).Routes {
		if !ofOracle(r) || !strings.Contains(r.Path, "{sessionId}") && !strings.Contains(r.Path, "{runId}") {
			continue
		}
		t.Run(r.Method+r.Path, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			path := h.path(r)
			foreign := h.send(t, r, path, h.other)
			missing := h.send(t, r, strings.NewReplacer(h.ids["chat"], "$nobody", h.ids["run"], "run_nobody").Replace(path), h.other)
			if foreign.Code != missing.Code || foreign.Body.String() != strings.ReplaceAll(missing.Body.String(), "$nobody", h.ids["chat"]) {
				t.Errorf("another's: %d %s; missing: %d %s", foreign.Code, foreign.Body, missing.Code, missing.Body)
			}
			if own := h.send(t, r, path, owner); own.Code >= 300 {
				t.Errorf("one's own: %d %s", own.Code, own.Body)
			}
		})
	}
}
