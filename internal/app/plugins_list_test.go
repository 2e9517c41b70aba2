package app_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/plugin"
)

// tuned is notes with settings.
type tuned struct{ notes }

var _ plugin.Settings = tuned{}

func (tuned) Settings() []plugin.Setting {
	return []plugin.Setting{
		{Name: "size", Kind: plugin.Integer, Default: "7", Doc: "How many notes."},
		{Name: "mirror", Kind: plugin.URL, Default: "https://anna:hidden-word@example.org/x"},
		{Name: "token", Secret: true, Default: "hidden-token"},
	}
}

// TestPluginList: the list says what plugins add; how they are set is for the
// operator, and what is secret for nobody.
func TestPluginList(t *testing.T) {
	t.Parallel()
	b := app.BuildTo(t, owner, io.Discard, nil, tuned{notes{"/notes"}})
	type page struct {
		Items []api.OraclePlugin `json:"items"`
		Page  struct {
			NextCursor string `json:"nextCursor"`
		} `json:"page"`
	}
	send := func(key, method, path, body string, into any) string {
		t.Helper()
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		b.Handler.ServeHTTP(w, r)
		if err := json.Unmarshal(w.Body.Bytes(), into); err != nil || w.Code >= 300 {
			t.Fatalf("%s %s: %d %s, %v", method, path, w.Code, w.Body, err)
		}
		return w.Body.String()
	}
	read := func(key, query string, p *page) string {
		return send(key, http.MethodGet, "/v1/oracle/plugins"+query, "", p)
	}
	var all page
	if text := read(owner, "", &all); strings.Contains(text, "hidden-") {
		t.Errorf("the list shows what is secret: %s", text)
	}
	var names []string
	for i := range all.Items {
		names = append(names, all.Items[i].Name)
	}
	at := slices.Index(names, "notes")
	if !slices.IsSorted(names) || at < 0 || !slices.Contains(names, "twins") {
		t.Fatalf("the plugins are %s", names)
	}
	one := all.Items[at]
	if one.Visibility != "on-demand" || len(one.Tools) != 2 || one.Tools[0].ReadOnly || !one.Tools[1].ReadOnly || len(one.Routes) != 3 || one.Routes[0].Public || !one.Routes[1].Public {
		t.Errorf("the list shows %+v", one)
	}
	if s := one.Settings; len(s) != 3 || s[0].Value != "7" || s[0].About != "How many notes." || s[1].Value != "https://anna:xxxxx@example.org/x" || !s[2].Secret || s[2].Value != "" {
		t.Errorf("its settings are %+v", s)
	}
	var first, second page
	read(owner, "?limit=2", &first)
	if read(owner, "?limit=2&cursor="+first.Page.NextCursor, &second); len(first.Items) != 2 || len(second.Items) != 2 || second.Items[0].Name != names[2] {
		t.Errorf("page by page: %v, then %v", first.Items, second.Items)
	}
	var other page
	var key struct {
		Text string `json:"key"`
	}
	send(owner, http.MethodPost, "/v1/api-keys", `{"name":"reader","scopes":["oracle:read"]}`, &key)
	read(key.Text, "", &other)
	if s := other.Items[at].Settings; len(s) != 3 || s[0].Value != "" || s[1].Value != "" {
		t.Errorf("whoever does not run the server sees %+v", s)
	}
}
