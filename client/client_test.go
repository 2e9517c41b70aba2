package client_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hearth-dmrv/hearth/client"
)

// serve starts a server for a test and a client that calls it, with short
// waits.
func serve(t *testing.T, h http.HandlerFunc) *client.Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return connect(t, client.Config{BaseURL: s.URL, Key: "k1"})
}

func connect(t *testing.T, cfg client.Config) *client.Client {
	t.Helper()
	if cfg.Retry == (client.Retry{}) {
		cfg.Retry = client.Retry{Min: time.Millisecond, Max: 5 * time.Millisecond}
	}
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNewRefusesBadConfig(t *testing.T) {
	t.Parallel()
	for _, cfg := range []client.Config{
		{},
		{BaseURL: "localhost:3000"},
		{BaseURL: "ftp://x"},
		{BaseURL: "http://"},
		{BaseURL: "http://x/?a=b"},
		{BaseURL: "http://x/#f"},
		{BaseURL: "http://x\x7f"},
		{BaseURL: "http://x", Key: "a\r\nX-Evil: 1"},
	} {
		if _, err := client.New(cfg); err == nil {
			t.Errorf("New(%+v) = nil, want an error", cfg)
		}
	}
}

// request is what a server sees of a call.
type request struct {
	Method, Path, Query, Body, Media string
}

func TestCalls(t *testing.T) {
	t.Parallel()
	yes, text := true, "x"
	day := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	for name, tt := range map[string]struct {
		call func(context.Context, *client.Client) error
		want request
	}{
		"key create": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Keys.Create(ctx, client.KeyDraft{Name: "n", Role: "auditor"})
			return err
		}, request{"POST", "/v1/api-keys", "", `{"name":"n","role":"auditor"}`, "application/json"}},
		"key get": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Keys.Get(ctx, "a/b c")
			return err
		}, request{Method: "GET", Path: "/v1/api-keys/a%2Fb%20c"}},
		"key current": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Keys.Current(ctx)
			return err
		}, request{Method: "GET", Path: "/v1/api-keys/current"}},
		"key page": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Keys.Page(ctx, client.PageQuery{Limit: 7, Cursor: "c&1"})
			return err
		}, request{Method: "GET", Path: "/v1/api-keys", Query: "cursor=c%261&limit=7"}},
		"key rotate": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Keys.Rotate(ctx, "k", client.Rotation{Grace: time.Minute})
			return err
		}, request{"POST", "/v1/api-keys/k/rotate", "", `{"graceSeconds":60}`, "application/json"}},
		"key rotate now": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Keys.Rotate(ctx, "k", client.Rotation{Now: true})
			return err
		}, request{"POST", "/v1/api-keys/k/rotate", "", `{"graceSeconds":0}`, "application/json"}},
		"key revoke": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Keys.Revoke(ctx, "k")
			return err
		}, request{Method: "DELETE", Path: "/v1/api-keys/k"}},
		"workspace create": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Workspaces.Create(ctx, client.WorkspaceDraft{ID: "kitui", Name: "K"})
			return err
		}, request{"POST", "/v1/workspaces", "", `{"id":"kitui","name":"K"}`, "application/json"}},
		"workspace get": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Workspaces.Get(ctx, "kitui")
			return err
		}, request{Method: "GET", Path: "/v1/workspaces/kitui"}},
		"changes": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Events.Changes(ctx, client.ChangesQuery{After: 3, Limit: 2, Types: []string{"key.*", "job.failed"}, Filter: "eq(subject,a)"})
			return err
		}, request{Method: "GET", Path: "/v1/changes", Query: "after=3&filter=eq%28subject%2Ca%29&limit=2&types=key.%2A%2Cjob.failed"}},
		"event types": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Events.Types(ctx)
			return err
		}, request{Method: "GET", Path: "/v1/events/types"}},
		"audit": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Events.AuditPage(ctx, client.AuditQuery{Actor: "did:x", Subject: "s", Type: "key.*", Since: day, Limit: 1})
			return err
		}, request{Method: "GET", Path: "/v1/audit", Query: "actor=did%3Ax&limit=1&since=2026-01-02T02%3A04%3A05Z&subject=s&type=key.%2A"}},
		"webhook create": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Webhooks.Create(ctx, client.WebhookDraft{URL: "https://x", Events: []string{"*"}, Filter: "eq(subject,a)", Active: &yes})
			return err
		}, request{"POST", "/v1/webhooks", "", `{"url":"https://x","events":["*"],"filter":"eq(subject,a)","active":true}`, "application/json"}},
		"webhook update": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Webhooks.Update(ctx, "w", client.WebhookPatch{Description: &text}, client.IfRevision(3))
			return err
		}, request{"PATCH", "/v1/webhooks/w", "", `{"description":"x"}`, "application/merge-patch+json"}},
		"webhook delete": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Webhooks.Delete(ctx, "w", client.IfRevision(3))
			return err
		}, request{Method: "DELETE", Path: "/v1/webhooks/w"}},
		"webhook replay": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Webhooks.Replay(ctx, "w", client.Replay{From: 1, To: 9})
			return err
		}, request{Method: "POST", Path: "/v1/webhooks/w/replay", Query: "from=1&to=9"}},
		"webhook ping": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Webhooks.Ping(ctx, "w")
			return err
		}, request{Method: "POST", Path: "/v1/webhooks/w/ping"}},
		"webhook secret": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Webhooks.RotateSecret(ctx, "w")
			return err
		}, request{Method: "POST", Path: "/v1/webhooks/w/rotate-secret"}},
		"deliveries": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Webhooks.DeliveryPage(ctx, "w", client.DeliveryQuery{Status: "dead"})
			return err
		}, request{Method: "GET", Path: "/v1/webhooks/w/deliveries", Query: "status=dead"}},
		"job page": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Jobs.Page(ctx, client.JobQuery{Status: "queued", Kind: "a.b"})
			return err
		}, request{Method: "GET", Path: "/v1/jobs", Query: "kind=a.b&status=queued"}},
		"job cancel": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Jobs.Cancel(ctx, "j")
			return err
		}, request{Method: "POST", Path: "/v1/jobs/j/cancel"}},
		"openapi": {func(ctx context.Context, c *client.Client) error {
			_, err := c.OpenAPI(ctx)
			return err
		}, request{Method: "GET", Path: "/v1/openapi.json"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got request
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got = request{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, string(body), r.Header.Get("Content-Type")}
				_, _ = w.Write([]byte(`{}`))
			})
			if err := tt.call(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOptionsAndMeta(t *testing.T) {
	t.Parallel()
	var got http.Header
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		w.Header().Set("X-Request-Id", r.Header.Get("X-Request-Id"))
		w.Header().Set("Idempotent-Replayed", "true")
		w.Header().Set("ETag", `"4"`)
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"id":"key_1","key":"secret text","prefix":"p","future":{"member":1}}`))
	})
	var m client.Meta
	k, err := c.Keys.Create(t.Context(), client.KeyDraft{Name: "n"},
		client.IdempotencyKey("i1"), client.RequestID("r1"), client.IfMatch(`"9"`), client.WithMeta(&m))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"Idempotency-Key": "i1", "X-Request-Id": "r1", "If-Match": `"9"`, "Authorization": "Bearer k1", "User-Agent": "hearth-go",
	} {
		if got.Get(name) != want {
			t.Errorf("header %s = %q, want %q", name, got.Get(name), want)
		}
	}
	if m.Status != 201 || m.RequestID != "r1" || m.ETag != `"4"` || !m.Replayed || m.Attempts != 1 {
		t.Errorf("meta = %+v, want status 201, request r1, tag 4, replayed, 1 attempt", m)
	}
	if k.Text != "secret text" || strings.Contains(k.String(), "secret") || strings.Contains(k.GoString(), "secret") {
		t.Errorf("text = %q, printed %v: want the text, and a print without it", k.Text, k)
	}
}

func TestNoRedirectIsFollowed(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://192.0.2.1/steal", http.StatusTemporaryRedirect)
	})
	_, err := c.Keys.Current(t.Context())
	if e := asError(t, err); e.Status != http.StatusTemporaryRedirect {
		t.Errorf("status = %d, want 307 handed to the caller", e.Status)
	}
}

func TestReadinessIsAnAnswer(t *testing.T) {
	t.Parallel()
	calls := 0
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		calls++
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"status":"not ready","durability":"full","checks":{"store":"does not take writes"}}`))
	})
	r, err := c.Ready(t.Context())
	if err != nil || r.Ready() || r.Checks["store"] != "does not take writes" || calls != 1 {
		t.Errorf("Ready() = %+v, %v after %d calls; want not ready, no error, 1 call", r, err, calls)
	}
}
