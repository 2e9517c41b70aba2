package app_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// TestSettingsHideSecrets: no secret of the server is in what operators read.
func TestSettingsHideSecrets(t *testing.T) {
	t.Parallel()
	const secret = "a-secret-of-the-short-messages"
	b := app.Build(t, owner, func(c *config.Config) { c.USSD.SMS.WebhookSecret = secret })
	w := runOne(b.Handler, http.MethodGet, "/v1/settings?limit=1000", shownBody{}, nil)
	list := read[web.Page[api.Setting]](w)
	if w.Code != 200 || len(list.Items) < 50 {
		t.Fatalf("settings = %d %.300s", w.Code, w.Body)
	}
	for _, s := range list.Items {
		if s.Secret && s.Value != "" && strings.Trim(s.Value, "*") != "" {
			t.Errorf("%s shows %q", s.Name, s.Value)
		}
		if s.Name == "" || s.Group == "" || s.About == "" || s.Source == "" {
			t.Errorf("a setting says too little: %+v", s)
		}
	}
	if body := w.Body.String(); strings.Contains(body, secret) || strings.Contains(body, owner) {
		t.Error("the settings hold a secret")
	}
}

// TestHealthSummary: what operators read of the server is what it is.
func TestHealthSummary(t *testing.T) {
	t.Parallel()
	b := app.Build(t, owner, func(*config.Config) {})
	w := runOne(b.Handler, http.MethodGet, "/v1/health/summary", shownBody{}, nil)
	h := read[api.HealthSummary](w)
	if w.Code != 200 || h.Status != "ready" || h.Checks["store"] != "ok" || h.Durability == "" || h.Store.Bytes <= 0 || h.LastBackup != nil {
		t.Errorf("health = %d %s", w.Code, w.Body)
	}
	for _, name := range []string{"hearth-20260101T000000Z.db", "..%2f..%2fhearth.db", "nothing"} {
		if w := runOne(b.Handler, http.MethodPost, "/v1/backups/"+name+"/verify", shownBody{}, nil); w.Code != 404 {
			t.Errorf("verify %s = %d %s, want 404", name, w.Code, w.Body)
		}
	}
	if w := runOne(b.Handler, http.MethodGet, "/v1/backups", shownBody{}, nil); w.Code != 200 || !strings.Contains(w.Body.String(), `"items":[]`) {
		t.Errorf("backups = %d %s", w.Code, w.Body)
	}
}

// TestServerIsOfTheWhole: a key that is limited to projects does not learn which
// servers there are, how they are and are set, and what they keep.
func TestServerIsOfTheWhole(t *testing.T) {
	t.Parallel()
	b := app.Build(t, owner, func(*config.Config) {})
	w := runOne(b.Handler, http.MethodPost, "/v1/api-keys", shownBody{
		text: `{"name":"one project","scopes":["*"],"projects":["did:ixo:project/one"]}`, media: "application/json",
	}, nil)
	key := read[struct {
		Key string `json:"key"`
	}](w)
	if w.Code != http.StatusCreated || key.Key == "" {
		t.Fatalf("make a key = %d %s", w.Code, w.Body)
	}
	for _, route := range []string{
		"GET /v1/nodes", "GET /v1/health/summary", "GET /v1/health/errors", "GET /v1/settings", "GET /v1/backups",
		"POST /v1/backups", "POST /v1/backups/hearth-20260101T000000Z.db/verify",
	} {
		method, path, _ := strings.Cut(route, " ")
		for token, refused := range map[string]bool{owner: false, key.Key: true} {
			req := httptest.NewRequest(method, path, nil)
			req.Header.Set("Authorization", "Bearer "+token)
			w := httptest.NewRecorder()
			b.Handler.ServeHTTP(w, req)
			if got := w.Code == http.StatusForbidden && strings.Contains(w.Body.String(), `"KEY_RESTRICTED"`); got != refused || w.Code >= 500 {
				t.Errorf("%s = %d %.200s, refused should be %t", route, w.Code, w.Body, refused)
			}
		}
	}
}
