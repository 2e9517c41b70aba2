package entity_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/internal/web/webtest"
)

// projectOne is the project the role "limited" is limited to.
const projectOne = "did:ixo:project/one"

// callerOf makes a caller of a workspace: "owner" and "second" may everything,
// "reader" reads, "writer" writes but neither transfers nor verifies, "limited"
// is an owner in one project, "member" acts through a group.
func callerOf(ws, role string) web.Caller {
	c := web.Caller{Workspace: ws, DID: "did:key:" + role, Key: "key-" + role + "-" + ws, Scopes: []string{"*"}}
	switch role {
	case "reader":
		c.Scopes = []string{"entities:read"}
	case "writer", "member":
		c.Scopes = []string{"entities:read", "entities:write", "groups:*"}
	case "limited":
		c.Projects = []string{projectOne}
	}
	return c
}

// as is the context of a request.
func as(t testing.TB, ws, role string) context.Context {
	t.Helper()
	return web.WithCaller(t.Context(), callerOf(ws, role))
}

// gate admits "Authorization: Bearer <workspace> <role>".
type gate struct{}

func (gate) Admit(_ http.Header, r *http.Request, scope web.Scope) (web.Caller, error) {
	ws, role, ok := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), " ")
	if !ok {
		return web.Caller{}, fault.New(fault.Unauthenticated, "KEY_MISSING", "Send a key.")
	}
	c := callerOf(ws, role)
	if !scope.Open(c.May) {
		return web.Caller{}, fault.New(fault.Forbidden, "SCOPE_MISSING", "The scope "+string(scope)+" is missing.")
	}
	return c, nil
}

// env is a store with protocols and twins.
type env struct {
	t testing.TB
	d *db.DB
	l *event.Log
	p *protocol.Service
	s *entity.Service
	h http.Handler
}

func newEnv(t testing.TB, d *db.DB, change ...func(*entity.Config)) *env {
	t.Helper()
	key, err := secret.Parse("0123456789abcdef0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	l := event.New(event.Config{DB: d, Cursors: eventtest.Cursors()})
	p := protocol.New(protocol.Config{DB: d, Events: l, Cursors: eventtest.Cursors(), Taken: relationship.Held})
	cfg := entity.Config{
		DB: d, Protocols: p, Events: l, Idem: once.New(once.Config{DB: d, Key: key}), Cursors: eventtest.Cursors(), Relayer: "did:key:server",
		ControlsAs: func(_ context.Context, _ db.Querier, c web.Caller) ([]string, error) {
			member := c.DID
			if member == "did:key:member" {
				return []string{"did:ixo:group/of-member"}, nil
			}
			return nil, nil
		},
	}
	for _, f := range change {
		f(&cfg)
	}
	e := &env{t: t, d: d, l: l, p: p, s: entity.New(cfg)}
	e.h = webtest.Handler(t, e.api())
	return e
}

func (v *env) api() *web.API {
	a := web.NewAPI(web.APIConfig{Name: "test", Gate: gate{}, Errors: web.Problem})
	v.p.Routes(a)
	v.s.Routes(a)
	return a
}

// plain serves what is not held to the document.
func (v *env) plain() http.Handler {
	mux := http.NewServeMux()
	v.api().Mount(mux)
	return mux
}

// create makes a twin of workspace ws as its owner.
func (v *env) create(t testing.TB, ws string, d entity.Draft) *entity.Entity {
	t.Helper()
	return v.createAs(t, ws, "owner", d)
}

func (v *env) createAs(t testing.TB, ws, role string, d entity.Draft) *entity.Entity {
	t.Helper()
	r, err := v.s.Create(as(t, ws, role), d)
	if err != nil {
		t.Fatalf("create %s: %+v", d.Protocol, fault.As(err))
	}
	return decode(t, r.Raw)
}

func decode(t testing.TB, body []byte) *entity.Entity {
	t.Helper()
	var e entity.Entity
	if err := json.Unmarshal(body, &e, json.RejectUnknownMembers(true)); err != nil {
		t.Fatalf("record: %v in %s", err, body)
	}
	return &e
}

// get reads a twin as its owner.
func (v *env) get(t testing.TB, ws, id string) *entity.Entity {
	t.Helper()
	r, err := v.s.Find(as(t, ws, "owner"), v.d, id)
	if err != nil {
		t.Fatalf("find %s: %v", id, err)
	}
	return decode(t, r.Body)
}

// relate adds an edge as the owner.
func (v *env) relate(t testing.TB, ws, id, role, target string) (*entity.Relationship, error) {
	t.Helper()
	ctx := as(t, ws, "owner")
	var out *entity.Relationship
	err := v.d.InTx(ctx, func(tx *db.Tx) (err error) {
		out, err = v.s.RelateTx(ctx, tx, id, entity.RelationDraft{Role: role, Target: target})
		return err
	})
	return out, err
}

func (v *env) unrelate(t testing.TB, ws, id, relation string) error {
	t.Helper()
	ctx := as(t, ws, "owner")
	return v.d.InTx(ctx, func(tx *db.Tx) error { return v.s.UnrelateTx(ctx, tx, id, relation, "") })
}

func (v *env) transit(t testing.TB, ws, id string, to entity.Status) error {
	t.Helper()
	ctx := as(t, ws, "owner")
	return v.d.InTx(ctx, func(tx *db.Tx) error {
		_, err := v.s.TransitionTx(ctx, tx, id, "", entity.Transition{To: to})
		return err
	})
}

// send calls a route: "GET /v1/entities/…".
func (v *env) send(t testing.TB, who, request, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	method, path, _ := strings.Cut(request, " ")
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+who)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	v.h.ServeHTTP(w, r)
	return w
}

// want fails unless err has a code; "" wants none.
func want(t testing.TB, what string, err error, code string) {
	t.Helper()
	if err != nil && fault.As(err) == nil {
		t.Fatalf("%s = %v, want code %q", what, err, code)
	}
	if got := fault.CodeOf(err); got != code {
		t.Errorf("%s = %q (%v), want %q", what, got, err, code)
	}
}

func object(text string) entity.Object { return entity.Object{Value: jsontext.Value(text)} }

// Drafts of the shipped protocols.
func draftOf(kind string) entity.Draft {
	return entity.Draft{Type: kind, Protocol: "did:ixo:protocol/" + kind}
}

// with adds relationships to a draft: role, target, role, target.
func with(d entity.Draft, pairs ...string) entity.Draft {
	for i := 0; i+1 < len(pairs); i += 2 {
		d.Relationships = append(d.Relationships, entity.RelationDraft{Role: pairs[i], Target: pairs[i+1]})
	}
	return d
}

// publish makes a protocol of a workspace that twins can be made from.
func (v *env) publish(t testing.TB, ws, text string) string {
	t.Helper()
	var d protocol.Draft
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	ctx := as(t, ws, "owner")
	r, err := v.p.Create(ctx, d)
	if err != nil {
		t.Fatalf("create protocol: %+v", fault.As(err))
	}
	var made struct {
		DID string `json:"did"`
	}
	if err := json.Unmarshal(r.Raw, &made); err != nil {
		t.Fatal(err)
	}
	if _, err := v.p.Publish(ctx, made.DID, "*", protocol.Change{}); err != nil {
		t.Fatalf("publish protocol: %+v", fault.As(err))
	}
	return made.DID
}

// kind makes a protocol for a domain type that none is shipped for.
func (v *env) kind(t testing.TB, ws, domain string) string {
	t.Helper()
	return v.publish(t, ws, `{"type":"Protocol","name":"`+domain+`","domainType":"`+domain+`","properties":{"name":"string"},"relationships":{}}`)
}

// twins makes one twin of every domain type, each with what it needs but the
// claim, which is a verified draft, and the credential.
func (v *env) twins(t testing.TB, ws string) map[string]string {
	t.Helper()
	out := map[string]string{}
	org := v.create(t, ws, draftOf("organisation"))
	out["organisation"], out["group"] = org.DID, org.Relationships[0].Target
	out["project"] = v.create(t, ws, with(draftOf("project"), "implementedBy", org.DID)).DID
	out["asset"] = v.create(t, ws, with(draftOf("asset"), "generatedBy", out["project"])).DID
	for domain, kind := range map[string]string{
		"device": "clean-cooking", "household": "household", "person": "person", "oracle": "oracle", "system": "network",
	} {
		out[domain] = v.create(t, ws, draftOf(kind)).DID
	}
	for _, domain := range []string{"claim", "credential", "thing"} {
		out[domain] = v.create(t, ws, entity.Draft{Type: domain, Protocol: v.kind(t, ws, domain)}).DID
	}
	v.verify(t, ws, out["claim"])
	return out
}

// verify has an oracle of its own verify a claim.
func (v *env) verify(t testing.TB, ws, claim string) {
	t.Helper()
	if _, err := v.relate(t, ws, v.create(t, ws, draftOf("oracle")).DID, "verifies", claim); err != nil {
		t.Fatal(err)
	}
	must(t, v.judge(t, ws, claim, "verified"))
}

// tag is the ETag of a twin as it is.
func (v *env) tag(t testing.TB, ws, id string) string {
	t.Helper()
	return web.ETag(v.get(t, ws, id).Revision)
}

// judge says something about a twin of the owner, as somebody else.
func (v *env) judge(t testing.TB, ws, id, status string) error {
	t.Helper()
	return second(v.s.Verify(as(t, ws, "second"), id, v.tag(t, ws, id), entity.Verdict{Status: status}))
}

// events lists the types of events of a workspace after a number.
func (v *env) events(t testing.TB, ws string, after int64) []event.Item {
	t.Helper()
	var out []event.Item
	for {
		b, err := v.l.Read(t.Context(), event.Query{Workspace: ws, After: after, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		out, after = append(out, b.Items...), b.Next
		if !b.HasMore {
			return out
		}
	}
}

// newest is the number of the last event of a workspace.
func (v *env) newest(t testing.TB, ws string) int64 {
	t.Helper()
	held, err := v.l.Range(t.Context(), ws)
	if err != nil {
		t.Fatal(err)
	}
	return held.Newest
}
