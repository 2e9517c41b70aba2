package credential_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/claim"
	"github.com/hearth-dmrv/hearth/internal/entity/credential"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/vc"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/internal/web/webtest"
)

// gate admits everybody: the name is the caller, "limited" in a project of its own and
// "stranger" in another workspace.
type gate struct{}

func (gate) Admit(_ http.Header, r *http.Request, scope web.Scope) (web.Caller, error) {
	name := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if scope == web.Public {
		return web.Caller{}, nil
	}
	c := web.Caller{Workspace: "ws", DID: "did:key:" + name, Key: "key-" + name, Scopes: []string{"*"}}
	switch name {
	case "limited":
		c.Projects = []string{"did:ixo:project/1"}
	case "stranger":
		c.Workspace = "other"
	}
	return c, nil
}

// env is a household whose claims an oracle of the judge approves.
type env struct {
	d           *db.DB
	h           http.Handler
	credentials *credential.Service
	claims      *claim.Service
	asked       []string // claims whose approval issues
	now         time.Time
	home        string
	oracle      string
	month       int
}

const base = "https://hearth.example.org"

func newEnv(t testing.TB, d *db.DB, publicURL string) *env {
	t.Helper()
	v := &env{d: d, now: time.Now()}
	cursors := eventtest.Cursors()
	l := event.New(event.Config{DB: d, Cursors: cursors})
	p := protocol.New(protocol.Config{DB: d, Events: l, Cursors: cursors, Taken: relationship.Held})
	key, err := secret.Parse("a server key of tests, with 32 characters and more")
	if err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return v.now }
	issuer := credential.NewIssuer(credential.IssuerConfig{Key: key, Events: l, NewNID: d.NewNID, Now: now, PublicURL: publicURL})
	ledger := claim.NewLedger(claim.Ledger{Protocols: p, Events: l, NewNID: d.NewNID, Now: now, Standing: credential.Standing, Issue: func(_ context.Context, _ *db.Tx, id string) error {
		v.asked = append(v.asked, id)
		return nil
	}})
	s := entity.New(entity.Config{DB: d, Protocols: p, Events: l, Cursors: cursors, Relayer: "did:key:server", Claims: ledger, Certified: issuer.Follow, IssuerOf: credential.IssuerOf})
	v.credentials = credential.New(credential.Config{DB: d, Entities: s, Issuer: issuer, Cursors: cursors})
	a := web.NewAPI(web.APIConfig{Name: "test", Gate: gate{}, Errors: web.Problem})
	p.Routes(a)
	s.Routes(a)
	v.credentials.Routes(a)
	v.claims = claim.New(claim.Config{DB: d, Entities: s, Ledger: ledger, Cursors: cursors, Credentials: v.credentials})
	v.claims.Routes(a)
	v.h = webtest.Handler(t, a)
	v.home = v.want(t, "owner", "POST /v1/entities", `{"type":"household","protocol":"did:ixo:protocol/household","properties":{"name":"Mary Banda"}}`, "201").text("did")
	v.oracle = v.want(t, "judge", "POST /v1/entities", `{"type":"oracle","protocol":"did:ixo:protocol/oracle"}`, "201").text("did")
	return v
}

// reply is an answer of the API.
type reply struct {
	code int
	raw  string
	body map[string]any
}

func (r reply) text(name string) string { s, _ := r.body[name].(string); return s }

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
	w := httptest.NewRecorder()
	v.h.ServeHTTP(w, r)
	out := reply{code: w.Code, raw: w.Body.String()}
	if strings.Contains(w.Header().Get("Content-Type"), "html") {
		return out
	}
	if err := json.Unmarshal(w.Body.Bytes(), &out.body); err != nil {
		t.Fatalf("%s: %v in %s", request, err, w.Body)
	}
	return out
}

// want calls a route and fails unless the answer has a status and, where it is a
// refusal, a code.
func (v *env) want(t testing.TB, who, request, body, want string) reply {
	t.Helper()
	r := v.do(t, who, request, body)
	got := fmt.Sprint(r.code)
	if r.code >= 300 {
		got += " " + r.text("code")
	}
	if got != want {
		t.Fatalf("%s by %s of %s = %s (%s), want %s", request, who, body, got, r.raw, want)
	}
	return r
}

// approved submits a claim for a month of its own, which the judge approves.
func (v *env) approved(t testing.TB) string {
	t.Helper()
	v.month++
	day := fmt.Sprintf("%d-%02d-", 2000+v.month/12, v.month%12+1)
	id := v.want(t, "owner", "POST /v1/claims", `{"kind":"fuel-saved","subject":"`+v.home+`","oracle":"`+v.oracle+`","periodStart":"`+day+`01","periodEnd":"`+day+`28",`+
		`"amount":{"value":12.5,"unit":"kg"},"evidence":["photo of Mary Banda"]}`, "201").text("id")
	v.want(t, "judge", "POST /v1/claims/"+id+"/evaluations", `{"decision":"approved","reason":"seen"}`, "201")
	return id
}

// issue makes the credential of a new claim; more goes into the body.
func (v *env) issue(t testing.TB, more string) reply {
	t.Helper()
	return v.want(t, "judge", "POST /v1/credentials", `{"claim":"`+v.approved(t)+`"`+more+`}`, "201")
}

func entityAt(id string) string { return "/v1/entities/" + url.PathEscape(id) }

// verify verifies what a credential says is its document, and gives codes.
func (v *env) verify(t testing.TB, r reply) (reasons, warnings []string) {
	t.Helper()
	doc, err := json.Marshal(r.body["verifiableCredential"])
	if err != nil {
		t.Fatal(err)
	}
	return v.verifyDocument(t, doc)
}

func (v *env) verifyDocument(t testing.TB, doc jsontext.Value) (reasons, warnings []string) {
	t.Helper()
	verifier := &vc.Verifier{Lookup: v.credentials.Method, Status: v.credentials.Status, History: v.credentials.History, Now: func() time.Time { return v.now }}
	out := verifier.Credential(t.Context(), doc, vc.Options{})
	for _, r := range out.Reasons {
		reasons = append(reasons, r.Code)
	}
	for _, w := range out.Warnings {
		warnings = append(warnings, w.Code)
	}
	return reasons, warnings
}

// webCaller is a context of somebody who controls nothing.
func webCaller(t testing.TB, name string) context.Context {
	t.Helper()
	return web.WithCaller(t.Context(), web.Caller{Workspace: "ws", DID: "did:key:" + name, Scopes: []string{"*"}})
}
