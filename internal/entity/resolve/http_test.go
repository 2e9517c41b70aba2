package resolve_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/internal/web/webtest"
)

func TestRoutes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		e.fill(t)
		eventtest.Cases(t, "dids.json", d, e.log, e.handler(t))
	})
}

// TestStrangersLearnNothing reads everything that is public and looks for what
// is not: names and numbers of people, properties, addresses of homes.
func TestStrangersLearnNothing(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	e := newEnv(t, d)
	e.fill(t)
	h, n := e.handler(t), 0
	for _, c := range webtest.Read(t, "dids.json") {
		if c.Request.As != "none" {
			continue
		}
		for _, query := range []string{"", "?versionId=1", "?versionTime=2026-11-15T06:00:01Z"} {
			n++
			path, _, _ := strings.Cut(c.Request.Path, "?")
			body := ask(h, path+query).Body.String()
			for _, secret := range secrets {
				if strings.Contains(body, secret) {
					t.Errorf("GET %s shows %q: %s", path+query, secret, body)
				}
			}
		}
	}
	if n < 50 {
		t.Fatalf("%d requests of strangers, want all there are", n)
	}
}

// TestSquatters holds that a twin somebody made under another's DID is never
// shown in its place.
func TestSquatters(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		h := e.handler(t)
		draft := entity.Draft{DID: "did:ixo:device/9", Type: "Device", Protocol: "did:ixo:protocol/template"}
		at := func(host string) []entity.Endpoint {
			return []entity.Endpoint{{ID: "#x", Type: "X", Endpoint: "https://" + host}}
		}
		// Before the operator has it: still nobody's.
		draft.Services = at("squatter.example")
		e.create(t, "evil", draft)
		if w := ask(h, "/1.0/identifiers/did%3Aixo%3Adevice%2F9"); w.Code != 404 {
			t.Errorf("a DID of a stranger's choice = %d %s, want 404", w.Code, w.Body)
		}
		draft.Services = at("operator.example")
		e.create(t, "default", draft)
		if w := ask(h, "/1.0/identifiers/did%3Aixo%3Adevice%2F9"); w.Code != 200 || !strings.Contains(w.Body.String(), "operator.example") {
			t.Errorf("the operator's = %d %s, want it", w.Code, w.Body)
		}
		// A minted DID stays with who held it first, whatever others do.
		draft.DID, draft.Services = minted, at("squatter.example")
		e.create(t, "early", draft)
		draft.Services = at("first.example")
		e.mint(t, "alpha", minted, draft)
		draft.Services = at("squatter.example")
		e.create(t, "evil", draft)
		e.patch(t, "evil", minted, `{"metadata":{"name":"mine"}}`)
		e.create(t, "default", draft) // a copy of the operator's, too
		for _, target := range []string{"/1.0/identifiers/" + minted, "/entities/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/did.json"} {
			if w := ask(h, target); w.Code != 200 || !strings.Contains(w.Body.String(), "first.example") || strings.Contains(w.Body.String(), "squatter") {
				t.Errorf("%s = %d %s, want the first holder's", target, w.Code, w.Body)
			}
		}
		e.deactivate(t, "alpha", minted)
		if w := ask(h, "/1.0/identifiers/"+minted); w.Code != http.StatusGone || strings.Contains(w.Body.String(), "squatter") {
			t.Errorf("deactivated = %d %s, want 410 and nobody else's document", w.Code, w.Body)
		}
	})
}

// TestTakenOver holds that nobody speaks for a DID of minted form by choosing
// it for a twin: it may be that of a principal, or of a twin still to be made.
func TestTakenOver(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		h := e.handler(t)
		targets := []string{"/1.0/identifiers/" + nobodyDID, "/entities/ffffffffffffffffffffffffffffffff/did.json"}
		draft := entity.Draft{DID: nobodyDID, Type: "Device", Protocol: "did:ixo:protocol/template"}
		draft.Services = []entity.Endpoint{{ID: "#x", Type: "X", Endpoint: "https://squatter.example"}}
		e.create(t, "evil", draft)
		for _, target := range targets {
			if w := ask(h, target); w.Code != 404 {
				t.Errorf("%s = %d %s, want 404", target, w.Code, w.Body)
			}
		}
		draft.Services[0].Endpoint = "https://operator.example"
		e.create(t, "default", draft)
		e.patch(t, "evil", nobodyDID, `{"metadata":{"name":"mine"}}`)
		for _, target := range targets {
			if w := ask(h, target); w.Code != 200 || !strings.Contains(w.Body.String(), "operator.example") {
				t.Errorf("%s = %d %s, want the operator's", target, w.Code, w.Body)
			}
		}
	})
}

func TestNotModified(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	e := newEnv(t, d)
	e.fill(t)
	h := e.handler(t)
	for _, target := range []string{"/1.0/identifiers/" + minted, "/entities/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/did.json", "/v1/dids/" + minted, "/v1/entities/" + minted + "/did-document"} {
		first := ask(h, target, "Authorization", "Bearer alpha owner")
		tag := first.Header().Get("ETag")
		if first.Code != 200 || tag == "" {
			t.Fatalf("GET %s = %d, ETag %q", target, first.Code, tag)
		}
		if w := ask(h, target, "Authorization", "Bearer alpha owner", "If-None-Match", tag); w.Code != http.StatusNotModified || w.Body.Len() != 0 {
			t.Errorf("GET %s again = %d %s, want 304", target, w.Code, w.Body)
		}
		e.patch(t, "alpha", minted, `{"services":[{"id":"#new","type":"X","endpoint":"https://new.example/`+tag[1:len(tag)-1]+`"}]}`)
		if w := ask(h, target, "Authorization", "Bearer alpha owner", "If-None-Match", tag); w.Code != 200 {
			t.Errorf("GET %s after a change = %d, want 200", target, w.Code)
		}
	}
	a, b := ask(h, "/1.0/identifiers/"+minted), ask(h, "/1.0/identifiers/"+minted, "Accept", "application/did+json")
	if a.Header().Get("ETag") == b.Header().Get("ETag") {
		t.Error("two representations have one ETag")
	}
}

// TestRoutesAreDocumented holds the document to what is answered.
func TestRoutesAreDocumented(t *testing.T) {
	t.Parallel()
	a := web.NewAPI(web.APIConfig{Name: "twins", Gate: eventtest.Gate{}})
	newEnv(t, dbtest.SQLite(t)).dids.Routes(a)
	doc := web.Document("Hearth", "1", a)
	op := doc.Paths["/1.0/identifiers/{did}"].Get
	for _, status := range []string{"200", "400", "404", "406", "410"} {
		if op.Responses[status] == nil || op.Responses[status].Content["application/did-resolution"] == nil {
			t.Errorf("status %s is not documented with its media types", status)
		}
	}
	if len(op.Security) != 0 {
		t.Errorf("security = %v, want none", op.Security)
	}
	if _, err := doc.MarshalJSON(); err != nil {
		t.Error(err)
	}
}
