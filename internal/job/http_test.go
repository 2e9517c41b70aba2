package job_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/internal/web/webtest"
)

var limited = web.Caller{Workspace: "w", DID: "did:x:ann", Key: "key-project", Scopes: []string{"jobs:*"}, Projects: []string{"p"}}

// gate knows callers by name.
type gate struct{}

func (gate) Admit(_ http.Header, r *http.Request, scope web.Scope) (web.Caller, error) {
	c, ok := map[string]web.Caller{
		"ann": ann, "project": limited,
		"bob":     {Workspace: "v", DID: "did:x:bob", Scopes: []string{"*"}},
		"reader":  {Workspace: "w", DID: "did:x:ann", Scopes: []string{"jobs:read"}},
		"starter": {Workspace: "w", DID: "did:x:ann", Scopes: []string{"responses:verify"}},
		"clerk":   {Workspace: "w", DID: "did:x:clerk", Scopes: []string{"responses:verify"}},
		"none":    {Workspace: "w", DID: "did:x:ann"},
	}[r.Header.Get("Authorization")]
	if !ok {
		return web.Caller{}, fault.New(fault.Unauthenticated, "KEY_MISSING", "An API key is needed.")
	}
	if !scope.Open(c.May) {
		return web.Caller{}, fault.New(fault.Forbidden, "SCOPE_MISSING", "No.")
	}
	return c, nil
}

func (r *rig) handler(t *testing.T) http.Handler {
	t.Helper()
	a := web.NewAPI(web.APIConfig{Name: "jobs", Gate: gate{}, Log: dbtest.Log(t)})
	r.Routes(a)
	return web.Observe(dbtest.Log(t), web.Problem, nil, webtest.Handler(t, a))
}

func send(h http.Handler, as, do string, head map[string]string) *httptest.ResponseRecorder {
	method, target, _ := strings.Cut(do, " ")
	q := httptest.NewRequest(method, target, nil)
	q.Header.Set("Authorization", as)
	for name, value := range head {
		q.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, q)
	return w
}

// stock fills a store and returns the jobs by the names the cases use.
func stock(t *testing.T, r *rig, now time.Time) map[string]string {
	t.Helper()
	stop := r.start(t, job.RunnerConfig{Workers: 1, Lease: time.Hour, Handlers: map[string]job.Handler{
		"test.ok": func(_ context.Context, run *job.Run) error {
			run.Progress(2, 2, "all")
			run.SetResult(map[string]string{"file": "/v1/media/7"})
			return nil
		},
		"test.bad": func(context.Context, *job.Run) error {
			return fault.New(fault.Invalid, "ROW_INVALID", "A row is wrong.").With(fault.Field{Pointer: "/3", Code: "bad", Detail: "No."})
		},
	}})
	ids := map[string]string{"done": r.enqueue(t, ann, job.Draft{Kind: "test.ok"})}
	r.awaitStatus(t, ids["done"], job.Succeeded)
	ids["failed"] = r.enqueue(t, ann, job.Draft{Kind: "test.bad"})
	r.awaitStatus(t, ids["failed"], job.Failed)
	stop()
	ids["queued"] = r.enqueue(t, ann, job.Draft{Kind: "test.later", RunAt: now.Add(time.Hour), MaxAttempts: 2})
	ids["stop"] = r.enqueue(t, ann, job.Draft{Kind: "test.later"})
	ids["limited"] = r.enqueue(t, limited, job.Draft{Kind: "test.later"})
	ids["system"] = r.enqueue(t, web.Caller{}, job.Draft{Kind: "test.later"})
	return ids
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		now := time.UnixMilli(1_700_000_000_000)
		r := newRig(t, d, func() time.Time { return now })
		p := webtest.Play{Vars: stock(t, r, now), Handler: r.handler(t), Sign: sign}
		for _, c := range webtest.Read(t, "jobs.json") {
			t.Run(c.Name, func(t *testing.T) {
				before := len(r.recorded())
				p.Run(t, c)
				if got, want := strings.Join(r.recorded()[before:], ", "), p.Expand(strings.Join(c.Events, ", ")); got != want {
					t.Errorf("events = %v, want %v", got, want)
				}
			})
		}
	})
}

func sign(r *http.Request, as string) { r.Header.Set("Authorization", as) }

func TestListPages(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		var all []string
		for i := range 25 {
			kind := []string{"test.even", "test.odd"}[i%2]
			all = append(all, r.enqueue(t, ann, job.Draft{Kind: kind}))
		}
		slices.Reverse(all)
		h := r.handler(t)
		for _, tt := range []struct {
			query string
			want  int
		}{{"limit=7", 25}, {"limit=5", 25}, {"limit=4&kind=test.odd", 12}, {"limit=4&kind=test.odd&status=queued", 12}, {"limit=30", 25}} {
			var got []string
			next := "/v1/jobs?" + tt.query
			for next != "" {
				w := send(h, "ann", "GET "+next, nil)
				var page web.Page[job.Job]
				if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || w.Code != 200 {
					t.Fatalf("%s: %d %v %s", next, w.Code, err, w.Body)
				}
				for _, j := range page.Items {
					got = append(got, j.ID)
				}
				next = ""
				if page.Page.HasMore {
					next = "/v1/jobs?" + tt.query + "&cursor=" + url.QueryEscape(page.Page.NextCursor)
					// A cursor works for its own list only.
					if w := send(h, "bob", "GET "+next, nil); w.Code != 400 {
						t.Errorf("cursor of another workspace: %d, want 400", w.Code)
					}
				}
			}
			if len(got) != tt.want || !slices.IsSortedFunc(got, func(a, b string) int { return slices.Index(all, a) - slices.Index(all, b) }) {
				t.Errorf("%s: %d jobs %v, want %d, newest first", tt.query, len(got), got, tt.want)
			}
		}
	})
}

func TestDocument(t *testing.T) {
	t.Parallel()
	a := web.NewAPI(web.APIConfig{Name: "jobs", Gate: gate{}})
	job.New(job.Config{}).Routes(a)
	doc, err := json.Marshal(web.Document("Hearth", "test", a))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"/v1/jobs"`, `"/v1/jobs/{id}"`, `"/v1/jobs/{id}/cancel"`, `"cancelRequested"`, `"x-scope":"jobs:write"`} {
		if !strings.Contains(string(doc), want) {
			t.Errorf("the document has no %s", want)
		}
	}
}

func TestAccepted(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		ctx := web.WithCaller(t.Context(), ann)
		var got web.Reply[job.Job]
		err := d.InTx(ctx, func(tx *db.Tx) error {
			id, err := r.Enqueue(ctx, tx, work)
			if err != nil {
				return err
			}
			got, err = r.Accepted(ctx, tx, id)
			return err
		})
		if want := fmt.Sprintf("/v1/jobs/%s", got.Value.ID); err != nil || got.Status != 202 || got.Location != want || got.Value.Status != job.Queued {
			t.Errorf("Accepted() = %+v, %v, want 202 at %s", got, err, want)
		}
	})
}
