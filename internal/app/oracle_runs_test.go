package app_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/config"
)

// runPage is a page of runs.
type runPage struct {
	Items []api.OracleRun `json:"items"`
	Page  struct {
		HasMore bool   `json:"hasMore"`
		Cursor  string `json:"nextCursor"`
	} `json:"page"`
}

// runs lists runs with a credential.
func (h *house) runs(t *testing.T, credential, query string) runPage {
	t.Helper()
	w, _ := h.ask(t, credential, "GET", "/v1/oracle/runs"+query, "")
	var p runPage
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != 200 {
		t.Fatalf("runs%s = %d %s, %v", query, w.Code, w.Body, err)
	}
	if strings.Contains(w.Body.String(), "Canary") {
		t.Errorf("runs%s hold what was said: %s", query, w.Body)
	}
	return p
}

// TestOracleRuns: everybody sees their own runs, whoever has oracle:read those of
// the workspace without what was said or where, and nobody learns of others.
func TestOracleRuns(t *testing.T) {
	t.Parallel()
	onAny(t, func(t *testing.T, dsn string) {
		t.Helper()
		h := &house{Built: app.Build(t, owner, func(c *config.Config) { c.Data.DatabaseURL = config.Secret(dsn) })}
		ctx, err := h.Auth.AsOwner(t.Context(), auth.OperatorWorkspace)
		if err != nil {
			t.Fatal(err)
		}
		opened, err := h.Auth.CreateWorkspace(ctx, auth.WorkspaceDraft{ID: "elsewhere", Name: "Elsewhere"})
		if err != nil {
			t.Fatal(err)
		}
		mine := h.keyOf(t, auth.Draft{Scopes: []string{"entities:read"}})
		c := byKey(h.Built, mine)
		session := c.session(t)
		for _, said := range []string{"Canary", `/tool read_twin {"did":"did:x:Canary"}`, "/fail rate_limit Canary"} {
			c.send("POST", "/messages/"+session, `{"message":`+string(must(json.Marshal(said)))+`}`)
		}
		h.checkOwnRuns(t, mine, session)
		id := h.runs(t, mine, "").Items[0].ID
		signed := h.by(t, "", "r")
		for _, tt := range []struct {
			name, credential string
			all, one         string
		}{
			{"a key without the scope", h.keyOf(t, auth.Draft{Scopes: []string{"entities:read", "oracle:write"}}), "403 SCOPE_MISSING", "404 RUN_NOT_FOUND"},
			{"a key for one project", h.keyOf(t, auth.Draft{Role: "manager", Projects: []string{"did:ixo:entity:1"}}), "403 KEY_RESTRICTED", "404 RUN_NOT_FOUND"},
			{"somebody who signs", signed, "403 SCOPE_MISSING", "404 RUN_NOT_FOUND"},
			{"another workspace", opened.OwnerKey.Text, "200", "404 RUN_NOT_FOUND"},
			{"a manager", h.keyOf(t, auth.Draft{Role: "manager"}), "200", "200"},
		} {
			g := h.guest(t, tt.credential)
			if own := h.runs(t, tt.credential, ""); len(own.Items) != 0 {
				t.Errorf("%s has runs: %+v", tt.name, own.Items)
			}
			if own := h.runs(t, tt.credential, "?session="+session); len(own.Items) != 0 {
				t.Errorf("%s sees those of a session: %+v", tt.name, own.Items)
			}
			all := g.wants(tt.name, "GET /v1/oracle/runs?all=true", "", tt.all)
			if list, _ := all["items"].([]any); tt.all == "200" && (len(list) == 3) != (tt.one == "200") {
				t.Errorf("%s sees %d runs", tt.name, len(list))
			}
			if run := g.wants(tt.name, "GET /v1/oracle/runs/"+id, "", tt.one); run["sessionId"] != nil || run["mine"] == true {
				t.Errorf("%s sees where: %v", tt.name, run)
			}
		}
		h.guest(t, mine).wants("no number", "GET /v1/oracle/runs?limit=0", "", "400 INVALID_PARAMETER")
		c.send("DELETE", "/sessions/"+session, "")
		h.guest(t, mine).wants("after its conversation", "GET /v1/oracle/runs/"+id, "", "404 RUN_NOT_FOUND")
	})
}

// checkOwnRuns looks at three runs: one that answered, one with a tool that failed,
// and one that failed.
func (h *house) checkOwnRuns(t *testing.T, key, session string) {
	t.Helper()
	first := h.runs(t, key, "?limit=2")
	if len(first.Items) != 2 || !first.Page.HasMore {
		t.Fatalf("the first page = %+v", first)
	}
	second := h.runs(t, key, "?limit=2&cursor="+first.Page.Cursor)
	all := append(first.Items, second.Items...)
	if len(all) != 3 || second.Page.HasMore {
		t.Fatalf("the second page = %+v", second)
	}
	if r := all[0]; r.Status != "failed" || r.Error == "" || !r.Mine || r.SessionID != session || r.Turn != 3 || r.EndedAt.IsZero() || r.Model == "" {
		t.Errorf("a run that failed = %+v", r)
	}
	if r := all[1]; r.Status != "finished" || len(r.Steps) != 1 || r.Steps[0].Tool != "read_twin" || !r.Steps[0].Failed || r.Tokens == nil || r.Tokens.Input == 0 {
		t.Errorf("a run with a tool = %+v", r)
	}
	if r := all[2]; r.Status != "finished" || len(r.Steps) != 0 || r.DurationMS < 1 || r.Error != "" {
		t.Errorf("a run that answered = %+v", r)
	}
	if of := h.runs(t, key, "?session="+session); len(of.Items) != 3 || of.Items[2].ID != all[2].ID {
		t.Errorf("those of the session = %+v", of.Items)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
