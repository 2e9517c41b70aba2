package entity_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const documented = `{"type":"Device","protocol":"did:ixo:protocol/template","properties":{"metricOne":"value","metricTwo":100}}`

// The documented request, the whole record it gives, and what is stored.
func TestDocumentedCreate(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		now := time.Date(2026, 2, 3, 4, 5, 6, 789_999_999, time.UTC)
		v := newEnv(t, d, func(c *entity.Config) { c.Now = func() time.Time { return now } })
		w := v.send(t, "ws owner", "POST /v1/entities", documented)
		if w.Code != 201 {
			t.Fatalf("got %d %s", w.Code, w.Body)
		}
		e := decode(t, w.Body.Bytes())
		const record = `{"did":"DID","type":"Device","class":"physical","domainType":"device","controller":"did:key:owner","controllers":["did:key:owner"],` +
			`"owner":"did:key:owner","protocol":"did:ixo:protocol/template","protocolVersion":"1.0.0","properties":{"metricOne":"value","metricTwo":100},` +
			`"services":[],"relationships":[],"missingRelationships":["operator","verifier"],"verifiableCredential":[],"linkedResources":[],"linkedClaims":[],` +
			`"linkedEntities":[],"accordedRights":[],"accounts":[],"alsoKnownAs":[],"externalIds":{},"status":"draft","statusCode":0,` +
			`"verification":{"status":"unverified"},"relayerNode":"did:key:server","metadata":{},"revision":1,"created":"2026-02-03T04:05:06.789Z",` +
			`"updated":"2026-02-03T04:05:06.789Z","createdBy":"did:key:owner","updatedBy":"did:key:owner","links":{"self":"/v1/entities/DID",` +
			`"history":"/v1/entities/DID/history","relationships":"/v1/entities/DID/relationships","graph":"/v1/entities/DID/graph",` +
			`"didDocument":"/v1/entities/DID/did-document"}}`
		if got, want := w.Body.String(), strings.ReplaceAll(record, "DID", e.DID); got != want {
			t.Errorf("record\n%s\nwant\n%s", got, want)
		}
		if h := w.Header(); h.Get("Location") != "/v1/entities/"+e.DID || h.Get("ETag") != `"1"` {
			t.Errorf("headers = %v", h)
		}
		for _, path := range []string{e.DID, strings.ReplaceAll(e.DID, ":", "%3A")} {
			got := v.send(t, "ws reader", "GET /v1/entities/"+path, "")
			if got.Code != 200 || got.Body.String() != w.Body.String() || got.Header().Get("ETag") != `"1"` {
				t.Errorf("read %s = %d %s", path, got.Code, got.Body)
			}
		}
		if got := v.send(t, "ws reader", "GET /v1/entities/"+e.DID, "", "If-None-Match", `"1"`); got.Code != 304 {
			t.Errorf("conditional read = %d, want 304", got.Code)
		}
		v.checkHistory(t, "ws", e.DID, 1)
		if n := v.count(t, `SELECT count(*) FROM entity_history WHERE nid IN (SELECT nid FROM entities WHERE ws = $1)`); n != 0 {
			t.Errorf("a new twin has %d rows in the history, want none", n)
		}
	})
}

// Everything that is wrong is named at once, with pointers.
func TestDraftErrors(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 201)
	for _, tt := range []struct{ name, body, code, fields string }{
		{"nothing", `{}`, "ENTITY_INVALID", "/protocol required, /type required"},
		{"type of spaces", `{"type":"  ","protocol":"did:ixo:protocol/template"}`, "ENTITY_INVALID", "/type required"},
		{"type of two lines", `{"type":"a\nb","protocol":"did:ixo:protocol/template"}`, "ENTITY_INVALID", "/type not_one_line"},
		{"type too long", `{"type":"` + long + `","protocol":"did:ixo:protocol/template"}`, "ENTITY_INVALID", "/type too_long"},
		{
			"DIDs that are none", `{"type":"x","protocol":"template","did":"me","controller":"you","controllers":["they"]}`, "ENTITY_INVALID",
			"/did not_a_did, /protocol not_a_did, /controller not_a_did, /controllers/0 not_a_did",
		},
		{"reserved DID", `{"type":"x","protocol":"did:ixo:protocol/template","did":"did:ixo:protocol/mine"}`, "ENTITY_INVALID", "/did reserved"},
		{
			"all properties at once", `{"type":"x","protocol":"did:ixo:protocol/template","properties":{"metricOne":1,"metricTwo":"x","measurements":[],"other":true}}`,
			"PROPERTY_SCHEMA_VIOLATION", "/properties/measurements wrong_type, /properties/metricOne wrong_type, /properties/metricTwo wrong_type, /properties/other unknown_property",
		},
		{"properties are no object", `{"type":"x","protocol":"did:ixo:protocol/template","properties":[1],"metadata":"m"}`, "ENTITY_INVALID", "/properties wrong_type, /metadata wrong_type"},
		{
			"services", `{"type":"x","protocol":"did:ixo:protocol/template","services":[{"id":"data","type":"","endpoint":"/x"},{"id":"#a","type":"T","endpoint":"https://u:p@h/"},` +
				`{"id":"#a","type":"T","endpoint":"ftp://h"},{"id":"#b","type":"T","endpoint":"https:///x"},{"id":"","type":"T","endpoint":""}]}`, "ENTITY_INVALID",
			"/services/0/id invalid, /services/0/type required, /services/0/endpoint invalid, /services/1/endpoint invalid, /services/2/endpoint invalid, /services/2/id duplicate, " +
				"/services/3/endpoint invalid, /services/4/id required, /services/4/endpoint required",
		},
		{
			"external ids", `{"type":"x","protocol":"did:ixo:protocol/template","externalIds":{"":"x","a":"","b/c":"x\ny"}}`, "ENTITY_INVALID",
			"/externalIds/ invalid_name, /externalIds/a required, /externalIds/b~1c not_one_line",
		},
		{"dates", `{"type":"x","protocol":"did:ixo:protocol/template","startDate":"2026-01-02T00:00:00Z","endDate":"2026-01-01T00:00:00Z"}`, "ENTITY_INVALID", "/endDate out_of_range"},
		{
			"relationships", `{"type":"x","protocol":"did:ixo:protocol/template","relationships":[{"role":"","target":"x"},{"role":"a","target":""}]}`, "ENTITY_INVALID",
			"/relationships/0/role required, /relationships/0/target not_a_did, /relationships/1/target required",
		},
		{
			"a role that is no word", `{"type":"x","protocol":"did:ixo:protocol/template","relationships":[{"role":"Near x","target":"nodid"},{"role":"near-by_2","target":"did:` + strings.Repeat("x", 600) + `:1"}]}`, "ENTITY_INVALID",
			"/relationships/0/role invalid, /relationships/0/target not_a_did, /relationships/1/target too_long, /relationships/1/role invalid",
		},
		{
			"a number no number can be", `{"type":"x","protocol":"did:ixo:protocol/template","properties":{"metricOne":5,"metricTwo":1e400,"x":{"y":[1e400]}}}`, "PROPERTY_SCHEMA_VIOLATION",
			"/properties/metricTwo out_of_range, /properties/x/y/0 out_of_range, /properties/metricOne wrong_type",
		},
		{
			"groups, properties and relationships of a device", `{"type":"x","protocol":"did:ixo:protocol/template","groups":[{"name":"a"}],"properties":{"x":1},"relationships":[{"role":"contains","target":"did:ixo:x:1"}]}`, "PROPERTY_SCHEMA_VIOLATION",
			"/properties/x unknown_property, /groups not_allowed, /relationships/0/target not_found",
		},
		{
			"the address of a document", `{"type":"x","protocol":"did:ixo:protocol/template","linkedResources":[{"id":"#a","type":"T","serviceEndpoint":"javascript:x"},` +
				`{"id":"#b","type":"T","serviceEndpoint":"ipfs:bafy"},{"id":"#c","type":"T","serviceEndpoint":"/x"},{"id":"#d","type":"T","serviceEndpoint":"https://u:p@h/"}]}`, "ENTITY_INVALID",
			"/linkedResources/0/serviceEndpoint invalid, /linkedResources/2/serviceEndpoint invalid, /linkedResources/3/serviceEndpoint invalid",
		},
		{"groups of a device", `{"type":"x","protocol":"did:ixo:protocol/template","groups":[{"name":"a"}]}`, "ENTITY_INVALID", "/groups not_allowed"},
		{
			"groups", `{"type":"x","protocol":"did:ixo:protocol/organisation","groups":[{"name":"a"},{"name":"a"},{"name":"","scopes":["fly:*"]}]}`, "ENTITY_INVALID",
			"/groups/1/name duplicate, /groups/2/name required, /groups/2/scopes/0 unknown_scope",
		},
		{
			"linked", `{"type":"x","protocol":"did:ixo:protocol/template","linkedResources":[{"id":"","type":"","encrypted":"maybe"}],"linkedEntities":[{"id":"x","type":"","relationship":""}],` +
				`"accordedRights":[{"id":"","type":""}],"accounts":[{"name":"","address":""}],"alsoKnownAs":[""]}`, "ENTITY_INVALID",
			"/linkedResources/0/id required, /linkedResources/0/type required, /linkedResources/0/encrypted not_allowed, /linkedEntities/0/id not_a_did, /linkedEntities/0/relationship required, " +
				"/accordedRights/0/id required, /accordedRights/0/type required, /accounts/0/name required, /accounts/0/address required, /alsoKnownAs/0 required",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v := newEnv(t, dbtest.SQLite(t))
			var d entity.Draft
			if err := json.Unmarshal([]byte(tt.body), &d); err != nil {
				t.Fatal(err)
			}
			_, err := v.s.Create(as(t, "ws", "owner"), d)
			want(t, tt.name, err, tt.code)
			if got := fieldsOf(err); got != tt.fields {
				t.Errorf("fields = %s\nwant     %s", got, tt.fields)
			}
			if n := v.newest(t, "ws"); n != 0 {
				t.Errorf("%d events after a refusal", n)
			}
		})
	}
}

func fieldsOf(err error) string {
	var out []string
	if f := fault.As(err); f != nil {
		for _, x := range f.Fields {
			out = append(out, x.Pointer+" "+x.Code)
		}
	}
	return strings.Join(out, ", ")
}

// What a client does not decide cannot be smuggled in.
func TestMassAssignment(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	e := v.create(t, "ws", draftOf("template"))
	path := "/v1/entities/" + e.DID
	for member, value := range map[string]string{
		"class": `"oracle"`, "domainType": `"oracle"`, "status": `"active"`, "statusCode": `1`, "revision": `9`, "verification": `{"status":"verified"}`,
		"verifiableCredential": `[{"type":"Certification","issuer":"did:ixo:org/me"}]`, "created": `"2020-01-01T00:00:00.000Z"`, "createdBy": `"did:key:x"`,
		"updated": `"2020-01-01T00:00:00.000Z"`, "updatedBy": `"did:key:x"`, "owner": `"did:key:x"`, "relayerNode": `"did:key:x"`,
		"missingRelationships": `[]`, "moreRelationships": `true`, "project": `"did:ixo:project/x"`, "linkedClaims": `[{"id":"#c","type":"x"}]`, "links": `{"self":"/x"}`,
	} {
		body := `{"type":"Device","protocol":"did:ixo:protocol/template","` + member + `":` + value + `}`
		if w := v.send(t, "ws owner", "POST /v1/entities", body); w.Code != 400 || !strings.Contains(w.Body.String(), `"/`+member+`"`) {
			t.Errorf("POST with %s = %d %s, want 400 that names it", member, w.Code, w.Body)
		}
		for _, try := range []struct{ method, body, media string }{
			{"PATCH", `{"` + member + `":` + value + `}`, "application/merge-patch+json"},
			{"PATCH", `[{"op":"add","path":"/` + member + `","value":` + value + `}]`, "application/json-patch+json"},
			{"PUT", body, "application/json"},
		} {
			w := v.send(t, "ws owner", try.method+" "+path, try.body, "If-Match", "*", "Content-Type", try.media)
			if w.Code != 400 || !strings.Contains(w.Body.String(), `"/`+member+`"`) || !strings.Contains(w.Body.String(), "READ_ONLY_MEMBER") {
				t.Errorf("%s %s with %s = %d %s, want 400 that names it", try.method, try.media, member, w.Code, w.Body)
			}
		}
	}
	for member, code := range map[string]string{
		"did": "READ_ONLY_MEMBER", "protocol": "READ_ONLY_MEMBER", "protocolVersion": "READ_ONLY_MEMBER", "relationships": "READ_ONLY_MEMBER",
		"nonsense": "UNKNOWN_MEMBER", "Type": "UNKNOWN_MEMBER",
	} {
		w := v.send(t, "ws owner", "PATCH "+path, `{"`+member+`":"x"}`, "If-Match", "*")
		if w.Code != 400 || !strings.Contains(w.Body.String(), `"/`+member+`"`) || !strings.Contains(w.Body.String(), code) {
			t.Errorf("PATCH with %s = %d %s, want 400 %s that names it", member, w.Code, w.Body, code)
		}
	}
	for _, member := range []string{"did", "status", "controllers", "type", "revision"} {
		if w := v.send(t, "ws owner", "PATCH "+path, `{"`+member+`":null}`, "If-Match", "*"); w.Code != 400 {
			t.Errorf("PATCH that removes %s = %d %s, want 400", member, w.Code, w.Body)
		}
	}
	if got := v.get(t, "ws", e.DID); got.Revision != 1 {
		t.Errorf("revision %d after refusals, want 1", got.Revision)
	}
}

// An organisation and its groups are one act.
func TestOrganisationWithGroups(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		changed := 0
		v := newEnv(t, d, func(c *entity.Config) { c.GroupChanged = func(*db.Tx) { changed++ } })
		plain := v.create(t, "ws", draftOf("organisation"))
		if plain.Status != entity.StatusActive || len(plain.Relationships) != 1 || plain.Relationships[0].Role != "contains" || plain.Revision != 1 {
			t.Fatalf("organisation = %+v", plain)
		}
		g := v.get(t, "ws", plain.Relationships[0].Target)
		if g.DomainType != "group" || g.Status != entity.StatusActive || string(g.Properties.Value) != `{"name":"members","scopes":[]}` ||
			g.Controller != plain.Controller || g.Relationships[0].Role != "partOf" || g.Relationships[0].Source != "derived" {
			t.Errorf("group = %+v", g)
		}
		draft := draftOf("organisation")
		draft.Groups = []entity.GroupDraft{{Name: "staff", Scopes: []string{"entities:read"}}, {Name: "board"}}
		org := v.createAs(t, "ws", "writer", draft)
		if len(org.Relationships) != 2 || v.get(t, "ws", org.Relationships[0].Target).Owner != "did:key:writer" {
			t.Errorf("organisation = %+v", org)
		}
		if changed == 0 {
			t.Error("the keepers of rights were not told")
		}
		v.consistent(t, "ws", org.DID, org.Relationships[0].Target, org.Relationships[1].Target)
		draft.Groups = []entity.GroupDraft{{Name: "staff", Scopes: []string{"entities:verify"}}}
		_, err := v.s.Create(as(t, "ws", "writer"), draft)
		want(t, "a scope the maker lacks", err, "SCOPE_MISSING")
		if fieldsOf(err) != "/groups/0/scopes scope_missing" {
			t.Errorf("fields = %s", fieldsOf(err))
		}
		// Nothing is left of an organisation whose second half fails.
		before := v.count(t, `SELECT count(*) FROM entities WHERE ws = $1`)
		bad := with(draftOf("organisation"), "implements", "did:ixo:project/none")
		want(t, "organisation of nothing", second(v.s.Create(as(t, "ws", "owner"), bad)), "RELATIONSHIP_TARGET_NOT_FOUND")
		if n := v.count(t, `SELECT count(*) FROM entities WHERE ws = $1`); n != before {
			t.Errorf("%d twins, want %d", n, before)
		}
	})
}

// Nobody gives a group scopes they lack, by any way in.
func TestScopesOfGroups(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	org := v.createAs(t, "ws", "writer", draftOf("organisation"))
	group := org.Relationships[0].Target
	ctx := as(t, "ws", "writer")
	grab := object(`{"name":"g","scopes":["entities:transfer"]}`)
	want(t, "create", second(v.s.Create(ctx, entity.Draft{Type: "g", Protocol: "did:ixo:protocol/group", Properties: grab})), "SCOPE_MISSING")
	want(t, "patch", second(v.s.Patch(ctx, group, "*", entity.Change{Merge: []byte(`{"properties":{"scopes":["*"]}}`)})), "SCOPE_MISSING")
	want(t, "JSON patch", second(v.s.Patch(ctx, group, "*", entity.Change{JSONPatch: []byte(`[{"op":"replace","path":"/properties/scopes","value":["keys:write"]}]`)})), "SCOPE_MISSING")
	want(t, "replace", second(v.s.Patch(ctx, group, "*", entity.Change{Replace: &entity.Draft{Type: "g", Protocol: "did:ixo:protocol/group", Properties: grab}})), "SCOPE_MISSING")
	want(t, "no scope", second(v.s.Patch(ctx, group, "*", entity.Change{Merge: []byte(`{"properties":{"scopes":["member"]}}`)})), "ENTITY_INVALID")
	if w := v.send(t, "ws writer", "PUT /v1/entities/"+group+"/properties/scopes", `["entities:verify"]`, "If-Match", "*"); w.Code != 403 {
		t.Errorf("property = %d %s, want 403", w.Code, w.Body)
	}
	err := v.d.InTx(ctx, func(tx *db.Tx) error {
		r, err := v.s.FindForUpdate(ctx, tx, group)
		if err != nil {
			return err
		}
		_, err = v.s.Mutate(ctx, tx, r, entity.Action{Name: "update"}, func(e *entity.Entity) error {
			e.Properties = grab
			return nil
		})
		return err
	})
	want(t, "mutate", err, "SCOPE_MISSING")
	want(t, "what they have", second(v.s.Patch(ctx, group, "*", entity.Change{Merge: []byte(`{"properties":{"scopes":["entities:write"]}}`)})), "")
	// One with less may rename the group, but not touch its scopes.
	want(t, "to the second", second(v.s.Patch(ctx, group, "*", entity.Change{Merge: []byte(`{"controllers":["did:key:writer","did:key:reader"]}`)})), "")
	want(t, "rename", second(v.s.Patch(as(t, "ws", "reader"), group, "*", entity.Change{Merge: []byte(`{"properties":{"name":"n"}}`)})), "")
	want(t, "widen", second(v.s.Patch(as(t, "ws", "reader"), group, "*", entity.Change{Merge: []byte(`{"properties":{"scopes":["entities:write","entities:read"]}}`)})), "SCOPE_MISSING")
	// A protocol of one's own for groups changes nothing of that.
	loose := v.publish(t, "ws", `{"type":"Protocol","name":"loose","domainType":"group","additionalProperties":true,"properties":{},"relationships":{}}`)
	want(t, "not a list of texts", second(v.s.Create(ctx, entity.Draft{Type: "g", Protocol: loose, Properties: object(`{"scopes":[["*"]]}`)})), "PROPERTY_SCHEMA_VIOLATION")
	want(t, "a text", second(v.s.Create(ctx, entity.Draft{Type: "g", Protocol: loose, Properties: object(`{"scopes":"*"}`)})), "PROPERTY_SCHEMA_VIOLATION")
	want(t, "a list", second(v.s.Create(ctx, entity.Draft{Type: "g", Protocol: loose, Properties: object(`{"scopes":["*"]}`)})), "SCOPE_MISSING")
	// A key that is limited to a project gives no rights in the workspace.
	limited := with(entity.Draft{Type: "g", Protocol: loose, Properties: object(`{"scopes":["entities:read"]}`)}, "project", projectOne)
	want(t, "limited", second(v.s.Create(as(t, "ws", "limited"), limited)), "KEY_RESTRICTED")
}

// A key that is limited to projects makes and sees twins in them only.
func TestProjectRestriction(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		draft := draftOf("project")
		draft.DID, draft.Controllers = projectOne, []string{"did:key:owner", "did:key:limited"}
		v.create(t, "ws", draft)
		outside := draftOf("clean-cooking")
		outside.Controllers = []string{"did:key:owner", "did:key:limited"}
		out := v.create(t, "ws", outside)
		ctx := as(t, "ws", "limited")
		want(t, "create outside", second(v.s.Create(ctx, draftOf("clean-cooking"))), "KEY_RESTRICTED")
		want(t, "create an organisation", second(v.s.Create(ctx, draftOf("organisation"))), "KEY_RESTRICTED")
		want(t, "create another project", second(v.s.Create(ctx, draftOf("project"))), "KEY_RESTRICTED")
		in := v.createAs(t, "ws", "limited", with(draftOf("clean-cooking"), "project", projectOne))
		gen := v.createAs(t, "ws", "limited", with(draftOf("clean-cooking"), "generatedBy", projectOne))
		for _, id := range []string{in.DID, gen.DID, projectOne} {
			if r, err := v.s.Find(ctx, d, id); err != nil || r.Project != projectOne {
				t.Errorf("find %s = %+v, %v", id, r, err)
			}
		}
		want(t, "read outside", second(v.s.Find(ctx, d, out.DID)), "ENTITY_NOT_FOUND")
		want(t, "patch outside", second(v.s.Patch(ctx, out.DID, "*", entity.Change{Merge: []byte(`{}`)})), "ENTITY_NOT_FOUND")
		for _, request := range []string{"GET", "DELETE"} {
			if w := v.send(t, "ws limited", request+" /v1/entities/"+out.DID, "", "If-Match", "*"); w.Code != 404 {
				t.Errorf("%s outside = %d %s, want 404", request, w.Code, w.Body)
			}
		}
		want(t, "leave the project", v.s.Unrelate(ctx, in.DID, in.Relationships[0].ID, ""), "KEY_RESTRICTED")
		// What is outside looks like what is not held here.
		r, err := v.s.Relate(ctx, in.DID, entity.RelationDraft{Role: "peer", Target: out.DID})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(r.Raw)+fmt.Sprint(r.Value), "true") {
			t.Errorf("edge to a twin outside = %s %+v, want it external", r.Raw, r.Value)
		}
		if got := v.get(t, "ws", in.DID); got.Project != projectOne || !got.Relationships[1].External {
			t.Errorf("twin = %+v", got)
		}
	})
}

// Another workspace has no part in anything.
func TestOtherWorkspace(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		draft := draftOf("clean-cooking")
		draft.DID, draft.ExternalIDs = "did:ixo:device/one", map[string]string{"serial": "SN1"}
		draft.Services = []entity.Endpoint{{ID: "#a", Type: "T", Endpoint: "https://example.org/"}}
		mine := v.create(t, "ws", draft)
		if theirs := v.create(t, "other", draft); theirs.DID != mine.DID {
			t.Errorf("the same DID in another workspace = %s", theirs.DID)
		}
		e := v.create(t, "ws", with(draftOf("clean-cooking"), "peer", "did:ixo:x:1"))
		path := "/v1/entities/" + e.DID
		for _, r := range []struct{ request, body string }{
			{"GET " + path, ""},
			{"PUT " + path, `{"type":"x","protocol":"did:ixo:protocol/clean-cooking"}`},
			{"PATCH " + path, `{"type":"x"}`},
			{"DELETE " + path, ""},
			{"POST " + path + "/transitions", `{"to":"suspended"}`},
			{"POST " + path + "/transfer", `{"controller":"did:key:x"}`},
			{"POST " + path + "/verification", `{"status":"verified"}`},
			{"GET " + path + "/relationships", ""},
			{"POST " + path + "/relationships", `{"role":"peer","target":"did:ixo:x:2"}`},
			{"GET " + path + "/relationships/" + e.Relationships[0].ID, ""},
			{"DELETE " + path + "/relationships/" + e.Relationships[0].ID, ""},
			{"GET " + path + "/services/a", ""},
			{"PUT " + path + "/services/a", `{"type":"T","endpoint":"https://example.org/"}`},
			{"DELETE " + path + "/services/a", ""},
			{"GET " + path + "/properties/serial", ""},
			{"PUT " + path + "/properties/serial", `"x"`},
			{"DELETE " + path + "/properties/serial", ""},
			{"PUT " + path + "/controllers/did:key:x", ""},
			{"DELETE " + path + "/controllers/did:key:owner", ""},
		} {
			foreign := v.send(t, "other owner", r.request, r.body, "If-Match", "*")
			none := v.send(t, "other owner", strings.Replace(r.request, e.DID, "did:ixo:entity:none", 1), r.body, "If-Match", "*")
			if foreign.Code != 404 || !strings.Contains(foreign.Body.String(), "ENTITY_NOT_FOUND") {
				t.Errorf("%s = %d %s, want 404", r.request, foreign.Code, foreign.Body)
			}
			if a, b := scrub(foreign.Body.String(), e.DID), scrub(none.Body.String(), "did:ixo:entity:none"); a != b {
				t.Errorf("%s: foreign and missing differ:\n%s\n%s", r.request, a, b)
			}
		}
		if got := v.get(t, "ws", e.DID); got.Revision != 1 {
			t.Errorf("revision %d, want 1", got.Revision)
		}
	})
}

func scrub(s, id string) string { return strings.ReplaceAll(s, id, "DID") }

// Who may change a twin: its controllers, as themselves or through a group.
func TestControllers(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	draft := draftOf("clean-cooking")
	draft.Controller, draft.Controllers = "did:ixo:group/of-member", []string{"did:key:writer", "did:ixo:group/of-member"}
	e := v.create(t, "ws", draft)
	if e.Controller != draft.Controller || !slices.Equal(e.Controllers, []string{"did:ixo:group/of-member", "did:key:writer"}) || e.Owner != "did:key:owner" {
		t.Errorf("twin = %+v", e)
	}
	change := entity.Change{Edit: func(e *entity.Entity) error { e.Type += "x"; return nil }}
	for role, code := range map[string]string{"member": "", "writer": "", "owner": "NOT_CONTROLLER", "second": "NOT_CONTROLLER"} {
		want(t, role, second(v.s.Patch(as(t, "ws", role), e.DID, "*", change)), code)
	}
	ctx := as(t, "ws", "owner")
	want(t, "transition by the owner", second(call(v, func(tx *db.Tx) (*entity.Row, error) {
		return v.s.TransitionTx(ctx, tx, e.DID, "", entity.Transition{To: entity.StatusSuspended})
	})), "NOT_CONTROLLER")
	want(t, "edge by the owner", second(v.s.Relate(ctx, e.DID, entity.RelationDraft{Role: "peer", Target: "did:ixo:x:1"})), "NOT_CONTROLLER")
	want(t, "nobody", second(v.s.Patch(web.WithCaller(t.Context(), web.Caller{Workspace: "ws"}), e.DID, "*", change)), "NOT_CONTROLLER")
	// Control comes back by transfer only.
	row, err := call(v, func(tx *db.Tx) (*entity.Row, error) {
		return v.s.TransferTx(ctx, tx, e.DID, "", entity.Transfer{Controller: "did:key:owner", Reason: "the group is gone"})
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := decode(t, row.Body); !slices.Equal(got.Controllers, []string{"did:key:owner"}) || got.Owner != "did:key:owner" || row.Reason != "the group is gone" || row.Action != "transfer" {
		t.Errorf("after the transfer: %+v by %s for %q", got, row.Action, row.Reason)
	}
	want(t, "owner after the transfer", second(v.s.Patch(ctx, e.DID, "*", change)), "")
	want(t, "member after the transfer", second(v.s.Patch(as(t, "ws", "member"), e.DID, "*", change)), "NOT_CONTROLLER")
}

// call runs a use case in a transaction.
func call[T any](v *env, fn func(tx *db.Tx) (T, error)) (out T, err error) {
	err = v.d.InTx(v.t.Context(), func(tx *db.Tx) (err error) {
		out, err = fn(tx)
		return err
	})
	return out, err
}

// Protocols that cannot be used, and versions by name.
func TestProtocolOfADraft(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	ctx := as(t, "ws", "owner")
	id := v.publish(t, "ws", `{"type":"Protocol","name":"p","appliesTo":["Stove"],"properties":{"a":"string"},"relationships":{}}`)
	for _, tt := range []struct {
		name, typ, protocol, version, code string
	}{
		{"newest", "Stove", id, "", ""},
		{"by version", "Stove", id, "1.0.0", ""},
		{"version behind the DID", "Stove", id + "@1.0.0", "", ""},
		{"no such version", "Stove", id, "2.0.0", "PROTOCOL_NOT_FOUND"},
		{"no such version behind the DID", "Stove", id + "@2.0.0", "", "PROTOCOL_NOT_FOUND"},
		{"not for this type", "Lamp", id, "", "ENTITY_INVALID"},
		{"unknown", "Stove", "did:ixo:protocol/none", "", "PROTOCOL_NOT_FOUND"},
	} {
		_, err := v.s.Create(ctx, entity.Draft{Type: tt.typ, Protocol: tt.protocol, ProtocolVersion: tt.version})
		want(t, tt.name, err, tt.code)
	}
	want(t, "of another workspace", second(v.s.Create(as(t, "other", "owner"), entity.Draft{Type: "Stove", Protocol: id})), "PROTOCOL_NOT_FOUND")
	if _, err := v.p.Create(ctx, protocol.Draft{DID: "did:ixo:p:draft", Type: "Protocol", Content: protocol.Content{Properties: protocol.Object{Value: []byte(`{}`)}, Relationships: protocol.Object{Value: []byte(`{}`)}}}); err != nil {
		t.Fatal(err)
	}
	draft := second(v.s.Create(ctx, entity.Draft{Type: "x", Protocol: "did:ixo:p:draft"}))
	want(t, "draft", draft, "PROTOCOL_NOT_PUBLISHED")
	if f := fault.As(draft); len(f.Fields) != 1 || f.Fields[0].Pointer != "/protocol" || !strings.Contains(f.Fields[0].Detail, "did:ixo:p:draft") {
		t.Errorf("a draft: fields %+v, want /protocol with its DID", f.Fields)
	}
	if _, err := v.p.Retire(ctx, id, "*", protocol.Change{}); err != nil {
		t.Fatalf("%+v", fault.As(err))
	}
	want(t, "retired", second(v.s.Create(ctx, entity.Draft{Type: "Stove", Protocol: id})), "PROTOCOL_VERSION_RETIRED")
}
