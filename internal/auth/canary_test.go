package auth_test

import (
	"os"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/secret"
)

// withAnswers stores answers to Idempotency-Keys, as the server does.
func withAnswers(t *testing.T, d *db.DB) func(*auth.Config) {
	t.Helper()
	key, err := secret.Parse(strings.Repeat("s", 32))
	if err != nil {
		t.Fatal(err)
	}
	store := once.New(once.Config{DB: d, Key: key})
	return func(c *auth.Config) { c.Idem = store }
}

// TestTextIsNowhere uses keys in every way there is and then looks for their
// texts in the database files and the logs.
func TestTextIsNowhere(t *testing.T) {
	t.Parallel()
	var path string
	d := dbtest.SQLite(t, dbtest.With(func(c *db.Config) { path = c.Path }))
	h := newHouse(t, d, withAnswers(t, d))
	idemKey := map[string]string{"Idempotency-Key": "once"}
	w := h.do(call{method: "POST", path: "/v1/api-keys", key: ownerText, body: `{"name":"canary","role":"owner"}`, header: idemKey})
	want(t, w, 201, "")
	h.keys["canary"] = read[auth.Issued](t, w).Text
	w = h.do(call{method: "POST", path: "/v1/api-keys/" + read[auth.Issued](t, w).ID + "/rotate", key: h.keys["canary"], body: `{}`, header: idemKey})
	want(t, w, 201, "")
	h.keys["rotated"] = read[auth.Issued](t, w).Text
	w = h.do(call{method: "POST", path: "/v1/workspaces", key: ownerText, body: `{"id":"canary","name":"x"}`, header: idemKey})
	want(t, w, 422, "IDEMPOTENCY_KEY_REUSED")
	w = h.do(call{method: "POST", path: "/v1/workspaces", key: h.keys["rotated"], body: `{"id":"canary","name":"x"}`})
	want(t, w, 201, "")
	h.keys["workspace"] = read[auth.Opened](t, w).OwnerKey.Text
	for range 15 { // well over 1,000 requests
		for _, text := range h.keys {
			for _, p := range []string{"/v1/signed", "/v1/entities", "/v1/operate", "/v1/metrics", "/v1/nowhere", "/v1/api-keys/current"} {
				h.do(call{path: p, key: text})
				h.do(call{path: p, header: map[string]string{"X-API-Key": text, "Authorization": "Bearer x"}})
			}
		}
	}
	if err := h.svc.SaveUsed(t.Context()); err != nil {
		t.Fatal(err)
	}
	places := map[string]string{"the log": h.logs.String()}
	for _, file := range []string{path, path + "-wal"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		places[file] = string(data)
	}
	for place, data := range places {
		if len(data) < 1000 {
			t.Errorf("%s has %d bytes: nothing was looked at", place, len(data))
		}
		for name, text := range h.keys {
			if text == "" || strings.Contains(data, text) || strings.Contains(data, text[len(text)-30:]) {
				t.Errorf("%s holds the text of the key %q", place, name)
			}
		}
	}
}

func TestIdempotency(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d, withAnswers(t, d))
		for i, c := range []call{
			{path: "/v1/api-keys", body: `{"name":"x","role":"device"}`},
			{path: "/v1/api-keys/" + h.ids["device"] + "/rotate", body: `{"graceSeconds":0}`},
			{path: "/v1/workspaces", body: `{"id":"nairobi","name":"x"}`},
		} {
			c.method, c.key, c.header = "POST", ownerText, map[string]string{"Idempotency-Key": string(rune('a' + i))}
			first := h.do(c)
			want(t, first, 201, "")
			events := len(h.takeEvents())
			second := h.do(c)
			if second.Code != 201 || second.Body.String() != first.Body.String() || second.Header().Get("Idempotent-Replayed") != "true" ||
				second.Header().Get("Location") != first.Header().Get("Location") {
				t.Errorf("%s again: %d %s, want the first answer %s", c.path, second.Code, second.Body, first.Body)
			}
			if again := h.takeEvents(); events == 0 || len(again) != 0 {
				t.Errorf("%s: %d events, then %q, want none the second time", c.path, events, again)
			}
			c.key = h.keys["manager"] // somebody else's equal key is another one
			if w := h.do(c); strings.Contains(w.Body.String(), read[auth.Issued](t, first).ID) && i != 2 {
				t.Errorf("%s: another principal got %s", c.path, w.Body)
			}
		}
	})
}

// TestForeignIsMissing: what belongs to another workspace and what never was
// get the same bytes.
func TestForeignIsMissing(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		for _, tt := range []struct{ method, path, foreign, body, code string }{
			{"GET", "/v1/api-keys/{id}", h.ids["manager"], "", "KEY_NOT_FOUND"},
			{"DELETE", "/v1/api-keys/{id}", h.ids["manager"], "", "KEY_NOT_FOUND"},
			{"POST", "/v1/api-keys/{id}/rotate", h.ids["manager"], "{}", "KEY_NOT_FOUND"},
			{"GET", "/v1/workspaces/{id}", "default", "", "WORKSPACE_NOT_FOUND"},
		} {
			ask := func(id string) string {
				w := h.do(call{method: tt.method, path: strings.ReplaceAll(tt.path, "{id}", id), key: h.keys["tenant"], body: tt.body})
				want(t, w, 404, tt.code)
				return strings.ReplaceAll(mask(w.Body.String()), id, "{id}") + headerNames(w)
			}
			if foreign, missing := ask(tt.foreign), ask("key_99999999"); foreign != missing {
				t.Errorf("%s %s\nforeign %s\nmissing %s", tt.method, tt.path, foreign, missing)
			}
		}
		wantEvents(t, h)
	})
}
