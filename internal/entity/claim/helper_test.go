package claim_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/bulk"
	"github.com/hearth-dmrv/hearth/internal/entity/claim"
	"github.com/hearth-dmrv/hearth/internal/entity/credential"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/internal/web/webtest"
)

// callerOf makes a caller: every role may everything, "limited" in one project, but for the
// shipped "manager" and "evaluator".
func callerOf(role string) web.Caller {
	c := web.Caller{Workspace: "ws", DID: "did:key:" + role, Key: "key-" + role, Scopes: []string{"*"}}
	if project, ok := strings.CutPrefix(role, "limited "); ok {
		c.DID, c.Projects = "did:key:limited", []string{project}
	}
	if role == "reader" {
		c.Scopes = []string{"claims:read", "entities:read"}
	}
	for _, shipped := range auth.Roles() {
		if shipped.Name == role && role != "owner" {
			c.Scopes = shipped.Scopes
		}
	}
	if role == "stranger" {
		c.Workspace = "other"
	}
	return c
}

type gate struct{}

func (gate) Admit(_ http.Header, r *http.Request, scope web.Scope) (web.Caller, error) {
	c := callerOf(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	if !scope.Open(c.May) {
		return web.Caller{}, fault.New(fault.Forbidden, "SCOPE_MISSING", "The scope "+string(scope)+" is missing.")
	}
	return c, nil
}

// env is a store with twins and claims, behind the API.
type env struct {
	d *db.DB
	h http.Handler

	s     *claim.Service
	jobs  *job.Service
	ended chan string // types of events about jobs

	late atomic.Int64           // how much the clock of claims is ahead
	then atomic.Pointer[func()] // is done once, when claims look at the clock next
}

func newEnv(t testing.TB, d *db.DB) *env {
	t.Helper()
	cursors := eventtest.Cursors()
	l := event.New(event.Config{DB: d, Cursors: cursors})
	p := protocol.New(protocol.Config{DB: d, Events: l, Cursors: cursors, Taken: relationship.Held})
	v := &env{d: d, ended: make(chan string, 10)}
	now := func() time.Time {
		if f := v.then.Swap(nil); f != nil {
			(*f)()
		}
		return time.Now().Add(time.Duration(v.late.Load()))
	}
	ledger := claim.NewLedger(claim.Ledger{Protocols: p, Events: l, NewNID: d.NewNID, Now: now, Standing: credential.Standing})
	key, err := secret.Parse("a server key of tests, with 32 characters and more")
	if err != nil {
		t.Fatal(err)
	}
	issuer := credential.NewIssuer(credential.IssuerConfig{Key: key, Events: l, NewNID: d.NewNID})
	s := entity.New(entity.Config{DB: d, Protocols: p, Events: l, Cursors: cursors, Relayer: "did:key:server", Claims: ledger, Certified: issuer.Follow, IssuerOf: credential.IssuerOf})
	credentials := credential.New(credential.Config{DB: d, Entities: s, Issuer: issuer, Cursors: cursors})
	a := web.NewAPI(web.APIConfig{Name: "test", Gate: gate{}, Errors: web.Problem})
	p.Routes(a)
	s.Routes(a)
	bulk.New(bulk.Config{DB: d, Entities: s, Protocols: p, Events: l, Cursors: cursors}).Routes(a)
	v.jobs = job.New(job.Config{DB: d, Cursors: cursors, Record: func(_ context.Context, tx *db.Tx, typ, _ string, _ int64) error {
		tx.AfterCommit(func() { v.ended <- typ })
		return nil
	}})
	v.s = claim.New(claim.Config{DB: d, Entities: s, Ledger: ledger, Cursors: cursors, Credentials: credentials, Exchange: exchange.New(exchange.Config{DB: d, Jobs: v.jobs})})
	v.s.Routes(a)
	v.jobs.Routes(a)
	credentials.Routes(a)
	v.h = webtest.Handler(t, a)
	return v
}

// work runs the jobs of claims until the test ends.
func (v *env) work(t testing.TB) {
	t.Helper()
	runner, err := v.jobs.NewRunner(job.RunnerConfig{Handlers: claim.NewSimulations(v.s).Handlers()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { runner.Run(ctx) })
	t.Cleanup(func() {
		stop()
		all.Wait()
	})
}

// reply is an answer of the API.
type reply struct {
	Code   int
	Body   map[string]any
	Fields []field
}

type field struct {
	Pointer string `json:"pointer"`
	Code    string `json:"code"`
	Detail  string `json:"detail"`
}

// text is a member of the answer.
func (r reply) text(name string) string { s, _ := r.Body[name].(string); return s }

// do calls a route: "POST /v1/claims".
func (v *env) do(t testing.TB, who, request, body string) reply {
	t.Helper()
	method, path, _ := strings.Cut(request, " ")
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+who)
	r.Header.Set("If-Match", "*")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if method == http.MethodPatch {
		r.Header.Set("Content-Type", "application/merge-patch+json")
	}
	w := httptest.NewRecorder()
	v.h.ServeHTTP(w, r)
	out := reply{Code: w.Code}
	if w.Body.Len() > 0 {
		if err := json.Unmarshal(w.Body.Bytes(), &out.Body); err != nil {
			t.Fatalf("%s: %v in %s", request, err, w.Body)
		}
	}
	var f struct {
		Errors []field `json:"errors"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &f); err == nil {
		out.Fields = f.Errors
	}
	return out
}

// want calls a route and fails unless the answer has a status and, where it is a
// refusal, a code.
func (v *env) want(t testing.TB, who, request, body, want string) reply {
	t.Helper()
	r := v.do(t, who, request, body)
	got := strings.TrimSpace(fmt.Sprint(r.Code, " ", r.text("code")))
	if r.Code < 300 {
		got = fmt.Sprint(r.Code)
	}
	if got != want {
		t.Fatalf("%s by %s of %s = %s (%v), want %s", request, who, body, got, r.Body, want)
	}
	return r
}

// twin makes a twin of the owner from a shipped protocol, with relationships: role,
// target, role, target.
func (v *env) twin(t testing.TB, who, kind string, pairs ...string) string {
	t.Helper()
	draft := map[string]any{"type": kind, "protocol": "did:ixo:protocol/" + kind}
	var all []map[string]string
	for i := 0; i+1 < len(pairs); i += 2 {
		all = append(all, map[string]string{"role": pairs[i], "target": pairs[i+1]})
	}
	if all != nil {
		draft["relationships"] = all
	}
	body, err := json.Marshal(draft)
	if err != nil {
		t.Fatal(err)
	}
	return v.want(t, who, "POST /v1/entities", string(body), "201").text("did")
}

func at(id string) string { return "/v1/entities/" + url.PathEscape(id) }

func claimAt(id string) string { return "/v1/claims/" + url.PathEscape(id) }

// claimed is the body of a claim.
func claimed(subject, from, to string, more ...string) string {
	return `{"kind":"fuel-saved","subject":"` + subject + `","periodStart":"` + from + `","periodEnd":"` + to + `","amount":{"value":12,"unit":"kg"}` + strings.Join(more, "") + `}`
}

// submit makes a claim of the owner and gives its DID.
func (v *env) submit(t testing.TB, subject, from, to string, more ...string) string {
	t.Helper()
	return v.want(t, "owner", "POST /v1/claims", claimed(subject, from, to, more...), "201").text("id")
}
