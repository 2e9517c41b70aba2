package app_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/webhook"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// owner is the owner key of the operators' workspace in these tests.
const owner = "owner-key-of-the-tests-0123456789"

// house is a server with one object of each kind in the default workspace and
// keys of every sort of caller.
type house struct {
	*app.Built
	ids   map[string]string // by the collection in the path: api-keys, jobs, …
	other string            // owner key of another workspace
	read  string            // key that may only read
	calls atomic.Int64
}

// newHouse makes a house on a copy of the first one: to furnish one takes
// longer than any test in it.
func newHouse(t *testing.T) *house {
	t.Helper()
	model.once.Do(func() { model.build(t) })
	if model.house == nil {
		t.Fatal("the first house could not be built")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(model.dir)); err != nil {
		t.Fatal(err)
	}
	h := &house{Built: buildHouse(t, dir), ids: maps.Clone(model.house.ids), other: model.house.other, read: model.house.read}
	return h
}

// model is the first house, whose folder the others copy.
var model struct {
	once sync.Once
	modelHouse
}

type modelHouse struct {
	dir   string
	house *house // nil when it could not be built
}

func (m *modelHouse) build(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp("", "hearth-house-")
	if err != nil {
		t.Fatal(err)
	}
	m.dir = dir
	h := furnished(t, dir)
	h.Shut()
	m.house = h
}

// TestMain takes the folder of the first house away.
func TestMain(m *testing.M) {
	code := m.Run()
	if model.dir != "" {
		_ = os.RemoveAll(model.dir) // the system clears its temporary folder too
	}
	os.Exit(code)
}

// aBackup is a backup that the house has; nobody looks into it.
const aBackup = "hearth-20260301T120000Z.db"

func buildHouse(t *testing.T, dir string) *app.Built {
	t.Helper()
	backups := filepath.Join(dir, "backups")
	if err := errors.Join(os.MkdirAll(backups, 0o700), os.WriteFile(filepath.Join(backups, aBackup), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	return app.Build(t, owner, func(c *config.Config) {
		c.Data.Dir, c.Server.PublicURL = dir, "https://hearth.example.org"
		c.VC.DirectIssue = true
		c.USSD.SessionTTL = time.Hour       // longer than the tests
		c.Data.SQLiteSynchronous = "normal" // nothing here is cut off
	})
}

// furnished makes a house with everything in it.
func furnished(t *testing.T, dir string) *house {
	t.Helper()
	h := &house{Built: buildHouse(t, dir), ids: map[string]string{"workspaces": "default", "backups": aBackup}}
	ctx, err := h.Auth.AsOwner(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	h.ids["api-keys"] = h.key(t, ctx, "spare", "events:read").ID
	h.ids["stay"] = h.stay(t)
	h.ids["invites"] = read[struct {
		ID string `json:"id"`
	}](h.post("/v1/invites", `{"name":"Achieng","role":"collector"}`)).ID
	var scopes []string
	for _, s := range auth.Scopes() {
		if strings.HasSuffix(s, ":read") {
			scopes = append(scopes, s)
		}
	}
	h.read = h.key(t, ctx, "reader", scopes...).Text
	opened, err := h.Auth.CreateWorkspace(ctx, auth.WorkspaceDraft{ID: "elsewhere", Name: "Elsewhere"})
	if err != nil {
		t.Fatal(err)
	}
	h.other = opened.OwnerKey.Text
	hook, err := h.Webhooks.Create(ctx, webhook.Draft{URL: "https://example.org/hook", Events: event.Filter{"*"}})
	if err != nil {
		t.Fatal(err)
	}
	h.ids["webhooks"] = hook.Value.ID
	err = h.DB.InTx(ctx, func(tx *db.Tx) (err error) {
		if h.ids["jobs"], err = h.Jobs.Enqueue(ctx, tx, job.Draft{Kind: "nobody.does"}); err != nil {
			return err
		}
		// No dispatcher runs here, and nobody answers.
		_, err = tx.Exec(ctx, `INSERT INTO webhook_deliveries (webhook, seq, type, status, attempts, next_at, lease_owner, last_status, last_error, created_at, updated_at, done_at)
			VALUES ($1, 1, 'key.created', 'dead', 12, 0, '', 500, 'HTTP 500', 0, 0, 0)`, hook.Value.ID)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	h.furnish(t)
	h.furnishSurveys(t)
	h.furnishSampling(t)
	h.furnishKitchens(t)
	h.furnishVouchers(t)
	h.furnishCredentials(t)
	h.furnishLine(t)
	h.furnishMind(t)
	return h
}

func (h *house) key(t *testing.T, ctx context.Context, name string, scopes ...string) auth.Issued {
	t.Helper()
	k, err := h.Auth.Create(ctx, auth.Draft{Name: name, Scopes: scopes})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// path fills the ids of the house into a pattern.
func (h *house) path(r web.Route) string {
	if sendsPicture(r) {
		return "/v1/attachments/" + hashOf(otherPicture)
	}
	parts := strings.Split(strings.TrimSuffix(r.Path, "{$}"), "/")
	for i, part := range parts {
		if !strings.HasPrefix(part, "{") {
			continue
		}
		text := linePart(r, part)
		if text == "" {
			text = h.mindPart(r, part)
		}
		if text == "" {
			text = h.part(r.Path, parts[i-1], part)
		}
		parts[i] = url.PathEscape(text)
	}
	return strings.Join(parts, "/") + h.query(r)
}

// body is the example of a route.
func body(t *testing.T, r web.Route) string {
	t.Helper()
	if r.Path == "/v1/imports:preview" {
		return importedTable
	}
	if r.Path == "/v1/imports" && r.Method == http.MethodPost {
		return importLine
	}
	if r.Path == "/v1/surveys/{surveyId}/imports" {
		return importedResponse
	}
	if strings.HasSuffix(r.Path, "/frame/file") {
		return houseTable
	}
	if sendsPicture(r) {
		return otherPicture
	}
	if strings.HasSuffix(r.Path, "/flags:settle") {
		return settledFlag
	}
	if strings.HasSuffix(r.Path, "/cross-reference") && r.Method == http.MethodPost {
		return `{"question":"consent/consent_given"}`
	}
	if r.Doc.Example == nil {
		return ""
	}
	b, err := json.Marshal(r.Doc.Example)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// send calls a route as the bearer of key.
func (h *house) send(t *testing.T, r web.Route, path, key string) *httptest.ResponseRecorder {
	t.Helper()
	req := h.request(t, r, path)
	switch {
	case ofOracle(r):
		h.asOracleUser(t, req, key)
	case key != "":
		req.Header.Set("Authorization", "Bearer "+key)
	}
	return h.answer(r, req)
}

// request is a request to a route with its example, from nobody. Every one comes
// from an address of its own, none of them ours.
func (h *house) request(t *testing.T, r web.Route, path string) *http.Request {
	t.Helper()
	text, tag := body(t, r), "*"
	if strings.HasSuffix(r.Path, "/verification") && r.Method == http.MethodPost { // a verdict names what is there
		text = strings.Replace(text, `,"revision":1`, "", 1)
		tag = h.as(owner, http.MethodGet, strings.TrimSuffix(path, "/verification"), "").Header().Get("ETag")
	}
	if r.Path == "/v1/reports" && r.Method == http.MethodPost { // the twin of the example is no project
		text = h.ids["reported"]
	}
	req := httptest.NewRequest(r.Method, path, strings.NewReader(text)).WithContext(t.Context())
	n := h.calls.Add(1)
	req.RemoteAddr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, byte(2 + n>>8), byte(n)}), 1234).String()
	if text != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if text == otherPicture {
		req.Header.Set("Content-Type", "application/octet-stream")
	}
	if text == importLine {
		req.Header.Set("Content-Type", "application/x-ndjson")
	}
	if text == importedTable || text == houseTable {
		req.Header.Set("Content-Type", "text/csv")
	}
	if r.Doc.Patch {
		req.Header.Set("Content-Type", "application/merge-patch+json")
	}
	if isWrite(r) {
		req.Header.Set("If-Match", tag)
	}
	return req
}

// answer is what a route says to a request; of a stream, how it begins.
func (h *house) answer(r web.Route, req *http.Request) *httptest.ResponseRecorder {
	ctx, cancel := context.WithCancel(req.Context())
	defer cancel()
	req = req.WithContext(ctx)
	w := httptest.NewRecorder()
	if strings.HasPrefix(r.Doc.Produces, "text/event-stream") {
		h.Handler.ServeHTTP(leaver{w, cancel}, req)
		return w
	}
	h.Handler.ServeHTTP(w, req)
	return w
}

// leaver is the client of a stream who goes after the first bytes.
type leaver struct {
	*httptest.ResponseRecorder
	leave func()
}

func (l leaver) Write(b []byte) (int, error) {
	l.leave()
	return l.ResponseRecorder.Write(b)
}

// isWrite reports whether a route asks for more than a right to read.
func isWrite(r web.Route) bool {
	scope := string(r.Doc.Scope)
	if strings.Contains(r.Path, "/drafts") {
		return true // a draft is read by whoever writes it
	}
	if r.Path == "/mcp" {
		return false // its tools ask for what they need
	}
	for _, right := range []string{":verify", ":evaluate", ":pii"} { // evidence is for verifiers, what a rubric would change for evaluators, who said what for those who may know
		if strings.HasSuffix(scope, right) {
			return true
		}
	}
	return r.Method != http.MethodGet && !strings.HasSuffix(scope, ":read")
}
