package bulk_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/job"
)

// asset is a row of a file: an asset of a project that is not held here.
func asset(id, relation string) string {
	return fmt.Sprintf(`{"did":%q,"type":"Stove","protocol":"did:ixo:protocol/asset","status":"active","relationships":[{"role":"generatedBy","target":"did:ixo:project:far"%s}]}`+"\n", id, relation)
}

// Whoever may not confirm what is not held here cannot do it with a file, a
// batch or a migration either; whoever may keeps the state a file has.
func TestStrangersOfManyTwins(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.start(t)
		stands := func(id string, status entity.Status, unconfirmed bool) {
			t.Helper()
			var e entity.Entity
			r.do(t, call{path: "/v1/entities/" + id}, 200, &e)
			if len(e.Relationships) != 1 || e.Status != status || e.Relationships[0].Unconfirmed != unconfirmed || (len(e.MissingRelationships) > 0) != unconfirmed {
				t.Errorf("%s is %s and misses %v, with %+v; want it %s", id, e.Status, e.MissingRelationships, e.Relationships, status)
			}
		}
		importAs := func(as, mode, file string) string {
			t.Helper()
			var j job.Job
			r.do(t, call{method: "POST", path: "/v1/imports?mode=" + mode, as: as, body: file, header: map[string]string{"Content-Type": ndjson}}, 202, &j)
			r.wait(t, j.ID)
			return r.do(t, call{path: "/v1/imports/" + j.ID + "/rows"}, 200, nil).Body.String()
		}
		if report := importAs("clerk", "create", asset("did:ixo:a:1", "")); !strings.Contains(report, "missing or unconfirmed") {
			t.Errorf("report = %s, want a warning", report)
		}
		stands("did:ixo:a:1", entity.StatusDraft, true)
		importAs("clerk", "upsert", asset("did:ixo:a:1", "")+asset("did:ixo:a:2", ""))
		stands("did:ixo:a:1", entity.StatusDraft, true)
		stands("did:ixo:a:2", entity.StatusDraft, true)
		// A record may say what it is not: that is no confirmation.
		importAs("clerk", "create", asset("did:ixo:a:3", `,"id":"rel_1","source":"declared","external":true`)+asset("did:ixo:a:4", `,"unconfirmed":false`))
		stands("did:ixo:a:3", entity.StatusDraft, true)
		stands("did:ixo:a:4", entity.StatusDraft, true)
		importAs("owner", "create", asset("did:ixo:a:5", `,"id":"rel_1","source":"declared","external":true`)+
			asset("did:ixo:a:6", `,"id":"rel_1","source":"declared","external":true,"unconfirmed":true`))
		stands("did:ixo:a:5", entity.StatusActive, false)
		stands("did:ixo:a:6", entity.StatusDraft, true)

		edge := map[string]any{"role": "generatedBy", "target": "did:ixo:project:far"}
		made := map[string]any{"did": "did:ixo:a:7", "type": "Stove", "protocol": "did:ixo:protocol/asset", "relationships": []any{edge}}
		bare := map[string]any{"did": "did:ixo:a:8", "type": "Stove", "protocol": "did:ixo:protocol/asset"}
		r.do(t, call{method: "POST", path: "/v1/entities:batch", as: "clerk", body: map[string]any{"atomic": true, "operations": []any{
			map[string]any{"op": "create", "entity": made},
			map[string]any{"op": "create", "entity": bare},
			map[string]any{"op": "relate", "did": "did:ixo:a:8", "relationship": edge},
		}}}, 200, nil)
		stands("did:ixo:a:7", entity.StatusDraft, true)
		stands("did:ixo:a:8", entity.StatusDraft, true)
		if w := r.send(t, call{method: "PUT", path: "/v1/entities/did:ixo:a:7", as: "clerk", header: map[string]string{"If-Match": "*"}, body: map[string]any{
			"type": "Stove", "protocol": "did:ixo:protocol/asset", "relationships": []any{edge, map[string]any{"role": "project", "target": "did:ixo:project:far"}},
		}}); w.Code == 200 {
			t.Errorf("PUT = %d %s, want relationships left alone", w.Code, w.Body)
		}

		// Twins that are active do not move to a version that needs what is
		// unconfirmed.
		r.stoves(t, 1)
		var found struct {
			Items []entity.Entity `json:"items"`
		}
		r.do(t, call{path: "/v1/entities?protocol=" + strings.TrimPrefix(stovePath, "/v1/protocols/")}, 200, &found)
		if len(found.Items) != 1 {
			t.Fatalf("%d stoves", len(found.Items))
		}
		draft := entity.RelationDraft{Role: "operator", Target: "did:ixo:org:far", Unconfirmed: true}
		if w := r.send(t, call{method: "POST", path: "/v1/entities:batch", body: map[string]any{"atomic": true, "operations": []any{
			map[string]any{"op": "relate", "did": found.Items[0].DID, "relationship": draft},
		}}}); w.Code != 200 {
			t.Fatalf("relate = %d %s", w.Code, w.Body)
		}
		r.do(t, call{method: "POST", path: stovePath + "/versions", body: map[string]any{
			"version": "3.0.0", "relationships": map[string]any{"operator": "OrganisationEntity"},
		}}, 201, nil)
		r.do(t, call{method: "POST", path: stovePath + "/publish"}, 200, nil)
		d := all(true)
		d["to"], d["dryRun"] = "3.0.0", false
		got := r.migrate(t, d)
		if rows := r.report(t, got.Links.Rows); len(rows) != 1 || rows[0].Error == nil || rows[0].Error.Code != "MISSING_RELATIONSHIPS" || rows[0].Error.Errors[0].Code != "unconfirmed" {
			t.Errorf("migration: %+v, want it refused", rows)
		}
	})
}
